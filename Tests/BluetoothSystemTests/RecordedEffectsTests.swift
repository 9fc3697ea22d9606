import Foundation
import ProcessTesting
import Testing

@testable import BluetoothSystem

/// What the system and the model of bluetoothd decide, effect by effect, is the same as when it was recorded. This
/// protects internal changes that must not be noticeable. To change a decision on purpose, record again and say why:
/// `LATCHKEY_RECORD_EFFECTS=1 swift test --filter RecordedEffectsTests`.
@Suite("Recorded effects", .serialized, .ownThread)
struct RecordedEffectsTests {
  /// Use all 200 while changing internals.
  private static let seeds = 1...(environment["LATCHKEY_RECORDED_SEEDS"].flatMap { Int($0) } ?? 30)
  private static let isRecording = environment["LATCHKEY_RECORD_EFFECTS"] != nil
  private static var environment: [String: String] { ProcessInfo.processInfo.environment }
  private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Recorded/effects.txt")

  @Test("Every seed's effects are those that were recorded", .timeLimit(.minutes(20)))
  func recorded() throws {
    var lines: [String] = []
    for seed in Self.seeds {
      let house = WholeSystemTests.story(seed, isRecorded: true)
      lines.append("house \(seed): \(house.digest)")
      if seed % 50 == 0 { print("recorded effects: \(seed) of \(Self.seeds.count) seeds") }
    }
    for seed in 1...8 {
      var siege = Siege(seed: UInt64(seed))
      siege.maxima.digest = EffectDigest()
      while siege.requests < 500 { siege.step() }
      lines.append("hostile app \(seed): \(siege.maxima.digest?.description ?? "")")
      var bedlam = Bedlam(seed: UInt64(seed))
      bedlam.maxima.digest = EffectDigest()
      while bedlam.messages < 1000 { bedlam.step() }
      lines.append("hostile bluetoothd \(seed): \(bedlam.maxima.digest?.description ?? "")")
    }
    if Self.isRecording {
      try FileManager.default.createDirectory(
        at: Self.file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: Self.file)
      return
    }
    let recorded = Set(try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n").map(String.init))
    let others = lines.filter { !recorded.contains($0) }
    #expect(others.isEmpty, "\(others.count) of \(lines.count) are not as recorded: \(others.prefix(8))")
  }
}
