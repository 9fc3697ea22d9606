import ArgumentParser
import Worlds

/// The guardian's process, started by the orchestrator.
struct GuardCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "guard", abstract: "Ends a world when its orchestrator has ended.", shouldDisplay: false)

  @Option(help: "The world's mark in the environment of its processes.")
  var world: String

  @Option(help: "The world's folder, removed with it.")
  var folder: String

  func run() throws { try Guardian.keepWatch(world: world, folder: folder) }
}
