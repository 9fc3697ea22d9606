import LockFirmware
import LockProtocol
import Testing

/// Switches that show the bolt between its ends though no motor turned it, and no driver speaks of a hand.
@Suite("A bolt that is found half way") struct SlippedBoltTests {
  @Test("L6: a bolt that a hand opens past the middle is not locked by itself, with or without a word of the hand")
  func opened() throws {
    var bench = try Bench()
    bench.happens(.boltFound(.between))
    bench.pass(0.7)
    bench.happens(.boltFound(.unlocked))
    bench.pass(60)
    #expect(bench.turns.isEmpty)
    #expect(bench.log.map(\.cause) == [.unexplained])
  }

  @Test("L6: a switch that flickers locks no door, and takes back nothing that was due") func flicker() throws {
    for relockDelay in [nil, 30_000] as [Int64?] {
      var bench = try Bench { $0.relockDelayMilliseconds = relockDelay }
      bench.happens(.boltTurnedByHand(.unlocked))
      bench.pass(20)
      bench.happens(.boltFound(.between))
      bench.pass(0.05)
      bench.happens(.boltFound(.unlocked))
      bench.pass(9)
      #expect(bench.turns.isEmpty)
      bench.pass(5)
      #expect(bench.turns.count == (relockDelay == nil ? 0 : 1))
      #expect(bench.log.count { $0.cause == .unexplained } == 0)
    }
  }

  @Test("L6: a bolt that stays half way is locked") func staysHalfWay() throws {
    var bench = try Bench()
    bench.happens(.boltFound(.between))
    bench.pass(11)
    #expect(bench.turning == .locked)
  }

  @Test("attack 43: a bolt that is moved half way and back, with the door opened meanwhile or slowly, is in the log")
  func picked() throws {
    for opensDoor in [true, false] {
      var bench = try Bench()
      bench.happens(.boltFound(.between))
      if opensDoor {
        bench.pass(0.3)
        bench.move(door: .open)
        #expect(bench.alarms == [.doorForcedOpen])
        bench.pass(0.3)
        bench.move(door: .closed)
      } else {
        bench.pass(3)
      }
      bench.happens(.boltFound(.locked))
      #expect(bench.log.contains { $0.kind == .movement && $0.cause == .unexplained && $0.target == .locked })
    }
  }

  @Test("L6: privacy ends when somebody unlocks the bolt, also if no driver says that it was a hand") func privacy()
    throws
  {
    var bench = try Bench()
    bench.happens(.modeSet(.privacy))
    bench.happens(.boltFound(.unlocked))
    #expect(bench.firmware.mode == .normal && bench.mode == .normal)
  }

  @Test("L6: in passage mode, a bolt that jammed half way is taken to its end when everybody has left") func passage()
    throws
  {
    var bench = try Bench()
    bench.happens(.modeSet(.passage))
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 1)
    bench.turning = nil
    bench.happens(.boltStopped(.between))
    bench.pass(60)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(60)
    #expect(bench.turning == .locked)
  }
}
