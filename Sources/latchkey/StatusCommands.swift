import AppLink
import ArgumentParser
import ConsoleOutput
import Foundation
import MachinePresentation

struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows what needs attention, Bluetooth, and every app with its connections.")
  @OptionGroup var form: StatusForm

  func run() throws { try form.show(StatusJSON.status) { $0.status($1) } }
}

struct AppsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apps", abstract: "Lists the apps, what they are connected to and what they wait for.")
  @OptionGroup var form: StatusForm

  func run() throws { try form.show(StatusJSON.apps) { $0.apps($1) } }
}

struct WakesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wakes", abstract: "Lists the last times that apps were woken: why, how long, what they did.")
  @Argument(help: "The app's bundle identifier; all apps, if not given.") var app: String?
  @OptionGroup var form: StatusForm

  func run() throws {
    try form.show {
      try StatusJSON.wakes($0, app: app)
    } text: {
      try $0.wakes($1, app: app)
    }
  }
}

/// For whom a status is printed.
struct StatusForm: ParsableArguments {
  @Flag(help: "Print one JSON object, for programs. The manual describes its keys.")
  var json = false

  /// Asks latchkeyd, and prints its answer.
  func show(
    _ object: (SystemStatus) throws -> String, text: (StatusText, SystemStatus) throws -> [String]
  ) throws {
    guard let status = try SystemControl.perform(.status) else { return }
    let output = try SystemControl.reporting {
      if json { return try object(status) }
      let form = StatusText(Terminal.output, clock: .machine, now: Date().timeIntervalSince1970)
      return try text(form, status).joined(separator: "\n")
    }
    Console.say(output)
  }
}
