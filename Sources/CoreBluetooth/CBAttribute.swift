import Foundation

/// A service, a characteristic or a descriptor.
open class CBAttribute: CoreBluetoothObject, @unchecked Sendable {
  let attributeUUID: CBUUID

  init(uuid: CBUUID) { attributeUUID = uuid }

  open var uuid: CBUUID { attributeUUID }

  override func property(_ name: String) -> Property? {
    switch name {
    case "UUID", "uuid": Property(uuid)
    default: super.property(name)
    }
  }
}
