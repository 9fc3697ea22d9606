import LockFirmware
import LockProtocol
import Testing

/// A bolt that a hand opened, and a lock whose power fails before its last owner has gone.
@Suite("An open bolt over a restart") struct RestartedAtHomeTests {
  /// A hand opens the bolt while Alice's phone is linked.
  private func opened() throws -> Bench {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.status, 0)
    bench.position = .unlocked
    bench.happens(.boltTurnedByHand(.unlocked, from: .inside))
    return bench
  }

  @Test("L2: a bolt that a hand opened locks behind its owner, also if the lock restarts as they go")
  func leavesMeanwhile() throws {
    var bench = try opened()
    bench.restart()
    bench.pass(29)
    #expect(bench.turns.isEmpty, "a phone that stayed is back by then")
    bench.pass(2)
    #expect(bench.turns.map(\.target) == [.locked])
  }

  @Test("L2: it stays open for an owner who stays, over each restart, and locks when they go") func stays() throws {
    var bench = try opened()
    for _ in 0..<2 {
      bench.restart()
      bench.happens(.linkUp(Bench.alice))
      try bench.command(.status, 0)
      bench.pass(3600)
      #expect(bench.turns.isEmpty)
    }
    bench.happens(.linkDown(Bench.alice))
    bench.pass(11)
    #expect(bench.turns.map(\.target) == [.locked])
  }

  @Test("L2: it locks behind the last one: who is back after the restart keeps it open") func another() throws {
    var bench = try opened()
    bench.restart()
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.status, 0, by: 1, over: Bench.bob)
    bench.pass(3600)
    #expect(bench.turns.isEmpty)
    bench.happens(.linkDown(Bench.bob))
    bench.pass(11)
    #expect(bench.turns.map(\.target) == [.locked])
  }

  @Test("L2: a restored link that is lost before its phone spoke counts as the owner's") func restored()
    throws
  {
    var bench = try opened()
    bench.restart()
    bench.happens(.linkRestored(Bench.alice))
    bench.pass(15)
    #expect(bench.turns.isEmpty)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(11)
    #expect(bench.turns.map(\.target) == [.locked])
  }

  @Test("L2: a restored link over which nobody proves themselves keeps the bolt open no longer than no link at all")
  func silent() throws {
    var bench = try opened()
    bench.happens(.linkUp(Bench.bob))
    bench.restart()
    bench.happens(.linkRestored(Bench.alice))
    bench.happens(.linkRestored(Bench.bob))
    bench.pass(20)
    // The one that may be the owner's is lost, and so may the other be.
    bench.happens(.linkDown(Bench.alice))
    bench.pass(9)
    #expect(bench.turns.isEmpty)
    bench.pass(2)
    #expect(bench.turns.map(\.target) == [.locked])
  }

  @Test("L2: a link that was restored and is somebody else's keeps no door open when its owner leaves")
  func somebodyElse() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkUp(Bench.bob))
    bench.restart()
    bench.happens(.linkRestored(Bench.alice))
    bench.happens(.linkRestored(Bench.bob))
    try bench.command(.status, 0)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(11)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("L2: nor does the restored link of a guest who is too early, whether or not the owner has spoken since")
  func earlyGuest() throws {
    for ownerSpeaks in [true, false] {
      var party = try GuestParty()
      var schedule = GrantSchedule.always
      schedule.from = GuestParty.monday + 86_400 * 365
      let early = try party.grant(schedule)
      party.bench.happens(.offerRead(Bench.alice))
      try party.bench.command(.unlock, 1)
      party.bench.pass(2)
      party.bench.restart()
      party.bench.happens(.linkRestored(Bench.alice))
      party.bench.happens(.linkRestored(party.guest))
      if ownerSpeaks { try party.bench.command(.status, 0) }
      #expect(try party.announce(with: early.encoded) != .done)
      party.bench.happens(.linkDown(Bench.alice))
      party.bench.pass(11)
      #expect(party.bench.turns.map(\.target) == [.unlocked, .locked], "\(ownerSpeaks)")
    }
  }

  @Test("L2: a phone that came after a hand had opened the bolt locks it behind itself") func cameLater()
    throws
  {
    var bench = try Bench()
    bench.position = .unlocked
    bench.happens(.boltTurnedByHand(.unlocked, from: .inside))
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.status, 0)
    bench.restart()
    bench.pass(31)
    #expect(bench.turns.map(\.target) == [.locked])
  }

  @Test("L2: a hand that opens the bolt again with no phone near is not undone by a restart") func openedAgain() throws
  {
    var bench = try opened()
    bench.happens(.linkDown(Bench.alice))
    bench.pass(11)
    bench.finishTurn()
    #expect(bench.firmware.lockState == .locked)
    bench.position = .unlocked
    bench.happens(.boltTurnedByHand(.unlocked, from: .inside))
    for _ in 0..<2 {
      bench.restart()
      bench.pass(3600)
    }
    #expect(bench.turns.count == 1)
  }

  @Test("L2: an owner's command to lock that jams changes nothing of that") func jammed() throws {
    var bench = try opened()
    try bench.command(.lock, 1)
    bench.turning = nil
    bench.position = .unlocked
    bench.happens(.boltStopped(.unlocked))
    bench.restart()
    bench.pass(31)
    #expect(bench.turns.map(\.target) == [.locked, .locked])
  }

  @Test("L6: whoever reset the lock is not locked out by its next start", arguments: [false, true])
  func reset(byPhone: Bool) throws {
    var bench = try Bench()
    if byPhone {
      try bench.comeHome(1)
    } else {
      bench = try opened()
    }
    let turns = bench.turns.count
    bench.happens(.resetButton(isPressed: true))
    bench.pass(10)
    #expect(bench.log.contains { $0.isFactoryReset })
    bench.restart()
    bench.pass(3600)
    #expect(bench.turns.count == turns)
  }
}
