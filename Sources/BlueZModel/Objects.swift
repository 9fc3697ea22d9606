import BlueZ
import BluetoothTypes
import BusValue

/// Which objects bluetoothd has on the bus, and what their properties are now.
extension BlueZModel {
  var adapterPath: ObjectPath { WellKnown.adapter(configuration.adapterNumber) }

  /// Whether what there is once is told by this one.
  var isFirst: Bool { configuration.adapterNumber == 0 }

  func devicePath(_ address: DeviceAddress) -> ObjectPath { adapterPath.device(address) }

  /// All of bluetoothd's objects; empty while it does not run.
  public var managedObjects: ManagedObjects {
    guard isRunning else { return [:] }
    var objects: ManagedObjects = [:]
    if isFirst { objects[WellKnown.managerPath] = interfaces(of: WellKnown.managerPath) }
    guard kernel.isPlugged else { return objects }
    objects[adapterPath] = interfaces(of: adapterPath)
    for (path, device) in devices {
      objects[path] = interfaces(of: path)
      guard device.isExported, let database = device.database else { continue }
      for attribute in database.objectPaths(under: path) { objects[attribute] = interfaces(of: attribute) }
    }
    return objects
  }

  static let managerInterfaces = [
    InterfaceName.agentManager, InterfaceName.profileManager, InterfaceName.healthManager,
  ]
  /// Of an adapter, beside Adapter1: they go before it.
  var adapterServices: [String] {
    [
      InterfaceName.gattManager, InterfaceName.advertisingManager, InterfaceName.batteryProviderManager,
      InterfaceName.media, InterfaceName.networkServer, InterfaceName.simAccess,
    ] + (configuration.isExperimental ? [InterfaceName.advertisementMonitorManager] : [])
  }

  /// The interfaces of one object; `nil` where there is none.
  func interfaces(of path: ObjectPath) -> Interfaces? {
    guard isRunning else { return nil }
    if path == WellKnown.managerPath {
      return Dictionary(uniqueKeysWithValues: Self.managerInterfaces.map { ($0, [:]) })
    }
    guard kernel.isPlugged else { return nil }
    if path == adapterPath {
      var interfaces: Interfaces = [
        InterfaceName.adapter: adapterProperties,
        InterfaceName.gattManager: [:],
        InterfaceName.advertisingManager: advertisingProperties,
        InterfaceName.batteryProviderManager: [:],
        InterfaceName.media: ["SupportedUUIDs": .strings([])],
        InterfaceName.networkServer: [:],
        InterfaceName.simAccess: ["Connected": .bool(false)],
      ]
      if configuration.isExperimental {
        interfaces[InterfaceName.advertisementMonitorManager] = MonitoringState.properties
      }
      return interfaces
    }
    if let device = devices[path] {
      var interfaces = [InterfaceName.device: properties(of: device)]
      if let battery = device.battery, battery.isShown { interfaces[InterfaceName.battery] = battery.properties }
      return interfaces
    }
    return remoteInterfaces(of: path)
  }

  private var adapterProperties: Properties {
    var uuids = Set(server.database.services.map(\.uuid))
    uuids.formUnion([
      WellKnownUUID.genericAccess, WellKnownUUID.genericAttribute, WellKnownUUID.deviceInformation,
      WellKnownUUID.remoteControl, WellKnownUUID.remoteControlTarget, WellKnownUUID.accessToSIM,
      WellKnownUUID.plugAndPlayInformation,
    ])
    return [
      "Address": .string(configuration.address.description),
      "AddressType": .string(configuration.address.kind.rawValue),
      "Name": .string(configuration.name),
      "Alias": .string(adapter.alias ?? configuration.name),
      "Class": .uint32(0),
      "Powered": .bool(adapter.isPowered),
      "PowerState": .string(
        adapter.powerTransition ?? (kernel.isBlocked ? "off-blocked" : adapter.isPowered ? "on" : "off")),
      "Discoverable": .bool(adapter.isDiscoverable),
      "DiscoverableTimeout": .uint32(adapter.discoverableTimeoutSeconds),
      "Pairable": .bool(kernel.isPairable),
      "PairableTimeout": .uint32(adapter.pairableTimeoutSeconds),
      "Discovering": .bool(discovery.isActive),
      "UUIDs": .strings(uuids.sorted().map(\.description)),
      "Modalias": .string(PlugAndPlay.own.modalias),
      "Roles": .strings(["central", "peripheral"]),
      "Connectable": .bool(adapter.isDiscoverable),
      "Manufacturer": .uint16(0xFFFF),
      "Version": .byte(9),
    ]
  }

