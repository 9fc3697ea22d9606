import CSystemd
import Glibc
import SystemBus

/// A dbus-daemon of a test's own, which ends with this object.
public final class PrivateBus: Sendable {
  public let address: BusAddress
  /// The daemon's process.
  public let processIdentifier: pid_t
  private let folder: String

  public struct Failure: Error, CustomStringConvertible {
    public let description: String
    public init(description: String) { self.description = description }
  }

  /// Starts the daemon and returns when it listens.
  public init() throws {
    var template = Array("/tmp/latchkey-bus-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(description: "mkdtemp: errno \(errno)") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>session</type>
        <listen>unix:path=\(folder)/bus</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow send_destination="*" eavesdrop="true"/>
          <allow eavesdrop="true"/>
          <allow own="*"/>
        </policy>
      </busconfig>
      """
    try Self.write(configuration, to: folder + "/bus.conf")
    processIdentifier = try Self.start(configuration: folder + "/bus.conf")
    address = BusAddress("unix:path=\(folder)/bus")
  }

  deinit {
    stop()
    var status: Int32 = 0
    waitpid(processIdentifier, &status, 0)
    for name in ["bus", "bus.conf"] { unlink(folder + "/" + name) }
    rmdir(folder)
  }

  /// Kills the daemon; every connection to it ends.
  public func stop() { kill(processIdentifier, SIGKILL) }

  private static func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "we") else { throw Failure(description: "\(path): errno \(errno)") }
    defer { fclose(file) }
    guard fputs(text, file) >= 0 else { throw Failure(description: "\(path): errno \(errno)") }
  }

  private static func start(configuration: String) throws -> pid_t {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw Failure(description: "pipe: errno \(errno)") }
    defer { close(ends[0]) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // It complains where it may not raise its limit of open files, which it doesn't need.
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    // Where the daemon says that it listens.
    let announcement: Int32 = 3
    if ends[1] == announcement {
      // dup2 onto itself would leave it closed on exec.
      _ = fcntl(ends[1], F_SETFD, 0)
    } else {
      posix_spawn_file_actions_adddup2(&actions, ends[1], announcement)
    }
    // Another test's, which waits for their end.
    _ = latchkey_close_from(&actions, announcement + 1)
    let words = ["dbus-daemon", "--config-file=\(configuration)", "--nofork", "--nopidfile", "--print-address=3"]
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    let result = posix_spawnp(&process, "dbus-daemon", &actions, nil, &arguments, environ)
    close(ends[1])
    guard result == 0 else { throw Failure(description: "dbus-daemon has to be installed: errno \(result)") }
    var byte: UInt8 = 0
    guard read(ends[0], &byte, 1) == 1 else { throw Failure(description: "dbus-daemon did not start") }
    return process
  }
}
