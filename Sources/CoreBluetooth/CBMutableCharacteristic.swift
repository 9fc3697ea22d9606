import AppLink
import BluetoothTypes
import Foundation

/// A characteristic of a service that this app publishes.
open class CBMutableCharacteristic: CBCharacteristic, @unchecked Sendable {
  /// Identifies this characteristic to the system, even after the app was relaunched.
  let localIdentifier: LocalAttributeIdentifier
  private var permissionSet: CBAttributePermissions
  var subscribers: [CBCentral] = [] { didSet { noteChange() } }

  /// - Parameters:
  ///   - UUID: The kind of characteristic.
  ///   - properties: What centrals may do with it.
  ///   - value: A value with which the system answers reads by itself; the characteristic must then be read-only.
  ///     `nil` means that the app is asked each time.
  ///   - permissions: Whether access requires encryption.
  public init(
    type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?, permissions: CBAttributePermissions
  ) {
    localIdentifier = AttributeIdentifiers.next()
    permissionSet = permissions
    super.init(uuid: UUID, properties: properties)
    currentValue = value
  }

  init(restored definition: CharacteristicDefinition, service: CBMutableService) {
    localIdentifier = definition.identifier
    permissionSet = CBAttributePermissions(rawValue: UInt(definition.permissions.rawValue))
    super.init(
      uuid: CBUUID(definition.uuid),
      properties: CBCharacteristicProperties(rawValue: UInt(definition.properties.rawValue)),
      service: service)
    currentValue = definition.value.map { Data($0) }
    descriptorList =
      definition.descriptors.isEmpty
      ? nil : definition.descriptors.map { CBMutableDescriptor(restored: $0, characteristic: self) }
  }

  open var permissions: CBAttributePermissions {
    get { locked { permissionSet } }
    set { locked { permissionSet = newValue } }
  }

  /// The centrals that are subscribed now.
  open var subscribedCentrals: [CBCentral]? { locked { subscribers } }

  open override var properties: CBCharacteristicProperties {
    get { locked { propertySet } }
    set { locked { propertySet = newValue } }
  }

  open override var value: Data? {
    get { locked { currentValue } }
    set { locked { currentValue = newValue } }
  }

  open override var descriptors: [CBDescriptor]? {
    get { locked { descriptorList } }
    set {
      locked {
        descriptorList = newValue
        for descriptor in newValue ?? [] { descriptor.owner = self }
      }
    }
  }
}
