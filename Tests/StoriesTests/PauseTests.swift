import Journal
import JournalEvents
import Testing
import TimeTypes

@testable import Stories
@testable import Worlds

/// A world without machines, in which recording everything takes a second.
private final class SlowWorld: World {
  let run: RunFolder
  private(set) var now = Instant.zero
  private(set) var settled = 0
  let remarks: [String] = []
  let damagedLines = 0

  init(_ run: RunFolder) { self.run = run }

  func boot() {}
  func settle() {
    settled += 1
    now = now + .seconds(1)
  }
  func run(until limit: Instant, stopWhen: () throws -> Bool) throws -> Bool {
    now = max(now, limit)
    return try stopWhen()
  }
  func machine(_ name: String) throws -> any Machine { throw WorldError("there is no '\(name)'") }
  func tend() -> [(machine: String, UnexpectedEnd)] { [] }
  func readRecords() -> [JournalEntry] { [] }
}

@Suite("Pauses of a story")
struct PauseTests {
  @Test("A pause runs from the end of the step before: reading what that step recorded, once, is part of it")
  func pauses() throws {
    let scenario = try ScenarioParser.parse(
      """
      name: pauses
      machines:
        door: {position: [0, 0], apps: [lock]}
      steps:
        - pass: 5s
        - pass: 5s
        - at: +5s
          pass: 1s
        - pass: 500ms
      """, file: "pauses.yaml")
    let folder = try RunFolder(keep: nil)
    let world = SlowWorld(folder)
    let report = try ScenarioRun(scenario, .init(), world: world).tell()
    try RunFolder.remove(folder.sockets, world: folder.world)
    #expect(report.problem == nil)
    // The last pause is over before it begins.
    #expect(
      report.timeline.filter { $0.is(Recorded.Story.timePassed) }.map { Instant(nanoseconds: $0.t) }
        == [0, 6, 15, 17].map { Instant.zero + .seconds($0) })
    #expect(world.settled == 5)
  }
}
