import ArgumentParser
import BluetoothSystem
import ConsoleOutput
import Foundation
import Journal
import JournalEvents
import LatchkeyDaemon
import LatchkeyVersion
import Logging
import ServiceLifecycle
import Timekeeping
import UnixSignals

@main
struct Latchkeyd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkeyd",
    abstract: "The Bluetooth system: keeps apps' requests while they are not running.",
    discussion:
      "It talks to bluetoothd and to apps over the system bus, or the bus that DBUS_SYSTEM_BUS_ADDRESS names.",
    version: LatchkeyVersion.current)

  @Option(help: ArgumentHelp("The folder for its state.", valueName: "folder"))
  var state: String

  @Option(help: ArgumentHelp("A folder with one folder per app, each with an Info.plist.", valueName: "folder"))
  var apps: String?

  @Option(help: ArgumentHelp("A folder with one folder of credentials per app.", valueName: "folder"))
  var credentials: String?

  @Option(
    help: ArgumentHelp(
      "The Bluetooth adapter to use: its name, like hci1, or its address. Default: the first.", valueName: "adapter"),
    transform: Self.adapterChoice)
  var adapter: AdapterChoice?

  @Option(
    help: ArgumentHelp(
      "The bus that bluetoothd is on, if it is not the bus for apps: a second latchkeyd on a machine, for its "
        + "second adapter, has a separate bus for its apps.", valueName: "address"))
  var bluetoothBus: String?

  @Option(
    help: ArgumentHelp(
      "How long a woken app may take to finish, in seconds: 1 to 600. Default: 10. An app's Info.plist may say "
        + "otherwise.", valueName: "seconds"))
  var wakeBudget: Double?

  @Option(
    help: ArgumentHelp(
      "The company identifier under which the services of apps in the background are advertised, such as 0xFFFF, which "
        + "is the default and belongs to nobody, or none.", valueName: "company"),
    transform: Self.company)
  var overflowCompany: OverflowCompany?

  /// A company identifier, or `none`.
  struct OverflowCompany: Sendable { let identifier: UInt16? }

  private static func company(_ text: String) throws -> OverflowCompany {
    if text == "none" { return OverflowCompany(identifier: nil) }
    let digits = text.hasPrefix("0x") ? text.dropFirst(2) : ""
    guard digits.count <= 4, digits.allSatisfy(\.isHexDigit), let identifier = UInt16(digits, radix: 16) else {
      throw ValidationError("'\(text)' is not a company identifier; write it like 0x05F1, or none.")
    }
    return OverflowCompany(identifier: identifier)
  }

  @Flag(help: "Move the stored state aside, print where it is, and exit.")
  var setAside = false

  private static func adapterChoice(_ text: String) throws -> AdapterChoice {
    guard let choice = AdapterChoice(text) else {
      throw ValidationError("'\(text)' is not an adapter; write it like hci1 or C0:DE:00:00:00:02.")
    }
    return choice
  }

  func validate() throws {
    let range = AppDeclaration.wakeBudgetSeconds
    if let wakeBudget, !range.contains(wakeBudget) {
      throw ValidationError(
        "--wake-budget is \(wakeBudget) s; set it to \(Int(range.lowerBound)) to \(Int(range.upperBound)) s.")
    }
    if apps == nil, !setAside { throw ValidationError("Name the folder of the apps with --apps.") }
  }

  func run() throws {
    do {
      if setAside {
        let folder = try StateFolder(path: state, machine: nil)
        let place = try folder.setStoreAside(at: Date().timeIntervalSince1970)
        Console.say(
          (place.map { "The state is now in \($0)." } ?? "There was no state to set aside.")
            + " The next start of latchkeyd begins with an empty state.")
        Console.end(program: "latchkeyd")
        return
      }
      let time = try ProcessClock.fromEnvironment()
      try Journal.bootstrap(process: Recorded.daemon, time: time)
      let logger = Logger(label: "latchkeyd")
      let thread = LoopThread {
        Heap.giveBack()
        ProgramPages.giveBack()
      }
      let daemon = try Daemon(
        Daemon.Options(
          state: state, apps: apps ?? "", credentials: credentials, adapter: adapter ?? .first,
          bluetoothBus: bluetoothBus, wakeBudget: wakeBudget.map { .milliseconds(Int64($0 * 1000)) },
          overflowCompany: (overflowCompany
            ?? OverflowCompany(identifier: BluetoothSystem.Configuration().overflowCompany)).identifier),
        time: time, executor: thread, logger: logger)
      try thread.run { try await Self.serve(daemon, logger) }
    } catch {
      Console.complain("latchkeyd: \(error)")
      throw ExitCode((error as? DaemonError)?.exitStatus ?? 1)
    }
  }

  private static func serve(_ daemon: Daemon, _ logger: Logger) async throws {
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [
          .init(
            service: DaemonService(daemon: daemon), successTerminationBehavior: .gracefullyShutdownGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup)
        ],
        gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
    try await group.run()
  }
}

private struct DaemonService: Service, CustomStringConvertible {
  let daemon: Daemon
  var description: String { "latchkeyd" }

  func run() async throws {
    try await withGracefulShutdownHandler {
      try await daemon.run()
    } onGracefulShutdown: {
      daemon.stop()
    }
  }
}
