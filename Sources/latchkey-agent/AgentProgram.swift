import CSystemd
import CoreBluetooth
import HomePolicy
import Journal
import JournalEvents
import LockCryptography
import Logging
import Timekeeping

/// The phone's side: unlocks its owner's door on arrival.
struct AgentProgram {
  /// The folder of its state, or `nil` for `STATE_DIRECTORY`.
  var state: String?
  /// The folder of its keys, or `nil` for `CREDENTIALS_DIRECTORY`.
  var credentials: String?
  var configuration = HomeConfiguration()

  /// Runs until the process ends.
  ///
  /// - Throws: what is wrong with its surroundings.
  func run() throws {
    ProcessMemory.keepOutOfCoreFiles()
    let time = try ProcessClock.fromEnvironment()
    try Journal.bootstrap(process: Recorded.agent, time: time)
    let logger = Logger(label: "latchkey-agent")
    let doors: Doors
    do {
      let credentials = try folder(credentials, "credentials", variable: "CREDENTIALS_DIRECTORY")
      let state = try folder(state, "state", variable: "STATE_DIRECTORY")
      doors = try Doors(
        configuration, credentials: credentials, state: state, boot: try BootIdentifier.ofThisBoot(), time: time,
        logger: logger)
    } catch {
      // Logged for the journal. The command also prints it for the person who started it.
      logger.critical("the agent can't start: \(error)")
      throw StartError(description: "\(error)")
    }
    // The doors start before the process asks why it was launched, so that the system's news for their managers comes
    // with the answer. The managers' delegates are called on the main queue, when this function no longer waits.
    doors.start()
    let restored = ApplicationLaunch.options()?[.bluetoothCentrals] as? [String] ?? []
    logger.record(Recorded.Agent.started, [.centralsToRestore: restored.joined(separator: " ")])
    // Tells systemd, if it runs this unit, that the unit is up.
    sd_notify(0, "READY=1")
    // The doors have to be kept alive here: the system holds a manager's delegate weakly, and Dispatch holds only an
    // alarm's handler. Before a call that never returns, an optimised build may release a variable that is not used any
    // more, even within withExtendedLifetime.
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
