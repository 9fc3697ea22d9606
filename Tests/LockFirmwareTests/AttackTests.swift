import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import ProcessTesting
import RandomTesting
import Testing

@Suite("Attacks on the lock", .serialized, .ownThread) struct AttackTests {
  @Test(
    "attack 1: a captured write opens nothing on a later link, also if the lock was not told of the first one's end",
    arguments: [true, false])
  func replayLater(isEndTold: Bool) throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var session = try bench.session(Bench.alice, key: bench.keys[0])
    let captured = try session.seal(LockCommand(.unlock, operation: 1), using: &bench.cryptography)
    if isEndTold { bench.happens(.linkDown(Bench.alice)) }
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.commandWritten(Bench.alice, captured))
    bench.happens(.linkUp(Bench.stranger))
    bench.happens(.commandWritten(Bench.stranger, captured))
    #expect(bench.responses == [false, false])
    #expect(bench.refusals == [.authenticationFailed, .authenticationFailed])
    #expect(bench.turns.isEmpty)
    #expect(bench.log.isEmpty)
  }

  @Test("attack 2: a write delivered twice turns the bolt once") func duplicate() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var session = try bench.session(Bench.alice, key: bench.keys[0])
    let write = try session.seal(LockCommand(.unlock, operation: 1), using: &bench.cryptography)
    bench.happens(.commandWritten(Bench.alice, write))
    bench.happens(.commandWritten(Bench.alice, write))
    bench.finishTurn()
    bench.happens(.commandWritten(Bench.alice, write))
    // It is the same command, so it is answered as before, by the very same bytes.
    #expect(bench.responses == [true, true, true])
    #expect(bench.answers[1]?.count == 2)
    #expect(Set(bench.answers[1] ?? []).count == 1)
    #expect(bench.turns.count == 1)
    #expect(bench.notes.count { if case .commandAccepted = $0 { true } else { false } } == 1)
  }

  @Test(
    "attack 2: an accepted write uses up the offers of its time: after another command it is refused, and so is another write"
  )
  func usedUp() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var session = try bench.session(Bench.alice, key: bench.keys[0])
    let write = try session.seal(LockCommand(.unlock, operation: 1), using: &bench.cryptography)
    var other = try bench.session(Bench.alice, key: bench.keys[0])
    let kept = try other.seal(LockCommand(.unlock, operation: 2), using: &bench.cryptography)
    bench.happens(.commandWritten(Bench.alice, write))
    bench.finishTurn()
    // What was jammed while the owner's phone wrote another for the same offer.
    bench.happens(.commandWritten(Bench.alice, kept))
    try bench.command(.lock, 3)
    bench.finishTurn()
    bench.happens(.commandWritten(Bench.alice, write))
    #expect(bench.responses == [true, false, true, false])
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("attack 3: no offer is ever made twice") func freshOffers() throws {
    var bench = try Bench()
    var seen: [[UInt8]] = []
    for index in 0..<50 {
      bench.happens(.linkUp(Bench.alice))
      seen.append(try #require(bench.offers[1]))
      if index % 2 == 0 {
        try bench.command(.status, 0)
        seen.append(try #require(bench.offers[1]))
      }
    }
    #expect(Set(seen).count == seen.count)
  }

  @Test("attacks 4, 26: a central that fails too often must wait, longer each time") func backOff() throws {
    var bench = try Bench { $0.offerRepeatCount = 0 }
    bench.happens(.linkUp(Bench.alice))
    func garbage(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: LockService.commandByteCount) }
    for number in 0..<3 { bench.happens(.commandWritten(Bench.alice, garbage(number))) }
    let offer = bench.offers[1]
    bench.happens(.commandWritten(Bench.alice, garbage(3)))
    #expect(bench.refusals.last == .waiting)
    #expect(bench.firmware.nextDeadline?.milliseconds == bench.milliseconds + 1000)
    bench.pass(1.1)
    #expect(bench.offers[1] != offer)
    var waits: [Int64] = []
    for number in 0..<12 {
      bench.happens(.commandWritten(Bench.alice, garbage(number)))
      let deadline = try #require(bench.firmware.nextDeadline)
      waits.append((deadline.milliseconds - bench.milliseconds) / 1000)
      bench.milliseconds = deadline.milliseconds
      bench.happens(.timePassed)
    }
    #expect(waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300])
    // Reconnecting does not shorten the wait, and the right key still opens when it is over.
    bench.happens(.commandWritten(Bench.alice, garbage(0)))
    bench.offers = [:]
    bench.happens(.linkUp(Bench.alice))
    #expect(bench.offers.isEmpty)
    bench.pass(301)
    try bench.command(.unlock, 1)
    #expect(bench.turns.count == 1)
  }

  @Test("attack 26: strangers together use up their budget, and don't lock the owner out") func budget() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    let garbage = [UInt8](repeating: 1, count: LockService.commandByteCount)
    for low in 1000..<1100 as Range<UInt64> {
      let central = CentralIdentifier(high: 0, low: low)
      bench.happens(.linkUp(central))
      bench.happens(.commandWritten(central, garbage))
    }
    #expect(bench.refusals.filter { $0 == .authenticationFailed }.count == LockLimit.failuresPerWindow)
    #expect(bench.refusals.filter { $0 == .waiting }.count == 100 - LockLimit.failuresPerWindow)
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.lock, 2)
    #expect(bench.turns.last?.target == .locked)
  }

  @Test("attack 25: silent links do not take the place of new ones") func hogging() throws {
    var bench = try Bench()
    for low in 1000..<1100 as Range<UInt64> { bench.happens(.linkUp(CentralIdentifier(high: 0, low: low))) }
    try bench.comeHome(1)
    #expect(bench.turns.count == 1)
  }

  @Test("attacks 5, 6: a command in plaintext is refused, whatever its length") func plaintext() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    let plain = LockCommand(.unlock, operation: 1).encoded
    for padding in [0, 22, 32, LockService.commandByteCount - plain.count, 500] {
      bench.happens(.commandWritten(Bench.alice, plain + [UInt8](repeating: 0, count: padding)))
      bench.pass(400)
    }
    #expect(bench.responses == [Bool](repeating: false, count: 5))
    #expect(bench.turns.isEmpty)
  }

  @Test("attack 11: a command with one bit flipped is refused") func bitFlip() throws {
    var bench = try Bench()
    for bit in stride(from: 0, to: LockService.commandByteCount * 8, by: 13) {
      bench.happens(.linkUp(Bench.alice))
      var session = try bench.session(Bench.alice, key: bench.keys[0])
      var write = try session.seal(LockCommand(.unlock, operation: 1), using: &bench.cryptography)
      write[bit / 8] ^= 1 << UInt8(bit % 8)
      bench.happens(.commandWritten(Bench.alice, write))
      bench.pass(1000)
    }
    #expect(!bench.responses.contains(true))
    #expect(bench.turns.isEmpty)
  }

  @Test("attack 12: garbage of every length leaves the lock as it is", arguments: 0..<8 as Range<UInt64>)
  func fuzz(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var bench = try Bench()
    for _ in 0..<300 {
      let central = CentralIdentifier(high: 0, low: UInt64.random(in: 1...40, using: &random))
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bench.happens(.linkUp(central))
      case 1: bench.happens(.linkDown(central))
      case 2: bench.happens(.offerRead(central))
      case 3: bench.pass(Double.random(in: 0...60, using: &random))
      default:
        let count =
          Bool.random(using: &random) ? LockService.commandByteCount : Int.random(in: 0...2000, using: &random)
        let garbage = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        bench.happens(.commandWritten(central, garbage))
      }
    }
    #expect(!bench.responses.contains(true))
    #expect(bench.turns.isEmpty)
    #expect(bench.log.isEmpty)
    #expect(bench.firmware.lockState == .locked)
    // The owner still gets in.
    bench.pass(600)
    try bench.comeHome(1)
    #expect(bench.turns.count == 1)
  }

  @Test("attack 28: a write that was jammed and kept expires with its offer") func expiry() throws {
    var bench = try Bench { $0.offerRepeatCount = 0 }
    bench.happens(.linkUp(Bench.alice))
    var session = try bench.session(Bench.alice, key: bench.keys[0])
    let kept = try session.seal(LockCommand(.unlock, operation: 1), using: &bench.cryptography)
    let offer = bench.offers[1]
    bench.pass(61)
    bench.happens(.commandWritten(Bench.alice, kept))
    #expect(bench.refusals == [.offerExpired])
    // The lock makes a new offer at once, so a slow but honest phone gets in.
    #expect(bench.offers[1] != offer)
    bench.happens(.commandWritten(Bench.alice, kept))
    #expect(bench.turns.isEmpty)
    try bench.command(.unlock, 1)
    #expect(bench.turns.count == 1)
  }

  @Test("attack 29: the lock's own messages, sent back to it, are refused") func reflection() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.commandWritten(Bench.alice, try #require(bench.offers[1])))
    bench.happens(.commandWritten(Bench.alice, try #require(bench.answers[1]?.last)))
    #expect(bench.refusals == [.wrongLength, .wrongLength])
    #expect(bench.turns.count == 1)
  }

  @Test("attack 30: a phone enrolled at another lock is a stranger here") func wrongLock() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 1, key: Curve25519.KeyAgreement.PrivateKey())
    #expect(bench.refusals == [.notEnrolled])
    let elsewhere = try #require(LockIdentity([UInt8](repeating: 4, count: 16)))
    var session = try PhoneSession<SwiftCryptography>(
      offer: try #require(bench.offers[1]), identity: elsewhere, lockKey: bench.lockKey.publicKey,
      phoneKey: bench.keys[0])
    bench.happens(
      .commandWritten(Bench.alice, try session.seal(.init(.unlock, operation: 1), using: &bench.cryptography)))
    #expect(bench.refusals == [.notEnrolled, .authenticationFailed])
    #expect(bench.turns.isEmpty)
  }

  @Test("attack 35: an operation asked for again, on any link, moves the bolt once and is answered alike")
  func idempotence() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 7)
    // The link is lost during the turn. The phone comes back, and asks while the bolt is still moving.
    bench.happens(.linkDown(Bench.alice))
    bench.happens(.linkUp(Bench.alice))
    let again = try bench.command(.unlock, 7)
    bench.finishTurn()
    #expect(try bench.answer(again).result == .done)
    let status = try bench.command(.status, 7)
    #expect(try bench.answer(status).result == .done)
    try bench.command(.lock, 8)
    bench.finishTurn()
    let later = try bench.command(.unlock, 7)
    #expect(try bench.answer(later).result == .done)
    #expect(try bench.answer(later).lockState == .locked)
    // A restart does not make the lock forget either.
    bench.restart()
    bench.happens(.linkUp(Bench.alice))
    let afterRestart = try bench.command(.unlock, 7)
    #expect(try bench.answer(afterRestart).result == .done)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
    let unknown = try bench.command(.status, 9)
    #expect(try bench.answer(unknown).result == .unknownOperation)
    // Another phone's operation with the same number is a different operation.
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.unlock, 7, by: 1)
    #expect(bench.turns.count == 3)
  }

  @Test("attack 39: an answer goes to the command that it belongs to") func correlation() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.bob))
    let first = try bench.command(.unlock, 1)
    let status = try bench.command(.status, 55, by: 1)
    #expect(try bench.answer(status, by: 1).result == .unknownOperation)
    bench.finishTurn()
    #expect(try bench.answer(first).operation == 1)
    // A phone that receives the other's answer can't read it.
    var other = status
    let foreign = try #require(bench.answers[1]?.last)
    #expect(throws: LockSessionError.authenticationFailed) { try other.open(foreign) }
  }

  @Test("attack 42: two phones that arrive together turn the bolt once") func twoPhones() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.bob))
    let first = try bench.command(.unlock, 1)
    let second = try bench.command(.unlock, 1, by: 1)
    bench.finishTurn()
    #expect(try bench.answer(first).result == .done)
    #expect(try bench.answer(second, by: 1).result == .notNeeded)
    #expect(try bench.answer(second, by: 1).lockState == .unlocked)
    #expect(bench.turns.count == 1)
    // The second command's records: that it waits, and its result.
    #expect(bench.log.map(\.kind) == [.movement, .command, .command, .outcome])
    #expect(bench.log.map(\.result) == [.done, .busy, .notNeeded, .done])
  }

  @Test("L6: a command for the other way waits for the turn to end") func queued() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.unlock, 1)
    let second = try bench.command(.lock, 2, by: 1)
    #expect(bench.turns.count == 1)
    bench.finishTurn()
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
    bench.finishTurn()
    #expect(try bench.answer(second, by: 1).result == .done)
  }
}
