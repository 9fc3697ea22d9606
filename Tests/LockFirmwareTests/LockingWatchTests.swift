import LockFirmware
import LockProtocol
import Testing

/// Whom the bolt itself shows to have left, where no sensor shows the door.
@Suite("Who leaves when the bolt is locked") struct LockingWatchTests {
  /// Every way to lock a door beside a phone.
  enum Locking: CaseIterable { case key, command, relock }

  /// A phone is at home, the bolt is open, and nobody has moved for a while.
  private func atHome(_ change: (inout LockConfiguration) -> Void = { _ in }) throws -> Bench {
    var bench = try Bench(change)
    bench.finishesTurns = true
    try bench.comeHome(1)
    bench.pass(300)
    return bench
  }

  private func turnByHand(_ bench: inout Bench, to position: BoltPosition, from side: HandSide = .unknown) {
    bench.position = position
    bench.happens(.boltTurnedByHand(position, from: side))
  }

  private func locked(by locking: Locking) throws -> Bench {
    var bench = try atHome {
      if locking == .relock { $0.relockDelayMilliseconds = 20_000 }
    }
    switch locking {
    case .key: turnByHand(&bench, to: .locked)
    case .command:
      bench.happens(.offerRead(Bench.alice))
      try bench.command(.lock, 50)
      bench.pass(1)
    case .relock:
      turnByHand(&bench, to: .unlocked)
      bench.pass(21)
    }
    #expect(bench.position == .locked)
    #expect(bench.firmware.isLockedAtHome == true)
    return bench
  }

  /// The phone comes back and says that it saw itself leave.
  private func comesBack(_ bench: inout Bench) throws -> LockResult {
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(.unlockIfLeft, 77)
    bench.finishTurn()
    return try bench.answer(session).result
  }

  @Test("L2: whoever locks the door and goes is believed to have left", arguments: Locking.allCases)
  func goes(_ locking: Locking) throws {
    var bench = try locked(by: locking)
    bench.pass(60)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(86_400)
    #expect(try comesBack(&bench) == .done)
  }

  @Test(
    "L7, A1: whoever is still here minutes later has stayed, and a dead radio opens nothing",
    arguments: Locking.allCases)
  func stays(_ locking: Locking) throws {
    var bench = try locked(by: locking)
    bench.pass(180)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(600)
    #expect(try comesBack(&bench) == .lockedAtHome)
  }

  @Test("L7, A1: who was seen to leave is not any more once the bolt has moved") func movedSince() throws {
    var bench = try locked(by: .key)
    bench.pass(40)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(3600)
    // Somebody comes in with a key and locks behind them, perhaps this phone's owner, whose phone is off.
    turnByHand(&bench, to: .unlocked)
    bench.pass(5)
    turnByHand(&bench, to: .locked)
    try announce(&bench)
    bench.pass(600)
    #expect(try comesBack(&bench) == .lockedAtHome)
  }

  /// A phone says that it is here, so that the bolt counts as locked at home.
  private func announce(_ bench: inout Bench) throws {
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.status, 0)
    bench.happens(.linkDown(Bench.alice))
  }

  @Test("L7, A1: a bolt that is locked from inside, or of a home with another way out, shows no leaving")
  func proof() throws {
    for isInside in [true, false] {
      var bench = try atHome { $0.isOnlyWayOut = isInside }
      turnByHand(&bench, to: .locked, from: isInside ? .inside : .outside)
      bench.pass(40)
      bench.happens(.linkDown(Bench.alice))
      bench.pass(3600)
      #expect(try comesBack(&bench) == (isInside ? .somebodyInside : .lockedAtHome))
    }
  }

  @Test("L7: what is noted of a turn by hand says on which side of the door it was", arguments: HandSide.allCases)
  func side(_ side: HandSide) throws {
    var bench = try atHome()
    turnByHand(&bench, to: .locked, from: side)
    let sides = bench.notes.compactMap { note in
      if case .boltMoved(.locked, .hand, let side, _) = note { side } else { nil }
    }
    #expect(sides == [side])
    // Neither is a turn of the motor a hand's.
    let before = bench.notes.count
    bench.happens(.offerRead(Bench.alice))
    try bench.command(.unlock, 50)
    bench.finishTurn()
    for note in bench.notes.dropFirst(before) {
      if case .boltMoved(_, _, let side, _) = note { #expect(side == nil) }
    }
  }

  @Test("L7, A1: nor does a phone that came only after the bolt was locked, or whose loss nobody saw") func unseen()
    throws
  {
    var bench = try locked(by: .key)
    bench.pass(20)
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.status, 0, by: 1)
    bench.happens(.linkDown(Bench.bob))
    bench.pass(600)
    bench.happens(.linkUp(Bench.bob))
    let session = try bench.command(.unlockIfLeft, 78, by: 1)
    bench.finishTurn()
    #expect(try bench.answer(session, by: 1).result == .lockedAtHome)

    bench = try locked(by: .key)
    bench.pass(20)
    bench.restart()
    bench.pass(600)
    #expect(try comesBack(&bench) == .lockedAtHome)
  }

  @Test(
    "L7: a phone beside a bolt that is locked is asked to look at its signal, soon, and while somebody may be leaving")
  func looks() throws {
    for isByHand in [true, false] {
      var bench = try atHome()
      func offers() -> Int { bench.notes.count { if case .offerSent = $0 { true } else { false } } }
      var before = offers()
      if isByHand {
        turnByHand(&bench, to: .locked)
        bench.pass(0.1)
        #expect(offers() == before + 1)
      } else {
        bench.happens(.offerRead(Bench.alice))
        try bench.command(.lock, 50)
        bench.pass(2)
        #expect(offers() == before + 2, "one comes with the answer, and needs none itself")
      }
      before = offers()
      bench.pass(60)
      #expect((5...7).contains(offers() - before))
      bench.pass(60)
      before = offers()
      bench.pass(3600)
      #expect(offers() == before, "nobody is leaving any more")
    }
  }
}
