import AppLink
import AppLinkBus
import ArgumentParser
import ConsoleOutput
import Foundation

/// Communicates with this machine's latchkeyd.
enum SystemControl {
  static func perform(_ request: ControlRequest, limitSeconds: Int = 20) throws -> SystemStatus? {
    try reporting { try MachineControl(address: nil).perform(request, limit: .seconds(limitSeconds)) }
  }

  /// Ends with a line on the error output and status 1 if `work` fails.
  static func reporting<Outcome>(_ work: () throws -> Outcome) throws -> Outcome {
    do {
      return try work()
    } catch {
      Console.complain("latchkey: \(error)")
      throw ExitCode(1)
    }
  }
}

struct OpenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "open", abstract: "Opens an app, or brings it to the front.")
  @Argument(help: "The app's bundle identifier.") var app: String
  func run() throws { _ = try SystemControl.perform(.openApp(bundleIdentifier: app)) }
}

struct LeaveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "leave", abstract: "Leaves an app: it goes to the background and is suspended soon.")
  @Argument(help: "The app's bundle identifier.") var app: String
  func run() throws { _ = try SystemControl.perform(.leaveApp(bundleIdentifier: app)) }
}

struct QuitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quit", abstract: "Force-quits an app: it is not relaunched until it is opened again.")
  @Argument(help: "The app's bundle identifier.") var app: String
  func run() throws { _ = try SystemControl.perform(.quitApp(bundleIdentifier: app)) }
}

struct ReclaimCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reclaim", abstract: "Kills an app, as the system does to reclaim memory; its requests continue.")
  @Argument(help: "The app's bundle identifier.") var app: String
  func run() throws { _ = try SystemControl.perform(.reclaimApp(bundleIdentifier: app)) }
}

struct BluetoothCommand: ParsableCommand {
  enum Position: String, ExpressibleByArgument, CaseIterable {
    case on
    case off
  }
  static let configuration = CommandConfiguration(
    commandName: "bluetooth", abstract: "The user's switch for Bluetooth.")
  @Argument(help: "on or off.") var position: Position
  func run() throws { _ = try SystemControl.perform(.setBluetooth(on: position == .on)) }
}

struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows Bluetooth's state and every app.")
  func run() throws {
    guard let status = try SystemControl.perform(.status) else { return }
    Console.say("Bluetooth: \(status.bluetooth)")
    if let trouble = status.storeTrouble { Console.say("Storage: \(trouble)") }
    AppsCommand.show(status.apps)
  }
}

struct AppsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apps", abstract: "Lists the apps and what they wait for.")
  func run() throws {
    guard let status = try SystemControl.perform(.status) else { return }
    Self.show(status.apps)
  }

  static func show(_ apps: [AppStatus]) {
    for app in apps.sorted(by: { $0.bundleIdentifier < $1.bundleIdentifier }) {
      var line = "\(app.bundleIdentifier)  \(app.state.rawValue)"
      if let pid = app.processIdentifier { line += ", process \(pid)" }
      if app.quitByUser { line += ", quit by the user" }
      line += ", \(count(app.connections, "connection")), \(count(app.pendingConnections, "request")) held, "
      Console.say(line + (app.launches == 1 ? "1 launch" : "\(app.launches) launches"))
      if let alert = app.alert { Console.say("  ! \(alert)") }
    }
  }

  private static func count(_ number: some BinaryInteger, _ what: String) -> String {
    "\(number) \(what)\(number == 1 ? "" : "s")"
  }
}
