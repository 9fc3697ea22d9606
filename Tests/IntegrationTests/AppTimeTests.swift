import Foundation
import Testing

@testable import Stories

/// Apps that know nothing of stories, in the time of a story.
@Suite("Apps live in the time of their story, with real processes", .serialized, .timeLimit(.minutes(15)))
struct AppTimeTests {
  private func story(_ app: String, arguments: [String], keepAlive: Bool = true, _ chapters: String) -> String {
    """
    name: the time of an app
    seed: 1
    days: 1
    radio: clear
    apps:
      \(app):
        info plist:
          CFBundleIdentifier: org.example.\(app)
          CFBundleExecutable: clock-app
          UIBackgroundModes: [bluetooth-central]
          LatchkeyKeepAlive: \(keepAlive)
        arguments: [\(arguments.joined(separator: ", "))]
    \(AppStory.band.yaml)
    machines:
      wrist: {position: [0, 0], apps: [band]}
      phone: {position: [1, 0], apps: [\(app)]}
    chapters:
    \(chapters)
    promises: [nothing-crashed]
    """
  }

  private func tell(_ story: String) async throws -> AppStory.Told {
    let (report, outcome) = try await LatchkeyCommand.prove(story)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    return AppStory.Told(report: report, output: outcome.output + "\n" + outcome.errors)
  }

  private func milliseconds(_ record: [String: String]?) throws -> Int {
    try #require(record?["at"].flatMap { Int($0) })
  }

  /// The seconds that each way of waiting takes.
  private static let seconds = [
    "timer": 600, "source": 900, "wall": 950, "after": 1000, "task": 1100, "suspending": 1200, "continuous": 1300,
    "sleep": 1400, "usleep": 1450, "semaphore": 1500, "group": 1600, "item": 1650, "condition": 1700, "lock": 1800,
    "loop": 1900, "poll": 2000, "select": 2100, "child": 2300, "signaller": 2400, "signalled": 2400,
  ]

  @Test("Every timer, sleep and wait of an app takes the story's time, over days, and a seed tells one story")
  func waits() async throws {
    let waits = 100
    let text = story(
      "timekeeper", arguments: ["waits=\(waits)"],
      """
        - name: days
          steps:
            - pass: 72h
      """)
    var fingerprints: [String] = []
    for _ in 1...2 {
      let told = try await tell(text)
      let beginning = try milliseconds(told.records("began", of: "timekeeper").first)
      var counts: [String: Int] = [:]
      for record in told.records("waited", of: "timekeeper") {
        let way = try #require(record["way"])
        let number = try #require(record["number"].flatMap { Int($0) })
        let took = try milliseconds(record) - beginning
        #expect(abs(took - Self.seconds[way, default: 0] * 1000 * number) < 50, "\(way) \(number): \(took) ms")
        counts[way, default: 0] += 1
      }
      #expect(counts == Self.seconds.mapValues { min(waits, 72 * 3600 / $0) }, "\(told.output)")
      fingerprints.append("\(try #require(told.report.fingerprint))")
    }
    #expect(fingerprints[0] == fingerprints[1])
  }

  @Test("Values have the story's dates, and a suspended app's timer fires when the app is resumed")
  func suspended() async throws {
    let text = story(
      "collector", arguments: ["collects=yes", "rests=7"], keepAlive: false,
      """
        - name: suspended
          steps:
      \(AppStory.left("collector", until: "value"))
            - pass: 2h
        - name: dead
          steps:
            - reclaim app: {machine: phone, app: collector}
            - pass: 2h
          promises:
            - relaunched: {app: collector, restoring: [clock], exactly: 1}
        - name: killed
          steps:
            - kill app: {machine: phone, app: collector}
            - pass: 2h
      """)
    var fingerprints: [String] = []
    for _ in 1...2 {
      let told = try await tell(text)
      let values = try told.records("value", of: "collector").map { try milliseconds($0) }
      #expect(values.count > 300, "\(told.output)")
      // The band sends one each minute.
      for (one, next) in zip(values, values.dropFirst()) {
        let minutes = (Double(next - one) / 60_000).rounded()
        #expect(minutes >= 1 && abs(Double(next - one) - minutes * 60_000) < 1_500, "\(one) \(next)")
      }
      let rests = try told.records("rested", of: "collector").map { try milliseconds($0) }
      #expect(rests.count > 200, "\(told.output)")
      for (one, next) in zip(rests, rests.dropFirst()) { #expect(next - one >= 7_000) }
      fingerprints.append("\(try #require(told.report.fingerprint))")
    }
    #expect(fingerprints[0] == fingerprints[1])
  }

  @Test("W2: a woken app's timers of the next ten seconds ring at their time, and a later one when it is woken again")
  func budget() async throws {
    let told = try await tell(
      story(
        "collector", arguments: ["collects=yes", "\"looks=2,5,9.5,15\""], keepAlive: false,
        """
          - name: suspended
            steps:
        \(AppStory.left("collector", until: "value"))
              - pass: 20min
        """))
    var late: [String: [Int]] = [:]
    for record in told.records("looked", of: "collector") {
      let after = try #require(record["after"].flatMap { Double($0) })
      let took = try #require(record["took"].flatMap { Int($0) })
      late[record["after"] ?? "", default: []].append(took - Int(after * 1000))
    }
    // The band sends a value each minute, and each wakes the app.
    for seconds in ["2.0", "5.0", "9.5"] {
      let late = late[seconds] ?? []
      #expect(late.count >= 15 && late.allSatisfy { (0...50).contains($0) }, "\(seconds): \(late)\n\(told.output)")
    }
    let last = late["15.0"] ?? []
    #expect(last.count >= 15 && last.dropFirst(2).allSatisfy { (44_000...46_500).contains($0) }, "\(last)")
  }

  @Test("Loops that ask for the time until it has come are over when it has come")
  func impatience() async throws {
    let told = try await tell(
      story(
        "impatient", arguments: ["busy=yes"],
        """
          - name: a minute
            steps:
              - pass: 1min
        """))
    #expect(
      Set(told.records("patient", of: "impatient").compactMap { $0["way"] })
        == ["nothing", "condition", "semaphore", "loop", "question"], "\(told.output)")
  }

  @Test("A timer that fires ten times a second does so for all of a story")
  func often() async throws {
    let told = try await tell(
      story(
        "restless", arguments: ["rests=0.1"],
        """
          - name: ten minutes
            steps:
              - pass: 10min
        """))
    #expect(abs(told.records("rested", of: "restless").count - 6000) < 10, "\(told.output)")
  }
}
