import ArgumentParser
import HomePolicy
import LatchkeyVersion

/// Starts the agent, with arguments or without.
@main enum Main {
  static func main() {
    // The package's unit starts the agent without arguments. The start of a dead agent delays the door, and the
    // definitions of arguments would take much of the time before its first message (half of it in a debug build).
    guard CommandLine.argc == 1 else { return LatchkeyAgent.main() }
    do { try AgentProgram().run() } catch { LatchkeyAgent.exit(withError: error) }
  }
}

/// The arguments of the phone's side.
struct LatchkeyAgent: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkey-agent",
    abstract: "Unlocks the door when its owner comes home.",
    discussion: "latchkeyd starts it as an app, and sets the folders of its state and keys.",
    version: LatchkeyVersion.current)

  @Option(help: "The folder of the agent's state. [default: $STATE_DIRECTORY]")
  var state: String?

  @Option(help: "The folder of the phone's keys. [default: $CREDENTIALS_DIRECTORY]")
  var credentials: String?

  @Option(help: "Seconds without a link after which its return may begin an approach.")
  var away = HomeConfiguration().awayDuration / .seconds(1)

  @Option(help: "The strongest signal that a link comes up with at the edge of its range, in dBm.")
  var weak = HomeConfiguration().weakSignal

  @Option(help: "The weakest signal that counts as being near the door, in dBm.")
  var near = HomeConfiguration().nearSignal

  @Flag(help: "Never open by itself, whatever comes near: on the owner's command alone.")
  var byCommandOnly = false

  func validate() throws {
    guard (0...86400).contains(away) else {
      throw ValidationError("--away is from 0 to 86400 seconds, not \(away).")
    }
    guard (-127...20).contains(near) else { throw ValidationError("--near is from -127 to 20 dBm, not \(near).") }
    guard (-127...20).contains(weak) else { throw ValidationError("--weak is from -127 to 20 dBm, not \(weak).") }
    guard weak <= near - Self.leastRise else {
      throw ValidationError(
        "--weak (\(weak)) must be at least \(Self.leastRise) dB below --near (\(near)): a signal that hardly rises "
          + "shows no approach.")
    }
  }

  /// The effect of fading and of a body in the way, in dB.
  private static let leastRise = 8

  func run() throws {
    var program = AgentProgram(state: state, credentials: credentials)
    program.configuration.awayDuration = .seconds(away)
    program.configuration.weakSignal = weak
    program.configuration.nearSignal = near
    if byCommandOnly { program.configuration.opensByCommandAlone() }
    try program.run()
  }
}
