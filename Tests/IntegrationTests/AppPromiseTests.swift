import Foundation
import Testing

@testable import Stories

/// Promises about any app, each seen broken by a process that behaves otherwise.
@Suite("Promises about any app are seen broken by real processes", .serialized, .timeLimit(.minutes(20)))
struct AppPromiseTests {
  /// Judges a promise in a story that breaks it.
  private func breaks(
    _ promise: String, app: AppStory.App = AppStory.collector, other: AppStory.App = AppStory.band, steps: String
  ) async throws {
    let told = try await AppStory(
      app: app, other: other,
      chapters: """
          - name: the story
            steps:
        \(steps)
            promises:
              - \(promise)
        """
    ).tell()
    let result = try #require(told.report.promises.first)
    #expect(result.judgement == .broken, "\(result.name): \(result.reason)\n\(told.output)")
    #expect(!told.report.kept)
  }

  private static let suspended = AppStory.left("collector", until: "value") + "\n      - pass: 10min\n"
  private static let dead =
    AppStory.left("collector", until: "value") + """

            - reclaim app: {machine: phone, app: collector}
            - pass: 10min

      """

  @Test(
    "S10, B1: each promise about any app is seen broken by a process that behaves otherwise",
    arguments: [
      "woken: {app: collector, by: discovered}", "woken: {app: collector, at most: 2}", "not woken: {app: collector}",
      "not told: {app: collector, event: valueUpdated}", "told: {app: collector, event: disconnected}",
      "relaunched: {app: collector}", "alerted: {app: collector}",
      "recorded: {app: collector, event: value, fields: {manager: other}}",
      "not recorded: {app: collector, event: value}", "not on the air: {machine: wrist}",
      "on the air: {machine: wrist, name: absent}", "on the air: {machine: wrist, lists: [181A]}",
      "on the air: {machine: wrist, omits: [180D]}", "on the air: {machine: wrist, interval at least: 9s}",
      "on the air: {machine: phone}", "not scanned: {machine: phone}", "scanned: {machine: wrist}",
    ])
  func whileSuspended(_ promise: String) async throws { try await breaks(promise, steps: Self.suspended) }

  @Test(
    "B3: for how much of the time a machine scans is seen broken by an app that scans in the background, or in the foreground",
    arguments: [
      ("percent at least: 20", false), ("percent at most: 4", false), ("percent at most: 90", true),
    ])
  func share(_ limit: String, isOpen: Bool) async throws {
    try await breaks(
      "scanned: {machine: phone, \(limit)}", app: AppStory.collector.with(["central:main", "scan=181A"]),
      steps: isOpen ? "      - open app: {machine: phone, app: collector}\n      - pass: 1h\n" : Self.scanning)
  }

  @Test("B3: a scan in the background takes an eighth of the time, and a third of that once it found nothing for long")
  func eighth() async throws {
    let told = try await AppStory(
      app: AppStory.collector.with(["central:main", "scan=181A"]), other: AppStory.band,
      chapters: """
          - name: left
            steps:
        \(AppStory.left("collector", until: "state"))
          - name: in the background
            steps:
              - pass: 9min
            promises:
              - scanned: {machine: phone, percent at least: 12, percent at most: 14}
          - name: in vain
            steps:
              - pass: 2min
              - pass: 1h
            promises:
              - scanned: {machine: phone, percent at least: 4, percent at most: 5}
        """
    ).tell()
    #expect(told.report.kept, "\(told.output)")
  }

  private static let scanning =
    AppStory.left("collector", until: "state")
      + """

        - name: in the background
          steps:
            - pass: 1h

      """

  @Test(
    "S9, S13: promises about a dead app are seen broken",
    arguments: [
      "not relaunched: {app: collector}", "relaunched: {app: collector, exactly: 2}",
      "relaunched: {app: collector, restoring: [other]}",
    ])
  func whenDead(_ promise: String) async throws { try await breaks(promise, steps: Self.dead) }

  @Test("S10: an app that does not make its manager again breaks 'restored in order'")
  func forgetful() async throws {
    try await breaks(
      "restored in order: {app: collector}",
      app: AppStory.collector.with(["central:main", "connect=180D", "notify=2A37", "forgets=yes"]), steps: Self.dead)
  }

  @Test("S10: an app that is told out of order breaks 'restored in order', and one told twice 'told nothing twice'")
  func liars() async throws {
    try await breaks(
      "restored in order: {app: collector}",
      app: AppStory.collector.with(["central:main", "connect=180D", "notify=2A37", "pretends=order"]), steps: Self.dead)
    try await breaks(
      "told nothing twice: {app: collector}",
      app: AppStory.collector.with(["central:main", "connect=180D", "notify=2A37", "pretends=twice"]),
      steps: Self.suspended)
  }

  @Test("H6: a story says why an app ended itself: in the timeline, and where its verdict says that it crashed")
  func lastWords() async throws {
    var app = AppStory.collector
    app.modes = ""
    let told = try await AppStory(
      app: app, other: AppStory.band,
      chapters: """
          - name: the story
            steps:
              - open app: {machine: phone, app: collector}
              - pass: 10s
            promises: [nothing-crashed]
        """
    ).tell()
    let result = try #require(told.report.promises.first)
    #expect(result.judgement == .broken && result.reason == "1 process ended by itself: org.example.collector")
    let why = "the restore identifier \"main\" needs the background mode \"bluetooth-central\""
    #expect(told.output.components(separatedBy: why).count > 2, "\(told.output)")
  }

  @Test("H6: an app that closes its standard error is recorded all the same, and nothing is written into its own files")
  func closesItsOutput() async throws {
    let told = try await AppStory(
      app: AppStory.collector.with(["central:main", "connect=180D", "notify=2A37", "closes=yes"]),
      other: AppStory.band,
      chapters: """
          - name: the story
            steps:
        \(AppStory.left("collector", until: "value"))
              - reclaim app: {machine: phone, app: collector}
              - pass: 10min
            promises:
              - recorded: {app: collector, event: opened, fields: {number: "2", bytes: "0"}, exactly: 2}
              - restored in order: {app: collector}
              - told nothing twice: {app: collector}
              - told: {app: collector, event: valueUpdated}
        """
    ).tell()
    #expect(told.report.kept, "\(told.promises(.broken) + told.promises(.notJudged))")
  }

  @Test("H6: what an app printed before it made its first manager is read whole, and so is what it is told then")
  func printedEarly() async throws {
    let told = try await AppStory(
      app: AppStory.collector.with(["central:main", "connect=180D", "notify=2A37", "prints=20000"]),
      other: AppStory.band,
      chapters: """
          - name: the story
            steps:
        \(AppStory.left("collector", until: "value"))
            promises:
              - recorded: {app: collector, event: printed, exactly: 20000}
              - told: {app: collector, event: stateChanged, exactly: 1}
        """
    ).tell()
    #expect(told.report.kept, "\(told.promises(.broken))")
  }
}
