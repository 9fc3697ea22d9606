import Foundation
import Glibc

/// A real machine that this program can't touch. It can do what ssh can do, and what a person at this terminal does.
final class RealHardware: MachineHardware {
  private let name: String
  private let settings: RemoteSettings
  private let tools: MachineTools
  private let environment: [String: String]
  private let progress: @Sendable (String) -> Void
  /// The machine's last boot.
  private var boot: String?
  /// The path of the adapter's USB port in /sys while the adapter is off.
  private var port: String?

  static let bootLimit: Duration = .seconds(600)
  static let bootQuestion = "cat /proc/sys/kernel/random/boot_id"

  init(
    _ name: String, _ settings: RemoteSettings, tools: MachineTools, environment: [String: String],
    progress: @escaping @Sendable (String) -> Void
  ) {
    self.name = name
    self.settings = settings
    self.tools = tools
    self.environment = environment
    self.progress = progress
  }

  var destination: SecureShell.Destination {
    var options = ["-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=6"]
    if let port = settings.port { options += ["-p", "\(port)"] }
    if let identity = settings.identity { options += ["-i", identity, "-o", "IdentitiesOnly=yes"] }
    if let hosts = settings.knownHosts { options += ["-o", "UserKnownHostsFile=\(hosts)"] }
    return SecureShell.Destination(
      host: settings.host, user: settings.user ?? "root", options: options, bus: settings.bus)
  }

  // MARK: Power

  func powerOn() throws {
    guard let boot else { return }
    let deadline = ContinuousClock.now + Self.bootLimit
    while true {
      let attempt = SecureShell(
        name, destination, tools: tools, control: "none", environment: environment)
      if let answer = try? attempt.ask(Self.bootQuestion), !answer.isEmpty, answer != boot { return }
      guard ContinuousClock.now < deadline else {
        throw WorldError("\(name) did not come back within \(DurationText.format(Self.bootLimit))")
      }
      // There is no notification when a machine can be reached again, so it is polled.
      sleep(1)
    }
  }

  func powerOff(clean: Bool, _ shell: SecureShell) throws {
    boot = try shell.run(Self.bootQuestion).trimmingCharacters(in: .whitespacesAndNewlines)
    _ = try? shell.perform(
      clean ? "systemctl reboot" : "sync -f /; echo 1 >/proc/sys/kernel/sysrq; echo b >/proc/sysrq-trigger",
      limit: .seconds(30))
    guard shell.waitForEnd(limit: .seconds(180)) else { throw WorldError("\(name) does not go down") }
  }

  var powerCut: Ability { .substitute("the kernel restarts at once, asking no process (SysRq b); power stays") }

  func check() throws {}

  // MARK: Faults

  func ability(_ fault: MachineFault, _ shell: SecureShell) -> Ability? {
    switch fault {
    case .controller:
      usbPort(shell) == nil
        ? .unsupported("its adapter is not on USB, and can't be unplugged")
        : .substitute("its USB port is closed to it by the kernel (`authorized`)")
    case .move(_, let occasion, let over):
      switch settings.walk {
      case .ask where isatty(STDIN_FILENO) == 1:
        .substitute(
          over == nil
            ? "a person at this terminal is asked to carry it"
            : "a person at this terminal is asked to walk, as fast as he does")
      case .ask: .unsupported("there is no user at this terminal who could carry it")
      case .adapter:
        occasion == nil
          ? .unsupported("it only leaves and comes home")
          : .substitute(
            "its adapter is powered off, and on again" + (over == nil ? "" : ": it does not move")
          )
      case .no: .unsupported("it can't be moved; `walk:` in the machines file says how")
      }
    default: nil
    }
  }

  func perform(_ fault: MachineFault, _ shell: SecureShell) throws {
    switch fault {
    case .controller(let isPlugged):
      guard let path = usbPort(shell) else { throw WorldError("the adapter of \(name) is not on USB") }
      port = path
      try shell.run("echo \(isPlugged ? 1 : 0) >\(SecureShell.quoted(path + "/authorized"))")
    case .move(let place, let occasion, let over):
      if settings.walk == .adapter {
        return try RemoteBluetooth.setPowered(occasion == .arrival, at: shell.busAddress)
      }
      let words =
        switch occasion {
        case .departure: "\(over == nil ? "take" : "walk with") \(name) out of the other's range"
        case .arrival:
          "\(over == nil ? "bring \(name) back" : "walk back with \(name), from out of range"), beside the other"
        case nil: "take \(name) to \(place)"
        }
      // The person who walks confirms when the walk is done. Then they have arrived, and the step is over.
      progress(">>> Now \(words), then press Enter.")
      guard readLine() != nil else { throw WorldError("the input ended before it confirmed that \(name) was carried") }
    default: throw WorldError("\(name) can't do that")
    }
  }

  private func usbPort(_ shell: SecureShell) -> String? {
    if let port { return port }
    // From the adapter up to its USB device.
    let script = """
      for h in /sys/class/bluetooth/hci*; do d=$(readlink -f "$h/device") || continue; \
      while [ "$d" != / ]; do [ -f "$d/authorized" ] && [ -f "$d/idVendor" ] && { echo "$d"; exit; }; d=$(dirname "$d"); \
      done; done
      """
    let path = try? shell.run(script).trimmingCharacters(in: .whitespacesAndNewlines)
    return path?.hasPrefix("/sys/") == true ? path : nil
  }
}
