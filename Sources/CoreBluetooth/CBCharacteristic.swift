import AppLink
import BluetoothTypes
import Foundation

/// A characteristic of a remote peripheral or, as `CBMutableCharacteristic`, one that this app publishes.
open class CBCharacteristic: CBAttribute, @unchecked Sendable {
  /// The characteristic's handle at the remote peripheral; 0 for one of this app.
  let handle: AttributeHandle
  weak var owner: CBService?
  /// The remote peripheral, also when the service is gone.
  private(set) weak var origin: CBPeripheral?
  var propertySet: CBCharacteristicProperties
  var currentValue: Data? { didSet { noteChange() } }
  var notifying = false { didSet { noteChange() } }
  var descriptorList: [CBDescriptor]? { didSet { noteChange() } }

  init(uuid: CBUUID, properties: CBCharacteristicProperties, handle: AttributeHandle = 0, service: CBService? = nil) {
    self.handle = handle
    propertySet = properties
    owner = service
    origin = service?.owner
    super.init(uuid: uuid)
  }

  /// The service it belongs to.
  open var service: CBService? { locked { owner } }
  open var properties: CBCharacteristicProperties { locked { propertySet } }
  /// The value last read or notified; `nil` before that.
  open var value: Data? { locked { currentValue } }
  /// The descriptors discovered so far; `nil` before a discovery.
  open var descriptors: [CBDescriptor]? { locked { descriptorList } }
  /// Always `false`: a characteristic's value is not broadcast, neither here nor on Apple's systems.
  @available(*, deprecated, message: "not supported")
  open var isBroadcasted: Bool { false }
  /// Whether this app is subscribed.
  open var isNotifying: Bool { locked { notifying } }

  override func property(_ name: String) -> Property? {
    switch name {
    case "service": Property(service)
    case "properties": Property(Int(properties.rawValue))
    case "value": Property(value)
    case "descriptors": Property(descriptors)
    case "isBroadcasted": Property(false)
    case "isNotifying": Property(isNotifying)
    default: super.property(name)
    }
  }

  /// Data as Apple's systems print it: all bytes if there are at most 24, otherwise the first 16 and the last 8.
  private static func text(of data: Data) -> String {
    func hexadecimal(_ bytes: Data) -> String {
      var text = ""
      for (index, byte) in bytes.enumerated() {
        if data.count > 24, index > 0, index.isMultiple(of: 4) { text += " " }
        text += String(format: "%02x", byte)
      }
      return text
    }
    guard data.count > 24 else { return "{length = \(data.count), bytes = 0x\(hexadecimal(data))}" }
    return "{length = \(data.count), bytes = 0x\(hexadecimal(data.prefix(16))) ... \(hexadecimal(data.suffix(8))) }"
  }

  open override var description: String {
    let text = value.map { Self.text(of: $0) } ?? "(null)"
    return "<\(type(of: self)): UUID = \(uuid.uuidString), properties = 0x"
      + "\(String(properties.rawValue, radix: 16, uppercase: true)), value = \(text), "
      + "notifying = \(isNotifying ? "YES" : "NO")>"
  }
}
