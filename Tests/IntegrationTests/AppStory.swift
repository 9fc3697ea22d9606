import Foundation
import ProcessTesting
import Testing

@testable import Stories

/// A story about apps of its own, told by `latchkey prove` with real processes.
struct AppStory {
  /// An app of the story, which is the trial app with these arguments.
  struct App {
    var name: String
    var modes: String
    var arguments: [String]
    var keepAlive = false
    var clock = "world"

    var yaml: String {
      """
        \(name):
          info plist:
            CFBundleIdentifier: org.example.\(name)
            CFBundleExecutable: trial-app
            UIBackgroundModes: [\(modes)]
            LatchkeyKeepAlive: \(keepAlive)
          arguments: [\(arguments.map { "\"\($0)\"" }.joined(separator: ", "))]
          clock: \(clock)

      """
    }
  }

  /// The app in question, on the machine `phone`.
  var app: App
  /// The app of another machine, `wrist`, with which it has to do.
  var other: App
  /// Where the other machine is at first.
  var place = "[0, 0]"
  var days = 1
  /// The chapters, as in a scenario's file.
  var chapters: String

  struct Told {
    var report: Report
    var output: String

    func promises(_ judgement: Judgement) -> [String] {
      report.promises.filter { $0.judgement == judgement }.map { "\($0.scope): \($0.name): \($0.reason)" }
    }

    /// The fields of the records of an app, in order.
    func records(_ event: String, of app: String) -> [[String: String]] {
      report.timeline.filter { $0.process == app && $0.event == event }.map(\.fields)
    }
  }

  func tell() async throws -> Told {
    let (report, outcome) = try await LatchkeyCommand.prove(
      """
      name: a trial of \(app.name)
      days: \(days)
      radio: clear
      apps:
      \(app.yaml)\(other.yaml)
      machines:
        wrist: {position: \(place), apps: [\(other.name)]}
        phone: {position: [1, 0], apps: [\(app.name)]}
      chapters:
      \(chapters)
      promises: [nothing-crashed]
      """)
    return Told(report: report, output: outcome.output + "\n" + outcome.errors)
  }

  static func tell(_ scenario: String, report: String, _ further: [String] = []) async throws -> Told {
    let outcome = try await LatchkeyCommand.run(["prove", scenario, "--json", report] + further)
    guard let data = FileManager.default.contents(atPath: report) else {
      throw TestProcess.Failure("no report: \(outcome.output)\n\(outcome.errors)")
    }
    return Told(
      report: try JSONDecoder().decode(Report.self, from: data), output: outcome.output + "\n" + outcome.errors)
  }
}

extension AppStory {
  /// A heart-rate band that always runs, and sends a numbered value to each subscriber every minute.
  static let band = App(
    name: "band", modes: "bluetooth-peripheral",
    arguments: [
      "peripheral:band", "service=180D", "characteristic=2A37:read+notify", "name=Band", "push=2000", "every=60",
    ], keepAlive: true)
  /// A phone's app that collects its values.
  static let collector = App(
    name: "collector", modes: "bluetooth-central", arguments: ["central:main", "connect=180D", "notify=2A37"])
  /// It is open, does its work, and is left until it is suspended.
  static func left(_ app: String, until event: String, on machine: String = "phone") -> String {
    """
          - open app: {machine: \(machine), app: \(app)}
          - wait for: {event: \(event), machine: \(machine), process: \(app), within: 2min}
          - leave app: {machine: \(machine), app: \(app)}
          - wait for: {event: app.suspended, machine: \(machine), fields: {app: org.example.\(app)}, within: 2min}
    """
  }
}

extension AppStory.App {
  func with(modes: String? = nil, _ arguments: [String]? = nil, keepAlive: Bool? = nil) -> AppStory.App {
    var app = self
    app.modes = modes ?? app.modes
    app.arguments = arguments ?? app.arguments
    app.keepAlive = keepAlive ?? app.keepAlive
    return app
  }
}
