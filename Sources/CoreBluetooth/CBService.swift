import AppLink
import BluetoothTypes
import Foundation

/// A service of a remote peripheral or, as `CBMutableService`, one that this app publishes.
open class CBService: CBAttribute, @unchecked Sendable {
  /// The service's handle at the remote peripheral; 0 for one of this app.
  let handle: AttributeHandle
  let primary: Bool
  weak var owner: CBPeripheral?
  var includedServiceList: [CBService]? { didSet { noteChange() } }
  var characteristicList: [CBCharacteristic]? { didSet { noteChange() } }

  init(uuid: CBUUID, primary: Bool, handle: AttributeHandle = 0, peripheral: CBPeripheral? = nil) {
    self.handle = handle
    self.primary = primary
    owner = peripheral
    super.init(uuid: uuid)
  }

  /// The peripheral it belongs to, or `nil` for one of this app.
  open var peripheral: CBPeripheral? { locked { owner } }
  open var isPrimary: Bool { primary }
  /// The included services discovered so far; `nil` before a discovery.
  open var includedServices: [CBService]? { locked { includedServiceList } }
  /// The characteristics discovered so far; `nil` before a discovery.
  open var characteristics: [CBCharacteristic]? { locked { characteristicList } }

  override func property(_ name: String) -> Property? {
    switch name {
    case "peripheral": Property(peripheral)
    case "isPrimary": Property(isPrimary)
    case "includedServices": Property(includedServices)
    case "characteristics": Property(characteristics)
    default: super.property(name)
    }
  }

  open override var description: String {
    "<\(type(of: self)): isPrimary = \(isPrimary ? "YES" : "NO"), UUID = \(uuid.uuidString)>"
  }
}
