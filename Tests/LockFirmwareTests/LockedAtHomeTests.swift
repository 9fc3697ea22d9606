import LockFirmware
import LockProtocol
import Testing

@Suite("A bolt that was locked at home") struct LockedAtHomeTests {
  /// What the lock answers a lesser approach, on a link of its own.
  private func result(_ bench: inout Bench, _ operation: UInt64) throws -> LockResult {
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(.unlockUnlessHome, operation)
    bench.finishTurn()
    return try bench.answer(session).result
  }

  @Test("L7, A1: locked by hand while a phone is here, it stays locked for a lesser approach, also over a restart")
  func byHand() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.boltTurnedByHand(.locked))
    bench.position = .locked
    bench.happens(.linkDown(Bench.alice))
    bench.pass(240)
    #expect(try result(&bench, 2) == .lockedAtHome)
    bench.happens(.linkDown(Bench.alice))
    bench.restart()
    #expect(try result(&bench, 3) == .lockedAtHome)
    #expect(bench.firmware.lockState == .locked)
    let session = try bench.command(.unlock, 4)
    bench.finishTurn()
    #expect(try bench.answer(session).result == .done, "a word, or a whole approach")
  }

  @Test("L2: what locked itself behind its owner opens to any approach, also over a restart")
  func behindItsOwner() throws {
    for isRestarted in [false, true] {
      var bench = try Bench()
      try bench.comeHome(1)
      bench.happens(.linkDown(Bench.alice))
      bench.pass(20)
      bench.finishTurn()
      #expect(bench.firmware.lockState == .locked)
      if isRestarted { bench.restart() }
      #expect(try result(&bench, 2) == .done)
    }
  }

  @Test("L7, A1: a phone that says that it is here, at a locked door, has not left") func presence() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(20)
    bench.finishTurn()
    // A jam that is over: no approach, so the phone only says that it is here.
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.status, 0)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(60)
    #expect(try result(&bench, 2) == .lockedAtHome)
  }

  @Test("L7, A1: a phone that is linked and has not spoken yet may be its owner's, in the farthest room") func silent()
    throws
  {
    var bench = try Bench()
    bench.position = .unlocked
    bench.restart()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.boltTurnedByHand(.locked))
    bench.position = .locked
    bench.happens(.linkDown(Bench.alice))
    bench.pass(240)
    #expect(try result(&bench, 2) == .lockedAtHome)
  }

  @Test("L7, A1: a hand that locks while no phone is linked may be that of somebody in a far room")
  func nobodyLinked() throws {
    var bench = try Bench()
    bench.position = .unlocked
    bench.restart()
    bench.happens(.boltTurnedByHand(.locked))
    bench.position = .locked
    bench.pass(240)
    #expect(try result(&bench, 2) == .lockedAtHome)
  }

  /// The seconds at which the lock calls on Alice's phone, which says each time that it is here.
  private func calls(_ bench: inout Bench, within seconds: Int, _ operation: UInt64) throws -> [Int] {
    var calls: [Int] = []
    for second in 1...seconds {
      let offer = bench.offers[Bench.alice.low]
      bench.pass(1)
      guard bench.offers[Bench.alice.low] != offer else { continue }
      calls.append(second)
      try bench.command(.status, 0)
    }
    return calls
  }

  @Test("L7: who is here when it is locked by hand, or the door is shut, is called on often: they may leave")
  func watch() throws {
    for way in [LockEvent.boltTurnedByHand(.locked), .doorChanged(.closed)] {
      var bench = try Bench()
      try bench.comeHome(1)
      bench.happens(.doorChanged(.open))
      bench.pass(30)
      let offer = bench.offers[Bench.alice.low]
      bench.happens(way)
      if way == .boltTurnedByHand(.locked) { bench.position = .locked }
      #expect(bench.offers[Bench.alice.low] != offer, "at once")
      try bench.command(.status, 0)
      #expect(try calls(&bench, within: 300, 3) == [10, 20, 30, 40, 50, 60, 70, 80, 90])
    }
  }

  @Test("L7: who says at a locked door that it is here is called on for a while, to be asked when it is near")
  func doubtful() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.status, 0)
    #expect(try calls(&bench, within: 300, 3) == [10, 20, 30, 40, 50, 60, 70, 80, 90])
  }

  @Test("L7: who stays is called on once an hour, and learns how weak its link is there") func hourly() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    #expect(try calls(&bench, within: 3 * 3600 + 60, 3) == [3600, 7200, 10800])
  }
}
