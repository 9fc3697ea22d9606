import AppLink
import Foundation

/// A service that this app publishes with `CBPeripheralManager.add(_:)`. Once published it no longer changes.
open class CBMutableService: CBService, @unchecked Sendable {
  /// Identifies this service to the system, even after the app was relaunched.
  let localIdentifier: LocalAttributeIdentifier

  public init(type UUID: CBUUID, primary isPrimary: Bool) {
    localIdentifier = AttributeIdentifiers.next()
    super.init(uuid: UUID, primary: isPrimary)
  }

  init(restored definition: ServiceDefinition) {
    localIdentifier = definition.identifier
    super.init(uuid: CBUUID(definition.uuid), primary: definition.isPrimary)
  }

  /// Services that this one includes. They must be published before it.
  open override var includedServices: [CBService]? {
    get { locked { includedServiceList } }
    set { locked { includedServiceList = newValue } }
  }

  open override var characteristics: [CBCharacteristic]? {
    get { locked { characteristicList } }
    set {
      locked {
        characteristicList = newValue
        for characteristic in newValue ?? [] { characteristic.owner = self }
      }
    }
  }
}
