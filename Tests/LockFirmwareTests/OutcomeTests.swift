import LockFirmware
import LockProtocol
import Testing

/// The outcome of a command: what the phone is told, and what the log says.
@Suite("Outcomes at the lock") struct OutcomeTests {
  @Test("M3: after a power cut during a turn, a phone that had joined it gets no success") func joinedAndCut()
    throws
  {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.unlock, 1)
    try bench.command(.unlock, 1, by: 1)
    #expect(bench.turning == .unlocked)
    bench.restart()
    #expect(bench.position == .between)
    bench.happens(.linkUp(Bench.bob))
    let status = try bench.command(.status, 1, by: 1)
    let answer = try bench.answer(status, by: 1)
    #expect(![.done, .notNeeded].contains(answer.result))
    #expect(answer.lockState == .notFullyLocked)
    #expect(!bench.log.contains { $0.result == .notNeeded })
    // It gets in with another operation number.
    try bench.command(.unlock, 2, by: 1)
    bench.finishTurn()
    #expect(bench.firmware.lockState == .unlocked)
  }

  @Test("M3: a phone that had joined a jammed turn, and the log, learn that it failed") func joinedAndJammed()
    throws
  {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.unlock, 1)
    let second = try bench.command(.unlock, 1, by: 1)
    bench.pass(6)
    #expect(try bench.answer(second, by: 1).result == .failed)
    let bob = Array(bench.keys[1].publicKey.rawRepresentation)
    #expect(bench.log.last { $0.phone == bob }?.result == .failed)
    bench.restart()
    bench.happens(.linkUp(Bench.bob))
    let status = try bench.command(.status, 1, by: 1)
    #expect(try bench.answer(status, by: 1).result == .failed)
  }

  @Test("M3: a phone that had joined a turn that succeeded hears so after a restart, too") func joinedAndDone() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.unlock, 1)
    try bench.command(.unlock, 1, by: 1)
    bench.finishTurn()
    bench.restart()
    bench.happens(.linkUp(Bench.bob))
    let status = try bench.command(.status, 1, by: 1)
    #expect(try bench.answer(status, by: 1).result == .notNeeded)
  }

  @Test("Commands that join one turn are bounded") func joinsAreBounded() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 1)
    for operation in 2..<200 as Range<UInt64> {
      bench.happens(.linkUp(Bench.alice))
      try bench.command(.unlock, operation)
    }
    #expect(bench.log.count < 300)
    let records = bench.log.count
    bench.finishTurn()
    // What is written at the end of a turn does not grow with the number of phones that asked.
    #expect(bench.log.count - records <= 17)
  }

  @Test("L10: one phone's operations don't push another's out of the lock's memory") func memoryPerPhone() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.unlock, 1)
    bench.finishTurn()
    for operation in 1...500 as ClosedRange<UInt64> { try bench.command(.unlock, operation, by: 1) }
    let status = try bench.command(.status, 1)
    #expect(try bench.answer(status).result == .done)
    // The same holds for the phone's own latest command.
    let latest = try bench.command(.status, 500, by: 1)
    #expect(try bench.answer(latest, by: 1).result == .notNeeded)
  }
}
