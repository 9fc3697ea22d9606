import Crypto
import Foundation
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

@Suite("Attacks on keys and state") struct KeyAttackTests {
  @Test("attack 10: keys are drawn at random, each lock's and each phone's own") func drawn() throws {
    let folder = NSTemporaryDirectory() + "latchkey-drawn-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var seen: Set<[UInt8]> = []
    for number in 0..<20 {
      let (lockFolder, phoneFolder) = ("\(folder)/lock-\(number)", "\(folder)/phone-\(number)")
      try Provisioning.provision(lockDirectory: lockFolder, phoneDirectory: phoneFolder)
      let lock = try LockKeys.read(fromDirectory: lockFolder)
      let phone = try PhoneKeys.read(fromDirectory: phoneFolder)
      seen.insert(lock.identity.bytes)
      seen.insert(Array(lock.staticKey.rawRepresentation))
      seen.insert(Array(phone.staticKey.rawRepresentation))
    }
    #expect(seen.count == 60)
  }

  @Test("attacks 23, 40: every session has keys of its own, also after the lock was restored from a backup")
  func fresh()
    throws
  {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    let backup = (log: bench.log, position: bench.position, access: bench.access)
    var offers: Set<[UInt8]> = [try #require(bench.offers[Bench.alice.low])]
    var session = try bench.session(Bench.alice, key: bench.keys[0])
    let captured = try session.seal(LockCommand(.unlock, operation: 1), using: &bench.cryptography)
    bench.happens(.commandWritten(Bench.alice, captured))
    bench.finishTurn()
    #expect(bench.turns.count == 1)
    for _ in 0..<10 {
      bench.log = backup.log
      bench.position = backup.position
      bench.access = backup.access
      bench.restart()
      bench.happens(.linkUp(Bench.alice))
      let offer = try #require(bench.offers[Bench.alice.low])
      #expect(offers.insert(offer).inserted, "the same ephemeral key again")
      // The memory of the operation is gone with the backup, and the write is refused all the same.
      bench.happens(.commandWritten(Bench.alice, captured))
      #expect(bench.responses.last == false)
    }
    #expect(bench.turns.count == 1)
  }

  @Test("attack 24: when the radio dies with all its links, the bolt stays, and locks behind its owner as ever")
  func radioDies() throws {
    var bench = try Bench()
    bench.finishesTurns = true
    try bench.comeHome(1)
    bench.pass(1)
    #expect(bench.position == .unlocked)
    for _ in 0..<50 {
      bench.happens(.linkUp(Bench.stranger))
      bench.happens(.requestWritten(Bench.stranger, [0, 0xC0, 1]))
      bench.happens(.linkDown(Bench.stranger))
    }
    #expect(bench.position == .unlocked && bench.turns.count == 1)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(11)
    #expect(bench.position == .locked && bench.turns.count == 2)
  }

  @Test("attack 32: who knows a phone's public key or a lock's address can't take the phone's place") func place()
    throws
  {
    var bench = try Bench()
    try bench.comeHome(1)
    let thief = Bench.PrivateKey()
    bench.happens(.linkUp(Bench.stranger))
    // With the owner's public key as its own, a Noise message can't be made; with another key it is a stranger's.
    try bench.command(.lock, 2, key: thief, over: Bench.stranger)
    #expect(bench.refusals.last == .notEnrolled && bench.turns.count == 1)
    // Under the owner's address, with a bond or not.
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.lock, 3, key: thief, over: Bench.alice)
    #expect(bench.refusals.last == .notEnrolled && bench.turns.count == 1)
  }

  @Test("attack 17: the log can be read by every owner, and no phone keeps a record from another") func everyOwner()
    throws
  {
    var bench = try Bench()
    bench.finishesTurns = true
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.unlock, 1)
    bench.pass(1)
    var ends: [LogHead] = []
    for phone in 0...1 {
      bench.happens(.offerRead(phone == 0 ? Bench.alice : Bench.bob))
      var conversation = try bench.conversation(by: phone)
      let reply = try bench.ask(
        LockRequest.log(from: 1, count: 32).encoded, in: &conversation, over: phone == 0 ? Bench.alice : Bench.bob)
      let page = try LogPage(decoding: try #require(reply).body)
      #expect(page.records == bench.log.map(\.encoded))
      ends.append(page.end(using: SwiftCryptography.self))
    }
    #expect(ends[0] == ends[1])
  }
}
