import ArgumentParser
import CSystemd
import CoreBluetooth
import Journal
import JournalEvents
import LatchkeyVersion
import LockCryptography
import LockFirmware
import LockProtocol
import LockRecords
import Logging
import Timekeeping

/// The lock's firmware on Linux.
@main struct LatchkeyLock: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkey-lock",
    abstract: "A door lock: its firmware on Linux, with a simulated bolt, or with the driver of a real one.",
    discussion: """
      latchkeyd starts it as an app, and sets the folders of its state and keys. The simulated bolt's door sensor and \
      thumb-turn are at STATE/hardware.sock: lines of JSON, {"door": "open"}, {"door": "shut"}, {"turn": "unlocked"}, \
      {"turn": "locked"}, {"enroll": "pressed"}, {"status": true}, each answered by one line. A real bolt has a driver, a program with its motor \
      and its sensors: docs/lock-driver.md.
      """,
    version: LatchkeyVersion.current)

  @Option(help: "The folder of the lock's log and its mechanism's state. [default: $STATE_DIRECTORY]")
  var state: String?

  @Option(help: "The folder of the lock's keys. [default: $CREDENTIALS_DIRECTORY]")
  var credentials: String?

  @Option(help: "Seconds after an authenticated phone's link is lost until the bolt is thrown.")
  var leavingDelay = Double(LockConfiguration.defaultLeavingDelayMilliseconds) / 1000

  @Option(help: "Seconds after an unlock until the bolt is thrown again. Default: never.")
  var relockDelay: Double?

  @Option(help: "Milliseconds that a turn of the bolt takes.")
  var turnTime = 600

  @Flag(help: "Throw the bolt when any phone leaves, not only when the last one has left.")
  var lockWhenAnyLeaves = false

  @Option(help: "Seconds that the door may stand open before it counts as ajar; 0 for any time.")
  var ajarDelay = Double(LockConfiguration.defaultAjarDelayMilliseconds) / 1000

  @Option(help: "What the lock calls itself. A phone that is enrolled learns it. [default: the machine's name]")
  var name: String?

  @Option(help: "The program that drives the bolt, with its arguments. Default: a simulated bolt.")
  var driver: String?

  @Flag(help: "The home has another way out: neither the door's sensor nor the thumb-turn shows who has left.")
  var otherWayOut = false

  @Flag(help: "Accept the loss of records: keep what is readable in the log, report what was done, and exit.")
  var acceptLostRecords = false

  func validate() throws {
    guard (0...3600).contains(leavingDelay) else {
      throw ValidationError("--leaving-delay is from 0 to 3600 seconds, not \(leavingDelay).")
    }
    guard (1...86400).contains(relockDelay ?? 1) else {
      throw ValidationError("--relock-delay is from 1 to 86400 seconds.")
    }
    guard (1...KeyName.nameByteLimit).contains(name?.utf8.count ?? 1) else {
      throw ValidationError("--name has 1 to \(KeyName.nameByteLimit) bytes.")
    }
    guard (0...86400).contains(ajarDelay) else {
      throw ValidationError("--ajar-delay is from 0 to 86400 seconds, not \(ajarDelay).")
    }
    if let driver {
      do throws(MechanismError) { _ = try DriverCommand(driver) } catch {
        throw ValidationError("--driver: \(error.description).")
      }
    }
    guard (0...4000).contains(turnTime) else {
      throw ValidationError("--turn-time is from 0 to 4000 milliseconds: beyond 5000 the bolt counts as jammed.")
    }
  }

  func run() throws {
    if acceptLostRecords { return try acceptLoss() }
    ProcessMemory.keepOutOfCoreFiles()
    let time = try ProcessClock.fromEnvironment()
    try Journal.bootstrap(process: Recorded.lock, time: time)
    let logger = Logger(label: "latchkey-lock")
    let app: LockApp
    do {
      let environment = ProcessInfo.processInfo.environment
      let stateDirectory = try folder(state, environment["STATE_DIRECTORY"], "state", variable: "STATE_DIRECTORY")
      let keys = try LockKeys.read(
        fromDirectory: try folder(
          credentials, environment["CREDENTIALS_DIRECTORY"], "credentials", variable: "CREDENTIALS_DIRECTORY"))
      let settings = try LockSettings(directory: stateDirectory)
      let access = AccessStore(directory: stateDirectory)
      let trusted = TrustedStore(directory: stateDirectory, logger: logger)
      let log = try RecordLog(path: stateDirectory + "/records.log", logger: logger)
      try settings.finishReset(log.latest, of: keys, access, trusted)
      var configuration = LockConfiguration(
        identity: keys.identity, enrolledPhones: settings.remaining(of: keys))
      configuration.enrolmentSecret = keys.code?.secret(using: SwiftCryptography.self)
      configuration.name = Array((name ?? Self.machineName(environment)).utf8.prefix(KeyName.nameByteLimit))
      configuration.leavingDelayMilliseconds = Int64(leavingDelay * 1000)
      configuration.relockDelayMilliseconds = relockDelay.map { Int64($0 * 1000) }
      configuration.isOnlyWayOut = !otherWayOut
      configuration.ajarDelayMilliseconds = ajarDelay > 0 ? Int64(ajarDelay * 1000) : nil
      configuration.locksOnAnyDeparture = lockWhenAnyLeaves
      configuration.boot = try Self.boot()
      // latchkeyd reports everybody who may have subscribed within one moment.
      configuration.firstOfferDelayMilliseconds = 20
      let mechanism: any LockMechanism =
        if let driver {
          DriverMechanism(try DriverCommand(driver), logger: logger)
        } else {
          try SimulatedMechanism(
            directory: stateDirectory, turnTime: .milliseconds(turnTime), time: time, logger: logger)
        }
      app = try LockApp(
        configuration, keys: keys, log: log, trusted: trusted, access: access, settings: settings,
        mechanism: mechanism, time: time, logger: logger)
      let socket = try HardwareSocket(directory: stateDirectory, logger: logger) { [app] line in
        app.answerHardware(line)
      }
      app.start(socket)
      // Tells systemd, if it runs this unit, that the unit is up.
      sd_notify(0, "READY=1")
    } catch {
      // Logged once: the journal is where the starter of this process reads, and on a terminal it is the terminal.
      logger.critical("the lock can't start: \(error)")
      throw ExitCode.failure
    }
    // Keeps the app alive: the system holds a manager's delegate weakly, and Dispatch holds only an alarm's handler. An
    // optimised build may release an object that is not named any more, even with withExtendedLifetime, if no code
    // follows.
    _ = Unmanaged.passRetained(app)
    dispatchMain()
  }

  private static func boot() throws -> [UInt8] {
    let text = try BootIdentifier.ofThisBoot()
    guard let bytes = Hex.bytes(text.filter(\.isHexDigit)), bytes.count == 16 else {
      throw StartError(description: "the identifier of this boot, \(text.prefix(64)), is no UUID")
    }
    return bytes
  }

  private static func machineName(_ environment: [String: String]) -> String {
    if let name = environment["LATCHKEY_MACHINE"], !name.isEmpty { return name }
    return ProcessInfo.processInfo.hostName.split(separator: ".").first.map(String.init) ?? "lock"
  }

  private func acceptLoss() throws {
    let directory = try folder(
      state, ProcessInfo.processInfo.environment["STATE_DIRECTORY"], "state", variable: "STATE_DIRECTORY")
    do { print(try RecordLog.acceptLoss(path: directory + "/records.log")) } catch {
      throw StartError(description: "\(error)")
    }
  }

  private func folder(_ option: String?, _ variableValue: String?, _ name: String, variable: String) throws -> String {
    guard let path = option ?? variableValue, !path.isEmpty else {
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
