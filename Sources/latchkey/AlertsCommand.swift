import AppLink
import AppLinkBus
import ArgumentParser
import ConsoleOutput
import Foundation
import MachinePresentation

struct AlertsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "alerts", abstract: "Shows what apps tell their user, now and as it happens.",
    discussion: """
      An alert stays until its app is opened, or takes it back. Goes on when latchkeyd was away and is back. Ends on \
      Control-C, and with status 1 if latchkeyd refuses.
      """)

  @Flag(help: "Print the present alerts, and end.")
  var once = false

  @Flag(help: "Also show each alert as a notification of the desktop. A click on it opens the app.")
  var notify = false

  func validate() throws {
    if once, notify { throw ValidationError("--once ends at once, and --notify goes on: choose one of them.") }
  }

  func run() throws {
    if once {
      guard let status = try SystemControl.perform(.status) else { return }
      let lines = text.alerts(status.alerts)
      Console.say(lines.isEmpty ? "There are no alerts." : lines.joined(separator: "\n"))
      return
    }
    let desktop = notify ? try SystemControl.reporting { try DesktopNotifications() } : nil
    defer { desktop?.close() }
    let mailbox = try SystemControl.reporting { try StatusMailbox() }
    let follower = try SystemControl.reporting { try StatusFollower { mailbox.put($0) } }
    defer { follower.close() }
    var known: Set<UInt64> = []
    while Console.failure == nil {
      guard mailbox.wait() else { throw ExitCode(Console.Failure.readerIsGone.exitStatus) }
      switch mailbox.take() {
      case .status(let status):
        let lines = text.alerts(status.alerts.filter { !known.contains($0.identifier) })
        if !lines.isEmpty { Console.say(lines.joined(separator: "\n")) }
        known = Set(status.alerts.map(\.identifier))
        desktop?.show(status.alerts)
      case .away:
        // The next latchkeyd begins to number its alerts again.
        known = []
        desktop?.show([])
      case .ended(let error):
        Console.complain("latchkey: \(error.message)")
        throw ExitCode(1)
      case nil: continue
      }
    }
    Console.end(program: "latchkey")
  }

  private var text: StatusText {
    StatusText(Terminal.output, clock: .machine, now: Date().timeIntervalSince1970)
  }
}
