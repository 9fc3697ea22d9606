import LockFirmware
import LockProtocol
import Testing

/// The brake on guessing stops strangers, but no phone that has proven to be enrolled.
@Suite("The lock's brake on guessing") struct BrakeTests {
  private let garbage = [UInt8](repeating: 1, count: LockService.commandByteCount)

  /// Thirty failures by ten strangers: the budget for a minute.
  private func attack(_ bench: inout Bench) {
    for low in 1000..<1100 as Range<UInt64> {
      let central = CentralIdentifier(high: 0, low: low)
      bench.happens(.linkUp(central))
      bench.happens(.commandWritten(central, garbage))
    }
  }

  @Test("M11: strangers don't slow a phone that proved itself before the lock's restart") func restart() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.restart()
    attack(&bench)
    bench.offers = [:]
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.lock, 2)
    #expect(bench.turns.last?.target == .locked)
  }

  @Test("M11: garbage of another app on the owner's phone does not keep the owner out", arguments: [3, 30, 300])
  func garbageOnTheOwnersPhone(_ count: Int) throws {
    var bench = try Bench()
    try bench.comeHome(1)
    for _ in 0..<count { bench.happens(.commandWritten(Bench.alice, garbage)) }
    try bench.command(.lock, 2)
    #expect(bench.turns.last?.target == .locked)
    // It does not keep out a phone that has not been here yet either.
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.status, 0, by: 1)
    #expect(bench.responses.last == true)
  }

  @Test("A13: a refused command that is written again, as Command after Quick Command, is one wrong command, not two")
  func writtenAgain() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.stranger))
    func wrong(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: LockService.commandByteCount) }
    for number in 1..<UInt8(LockLimit.freeFailures) {
      for _ in 0..<3 { bench.happens(.commandWritten(Bench.stranger, wrong(number))) }
    }
    #expect(!bench.responses.contains(true) && !bench.refusals.contains(.waiting))
    bench.happens(.commandWritten(Bench.stranger, wrong(100)))
    bench.happens(.commandWritten(Bench.stranger, wrong(100)))
    #expect(bench.refusals.last == .waiting, "the limit is what it was")
    // What is written in turn was not written again.
    bench.pass(700)
    bench.happens(.offerRead(Bench.stranger))
    let count = bench.notes.count
    for number in [1, 2, 1, 2] as [UInt8] { bench.happens(.commandWritten(Bench.stranger, wrong(number))) }
    let later = bench.notes.dropFirst(count).compactMap {
      if case .commandRefused(_, let reason) = $0 { reason } else { nil }
    }
    #expect(later.last == .waiting)
  }

  @Test("A13: a command that answers an older offer does not use up the offer that is out") func staleCommand() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var stale = try bench.session(Bench.alice, key: bench.keys[0])
    let late = try stale.seal(LockCommand(.unlock, operation: 1), using: &bench.cryptography)
    // The phone's system was restarted: it subscribes again, and a write that was on its way arrives late.
    bench.happens(.linkDown(Bench.alice))
    bench.happens(.linkUp(Bench.alice))
    var current = try bench.session(Bench.alice, key: bench.keys[0])
    let good = try current.seal(LockCommand(.unlock, operation: 1), using: &bench.cryptography)
    bench.happens(.commandWritten(Bench.alice, late))
    bench.happens(.commandWritten(Bench.alice, good))
    #expect(bench.responses == [false, true])
    #expect(bench.turns.count == 1)
  }

  @Test("A13: a new offer on the same link does not invalidate a command on its way for the previous one")
  func crossing() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var session = try bench.session(Bench.alice, key: bench.keys[0])
    let onItsWay = try session.seal(LockCommand(.unlock, operation: 1), using: &bench.cryptography)
    let first = bench.offers[1]
    bench.pass(10.5)
    #expect(bench.offers[1] != first)
    bench.happens(.commandWritten(Bench.alice, onItsWay))
    #expect(bench.responses == [true])
    #expect(bench.turns.count == 1)
    // Once it has opened, it opens no more. It only gets its answer again.
    bench.finishTurn()
    bench.happens(.commandWritten(Bench.alice, onItsWay))
    #expect(bench.responses == [true, true])
    #expect(bench.turns.count == 1)
    #expect(bench.answers[1]?.count == 2 && bench.answers[1]?.first == bench.answers[1]?.last)
  }

  @Test("A13: a command on its way when the lock restarted is distinguished from one that was never sealed for it")
  func earlierRun() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var session = try bench.session(Bench.alice, key: bench.keys[0])
    let onItsWay = try session.seal(LockCommand(.status, operation: 0), using: &bench.cryptography)
    bench.restart()
    bench.happens(.linkRestored(Bench.alice))
    bench.happens(.linkUp(Bench.bob))
    bench.happens(.commandWritten(Bench.alice, onItsWay))
    #expect(bench.turns.isEmpty && bench.responses == [false])
    // The first such write is known to be late. A second one, one on a new link, and one after a readable command
    // count as failures.
    bench.happens(.commandWritten(Bench.alice, onItsWay))
    bench.happens(.commandWritten(Bench.bob, onItsWay))
    #expect(bench.refusals.map { "\($0)" } == ["earlierRun", "authenticationFailed", "authenticationFailed"])
    try bench.command(.status, 0)
    #expect(bench.responses.last == true)
  }

  @Test("A13: what comes long after the restart was not on its way") func longAfter() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.restart()
    bench.happens(.linkRestored(Bench.alice))
    bench.pass(70)
    bench.happens(.offerRead(Bench.alice))
    bench.happens(.commandWritten(Bench.alice, garbage))
    #expect(bench.refusals.map { "\($0)" } == ["authenticationFailed"])
  }

  @Test("M11: a phone that is no longer enrolled is a stranger again") func unenrolled() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    let alice = Array(bench.keys[0].publicKey.rawRepresentation)
    bench.configuration.enrolledPhones.removeAll { $0 == alice }
    bench.restart()
    bench.happens(.linkUp(Bench.alice))
    for number in 1...5 as ClosedRange<UInt8> {
      let wrong = [UInt8](repeating: number, count: LockService.commandByteCount)
      bench.happens(.commandWritten(Bench.alice, wrong))
    }
    #expect(bench.refusals.last == .waiting)
  }

  @Test("attack 26: an enrolled phone that floods with proofs can't make others strangers") func flood() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    for low in 2000..<2100 as Range<UInt64> {
      let central = CentralIdentifier(high: 0, low: low)
      bench.happens(.linkUp(central))
      try bench.command(.status, 0, by: 1, over: central)
    }
    attack(&bench)
    bench.offers[1] = nil
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.lock, 2)
    #expect(bench.turns.last?.target == .locked)
  }
}
