import BlueZ
import BluetoothTypes
import BusValue

/// Which of a machine's Bluetooth adapters the system uses. Objects of the others are ignored.
public enum AdapterChoice: Sendable, Hashable, CustomStringConvertible {
  /// The lowest name that is there when one is needed.
  case first
  /// By bluetoothd's name, `hci1`. The kernel gives the numbers in the order in which adapters come.
  case named(String)
  /// By the adapter's address, which stays when adapters are unplugged and come in another order.
  case address(DeviceAddress)

  /// `hci` and a number up to 65535, or an address as `C0:DE:00:00:00:02`; `nil`: neither.
  public init?(_ text: String) {
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

  /// Whether it is this `Adapter1`.
  func matches(_ path: ObjectPath, _ properties: Properties) -> Bool {
    switch self {
    case .first: true
    case .named(let name): path.lastComponent == name
    // An adapter whose own identity is a static random address is meant as well: its kind is not in question.
    case .address(let address):
      PropertyValues<Adapter1>(properties).address.flatMap { DeviceAddress($0, kind: .public) }?.bits == address.bits
    }
  }

  public var description: String {
    switch self {
    case .first: "the first"
    case .named(let name): name
    case .address(let address): address.description
    }
  }
}
