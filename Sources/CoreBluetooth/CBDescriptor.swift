import BluetoothTypes
import Foundation

/// A descriptor of a remote peripheral's characteristic or, as `CBMutableDescriptor`, one that this app publishes.
open class CBDescriptor: CBAttribute, @unchecked Sendable {
  /// The descriptor's handle at the remote peripheral; 0 for one of this app.
  let handle: AttributeHandle
  weak var owner: CBCharacteristic?
  /// The remote peripheral, also when the characteristic is gone.
  private(set) weak var origin: CBPeripheral?
  var currentValue: Any? { didSet { noteChange() } }

  init(uuid: CBUUID, handle: AttributeHandle = 0, characteristic: CBCharacteristic? = nil) {
    self.handle = handle
    owner = characteristic
    origin = characteristic?.origin
    super.init(uuid: uuid)
  }

  /// The characteristic it belongs to.
  open var characteristic: CBCharacteristic? { locked { owner } }

  /// The value last read; its type depends on the descriptor: `String` for a user description, `NSNumber` for
  /// extended properties and both configurations, `Data` for all others.
  open var value: Any? { locked { currentValue } }

  override func property(_ name: String) -> Property? {
    switch name {
    case "characteristic": Property(characteristic)
    case "value": Property(value)
    default: super.property(name)
    }
  }

  open override var description: String {
    "<\(type(of: self)): UUID = \(uuid.uuidString), value = \(value.map { "\($0)" } ?? "(null)")>"
  }

  /// Converts a received value to the type that belongs to the descriptor's UUID. A malformed value stays `Data`.
  static func typedValue(_ bytes: [UInt8], of uuid: BluetoothUUID) -> Any {
    switch uuid.shortValue {
    case 0x2901: return String(bytes: bytes, encoding: .utf8) ?? Data(bytes)
    case 0x2900, 0x2902, 0x2903:
      guard bytes.count == 2 else { return Data(bytes) }
      return NSNumber(value: UInt16(bytes[0]) | UInt16(bytes[1]) << 8)
    default: return Data(bytes)
    }
  }

  /// The bytes of a value that an app supplied, or `nil` if a descriptor can't have a value of its type.
  static func bytes(of value: Any?) -> [UInt8]? {
    switch value {
    case let text as String: return Array(text.utf8)
    case let data as Data: return Array(data)
    case let number as NSNumber: return [UInt8(truncating: number), UInt8(truncatingIfNeeded: number.uint16Value >> 8)]
    default: return nil
    }
  }
}
