import ArgumentParser
import CSystemd
import CoreBluetooth
import HomePolicy
import Journal
import JournalEvents
import LatchkeyVersion
import LockCryptography
import Logging
import Timekeeping

/// The phone's side: unlocks its owner's door on arrival.
@main struct LatchkeyAgent: ParsableCommand {
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
    ProcessMemory.keepOutOfCoreFiles()
    let time = try ProcessClock.fromEnvironment()
    try Journal.bootstrap(process: Recorded.agent, time: time)
    let logger = Logger(label: "latchkey-agent")
    let doors: Doors
    do {
      let credentials = try folder(credentials, "credentials", variable: "CREDENTIALS_DIRECTORY")
      let state = try folder(state, "state", variable: "STATE_DIRECTORY")
      var configuration = HomeConfiguration()
      configuration.awayDuration = .seconds(away)
      configuration.weakSignal = weak
      configuration.nearSignal = near
      if byCommandOnly { configuration.opensByCommandAlone() }
      doors = try Doors(
        configuration, credentials: credentials, state: state, boot: try BootIdentifier.ofThisBoot(), time: time,
        logger: logger)
    } catch {
      // Logged for the journal. The command also prints it for the person who started it.
      logger.critical("the agent can't start: \(error)")
      throw StartError(description: "\(error)")
    }
    // Before the question why it was launched, so that what the managers are to be told comes with the answer. They are told
    // it on the main queue, when this function waits no more.
    doors.start()
    let restored = ApplicationLaunch.options()?[.bluetoothCentrals] as? [String] ?? []
    logger.record(Recorded.Agent.started, [.centralsToRestore: restored.joined(separator: " ")])
    // Tells systemd, if it runs this unit, that the unit is up.
    sd_notify(0, "READY=1")
    // The system holds a manager's delegate weakly, and Dispatch holds only an alarm's handler.
    // Where nothing follows, an optimised build may release what is no longer named, whatever withExtendedLifetime says.
    _ = Unmanaged.passRetained(doors)
    dispatchMain()
  }

  private func folder(_ option: String?, _ name: String, variable: String) throws -> String {
    guard let path = option ?? getenv(variable).map({ String(cString: $0) }), !path.isEmpty else {
      throw StartError(description: "no folder for \(name): give --\(name), or set \(variable).")
    }
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue else {
      throw StartError(description: "the folder for \(name), \(path), does not exist.")
    }
    return path
  }
}

/// Why the process can't do its work, apart from wrong arguments.
struct StartError: Error, CustomStringConvertible {
  let description: String
}
