import BlueZ
import BlueZModel
import BusValue

/// The names of a machine's adapters. Each adapter is a machine of its own in the simulated world: `phone`,
/// `phone/hci1`.
enum AdapterName {
  static func name(_ machine: String, _ number: Int) -> String { number == 0 ? machine : "\(machine)/hci\(number)" }

  static func machine(_ name: String) -> String { String(name.prefix { $0 != "/" }) }

  private static func number(of name: String) -> Int {
    name.split(separator: "/").last.flatMap { Int($0.dropFirst(3)) } ?? 0
  }

  /// The adapter that a path belongs to, or `nil` above the adapters.
  static func number(_ path: ObjectPath) -> Int? {
    let parts = path.text.split(separator: "/")
    guard parts.count >= 3, parts[2].hasPrefix("hci") else { return nil }
    return Int(parts[2].dropFirst(3))
  }

  /// Adds the adapter's number to a call's identifier. Each adapter numbers its calls for itself, and on the machine's
  /// one bus the numbers must differ.
  static func marked(_ message: DaemonMessage, _ name: String) -> DaemonMessage {
    guard case .callback(let identifier, let path, let callback) = message else { return message }
    let number = name.contains("/") ? number(of: name) : 0
    return .callback(
      CallbackIdentifier(identifier.rawValue << 4 | UInt64(number)), path: path, callback)
  }

  static func split(_ callback: CallbackIdentifier) -> (own: CallbackIdentifier, number: Int) {
    (CallbackIdentifier(callback.rawValue >> 4), Int(callback.rawValue & 15))
  }
}

extension WorldCommand {
  /// The same command for another machine.
  func naming(_ machine: String) -> WorldCommand {
    switch self {
    case .move(_, let x, let y): .move(machine: machine, x: x, y: y)
    case .walk(_, let x, let y, let seconds): .walk(machine: machine, x: x, y: y, seconds: seconds)
    case .shield(_, let isOn): .shield(machine: machine, isOn: isOn)
    case .plug(_, let isOn): .plug(machine: machine, isOn: isOn)
    case .power(_, let isOn): .power(machine: machine, isOn: isOn)
    case .forgetPairings: .forgetPairings(machine: machine)
    case .block(_, let isOn): .block(machine: machine, isOn: isOn)
    case .restartBluetoothd(_, let killed): .restartBluetoothd(machine: machine, killed: killed)
    case .stopBluetoothd(_, let killed): .stopBluetoothd(machine: machine, killed: killed)
    case .startBluetoothd: .startBluetoothd(machine: machine)
    case .shutDown: .shutDown(machine: machine)
    case .cutPower: .cutPower(machine: machine)
    case .boot: .boot(machine: machine)
    case .remember(_, let devices): .remember(machine: machine, devices: devices)
    case .hear(_, let input): .hear(machine: machine, input: input)
    }
  }
}
