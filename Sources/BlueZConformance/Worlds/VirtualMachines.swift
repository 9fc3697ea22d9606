import Foundation
import Subprocess
import Synchronization
import SystemBus

/// bluetoothd itself: two machines that are reached over ssh, and the air between their controllers. All of them are
/// already running.
package final class VirtualMachines: ConformanceWorld {
  package let subject = "bluetoothd"
  package let quiet = Duration.seconds(4)

  private let sshConfiguration: String
  private let air: LineChannel
  private let lastRequest = Mutex<UInt64>(0)

  /// - Parameters:
  ///   - sshConfiguration: defines the hosts `lock` and `phone`, with users who have all rights there.
  ///   - airSocket: the control socket of the air (docs/machines.md).
  package init(sshConfiguration: String, airSocket: String) throws {
    self.sshConfiguration = sshConfiguration
    air = try LineChannel(socket: airSocket)
  }

  /// The machine's system bus, through ssh. (In an address, characters other than letters and digits are written as
  /// codes.)
  package func busAddress(of machine: MachineName) -> BusAddress {
    let words = ["-F", sshConfiguration, machine.rawValue, "systemd-stdio-bridge"]
    let arguments = words.enumerated().map { "argv\($0.offset + 1)=\(Self.escaped($0.element))" }
    return BusAddress("unixexec:path=ssh,\(arguments.joined(separator: ","))")
  }

  private static func escaped(_ text: String) -> String {
    text.utf8.map { byte in
      let isPlain =
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
        || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || [0x2D, 0x5F, 0x2F, 0x2E].contains(byte)
      return isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }

  /// Gives bluetoothd new disks, and plugs in new controllers, because the kernel's knowledge of an existing controller
  /// survives bluetoothd. systemd-rfkill is stopped, because it would block controllers again that were blocked when it
  /// last saw them.
  package func begin(_ setup: WorldSetup) async throws {
    try await perform(.range(true))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for machine in MachineName.allCases {
        let privacy = setup.privateMachines.contains(machine) ? "Privacy = device" : "#Privacy = off"
        let experimental =
          setup.experimentalMachines.contains(machine) ? "Experimental = true" : "#Experimental = false"
        let second =
          setup.twoControllers.contains(machine) ? Self.makeSecondController : "rm -f \(Self.secondController)"
        group.addTask {
          try await self.execute(
            """
            systemctl stop bluetooth systemd-rfkill.socket systemd-rfkill; rm -rf /var/lib/bluetooth/*; \
            [ ! -e \(Self.secondController) ] || systemctl stop latchkey-lab-second-controller; \(second); \
            systemctl restart latchkey-lab-controller; rfkill unblock bluetooth; \
            sed -i -e 's/^#\\?Privacy *=.*/\(privacy)/' -e 's/^#\\?Experimental *=.*/\(experimental)/' \
              /etc/bluetooth/main.conf; \
            systemctl reset-failed bluetooth; systemctl start bluetooth
            """, on: machine)
        }
      }
      try await group.waitForAll()
    }
  }

  /// The second controller has the first one's unit, for the machine's second wire.
  private static let secondController = "/run/systemd/system/latchkey-lab-second-controller.service"
  private static let makeSecondController = """
    mkdir -p /run/systemd/system && \
    sed s/hvc0/hvc1/ /etc/systemd/system/latchkey-lab-controller.service >\(secondController) && systemctl daemon-reload
    """

  package func perform(_ fault: WorldFault) async throws {
    switch fault {
    case .range(let isOn): try await tellAir(["command": "range", "a": "lock", "b": "phone", "on": isOn])
    // After a kill, it stays away: systemd is told not to restart it.
    case .stopBluetoothd(let machine, killed: true):
      try await execute("systemctl kill --signal=KILL bluetooth; systemctl stop bluetooth", on: machine)
    case .stopBluetoothd(let machine, killed: false): try await execute("systemctl stop bluetooth", on: machine)
    case .startBluetoothd(let machine): try await execute("systemctl start bluetooth", on: machine)
    case .block(let machine, let isOn):
      try await execute("rfkill \(isOn ? "block" : "unblock") bluetooth", on: machine)
    case .plug(let machine, let isOn):
      try await execute("systemctl \(isOn ? "start" : "stop") latchkey-lab-controller", on: machine)
    case .plugSecond(let machine, let isOn):
      try await execute("systemctl \(isOn ? "start" : "stop") latchkey-lab-second-controller", on: machine)
    case .reboot(let machine): try await reboot(machine)
    }
  }

  private func reboot(_ machine: MachineName) async throws {
    let before = try await execute("cat /proc/sys/kernel/random/boot_id", on: machine)
    // The connection may end before the command's result arrives.
    _ = try? await execute("systemctl reboot", on: machine)
    let giveUp = ContinuousClock.now + .seconds(300)
    while ContinuousClock.now < giveUp {
      // ssh waits for the machine to answer, up to its ConnectTimeout.
      if let after = try? await execute("cat /proc/sys/kernel/random/boot_id", on: machine), after != before { return }
    }
    throw WorldFailure("\(machine) does not boot again")
  }

  private func tellAir(_ command: [String: Any]) async throws {
    let identifier = lastRequest.withLock { last in
      last += 1
      return last
    }
    let line = try JSONSerialization.data(withJSONObject: command.merging(["id": identifier]) { $1 })
    let text = String(decoding: line, as: UTF8.self)
    try air.say(text)
    let error = try await air.hear("an answer") { line -> String? in
      guard let reply = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
        (reply["id"] as? NSNumber)?.uint64Value == identifier
      else { return nil }
      return reply["error"] as? String ?? ""
    }
    guard error.isEmpty else { throw WorldFailure("the air refused \(text): \(error)") }
  }

  /// Runs a command on a machine.
  ///
  /// - Returns: its output.
  /// - Throws: `WorldFailure` if it fails.
  @discardableResult
  private func execute(_ command: String, on machine: MachineName) async throws -> String {
    let result = try await Subprocess.run(
      .path("/usr/bin/ssh"), arguments: ["-F", sshConfiguration, machine.rawValue, command],
      output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
    let text = result.standardOutput
    guard result.terminationStatus.isSuccess else {
      throw WorldFailure(
        "on \(machine), `\(command)` failed with \(result.terminationStatus): "
          + text + result.standardError)
    }
    return text
  }

  package func end() async {}
}
