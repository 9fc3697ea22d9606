import ChildProcesses
import Foundation
import Glibc

/// A machine at the other end of one ssh connection: its commands, its bus, its sockets.
///
/// The connection is ssh's own master, and everything else is a channel of it. Used from one thread. It ends with
/// `close`, with the other machine, or with the world.
final class SecureShell {
  /// How to reach the machine.
  struct Destination: Sendable, Equatable {
    var host: String
    var user: String?
    /// Options of ssh, each with its value.
    var options: [String]
    /// The address of the system bus there, if it is not the usual one.
    var bus: String?
    /// Whether commands run as root directly. Otherwise each is prefixed with `sudo -n`.
    var isRoot: Bool { user == nil || user == "root" }
  }

  let destination: Destination
  private let name: String
  private let tools: MachineTools
  private let control: String
  private let environment: [String: String]
  private var master: RunningProcess?
  private var masterInput: Int32 = -1

  /// - Parameters:
  ///   - name: the machine's name, for errors.
  ///   - control: the path of the master's socket.
  ///   - environment: for ssh's processes; it contains the world's mark.
  init(
    _ name: String, _ destination: Destination, tools: MachineTools, control: String, environment: [String: String]
  ) {
    self.name = name
    self.destination = destination
    self.tools = tools
    self.control = control
    self.environment = environment
  }

  var isOpen: Bool { master.map { $0.end == nil } ?? false }

  private var target: String { destination.user.map { "\($0)@\(destination.host)" } ?? destination.host }

  /// Arguments of a channel. Without the master, ssh would make a connection of its own, which would outlive `close`.
  private func arguments(_ command: String) -> [String] {
    ["-S", control, "-o", "ControlMaster=no", "-o", "ProxyCommand=false", "-o", "BatchMode=yes", "-T"]
      + destination.options
      + ["--", target, asRoot(command)]
  }

  private func asRoot(_ command: String) -> String {
    destination.isRoot ? command : "sudo -n sh -c \(Self.quoted(command))"
  }

