import LockFirmware
import LockProtocol
import ProcessTesting
import Testing

/// A start that does not see all of the log, or not yet its bolt.
@Suite("What a lock knows after a restart", .serialized, .ownThread) struct LongMemoryTests {
  private func result(_ kind: LockCommand.Kind, _ operation: UInt64, _ bench: inout Bench) throws -> LockResult {
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(kind, operation)
    bench.finishTurn()
    return try bench.answer(session).result
  }

  /// Records of which a start needs none.
  private func chatter(_ bench: inout Bench, _ count: Int = 300) {
    for _ in 0..<count / 2 {
      bench.happens(.batteryChanged(5))
      bench.happens(.batteryChanged(90))
    }
  }

  @Test("L6: however many records follow, a lock knows that somebody is inside, and that it was locked at home")
  func insideAndAtHome() throws {
    var bench = try Bench()
    bench.happens(.boltTurnedByHand(.unlocked, from: .inside))
    bench.happens(.boltTurnedByHand(.locked, from: .inside))
    chatter(&bench)
    bench.restart()
    #expect(try result(.unlockUnlessInside, 1, &bench) == .somebodyInside)
    bench.happens(.boltTurnedByHand(.unlocked, from: .outside))
    bench.happens(.linkDown(Bench.alice))
    bench.happens(.boltTurnedByHand(.locked, from: .outside))
    chatter(&bench)
    bench.restart()
    #expect(try result(.unlockUnlessHome, 2, &bench) == .lockedAtHome)
    #expect(try result(.unlockUnlessInside, 3, &bench) == .done)
  }

  @Test(
    "L6: nor does a forced door become an open one, an interrupted turn go without its end, or an owner be forgotten")
  func doorTurnAndOwner() throws {
    var forced = try Bench()
    forced.move(door: .open)
    chatter(&forced)
    forced.restart()
    #expect(forced.firmware.doorState == .forcedOpen)

    var open = try Bench()
    open.finishesTurns = true
    try open.comeHome(1)
    chatter(&open)
    open.restart()
    open.pass(31)
    #expect(open.turns.map(\.target) == [.unlocked, .locked], "its owner has gone meanwhile")

    var hand = try Bench()
    try hand.comeHome(1)
    hand.happens(.linkDown(Bench.alice))
    hand.pass(11)
    hand.finishTurn()
    hand.happens(.linkUp(Bench.alice))
    try hand.command(.status, 0)
    hand.happens(.boltTurnedByHand(.unlocked, from: .inside))
    hand.position = .unlocked
    chatter(&hand)
    hand.restart()
    hand.pass(31)
    #expect(hand.turning == .locked, "who was here when a hand opened it has gone meanwhile")
  }

  @Test("L6: a mechanism that is slow at a lock's start makes it forget nothing, and no movement be recorded")
  func slowMechanism() throws {
    var bench = try Bench()
    bench.happens(.boltTurnedByHand(.unlocked, from: .inside))
    bench.happens(.boltTurnedByHand(.locked, from: .inside))
    bench.restart(isKnown: false)
    bench.happens(.mechanismFailed)
    #expect(bench.firmware.lockState == .notFullyLocked)
    #expect(try result(.unlockUnlessInside, 1, &bench) != .done)
    bench.pass(20)
    let movements = bench.log.count { $0.kind == .movement }
    bench.happens(.mechanismRestored(.locked, .closed))
    #expect(bench.firmware.lockState == .locked)
    #expect(bench.log.count { $0.kind == .movement } == movements)
    #expect(bench.firmware.alarms.isEmpty)
    #expect(try result(.unlockUnlessInside, 2, &bench) == .somebodyInside)
  }

  @Test("L6: an open bolt, and an open door, are the same to a slow mechanism as to a quick one") func slowAndOpen()
    throws
  {
    for isKnown in [true, false] {
      var bench = try Bench()
      bench.happens(.boltTurnedByHand(.unlocked, from: .inside))
      bench.position = .unlocked
      bench.move(door: .open)
      bench.restart(isKnown: isKnown)
      if !isKnown {
        bench.happens(.mechanismFailed)
        bench.pass(7)
        bench.happens(.mechanismRestored(.unlocked, .open))
      }
      #expect(bench.firmware.doorState == .open)
      bench.move(door: .closed)
      bench.pass(60)
      #expect(bench.turns.isEmpty && bench.firmware.alarms.isEmpty, "nobody's phone is missed")
    }
  }

  @Test("L6: a turn that the power cut interrupted has its end as soon as the bolt is seen") func slowAfterTurn() throws
  {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 1)
    bench.position = .unlocked
    bench.restart(isKnown: false)
    bench.happens(.mechanismFailed)
    bench.happens(.mechanismRestored(.unlocked, .closed))
    #expect(bench.log.last { $0.kind == .outcome }?.result == .done)
    #expect(bench.log.count { $0.cause == .unexplained && $0.kind == .movement } == 0)
  }

  @Test("L6: a new lock whose very first turn was interrupted finds its bolt where it was, and explains it")
  func firstTurn()
    throws
  {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 1)
    bench.position = .locked
    bench.restart()
    #expect(bench.log.map(\.kind) == [.movement, .outcome])
    #expect(bench.log.last?.result == .failed)
  }
}
