import Journal
import JournalEvents
import Testing

@testable import Stories
@testable import Worlds

/// What is on the air, as the simulator and the air of virtual machines record it.
@Suite("Promises about the air") struct AirPromiseTests {
  private static let machines = [MachineDescription(name: "field", position: Place(x: 0, y: 0), apps: [])]

  private func entry(
    _ seconds: Int64, _ event: Recorded.Radio, _ fields: [JournalField: String] = [:], by process: String = Recorded.air
  ) -> JournalEntry {
    JournalEntry(
      t: seconds * 1_000_000_000, wall: 0, machine: "", process: process, pid: 0, level: "notice",
      event: event.rawValue,
      message: "", fields: fields.merging([.machine: "field"]) { $1 }.named)
  }

  private func judge(
    _ kind: Stories.Expectation.Kind, _ entries: [JournalEntry], _ air: AirContent = AirContent(), from first: Int = 0
  ) -> PromiseResult {
    var expectation = Stories.Expectation(kind: kind, app: nil, machines: ["field"])
    expectation.air = air
    return expectation.promise.judge(
      Evidence(entries, window: first..<entries.count, machines: Self.machines), scope: "test")
  }

  /// The controller is plugged in, and advertises from the tenth second on.
  private var advertising: [JournalEntry] {
    [
      entry(0, .controllerAttached), entry(0, .advertisingChanged, [.set: "0", .on: "false"]),
      entry(0, .scanningChanged, [.on: "false"]),
      entry(10, .advertisingChanged, [.set: "0", .on: "true", .name: "Sensor", .interval: "151.875"]),
      entry(20, .scanningChanged, [.on: "true"]), entry(30, .scanningChanged, [.on: "false"]),
      entry(110, .controllerAttached),
    ]
  }

  @Test("H1, B5, B7: what the air between virtual machines records is judged like what the simulator records")
  func air() {
    var nameless = AirContent()
    nameless.name = .absent
    var rare = AirContent()
    rare.intervalAtLeast = .seconds(1)
    #expect(judge(.onTheAir, advertising).judgement == .kept)
    #expect(judge(.onTheAir, advertising, nameless).reason.contains("'Sensor' is on the air"))
    #expect(judge(.onTheAir, advertising, rare).judgement == .broken)
    #expect(judge(.notOnTheAir, advertising).judgement == .broken)
    #expect(judge(.notOnTheAir, advertising, nameless).judgement == .kept)
    #expect(judge(.onTheAir, advertising, from: 5).judgement == .kept, "it was on the air before")
    #expect(judge(.scanned, advertising).judgement == .kept)
    #expect(judge(.notScanned, advertising).judgement == .broken)
    #expect(judge(.scanned, advertising, from: 6).judgement == .broken)
  }

  @Test("H1: an air that does not tell, and a real machine, leave promises about it not judged")
  func untold() {
    let links = [entry(0, .controllerAttached), entry(5, .linkUp)]
    for kind in [Stories.Expectation.Kind.onTheAir, .notOnTheAir, .scanned, .notScanned] {
      #expect(judge(kind, links).judgement == .notJudged)
      #expect(judge(kind, [entry(5, .linkUp, by: Recorded.bluetoothd)]).judgement == .notJudged)
    }
    let simulated = [entry(0, .bluetoothdStarted, by: Recorded.simulator), entry(9, .linkUp, by: Recorded.simulator)]
    #expect(judge(.notOnTheAir, simulated).judgement == .kept)
  }

  @Test(
    "H1, B3: for how much of the time a machine scans counts what was on before, and ends with Bluetooth",
    arguments: [(0, 9), (5, 13), (4, 11)])
  func share(first: Int, percent: Int) {
    var limits = AirContent()
    limits.scanPercentAtLeast = percent
    limits.scanPercentAtMost = percent
    let result = judge(.scanned, advertising, limits, from: first)
    #expect(result.judgement == (first == 5 ? .broken : .kept), "\(result.reason)")
    limits.scanPercentAtMost = 100
    limits.scanPercentAtLeast = percent + 1
    #expect(judge(.scanned, advertising, limits, from: first).judgement == .broken)
    // Without power it hears nothing.
    var off = advertising
    off[5] = entry(30, .adapterPowered, [.on: "false"])
    limits.scanPercentAtLeast = 0
    limits.scanPercentAtMost = 12
    #expect(judge(.scanned, off, limits, from: 4).judgement == .kept)
  }

  @Test("H1, B3: a machine that does not scan at all scans for no more of the time than it may")
  func silentScan() {
    var limits = AirContent()
    limits.scanPercentAtMost = 20
    #expect(judge(.scanned, advertising, limits, from: 6).judgement == .kept)
    limits.scanPercentAtLeast = 1
    #expect(judge(.scanned, advertising, limits, from: 6).judgement == .broken)
    limits.scanPercentAtMost = nil
    #expect(judge(.scanned, advertising, limits, from: 6).judgement == .broken)
  }
}