  /// One word, quoted for the other machine's shell.
  static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }

  // MARK: The connection

  /// Connects once.
  ///
  /// - Throws: `WorldError` with ssh's own words.
  func connect(limit: Duration = .seconds(60)) throws {
    close()
    unlink(control)
    let (inputReading, inputWriting) = try makePipe()
    let (outputReading, outputWriting) = try makePipe()
    let (errorReading, errorWriting) = try makePipe()
    let process: RunningProcess
    do {
      defer {
        for end in [inputReading, outputWriting, errorWriting] { Glibc.close(end) }
      }
      process = try RunningProcess(
        "ssh to \(name)",
        ProcessStart(
          executable: tools.ssh,
          arguments: ["-M", "-S", control, "-o", "ControlPersist=no", "-o", "BatchMode=yes", "-T"]
            + destination.options + ["--", target, "echo connected; exec cat >/dev/null"],
          environment: environment, standardInput: inputReading, standardOutput: outputWriting,
          standardError: errorWriting))
    }
    master = process
    masterInput = inputWriting
    let output = try Collector(outputReading)
    let errors = try Collector(errorReading)
    // The word is printed after the master listens at its socket.
    guard output.wait(until: .now + limit, { $0.contains("connected") }) else {
      close()
      let words = errors.finalText.trimmed(to: 300)
      throw WorldError("\(name) can't be reached over ssh as \(target): \(words)")
    }
  }

  func close() {
    if masterInput >= 0 { Glibc.close(masterInput) }
    masterInput = -1
    if let master {
      master.signal(SIGTERM)
      try? master.waitForEnd(limit: .seconds(5))
    }
    master = nil
  }

  // MARK: Commands

  /// Runs a command in the other machine's shell, as root, and waits until it ends.
  ///
  /// - Parameter input: a file for its input; none by default.
  func perform(
    _ command: String, input: Int32? = nil, limit: Duration = .seconds(60)
  ) throws -> FinishedProcess {
    guard isOpen else { throw WorldError("\(name) is not connected") }
    let start = ProcessStart(
      executable: tools.ssh, arguments: arguments(command), environment: environment, standardInput: input)
    guard let outcome = try FinishedProcess.run("a command on \(name)", start, limit: limit) else {
      throw WorldError("\(name) takes longer than \(DurationText.format(limit)) for: \(command.trimmed(to: 200))")
    }
    return outcome
  }

  /// One command over a connection of its own.
  func ask(_ command: String, limit: Duration = .seconds(30)) throws -> String {
    let start = ProcessStart(
      executable: tools.ssh,
      arguments: ["-o", "ControlPath=none", "-o", "BatchMode=yes", "-T"] + destination.options
        + ["--", target, command], environment: environment)
    guard let outcome = try FinishedProcess.run("ssh to \(name)", start, limit: limit) else {
      throw WorldError("\(name) takes too long to answer")
    }
    guard outcome.end == .exited(0) else { throw WorldError("\(name) can't be reached") }
    return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// - Returns: whether the connection has ended by then.
  func waitForEnd(limit: DispatchTimeInterval) -> Bool {
    guard let master else { return true }
    return (try? master.waitForEnd(limit: limit)) != nil
  }

  /// Like `perform`, but throws on any failure.
  @discardableResult
  func run(_ command: String, input: Int32? = nil, limit: Duration = .seconds(60)) throws -> String {
    let outcome = try perform(command, input: input, limit: limit)
    guard outcome.end == .exited(0) else {
      let said = (outcome.errors.isEmpty ? outcome.output : outcome.errors).trimmed(to: 1000)
      throw WorldError("on \(name), \(command.trimmed(to: 200)): \(outcome.end)\(said.isEmpty ? "" : ": \(said)")")
    }
    return outcome.output
  }

  /// Starts a command that keeps running. `onEnd` is called after its last line. It ends when `input` is closed, or
  /// with the connection.
  func start(
    _ command: String, onLine: @escaping @Sendable (Data) -> Void, onEnd: @escaping @Sendable () -> Void
  ) throws -> (process: RunningProcess, input: Int32) {
    let (inputReading, inputWriting) = try makePipe()
    let (outputReading, outputWriting) = try makePipe()
    let process: RunningProcess
    do {
      defer {
        for end in [inputReading, outputWriting] { Glibc.close(end) }
      }
      process = try RunningProcess(
        "a command on \(name)",
        ProcessStart(
          executable: tools.ssh, arguments: arguments(command), environment: environment,
          standardInput: inputReading, standardOutput: outputWriting))
    }
    try LineReader.start(outputReading, onLine: onLine, onEnd: onEnd)
    return (process, inputWriting)
  }

  func copy(file: String, to path: String, limit: Duration = .seconds(300)) throws {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw WorldError.system(file, errno) }
    defer { Glibc.close(descriptor) }
    try run("cat >\(Self.quoted(path))", input: descriptor, limit: limit)
  }

  // MARK: Sockets

  /// Creates a Unix socket here whose connections lead to one there.
  func forward(_ here: String, to there: String) throws {
    unlink(here)
    let (errorReading, errorWriting) = try makePipe()
    let process: RunningProcess
    do {
      defer { Glibc.close(errorWriting) }
      process = try RunningProcess(
        "ssh to \(name)",
        ProcessStart(
          executable: tools.ssh,
          arguments: ["-S", control, "-O", "forward", "-L", "\(here):\(there)"] + destination.options
            + ["--", target], environment: environment, standardError: errorWriting))
    }
    let errors = try Collector(errorReading)
    try process.waitForEnd()
    guard process.end == .exited(0) else {
      throw WorldError("\(name) does not forward connections to \(there): \(errors.finalText.trimmed(to: 300))")
    }
  }

  /// The other machine's system bus, as sd-bus reaches a bus on another machine: through a process here whose pipes
  /// lead to systemd-stdio-bridge there (sd_bus_open_system_remote(3)), over this connection.
  var busAddress: String {
    let bridge =
      "systemd-stdio-bridge" + (destination.bus.map { " --bus-path=\(Self.quoted($0))" } ?? "")
    let marks = environment.filter { $0.key == WorldProcesses.worldVariable }.map { "\($0.key)=\($0.value)" }
    let words = marks + [tools.ssh] + arguments(bridge)
    return "unixexec:path=\(Self.escaped(tools.environment)),"
      + words.enumerated().map { "argv\($0.offset + 1)=\(Self.escaped($0.element))" }.joined(separator: ",")
  }

  /// A value within a D-Bus address (D-Bus specification, "Server Addresses").
  static func escaped(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
        UInt8(ascii: "."):
        result.unicodeScalars.append(UnicodeScalar(byte))
      default:
        let digits = String(byte, radix: 16)
        result += "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
    return result
  }
}

extension String {
  /// Without surrounding white space, and shortened to this length.
  func trimmed(to count: Int) -> String {
    let text = trimmingCharacters(in: .whitespacesAndNewlines)
    return text.count > count ? text.prefix(count) + "…" : text
  }
}
