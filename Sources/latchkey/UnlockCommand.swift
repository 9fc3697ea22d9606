import AppLink
import ArgumentParser
import ConsoleOutput

/// Passes the owner's command to this machine's agent.
struct UnlockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Opens the door, if the agent asks or at any time in range.",
    discussion: """
      The agent is started or woken, and sends the command to the lock. This needs a link: nothing is kept for later. \
      Exits with 0 if the lock reports that its bolt is open, and with 1 otherwise.
      """)

  @Option(help: "The bundle identifier of the app that has the keys.")
  var app = "org.latchkey.agent"

  func run() throws {
    _ = try SystemControl.perform(.performAction(bundleIdentifier: app, name: "unlock"), limitSeconds: 60)
    Console.say("The door is unlocked.")
  }
}
