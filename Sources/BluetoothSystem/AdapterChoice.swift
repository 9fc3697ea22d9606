import BlueZ
import BluetoothTypes
import BusValue

/// Which of the machine's Bluetooth adapters the system uses. Objects of the other adapters are ignored.
package enum AdapterChoice: Sendable, Hashable, CustomStringConvertible {
  /// The adapter with the lowest name at the time one is needed.
  case first
  /// The adapter with this bluetoothd name, such as `hci1`. The kernel numbers adapters in the order in which they
  /// appear.
  case named(String)
  /// The adapter with this address. Unlike a name, it survives unplugging and a changed order of adapters.
  case address(DeviceAddress)

  /// Accepts `hci` with a number up to 65535, or an address such as `C0:DE:00:00:00:02`. Returns `nil` for any other
  /// text.
  package init?(_ text: String) {
    if let address = DeviceAddress(text, kind: .public) {
      self = .address(address)
      return
    }
    let digits = text.dropFirst(3)
    guard text.hasPrefix("hci"), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(digits),
      "hci\(number)" == text
    else { return nil }
    self = .named(text)
  }

  /// Whether this `Adapter1` is the chosen one.
  func matches(_ path: ObjectPath, _ properties: Properties) -> Bool {
    switch self {
    case .first: true
    case .named(let name): path.lastComponent == name
    // Only the bits are compared, so an adapter whose identity is a static random address matches as well.
    case .address(let address):
      PropertyValues<Adapter1>(properties).address.flatMap { DeviceAddress($0, kind: .public) }?.bits == address.bits
    }
  }

  package var description: String {
    switch self {
    case .first: "the first"
    case .named(let name): name
    case .address(let address): address.description
    }
  }
}
