import BluetoothTypes
import FoundationEssentials

public struct ServiceDefinition: Sendable, Hashable, Codable {
  public var identifier: LocalAttributeIdentifier
  public var uuid: BluetoothUUID
  public var isPrimary: Bool
  public var includedServices: [LocalAttributeIdentifier]
  public var characteristics: [CharacteristicDefinition]
  public init(
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

public struct CharacteristicDefinition: Sendable, Hashable, Codable {
  public var identifier: LocalAttributeIdentifier
  public var uuid: BluetoothUUID
  public var properties: CharacteristicProperties
  public var permissions: AttributePermissions
  /// A value with which the system answers reads by itself, or `nil` if the app is asked each time.
  public var value: [UInt8]?
  public var descriptors: [DescriptorDefinition]
  public init(
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

public struct DescriptorDefinition: Sendable, Hashable, Codable {
  public var uuid: BluetoothUUID
  public var value: [UInt8]
  public init(uuid: BluetoothUUID, value: [UInt8]) {
    self.uuid = uuid
    self.value = value
  }
}

/// What `startAdvertising` accepts: a name and service UUIDs (Apple, `CBPeripheralManager.startAdvertising`).
public struct AdvertisementRequest: Sendable, Hashable, Codable {
  public var localName: String?
  public var serviceUUIDs: [BluetoothUUID]
  public init(localName: String? = nil, serviceUUIDs: [BluetoothUUID] = []) {
    self.localName = localName
    self.serviceUUIDs = serviceUUIDs
  }
}
