import BlueZ
import BluetoothTypes
import BusValue

/// bluetoothd's objects on the bus, and their present properties.
extension BlueZModel {
  var adapterPath: ObjectPath { WellKnown.adapter(configuration.adapterNumber) }

  /// Whether this adapter also shows the objects that bluetoothd has only once.
  var isFirst: Bool { configuration.adapterNumber == 0 }

  func devicePath(_ address: DeviceAddress) -> ObjectPath { adapterPath.device(address) }

  /// All of bluetoothd's objects; empty while it is not running.
  package var managedObjects: ManagedObjects {
    guard isRunning else { return [:] }
    var objects: ManagedObjects = [:]
    if isFirst { objects[WellKnown.managerPath] = interfaces(of: WellKnown.managerPath) }
    guard kernel.isPlugged else { return objects }
    objects[adapterPath] = interfaces(of: adapterPath)
    for path in batteryProviders.batteries.keys { objects[path] = interfaces(of: path) }
    for (path, device) in devices {
      objects[path] = interfaces(of: path)
      guard device.isExported, let database = device.database else { continue }
      for (place, attribute) in database.services.flatMap({ $0.attributes(under: path) }) {
        objects[place] = interfaces(of: attribute, device)
      }
    }
    return objects
  }

  static let managerInterfaces = [
    InterfaceName.agentManager, InterfaceName.profileManager, InterfaceName.healthManager,
  ]
  /// An adapter's interfaces apart from Adapter1, which are removed before it.
  var adapterServices: [String] {
    [
      InterfaceName.gattManager, InterfaceName.advertisingManager, InterfaceName.batteryProviderManager,
      InterfaceName.media, InterfaceName.networkServer, InterfaceName.simAccess,
    ] + (configuration.isExperimental ? [InterfaceName.advertisementMonitorManager] : [])
  }

  /// The interfaces of one object, or `nil` if it does not exist.
  func interfaces(of path: ObjectPath) -> Interfaces? {
    guard isRunning else { return nil }
    if path == WellKnown.managerPath {
      return Dictionary(uniqueKeysWithValues: Self.managerInterfaces.map { ($0, [:]) })
    }
    guard kernel.isPlugged else { return nil }
    if path == adapterPath {
      var interfaces: Interfaces = [
        Adapter1.interface: adapterProperties,
        InterfaceName.gattManager: [:],
        LEAdvertisingManager1.interface: advertising.properties,
        InterfaceName.batteryProviderManager: [:],
        Media1.interface: Self.media,
        InterfaceName.networkServer: [:],
        SimAccess1.interface: Self.simAccess,
      ]
      if configuration.isExperimental {
        interfaces[AdvertisementMonitorManager1.interface] = Monitors.properties
      }
      return interfaces
    }
    if let device = devices[path] {
      var interfaces = [Device1.interface: device.properties(of: adapterPath)]
      interfaces[Battery1.interface] = batteryProperties(of: path)
      return interfaces
    }
    // A provided battery outlives its device.
    if let battery = batteryProperties(of: path) { return [Battery1.interface: battery] }
    return remoteInterfaces(of: path)
  }

  /// The properties of one interface of an object, or `nil` if the object does not have it. This does less work than
  /// `interfaces(of:)`, which makes the properties of all interfaces.
  func properties(of path: ObjectPath, _ interface: String) -> Properties? {
    guard isRunning else { return nil }
    if interface == Adapter1.interface, path == adapterPath { return kernel.isPlugged ? adapterProperties : nil }
    if interface == Device1.interface {
      return kernel.isPlugged ? devices[path]?.properties(of: adapterPath) : nil
    }
    return interfaces(of: path)?[interface]
  }

  private var adapterProperties: Properties {
    var uuids = Set(server.database.services.map(\.uuid))
    uuids.formUnion([
      WellKnownUUID.genericAccess, WellKnownUUID.genericAttribute, WellKnownUUID.deviceInformation,
      WellKnownUUID.remoteControl, WellKnownUUID.remoteControlTarget, WellKnownUUID.accessToSIM,
      WellKnownUUID.plugAndPlayInformation,
    ])
    uuids.formUnion(profiles.uuids)
    var properties = PropertyValues<Adapter1>(minimumCapacity: 24)
    properties.address = configuration.address.description
    properties.addressType = configuration.address.kind
    properties.name = adapter.name ?? configuration.name
    properties.alias = adapterName
    properties.deviceClass = 0
    properties.powered = adapter.isPowered
    properties.powerState = adapter.powerTransition ?? (kernel.isBlocked ? .blocked : adapter.isPowered ? .on : .off)
    properties.discoverable = adapter.isDiscoverable
    properties.discoverableTimeoutSeconds = adapter.discoverableTimeoutSeconds
    properties.pairable = kernel.isPairable
    properties.pairableTimeoutSeconds = adapter.pairableTimeoutSeconds
    properties.discovering = discovery.isActive
    properties.uuids = uuids.sorted()
    properties.modalias = PlugAndPlay.own.modalias
    properties.roles = ["central", "peripheral"]
    properties.connectable = adapter.isConnectable
    properties.manufacturer = 0xFFFF
    properties.version = 9
    return properties.all
  }

