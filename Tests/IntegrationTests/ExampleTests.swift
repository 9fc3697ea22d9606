import Foundation
import Testing

@testable import Stories

/// The apps in Examples, in their own stories.
@Suite("The examples, with real processes", .serialized, .timeLimit(.minutes(20)))
struct ExampleTests {
  private func tell(_ example: String) async throws -> AppStory.Told {
    let report = NSTemporaryDirectory() + "/latchkey-example-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: report) }
    let told = try await AppStory.tell("\(LatchkeyCommand.package)/Examples/\(example)/story.yaml", report: report)
    #expect(told.report.kept, "\(told.output)")
    #expect(told.report.promises.filter { !$0.kept }.isEmpty, "\(told.output)")
    return told
  }

  @Test("B1, S4, S10, S12, H6: the heart-rate collector loses no value of a day, though it is reclaimed and crashes")
  func collector() async throws {
    let told = try await tell("HeartRateCollector")
    func energies(_ event: String, of app: String) -> [Int] {
      told.records(event, of: app).compactMap { $0["energy"].flatMap { Int($0) } }
    }
    let stored = energies("stored", of: "collector")
    #expect(stored == Array(1...stored.count), "a value is missing or there twice")
    #expect(stored.count >= energies("measured", of: "strap").count - 1)
  }

  @Test("B4, S5, S9, C5: the sensor's history is read whole, days after the sensor's app was removed from memory")
  func sensor() async throws {
    let told = try await tell("HistorySensor")
    let numbers = told.records("received", of: "reader").compactMap { $0["number"].flatMap { Int($0) } }
    #expect(numbers == Array(1...told.records("measured", of: "sensor").count))
  }

  @Test("C7: two pictures go over an L2CAP channel, one of them again after the receiver vanished in mid-stream")
  func pictures() async throws {
    let told = try await tell("PictureSender")
    let received = told.records("received", of: "receiver")
    #expect(received.compactMap { $0["bytes"] } == ["40000", "200000"])
    #expect(received.compactMap { $0["sum"] } == [40_000, 200_000].map { "\(Self.sum($0))" })
    // As many descriptors after a channel that ended in order as after one that was cut off. The first channel also made
    // libdispatch's own.
    let idle = told.records("idle", of: "receiver").filter { $0["transfers"] == "0" }
    #expect(idle.count == 4, "\(idle)")
    #expect(Set(idle.dropFirst().compactMap { $0["descriptors"] }).count == 1, "\(idle)")
  }

  /// What the receiver computes of a picture of this length.
  private static func sum(_ length: Int) -> Int {
    (0..<length).reduce(0) { ($0 &* 31 &+ Int(UInt8(truncatingIfNeeded: $1 &* 31 &+ $1 >> 8))) & 0xFFFF_FFFF }
  }
}
