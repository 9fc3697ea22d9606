import BluetoothTypes
import FoundationEssentials

/// A service that an app publishes.
package struct ServiceDefinition: Sendable, Hashable, Codable {
  package var identifier: LocalAttributeIdentifier
  package var uuid: BluetoothUUID
  package var isPrimary: Bool
  package var includedServices: [LocalAttributeIdentifier]
  package var characteristics: [CharacteristicDefinition]
  package init(
    identifier: LocalAttributeIdentifier, uuid: BluetoothUUID, isPrimary: Bool = true,
    includedServices: [LocalAttributeIdentifier] = [], characteristics: [CharacteristicDefinition]
  ) {
    self.identifier = identifier
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.includedServices = includedServices
    self.characteristics = characteristics
  }
}

/// A characteristic of a service that an app publishes.
package struct CharacteristicDefinition: Sendable, Hashable, Codable {
  package var identifier: LocalAttributeIdentifier
  package var uuid: BluetoothUUID
  package var properties: CharacteristicProperties
  package var permissions: AttributePermissions
  /// A value with which the system answers reads by itself, or `nil` if the app is asked each time.
  package var value: [UInt8]?
  package var descriptors: [DescriptorDefinition]
  package init(
    identifier: LocalAttributeIdentifier, uuid: BluetoothUUID, properties: CharacteristicProperties,
    permissions: AttributePermissions, value: [UInt8]? = nil, descriptors: [DescriptorDefinition] = []
  ) {
    self.identifier = identifier
    self.uuid = uuid
    self.properties = properties
    self.permissions = permissions
    self.value = value
    self.descriptors = descriptors
  }
}

/// A descriptor of a characteristic that an app publishes, with the value that the system answers reads with.
package struct DescriptorDefinition: Sendable, Hashable, Codable {
  package var uuid: BluetoothUUID
  package var value: [UInt8]
  package init(uuid: BluetoothUUID, value: [UInt8]) {
    self.uuid = uuid
    self.value = value
  }
}

/// What `startAdvertising` accepts: a name and service UUIDs (Apple, `CBPeripheralManager.startAdvertising`).
package struct AdvertisementRequest: Sendable, Hashable, Codable {
  package var localName: String?
  package var serviceUUIDs: [BluetoothUUID]
  package init(localName: String? = nil, serviceUUIDs: [BluetoothUUID] = []) {
    self.localName = localName
    self.serviceUUIDs = serviceUUIDs
  }
}
