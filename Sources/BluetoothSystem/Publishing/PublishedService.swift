import AppLink
import BlueZ
import BluetoothTypes
import BusValue

/// A service as it is exported to bluetoothd. Each service is an application of its own, except those that include
/// each other. Its handle is fixed, so that neither an app's death nor another service's change moves an attribute.
struct PublishedService: Sendable {
  let manager: ManagerKey
  /// The path of the application.
  let root: ObjectPath
  /// The path of the service.
  let path: ObjectPath
  private(set) var characteristics: [ObjectPath: LocalAttributeIdentifier] = [:]
  private(set) var paths: [LocalAttributeIdentifier: ObjectPath] = [:]
  private(set) var descriptors: [ObjectPath: [UInt8]] = [:]
  /// Characteristics that can be subscribed to.
  private(set) var subscribable: Set<LocalAttributeIdentifier> = []
  /// Characteristics that bluetoothd has reported as subscribed since the registration.
  var notifying: Set<LocalAttributeIdentifier> = []

  init(_ record: ServiceRecord, manager: ManagerKey, root: ObjectPath, path: ObjectPath) {
    (self.manager, self.root, self.path) = (manager, root, path)
    for (index, characteristic) in record.definition.characteristics.enumerated() {
      let place = Self.characteristic(index, of: path)
      characteristics[place] = characteristic.identifier
      paths[characteristic.identifier] = place
      if characteristic.flags.contains(where: { $0 == .notify || $0 == .indicate }) {
        subscribable.insert(characteristic.identifier)
      }
      for (position, descriptor) in characteristic.descriptors.enumerated() {
        descriptors[Self.descriptor(position, of: place)] = descriptor.value
      }
    }
  }

  private static func characteristic(_ index: Int, of service: ObjectPath) -> ObjectPath {
    service.appending("characteristic\(index)")
  }

  private static func descriptor(_ index: Int, of characteristic: ObjectPath) -> ObjectPath {
    characteristic.appending("descriptor\(index)")
  }

  /// The objects from which bluetoothd reads the service.
  /// - Parameter included: the paths of the services that it includes, in the same application.
  func objects(of record: ServiceRecord, including included: [ObjectPath]) -> ManagedObjects {
    var service = PropertyValues<GattService1>()
    service.uuid = record.definition.uuid
    service.primary = record.definition.isPrimary
    service.handle = record.handle
    service.includes = included
    var objects = [path: service.interfaces]
    for (index, characteristic) in record.definition.characteristics.enumerated() {
      let place = Self.characteristic(index, of: path)
      var exported = PropertyValues<GattCharacteristic1>()
      exported.uuid = characteristic.uuid
      exported.service = path
      exported.flags = characteristic.flags.map(\.rawValue)
      objects[place] = exported.interfaces
      for (position, descriptor) in characteristic.descriptors.enumerated() {
        var exported = PropertyValues<GattDescriptor1>()
        exported.uuid = descriptor.uuid
        exported.characteristic = place
        exported.flags = [GATTFlag.read.rawValue]
        objects[Self.descriptor(position, of: place)] = exported.interfaces
      }
    }
    return objects
  }
}

extension CharacteristicDefinition {
  /// The flags that tell bluetoothd what may be done with the characteristic, and by whom.
  var flags: [GATTFlag] {
    var flags: [GATTFlag] = []
    func add(_ flag: GATTFlag, where condition: Bool) { if condition { flags.append(flag) } }
    let isWriteable = properties.contains(.write) || properties.contains(.writeWithoutResponse)
    add(.broadcast, where: properties.contains(.broadcast))
    add(.read, where: properties.contains(.read))
    add(.encryptRead, where: properties.contains(.read) && permissions.contains(.readEncryptionRequired))
    add(.writeWithoutResponse, where: properties.contains(.writeWithoutResponse))
    add(.write, where: properties.contains(.write))
    add(.encryptWrite, where: isWriteable && permissions.contains(.writeEncryptionRequired))
    add(.notify, where: properties.contains(.notify) || properties.contains(.notifyEncryptionRequired))
    add(.encryptNotify, where: properties.contains(.notifyEncryptionRequired))
    add(.indicate, where: properties.contains(.indicate) || properties.contains(.indicateEncryptionRequired))
    add(.encryptIndicate, where: properties.contains(.indicateEncryptionRequired))
    add(.authenticatedSignedWrites, where: properties.contains(.authenticatedSignedWrites))
    return flags
  }
}