  private func properties(of device: Device) -> Properties {
    var properties: Properties = [
      "Address": .string(device.address.description),
      "AddressType": .string(device.address.kind.rawValue),
      "Alias": .string(device.alias ?? device.name ?? String(device.address.description.map { $0 == ":" ? "-" : $0 })),
      "Paired": .bool(device.bond != nil),
      "Bonded": .bool(device.bond != nil),
      "Trusted": .bool(device.isTrusted),
      "Blocked": .bool(device.isBlocked),
      "LegacyPairing": .bool(false),
      "Connected": .bool(device.link != nil),
      "UUIDs": .strings(device.uuids.map(\.description)),
      "Adapter": .path(adapterPath),
      "ServicesResolved": .bool(device.isResolved),
    ]
    if let name = device.name { properties["Name"] = .string(name) }
    if let modalias = device.modalias { properties["Modalias"] = .string(modalias) }
    if let appearance = device.appearance {
      properties["Appearance"] = .uint16(appearance)
      if let icon = Self.icon(appearance) { properties["Icon"] = .string(icon) }
    }
    if let rssi = device.rssi { properties["RSSI"] = .int16(Int16(rssi)) }
    if let power = device.transmitPower { properties["TxPower"] = .int16(Int16(power)) }
    if let flags = device.advertisingFlags { properties["AdvertisingFlags"] = .bytes([flags]) }
    if !device.manufacturerData.isEmpty {
      properties["ManufacturerData"] = .dictionary(
        key: "q", value: "v",
        Dictionary(
          uniqueKeysWithValues: device.manufacturerData.map { (Value.uint16($0.key), Value.variant(.bytes($0.value))) }
        ))
    }
    if !device.serviceData.isEmpty {
      properties["ServiceData"] = .properties(
        Dictionary(uniqueKeysWithValues: device.serviceData.map { ($0.key.description, Value.bytes($0.value)) }))
    }
    return properties
  }

  /// The icon that bluetoothd has for an appearance (src/dbus-common.c), by category and, of input devices, by kind.
  static func icon(_ appearance: UInt16) -> String? {
    switch (appearance >> 6, appearance & 0x3F) {
    case (0, _): "unknown"
    case (1, _): "phone"
    case (2, _): "computer"
    case (5, _): "video-display"
    case (10, _): "multimedia-player"
    case (11, _), (15, 8): "scanner"
    case (15, 1): "input-keyboard"
    case (15, 2): "input-mouse"
    case (15, 3), (15, 4): "input-gaming"
    case (15, 5): "input-tablet"
    default: nil
    }
  }
}

/// The objects of a remote GATT database: `…/service000a/char000b/desc000d`.
enum RemoteAttribute: Sendable {
  case service(RemoteService)
  case characteristic(RemoteCharacteristic, in: RemoteService)
  case descriptor(RemoteDescriptor, of: RemoteCharacteristic, in: RemoteService)
}

extension BlueZModel {
  /// The device whose GATT object `path` is, and the attribute; `nil` where there is none.
  func remoteAttribute(_ path: ObjectPath) -> (device: ObjectPath, attribute: RemoteAttribute)? {
    // hci0/dev_…/service000a[/char000b[/desc000d]], from its end.
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
    switch attribute {
    case .service(let service):
      let includes = service.includes.compactMap { handle in
        device.database?.services.first { $0.handle == handle }.map { Value.path($0.path(under: devicePath)) }
      }
      return [
        InterfaceName.gattService: [
          "UUID": .string(service.uuid.description), "Device": .path(devicePath), "Primary": .bool(service.isPrimary),
          "Includes": .array(of: "o", includes), "Handle": .uint16(service.handle),
        ]
      ]
    case .characteristic(let characteristic, let service):
      var properties: Properties = [
        "UUID": .string(characteristic.uuid.description), "Service": .path(service.path(under: devicePath)),
        "Flags": .strings(characteristic.flagNames), "Handle": .uint16(characteristic.handle),
        "MTU": .uint16(UInt16(device.link.flatMap { links[$0]?.mtu } ?? ATTLimits.defaultMTU)),
      ]
      if !characteristic.properties.isDisjoint(with: [.notify, .indicate]) {
        properties["Notifying"] = .bool(
          device.sessions[characteristic.valueHandle]?.contains(where: \.wasActive) == true)
      }
      if characteristic.properties.contains(.notify) {
        properties["NotifyAcquired"] = .bool(notifyChannel(characteristic.valueHandle, of: devicePath) != nil)
      }
      if characteristic.properties.contains(.writeWithoutResponse) {
        properties["WriteAcquired"] = .bool(isWriteAcquired(characteristic.valueHandle, of: devicePath))
      }
      properties["Value"] = .bytes(device.values[characteristic.valueHandle] ?? [])
      return [InterfaceName.gattCharacteristic: properties]
    case .descriptor(let descriptor, let characteristic, let service):
      return [
        InterfaceName.gattDescriptor: [
          "UUID": .string(descriptor.uuid.description), "Handle": .uint16(descriptor.handle),
          "Characteristic": .path(characteristic.path(under: service.path(under: devicePath))),
          "Value": .bytes(device.values[descriptor.handle] ?? []),
        ]
      ]
    }
  }
}
