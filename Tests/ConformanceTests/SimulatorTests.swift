import BlueZConformance
import Foundation
import ProcessTesting
import Testing

/// The whole suite on bluez-simulator, compared with the recorded behaviour of bluetoothd.
@Suite struct SimulatorTests {
  /// Cases newer than the record. Only `make test-bluez` compares them with bluetoothd, until a run of it is recorded
  /// (docs/bluez.md, "Where the simulator differs").
  private static let unrecorded: Set<String> = []

  private static let programs = Bundle.module.bundleURL.deletingLastPathComponent().path

  @Test(
    "H4: every case of the suite holds on the simulator, which differs from bluetoothd as explained and not otherwise",
    .timeLimit(.minutes(15)))
  func simulator() async throws {
    let file = "/tmp/latchkey-conformance-\(UUID().uuidString).txt"
    defer { unlink(file) }
    let run = try await TestProcess.run("\(Self.programs)/bluez-conformance", ["simulator", "--transcript", file])
    #expect(run.status == 0, "\(run.output)\(run.errors)")
    var seen = try Transcript(text: String(contentsOfFile: file, encoding: .utf8))
    #expect(seen.cases.map(\.name) == ConformanceCase.all.map(\.name))
    let record = try #require(
      Bundle.module.path(forResource: "bluetoothd-5.82", ofType: "txt", inDirectory: "Transcripts"))
    let recorded = try Transcript(text: String(contentsOfFile: record, encoding: .utf8))
    #expect(Self.unrecorded.isDisjoint(with: recorded.cases.map(\.name)), "they are recorded")
    seen.cases.removeAll { Self.unrecorded.contains($0.name) }
    let verdict = Verdict(
      Comparison.differences(simulator: seen, bluetoothd: recorded), explanations: Explanation.known)
    if !verdict.isGood { Issue.record("\(verdict.faults)") }
  }
}
