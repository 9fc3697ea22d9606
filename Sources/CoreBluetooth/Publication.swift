import AppLink
import BluetoothTypes
import Foundation

/// Why a service can't be published.
struct UnpublishableService: Error, CustomStringConvertible {
  let description: String
}

extension CBPeripheralManager.Publication {
  private static let maximumCharacteristics = 256

  /// Reads and checks a service that an app wants to publish. Called under the lock.
  init(_ service: CBMutableService, published: Set<LocalAttributeIdentifier>) throws(UnpublishableService) {
    guard !published.contains(service.localIdentifier) else {
      throw UnpublishableService(description: "\(service) is published already")
    }
    let included = try Self.includedServices(of: service, published: published)
    var characteristics: [LocalAttributeIdentifier: CBMutableCharacteristic] = [:]
    var definitions: [CharacteristicDefinition] = []
    let list = service.characteristicList ?? []
    guard list.count <= Self.maximumCharacteristics else {
      throw UnpublishableService(
        description: "\(service) has \(list.count) characteristics; \(Self.maximumCharacteristics) are possible")
    }
    for member in list {
      guard let characteristic = member as? CBMutableCharacteristic else {
        throw UnpublishableService(description: "\(member) is not a CBMutableCharacteristic")
      }
      guard characteristics.updateValue(characteristic, forKey: characteristic.localIdentifier) == nil else {
        throw UnpublishableService(description: "\(characteristic) is in \(service) twice")
      }
      definitions.append(try Self.definition(of: characteristic))
    }
    self.service = service
    self.characteristics = characteristics
    definition = ServiceDefinition(
      identifier: service.localIdentifier, uuid: service.attributeUUID.bluetoothUUID, isPrimary: service.primary,
      includedServices: included, characteristics: definitions)
  }

  private static func includedServices(
    of service: CBMutableService, published: Set<LocalAttributeIdentifier>
  ) throws(UnpublishableService) -> [LocalAttributeIdentifier] {
    var identifiers: [LocalAttributeIdentifier] = []
    for included in service.includedServiceList ?? [] {
      guard let mutable = included as? CBMutableService, published.contains(mutable.localIdentifier) else {
        throw UnpublishableService(description: "\(service) includes \(included), which has to be added before it")
      }
      identifiers.append(mutable.localIdentifier)
    }
    return identifiers
  }

  private static func definition(
    of characteristic: CBMutableCharacteristic
  ) throws(UnpublishableService) -> CharacteristicDefinition {
    let properties = CharacteristicProperties(rawValue: UInt16(truncatingIfNeeded: characteristic.propertySet.rawValue))
    let permissions = AttributePermissions(rawValue: UInt8(truncatingIfNeeded: characteristic.permissions.rawValue))
    if let value = characteristic.currentValue {
      guard properties == .read, permissions.isDisjoint(with: [.writeable, .writeEncryptionRequired]) else {
        throw UnpublishableService(
          description: "\(characteristic) has a value of its own, so it has to be read-only; give it the value nil")
      }
      guard value.count <= ATTLimits.maximumValueLength else {
        throw UnpublishableService(
          description: "\(characteristic) has \(value.count) bytes; \(ATTLimits.maximumValueLength) are possible")
      }
    }
    var descriptors: [DescriptorDefinition] = []
    for descriptor in characteristic.descriptorList ?? [] { descriptors.append(try definition(of: descriptor)) }
    return CharacteristicDefinition(
      identifier: characteristic.localIdentifier, uuid: characteristic.attributeUUID.bluetoothUUID,
      properties: properties, permissions: permissions, value: characteristic.currentValue.map { Array($0) },
      descriptors: descriptors)
  }

  private static func definition(of descriptor: CBDescriptor) throws(UnpublishableService) -> DescriptorDefinition {
    let uuid = descriptor.attributeUUID.bluetoothUUID
    // The system itself makes the descriptors that configure a characteristic.
    guard ![0x2900, 0x2902, 0x2903].contains(uuid.shortValue) else {
      throw UnpublishableService(description: "\(descriptor) is made by the system itself")
    }
    guard let bytes = CBDescriptor.bytes(of: descriptor.currentValue), bytes.count <= ATTLimits.maximumValueLength
    else {
      throw UnpublishableService(
        description: "\(descriptor) needs a String or a Data of at most \(ATTLimits.maximumValueLength) bytes")
    }
    return DescriptorDefinition(uuid: uuid, value: bytes)
  }

  /// What the system kept while the app was not running.
  init(restored definition: ServiceDefinition) {
    let service = CBMutableService(restored: definition)
    let members = definition.characteristics.map { CBMutableCharacteristic(restored: $0, service: service) }
    service.characteristicList = members
    self.service = service
    self.definition = definition
    // Identifiers come from the system. If one is repeated, which would be an error of the system, the first counts.
    characteristics = Dictionary(members.map { ($0.localIdentifier, $0) }, uniquingKeysWith: { first, _ in first })
    isTold = true
  }
}
