import AppLink
import AppLinkBus
import ArgumentParser
import ConsoleOutput
import Foundation

/// Communicates with this machine's latchkeyd.
enum SystemControl {
  static func perform(_ request: ControlRequest, limitSeconds: Int = 20) throws -> SystemStatus? {
    try reporting {
      try PatienceNote.saying("latchkeyd has not answered yet; it has \(limitSeconds) s.") {
        try MachineControl(address: nil).perform(request, limit: .seconds(limitSeconds))
      }
    }
  }

  /// Asks an app something. Returns its answer.
  /// - Parameter isWord: it is a person's word, which is taken back if they give up waiting.
  static func ask(app: String, name: String, argument: String, isWord: Bool = false) throws -> String {
    try PatienceNote.saying("\(app) has not answered yet; it has a minute.") {
      let control = try MachineControl(address: nil)
      let ask = { try control.ask(app: app, name: name, argument: argument) }
      return try isWord ? GivingUp.watching(control, during: ask) : ask()
    }
  }

  /// Whether this machine has an app. `false` also if latchkeyd does not answer.
  static func knows(_ app: String) -> Bool {
    let status = try? MachineControl(address: nil).perform(.status)
    return status?.apps.contains { $0.bundleIdentifier == app } ?? false
  }

  /// Ends with a line on the error output and status 1 if `work` fails.
  static func reporting<Outcome>(_ work: () throws -> Outcome) throws -> Outcome {
    do {
      return try work()
    } catch let status as ExitCode {
      throw status
    } catch {
      Console.complain("latchkey: \(Complaint.words(for: error))")
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
  @Argument(help: "The app's bundle identifier.") var app: String?
  @Flag(help: "Kill the app that has been suspended longest.") var memory = false

  func validate() throws {
    if (app == nil) != memory { throw ValidationError("Name an app, or let --memory choose one.") }
  }

  func run() throws {
    _ = try SystemControl.perform(app.map { .reclaimApp(bundleIdentifier: $0) } ?? .reclaimMemory)
  }
}

struct AllowCommand: ParsableCommand {
  enum Answer: String, ExpressibleByArgument, CaseIterable {
    case yes
    case no
  }
  static let configuration = CommandConfiguration(
    commandName: "allow", abstract: "Lets an app use Bluetooth, or no longer; no ends everything that it asked for.")
  @Argument(help: "The app's bundle identifier.") var app: String
  @Argument(help: "yes or no.") var answer: Answer
  func run() throws {
    _ = try SystemControl.perform(.allowApp(bundleIdentifier: app, isAllowed: answer == .yes))
  }
}

struct BluetoothCommand: ParsableCommand {
  enum Position: String, ExpressibleByArgument, CaseIterable {
    case on
    case off
  }
  static let configuration = CommandConfiguration(
    commandName: "bluetooth", abstract: "The user's switch for Bluetooth.")
  @Argument(help: "on or off.") var position: Position

  func run() throws {
    let before = position == .off ? try waiting() : []
    _ = try SystemControl.perform(.setBluetooth(on: position == .on))
    guard !before.isEmpty else { return }
    // As on iOS, apps that do not run lose what they asked for.
    for app in before.subtracting(try waiting()).sorted() {
      Console.complain(
        "latchkey: \(app) does not run, and waits for nothing any more. When Bluetooth is on again: latchkey open \(app)"
      )
    }
  }

  /// The apps that do not run, and have asked for something.
  private func waiting() throws -> Set<String> {
    let apps = try SystemControl.perform(.status)?.apps ?? []
    return Set(apps.filter { $0.state == .notRunning && !$0.peers.isEmpty }.map(\.bundleIdentifier))
  }
}
