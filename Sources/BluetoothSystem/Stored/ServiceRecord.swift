import AppLink
import BluetoothTypes
import FoundationEssentials

/// A service that an app publishes.
package struct ServiceRecord: Sendable, Hashable {
  package var manager: ManagerKey
  package var definition: ServiceDefinition
  /// The service declaration's handle; its attributes follow.
  package var handle: AttributeHandle
  /// The service's position in the order of publishing.
  package var order: Int

  package init(manager: ManagerKey, definition: ServiceDefinition, handle: AttributeHandle, order: Int) {
    self.manager = manager
    self.definition = definition
    self.handle = handle
    self.order = order
  }
}

extension ServiceRecord {
  struct OnDisk: DiskForm {
    var manager: ManagerKey.OnDisk
    var definition: Definition
    var handle: UInt16
    var order: Int

    enum CodingKeys: String, CodingKey {
      case manager = "manager"
      case definition = "definition"
      case handle = "handle"
      case order = "order"
    }

    init(_ record: ServiceRecord) {
      manager = ManagerKey.OnDisk(record.manager)
      definition = Definition(record.definition)
      handle = record.handle
      order = record.order
    }

    var value: ServiceRecord {
      get throws {
        ServiceRecord(manager: manager.value, definition: try definition.value, handle: handle, order: order)
      }
    }
  }

  struct Definition: DiskForm {
    var identifier: UUID
    var uuid: UUIDOnDisk
    var isPrimary: Bool
    /// Identifiers. Missing: none.
    var includedServices: [UUID]?
    var characteristics: [Characteristic]

    enum CodingKeys: String, CodingKey {
      case identifier = "identifier"
      case uuid = "uuid"
      case isPrimary = "isPrimary"
      case includedServices = "includedServices"
      case characteristics = "characteristics"
    }

    init(_ definition: ServiceDefinition) {
      identifier = definition.identifier.rawValue
      uuid = UUIDOnDisk(definition.uuid)
      isPrimary = definition.isPrimary
      includedServices = definition.includedServices.isEmpty ? nil : definition.includedServices.map(\.rawValue)
      characteristics = Characteristic.list(definition.characteristics)
    }

    var value: ServiceDefinition {
      get throws {
        ServiceDefinition(
          identifier: LocalAttributeIdentifier(identifier), uuid: try uuid.value, isPrimary: isPrimary,
          includedServices: includedServices?.map { LocalAttributeIdentifier($0) } ?? [],
          characteristics: try characteristics.values)
      }
    }
  }

  struct Characteristic: DiskForm {
    var identifier: UUID
    var uuid: UUIDOnDisk
    /// Bits, as in `CBCharacteristicProperties`.
    var properties: UInt16
    /// Bits, as in `CBAttributePermissions`.
    var permissions: UInt8
    /// Missing: the app is asked at each read.
    var bytes: BytesOnDisk?
    /// Missing: none.
    var descriptors: [Descriptor]?

    enum CodingKeys: String, CodingKey {
      case identifier = "identifier"
      case uuid = "uuid"
      case properties = "properties"
      case permissions = "permissions"
      case bytes = "value"
      case descriptors = "descriptors"
    }

    init(_ definition: CharacteristicDefinition) {
      identifier = definition.identifier.rawValue
      uuid = UUIDOnDisk(definition.uuid)
      properties = definition.properties.rawValue
      permissions = definition.permissions.rawValue
      bytes = definition.value.map { BytesOnDisk($0) }
      descriptors = definition.descriptors.isEmpty ? nil : Descriptor.list(definition.descriptors)
    }

    var value: CharacteristicDefinition {
      get throws {
        CharacteristicDefinition(
          identifier: LocalAttributeIdentifier(identifier), uuid: try uuid.value,
          properties: CharacteristicProperties(rawValue: properties),
          permissions: AttributePermissions(rawValue: permissions), value: try bytes?.value,
          descriptors: try descriptors?.values ?? [])
      }
    }
  }

  struct Descriptor: DiskForm {
    var uuid: UUIDOnDisk
    var bytes: BytesOnDisk

    enum CodingKeys: String, CodingKey {
      case uuid = "uuid"
      case bytes = "value"
    }

    init(_ definition: DescriptorDefinition) {
      uuid = UUIDOnDisk(definition.uuid)
      bytes = BytesOnDisk(definition.value)
    }

    var value: DescriptorDefinition {
      get throws { DescriptorDefinition(uuid: try uuid.value, value: try bytes.value) }
    }
  }
}
