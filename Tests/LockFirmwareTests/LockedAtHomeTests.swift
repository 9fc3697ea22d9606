import LockFirmware
import LockProtocol
import Testing

@Suite("A bolt that was locked at home") struct LockedAtHomeTests {
  /// The lock's answer to a lesser approach, on a separate link.
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

  @Test("L7, A1: a phone that announces itself at a locked door has not left") func presence() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(20)
    bench.finishTurn()
    // A jam that is over is not an approach, so the phone only says that it is here.
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
}