  private static let media: Properties = {
    var properties = PropertyValues<Media1>()
    properties.supportedUUIDs = []
    return properties.all
  }()

  private static let simAccess: Properties = {
    var properties = PropertyValues<SimAccess1>()
    properties.connected = false
    return properties.all
  }()
}

/// The objects of a remote GATT database: `…/service000a/char000b/desc000d`.
enum RemoteAttribute: Sendable {
  case service(RemoteService)
  case characteristic(RemoteCharacteristic, in: RemoteService)
  case descriptor(RemoteDescriptor, of: RemoteCharacteristic, in: RemoteService)
}

extension RemoteService {
  /// The service, its characteristics and their descriptors, each with its path, in the order in which they are announced.
  func attributes(under device: ObjectPath) -> [(path: ObjectPath, attribute: RemoteAttribute)] {
    let service = path(under: device)
    var attributes: [(path: ObjectPath, attribute: RemoteAttribute)] = [(service, .service(self))]
    for characteristic in characteristics {
      let path = characteristic.path(under: service)
      attributes.append((path, .characteristic(characteristic, in: self)))
      for descriptor in characteristic.descriptors {
        attributes.append((descriptor.path(under: path), .descriptor(descriptor, of: characteristic, in: self)))
      }
    }
    return attributes
  }
}

extension BlueZModel {
  /// The device and attribute at a GATT object's path, or `nil` if there is none.
  func remoteAttribute(_ path: ObjectPath) -> (device: ObjectPath, attribute: RemoteAttribute)? {
    // hci0/dev_…/service000a[/char000b[/desc000d]], parsed from its end.
    var handles: [ObjectPath.Attribute: AttributeHandle] = [:]
    var device = path
    while let (kind, handle) = device.remoteAttribute, let parent = device.parent {
      guard handles.updateValue(handle, forKey: kind) == nil else { return nil }
      device = parent
    }
    guard let known = devices[device], known.isExported, let database = known.database,
      let service = database.services.first(where: { $0.handle == handles[.service] })
    else { return nil }
    guard let characteristicHandle = handles[.characteristic] else {
      return handles[.descriptor] == nil && service.path(under: device) == path ? (device, .service(service)) : nil
    }
    guard let characteristic = service.characteristics.first(where: { $0.handle == characteristicHandle }) else {
      return nil
    }
    let place = characteristic.path(under: service.path(under: device))
    guard let descriptorHandle = handles[.descriptor] else {
      return place == path ? (device, .characteristic(characteristic, in: service)) : nil
    }
    guard let descriptor = characteristic.descriptors.first(where: { $0.handle == descriptorHandle }),
      descriptor.path(under: place) == path
    else { return nil }
    return (device, .descriptor(descriptor, of: characteristic, in: service))
  }

  func remoteInterfaces(of path: ObjectPath) -> Interfaces? {
    guard let (devicePath, attribute) = remoteAttribute(path), let device = devices[devicePath] else { return nil }
    return interfaces(of: attribute, device)
  }

  /// The interfaces of an attribute that this device has.
  func interfaces(of attribute: RemoteAttribute, _ device: Device) -> Interfaces {
    let devicePath = device.path
    switch attribute {
    case .service(let service):
      var properties = PropertyValues<GattService1>()
      properties.uuid = service.uuid
      properties.device = devicePath
      properties.primary = service.isPrimary
      properties.includes = service.includes.compactMap { handle in
        device.database?.services.first { $0.handle == handle }?.path(under: devicePath)
      }
      properties.handle = service.handle
      return properties.interfaces
    case .characteristic(let characteristic, let service):
      var properties = PropertyValues<GattCharacteristic1>(minimumCapacity: 12)
      properties.uuid = characteristic.uuid
      properties.service = service.path(under: devicePath)
      properties.flags = characteristic.flagNames
      properties.handle = characteristic.handle
      // Missing without the attribute protocol (src/gatt-client.c).
      properties.mtu = attachedLink(of: devicePath).flatMap { links[$0]?.mtu }
      if !characteristic.properties.isDisjoint(with: [.notify, .indicate]) {
        properties.notifying = device.sessions[characteristic.valueHandle]?.isNotifying == true
      }
      let value = AcquiredChannels.RemoteValue(device: devicePath, valueHandle: characteristic.valueHandle)
      if characteristic.properties.contains(.notify) {
        properties.notifyAcquired = channels.notifying(value) != nil
      }
      if characteristic.properties.contains(.writeWithoutResponse) {
        properties.writeAcquired = channels.isWriting(to: value)
      }
      properties.value = device.values[characteristic.valueHandle] ?? []
      return properties.interfaces
    case .descriptor(let descriptor, let characteristic, let service):
      var properties = PropertyValues<GattDescriptor1>()
      properties.uuid = descriptor.uuid
      properties.handle = descriptor.handle
      properties.characteristic = characteristic.path(under: service.path(under: devicePath))
      properties.value = device.values[descriptor.handle] ?? []
      return properties.interfaces
    }
  }
}
