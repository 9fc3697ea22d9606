import BusTesting
import Foundation
import Glibc
import ProcessTesting

@testable import Worlds

/// This machine in the role of another one: an sshd for the test on loopback, with its own keys, a private bus, and
/// stand-ins for systemd's programs. All of it ends with this object.
final class LoopbackMachine {
  static let serverProgram = "/usr/sbin/sshd"
  /// Commands run as root only if we are root, and systemd-stdio-bridge comes with systemd.
  static let isPossible =
    geteuid() == 0
    && FileManager.default.isExecutableFile(atPath: serverProgram)
    && FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-stdio-bridge")

  let folder: String
  let bus: PrivateBus
  let port: Int
  private let server: TestProcess

  init() async throws {
    var template = Array("/tmp/latchkey-ssh-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    bus = try PrivateBus()
    port = Int(try LoopbackPort.free())
    for name in ["host", "user"] {
      let outcome = try await TestProcess.run(
        "/usr/bin/ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", "\(folder)/\(name)"])
      guard outcome.status == 0 else { throw WorldError("ssh-keygen: \(outcome.errors)") }
    }
    try FileManager.default.createDirectory(atPath: "\(folder)/bin", withIntermediateDirectories: false)
    for (name, text) in Self.programs {
      let path = "\(folder)/bin/\(name)"
      try text.replacing("@FOLDER@", with: folder).write(toFile: path, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    try Self.append(["MESSAGE": "the first line"], to: "\(folder)/journal")
    // sshd's own folder, which it requires when it runs as root.
    try? FileManager.default.createDirectory(atPath: "/run/sshd", withIntermediateDirectories: true)
    let configuration = """
      ListenAddress 127.0.0.1
      Port \(port)
      HostKey \(folder)/host
      AuthorizedKeysFile \(folder)/user.pub
      StrictModes no
      PermitRootLogin prohibit-password
      PasswordAuthentication no
      KbdInteractiveAuthentication no
      UsePAM no
      PidFile none
      MaxSessions 100
      SetEnv PATH=\(folder)/bin:/usr/sbin:/usr/bin:/sbin:/bin
      """
    try configuration.write(toFile: "\(folder)/sshd_config", atomically: true, encoding: .utf8)
    let key = try String(contentsOfFile: "\(folder)/host.pub", encoding: .utf8).split(separator: " ").prefix(2)
    try "[127.0.0.1]:\(port) \(key.joined(separator: " "))\n"
      .write(toFile: "\(folder)/known_hosts", atomically: true, encoding: .utf8)
    server = try await TestProcess(
      Self.serverProgram, ["-D", "-e", "-f", "\(folder)/sshd_config"], mergesErrors: true)
    // It prints this when it listens.
    try await server.hear("listening on")
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  var settings: RemoteSettings {
    RemoteSettings(
      host: "127.0.0.1", user: "root", port: port, identity: "\(folder)/user", knownHosts: "\(folder)/known_hosts",
      bus: "\(bus.address)")
  }

  private var lines = 0

  /// A line of the machine's journal, written as `journalctl --output=json` prints it.
  func journal(_ fields: [String: String]) throws {
    try Self.append(fields, to: "\(folder)/journal")
  }

  /// From now on, a write to this machine's journal waits for a write to the other's as well.
  func joinJournal(with other: LoopbackMachine) throws {
    let pipe = "\(folder)/meeting"
    guard mkfifo(pipe, 0o600) == 0 else { throw WorldError.system(pipe, errno) }
    for (machine, turn) in [(self, "echo >\(pipe)"), (other, "read -r <\(pipe)")] {
      let path = "\(machine.folder)/bin/logger"
      let text = try String(contentsOfFile: path, encoding: .utf8)
      // Written in place, so that it stays executable.
      try text.replacing("#!/bin/bash\n", with: "#!/bin/bash\n\(turn)\n")
        .write(toFile: path, atomically: false, encoding: .utf8)
    }
  }

  private static func append(_ fields: [String: String], to path: String) throws {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let time = Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    let all = fields.merging(["__REALTIME_TIMESTAMP": "\(time)", "__CURSOR": "c\(time)"]) { $1 }
    let data = try JSONEncoder().encode(all) + [0x0A]
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    defer { close(file) }
    guard data.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) == data.count else {
      throw WorldError.system(path, errno)
    }
  }

  /// Stand-ins. The journal is a file of lines.
  private static let programs = [
    "journalctl": """
    #!/bin/bash
    # journalctl --lines=1, or --follow --after-cursor=CURSOR
    journal=@FOLDER@/journal
    for argument; do case $argument in
      --lines=1) exec tail -n 1 "$journal" ;;
      --after-cursor=*) cursor=${argument#*=} ;;
    esac; done
    line=$(grep -n "\\"$cursor\\"" "$journal" | cut -d: -f1)
    exec tail -n +$((line + 1)) -f "$journal"
    """,
    "logger": """
    #!/bin/bash
    # logger --journald: KEY=VALUE lines
    time=$(date +%s%6N)
    { printf '{"__CURSOR":"c%s","__REALTIME_TIMESTAMP":"%s"' "$time" "$time"
      while IFS='=' read -r key value; do printf ',"%s":"%s"' "$key" "$value"; done
      printf '}\\n'; } >@FOLDER@/line.$$
    cat @FOLDER@/line.$$ >>@FOLDER@/journal
    """,
    "systemctl": """
    #!/bin/bash
    echo "$*" >>@FOLDER@/systemctl
    case $* in show*) echo 4711 ;; esac
    """,
  ]

  /// The requests to systemd.
  var systemctl: [String] {
    let text = try? String(contentsOfFile: "\(folder)/systemctl", encoding: .utf8)
    return (text ?? "").split(separator: "\n").map(String.init)
  }
}
