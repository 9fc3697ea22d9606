import AppLink
import ArgumentParser
import ConsoleOutput
import Foundation

struct WakesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wakes", abstract: "Lists the last times that apps were woken: why, how long, what they did.")
  @Argument(help: "The app's bundle identifier; all apps, if not given.") var app: String?

  func run() throws {
    guard let status = try SystemControl.perform(.status) else { return }
    let lines = try SystemControl.reporting { try Self.lines(status, app: app) }
    Console.say(lines.joined(separator: "\n"))
  }

  /// Text for a person: a line for each wake, or one that says that there were none.
  static func lines(_ status: SystemStatus, app: String?) throws -> [String] {
    let known = status.apps.map(\.bundleIdentifier).sorted()
    if let app, !known.contains(app) {
      throw AppLinkError(
        .unknownApp,
        "there is no app \"\(app)\" here; there are: "
          + (known.isEmpty ? "none" : known.joined(separator: ", ")))
    }
    let wakes = status.wakes.filter { app == nil || app == $0.app }
    guard wakes.isEmpty else { return wakes.map(line) }
    let nobody = app.map { "\($0) was not" } ?? "No app was"
    return ["\(nobody) woken for Bluetooth since latchkeyd started."]
  }

  static func line(_ wake: WakeRecord) -> String {
    let began = Date(timeIntervalSince1970: wake.unixSeconds).formatted(.iso8601)
    let seconds = String(format: "%.3f", wake.seconds)
    let did = "told \(count(wake.told, "event")), made \(count(wake.said, "request"))"
    let ended = wake.outcome.map { "then \($0)" } ?? "still awake"
    return "\(began)  \(wake.app)  \(reason(wake.because)), awake for \(seconds) s, \(did), \(ended)"
  }

  private static func count(_ number: Int, _ what: String) -> String { "\(number) \(what)\(number == 1 ? "" : "s")" }

  private static func reason(_ because: WakeReason) -> String {
    switch because {
    case .adopted: "awake already when latchkeyd started"
    case .restore: "relaunched to be restored"
    case .event(let kind): "woken by \(Self.what(kind))"
    case .unknown(let name): "woken by \(name)"
    }
  }

  private static func what(_ kind: Event.Kind) -> String {
    switch kind {
    case .connected: "a connection"
    case .disconnected: "a disconnection"
    case .failedToConnect: "a connection that failed"
    case .discovered: "a discovery"
    case .valueUpdated: "a new value"
    case .operationCompleted: "an answer"
    case .nameChanged: "a changed name"
    case .servicesModified: "changed services"
    case .subscribed: "a subscription"
    case .unsubscribed: "the end of a subscription"
    case .readRequested: "a read"
    case .writeRequested: "a write"
    case .requestExpired: "a request that it did not answer in time"
    case .stateChanged: "Bluetooth's state"
    case .managerRejected: "a manager that was refused"
    case .willRestoreState: "its restoration"
    case .serviceAdded: "a service that was published"
    case .advertisingStarted: "the start of its advertising"
    case .updateCredit: "room for more values"
    case .actionRequested: "its user's request"
    }
  }
}
