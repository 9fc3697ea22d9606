import LockCryptography
import LockFirmware
import LockProtocol
import Testing

@Suite("Lock firmware") struct FirmwareTests {
  @Test("L2: an enrolled phone's one write unlocks, and its answer says so") func unlock() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(.unlock, 42)
    #expect(bench.responses == [true])
    #expect(bench.turning == .unlocked)
    #expect(bench.firmware.lockState == .notFullyLocked)
    #expect(bench.answers.isEmpty)
    bench.finishTurn()
    let answer = try bench.answer(session)
    #expect(
      answer
        == LockAnswer(result: .done, lockState: .unlocked, doorState: .closed, operation: 42, logIndex: 2))
    #expect(bench.log.map(\.kind) == [.movement, .outcome])
    #expect(bench.log[0].phone == Array(bench.keys[0].publicKey.rawRepresentation))
  }

  @Test("A record is durable before the bolt turns") func recordFirst() throws {
    var bench = try Bench()
    bench.storesAtOnce = false
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 1)
    #expect(bench.responses == [true])
    #expect(bench.turns.isEmpty)
    #expect(bench.unstored.map(\.kind) == [.movement])
    bench.pass(3)
    #expect(bench.turns.isEmpty)
    bench.store()
    #expect(bench.turns.map(\.target) == [.unlocked])
    #expect(bench.turns[0].logCount == 1)
  }

  @Test("A log that can't be written stops the bolt, and the phone may ask again") func logFails() throws {
    var bench = try Bench()
    bench.storesAtOnce = false
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(.unlock, 1)
    bench.unstored = []
    bench.happens(.recordFailed(1))
    #expect(try bench.answer(session).result == .failed)
    #expect(bench.turns.isEmpty)
    #expect(bench.firmware.nextRecordIndex == 1)
    bench.storesAtOnce = true
    try bench.command(.unlock, 1)
    #expect(bench.turns.count == 1)
    #expect(bench.log.map(\.index) == [1])
  }

  @Test("L2: the door locks when an authenticated phone's link is lost") func leaving() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(9)
    #expect(bench.turns.count == 1)
    bench.pass(2)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
    bench.finishTurn()
    #expect(bench.firmware.lockState == .locked)
    #expect(bench.log.last?.cause == .leaving)
    bench.pass(86400)
    #expect(bench.turns.count == 2)
    #expect(bench.firmware.nextDeadline == nil)
  }

  @Test("L2: with the door open it locks when the door shuts") func leavingThroughOpenDoor() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.move(door: .open)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(3600)
    #expect(bench.turns.count == 1)
    bench.move(door: .closed)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("L2: a phone that announces itself within the delay keeps the door as it is") func backInTime() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(5)
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.status, 0)
    bench.pass(60)
    #expect(bench.turns.count == 1)
  }

  @Test("L4: a link alone proves nothing: it prevents no locking, its loss locks nothing") func linkIsNobody() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkUp(Bench.stranger))
    bench.happens(.linkDown(Bench.stranger))
    bench.pass(60)
    #expect(bench.turns.count == 1)
    bench.happens(.linkDown(Bench.alice))
    bench.happens(.linkUp(Bench.alice))
    bench.pass(11)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("L6: an unlocked bolt locks again after its time, but not into an open door") func relock() throws {
    var bench = try Bench { $0.relockDelayMilliseconds = 30_000 }
    try bench.comeHome(1)
    bench.move(door: .open)
    bench.pass(40)
    #expect(bench.turns.count == 1)
    bench.move(door: .closed)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
    #expect(bench.log.last?.cause == .relock)
  }

  @Test("L6: a lock command with the door open is refused") func doorOpen() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.move(door: .open)
    let session = try bench.command(.lock, 2)
    #expect(try bench.answer(session).result == .doorOpen)
    #expect(bench.turns.count == 1)
    #expect(bench.log.last?.kind == .command)
  }

  @Test("L6: a bolt that does not arrive is jammed, and locking by itself is tried again, not for ever")
  func jam() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(.unlock, 1)
    bench.pass(6)
    #expect(try bench.answer(session).result == .failed)
    #expect(bench.firmware.lockState == .notFullyLocked)
    bench.turning = nil
    try bench.command(.unlock, 2)
    bench.finishTurn()
    #expect(bench.firmware.lockState == .unlocked)
    bench.happens(.linkDown(Bench.alice))
    for _ in 0..<100 {
      bench.pass(6)
      bench.turning = nil
    }
    #expect(bench.turns.map(\.target) == [.unlocked, .unlocked, .locked, .locked, .locked, .locked])
  }

  @Test(
    "attack 36: after a crash during a turn the bolt is not fully locked, and never reported as locked",
    arguments: [true, false])
  func crashInMidTurn(_ isUnlocking: Bool) throws {
    var bench = try Bench()
    try bench.comeHome(1)
    if isUnlocking {
      try bench.command(.lock, 2)
      bench.finishTurn()
      try bench.command(.unlock, 3)
    } else {
      try bench.command(.lock, 3)
    }
    #expect(bench.turning != nil)
    bench.restart()
    #expect(bench.firmware.lockState == .notFullyLocked)
    #expect(bench.notes.contains { if case .turnWasInterrupted = $0 { true } else { false } })
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(.status, 3)
    let answer = try bench.answer(session)
    #expect(answer.result == .failed)
    #expect(answer.lockState == .notFullyLocked)
    // Then it makes itself safe.
    bench.pass(15)
    bench.finishTurn()
    #expect(bench.firmware.lockState == .locked)
  }

  @Test(
    "L7: an unlock whose record takes longer than anybody waits does not open the door for nobody; the next one does")
  func lateRecord() throws {
    for (seconds, turns) in [(19.0, 1), (21, 0), (3600, 0)] {
      var bench = try Bench()
      bench.happens(.linkUp(Bench.alice))
      bench.storesAtOnce = false
      let late = try bench.command(.unlock, 1)
      bench.pass(seconds)
      bench.storesAtOnce = true
      bench.store()
      #expect(bench.turns.count == turns, "\(seconds) s")
      guard turns == 0 else { continue }
      #expect(try bench.answer(late).result == .failed && bench.firmware.lockState == .locked)
      #expect(bench.log.map(\.kind) == [.movement, .outcome] && bench.log.last?.result == .failed)
      try bench.command(.unlock, 2)
      #expect(bench.turns.map(\.target) == [.unlocked])
    }
  }

  @Test("L6: a late lock is carried out all the same") func lateLocking() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.storesAtOnce = false
    try bench.command(.lock, 2)
    bench.pass(60)
    bench.store()
    #expect(bench.turns.last?.target == .locked)
  }

  @Test("L1: a lock that restarts while its owner is at home still locks when the owner leaves")
  func restartAtHome() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.restart()
    bench.happens(.linkRestored(Bench.alice))
    try bench.command(.status, 0)
    bench.pass(600)
    #expect(bench.turns.count == 1)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(11)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("L1: a lock that restarts after its owner left locks") func restartAfterLeaving() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.restart()
    bench.pass(31)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("L1: a link that was restored and is lost before it spoke counts as the owner's")
  func restoredLinkLost() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.restart()
    bench.happens(.linkRestored(Bench.alice))
    bench.happens(.linkDown(Bench.alice))
    bench.pass(11)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("L6: a hand on the thumb-turn is recorded, and no departure undoes it") func thumbTurn() throws {
    var bench = try Bench()
    bench.happens(.boltTurnedByHand(.unlocked))
    #expect(bench.log.map(\.cause) == [.hand])
    #expect(bench.firmware.lockState == .unlocked)
    bench.position = .unlocked
    bench.restart()
    bench.pass(600)
    #expect(bench.turns.isEmpty)
  }

  @Test("A silent central gets new offers for a while; after that there is no deadline") func idle() throws {
    var bench = try Bench()
    #expect(bench.firmware.nextDeadline == nil)
    bench.happens(.linkUp(Bench.alice))
    bench.pass(3600)
    #expect(
      bench.notes == [LockNote](repeating: .offerSent(Bench.alice), count: 1 + bench.configuration.offerRepeatCount))
    #expect(bench.firmware.nextDeadline == nil)
  }

  @Test("A record reads back as it was written, and a damaged one is rejected") func records() throws {
    let record = LockRecord(
      .movement, index: 7, unixSeconds: -1, target: .unlocked, cause: .phone, result: .done,
      phone: [UInt8](0..<32), operation: .max)
    #expect(record.encoded.count == LockRecord.byteCount)
    #expect(try LockRecord(decoding: record.encoded) == record)
    #expect(throws: LockMessageError.wrongLength) { try LockRecord(decoding: record.encoded + [0]) }
    #expect(throws: LockMessageError.unknownVersion) { try LockRecord(decoding: [9] + record.encoded.dropFirst()) }
    #expect(throws: LockMessageError.unknownValue) {
      try LockRecord(decoding: [1, 9] + record.encoded.dropFirst(2))
    }
  }
}
