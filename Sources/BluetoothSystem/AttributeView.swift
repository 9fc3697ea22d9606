import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials

/// What each app has discovered of a peripheral's attributes. bluetoothd knows all of them; an app sees those it
/// asked for.
extension BluetoothSystem {
  mutating func discover(_ operation: PeripheralOperation, _ device: Device, _ key: ManagerKey) -> OperationResult {
    guard let peripheral = held[key, device.peer] else { return .failed(.notConnected) }
    var view = peripheral.services ?? []
    let result = view.discover(operation, of: device)
    if case .failed = result { return result }
    held[key, device.peer]?.services = view
    if case .services = result {
      held[key, device.peer]?.invalidServices = []
      let services = device.attributes.values.lazy.filter { $0.kind == .service }
      held[key, device.peer]?.seenServices = Set(services.map(\.handle))
      expectServices(view.map(\.uuid), of: device.peer)
    }
    persistPeripheral(key, device.peer)
    return result
  }

  func isNotifying(_ handle: AttributeHandle, _ peer: PeerIdentifier, _ key: ManagerKey) -> Bool {
    guard let view = held[key, peer]?.services, let place = view.place(of: handle) else {
      return false
    }
    return view[place.service].characteristics?[place.characteristic].isNotifying ?? false
  }

  mutating func setNotifying(_ on: Bool, _ handle: AttributeHandle, _ peer: PeerIdentifier, _ key: ManagerKey) {
    guard var view = held[key, peer]?.services, let place = view.place(of: handle) else { return }
    view[place.service].characteristics?[place.characteristic].isNotifying = on
    held[key, peer]?.services = view
    persistPeripheral(key, peer)
  }

  /// An attribute has appeared. If an app has discovered another attribute at the same handle, what the app knows of
  /// that service is invalid: bluetoothd may use a handle, and the path that contains it, again for something else.
  mutating func attributeAdded(_ peer: PeerIdentifier, _ attribute: RemoteAttribute) {
    guard attribute.kind != .descriptor else { return }
    for key in sortedManagers(.central) {
      guard var peripheral = held[key, peer], let changed = peripheral.services?.first(where: { $0.isOther(attribute) })
      else { continue }
      peripheral.services?.removeAll { $0.handle == changed.handle }
      held[key, peer] = peripheral
      persistPeripheral(key, peer)
      tell(key, .servicesModified(peer, invalidated: [changed.handle]))
    }
  }

  /// Whether the app has discovered this characteristic, and its handle still belongs to a characteristic with the same
  /// UUID. Always `true` for a service or a descriptor.
  func knows(_ attribute: RemoteAttribute, _ peer: PeerIdentifier, _ key: ManagerKey) -> Bool {
    guard attribute.kind == .characteristic else { return true }
    guard let view = held[key, peer]?.services, let place = view.place(of: attribute.handle) else { return false }
    return view[place.service].characteristics?[place.characteristic].uuid == attribute.uuid
  }

  /// An attribute was removed. Whatever apps discovered below it is invalid now.
  mutating func attributeRemoved(_ peer: PeerIdentifier, _ attribute: RemoteAttribute) {
    guard attribute.kind == .service else { return }
    for key in sortedManagers(.central) {
      guard var peripheral = held[key, peer],
        peripheral.services?.contains(where: { $0.handle == attribute.handle }) == true
      else { continue }
      // Apps are not told while bluetoothd forgets a device that left: the device may come back unchanged.
      guard peripheral.isConnected, bluez.device(peer)?.isConnected == true else { continue }
      // A subscription survives a restart of the server if the attributes come back with the same handles.
      if peripheral.services?.first(where: { $0.handle == attribute.handle })?.hasSubscription != true {
        peripheral.services?.removeAll { $0.handle == attribute.handle }
      } else {
        peripheral.invalidServices.insert(attribute.handle)
      }
      // If the service comes back, that is news for every app, also for one that does not look for it at the time.
      peripheral.seenServices?.remove(attribute.handle)
      held[key, peer] = peripheral
      persistPeripheral(key, peer)
      tell(key, .servicesModified(peer, invalidated: [attribute.handle]))
    }
  }
}

extension Device {
  func children(of parent: AttributeHandle?, _ kind: RemoteAttribute.Kind, _ uuids: [BluetoothUUID]?)
    -> [RemoteAttribute]
  {
    attributes.values.filter { attribute in
      guard attribute.kind == kind, parent == nil || attribute.parent == parent, let uuid = attribute.uuid else {
        return false
      }
      return uuids.map { $0.contains(uuid) } ?? true
    }.sorted { $0.handle < $1.handle }
  }

  func includedServices(of handle: AttributeHandle, _ uuids: [BluetoothUUID]?) -> [ServiceSnapshot] {
    (attributes[handle]?.includes ?? []).compactMap { $0.remoteAttribute?.handle }
      .compactMap { attributes[$0] }.filter { !$0.isOfTheSystem }.compactMap(\.serviceSnapshot)
      .filter { service in uuids.map { $0.contains(service.uuid) } ?? true }
  }
}

extension Device {
  /// Whether a characteristic that was found is still there.
  func hasCharacteristic(_ characteristic: CharacteristicSnapshot, of service: AttributeHandle) -> Bool {
    guard let attribute = attributes[characteristic.handle] else { return false }
    return attribute.kind == .characteristic && attribute.parent == service && attribute.uuid == characteristic.uuid
  }
}

extension RemoteAttribute {
  var serviceSnapshot: ServiceSnapshot? {
    guard kind == .service, let uuid else { return nil }
    return ServiceSnapshot(handle: handle, uuid: uuid, isPrimary: isPrimary)
  }
}

extension RemoteAttribute {
  /// Generic Access, Generic Attribute, Human Interface Device, and Apple's notification centre: services that belong to
  /// the system. iOS never shows them to apps, not even to one that names them.
  private static let uuidsOfTheSystem: Set<BluetoothUUID> = [
    BluetoothUUID(UInt16(0x1800)), BluetoothUUID(UInt16(0x1801)), BluetoothUUID(UInt16(0x1812)),
    BluetoothUUID(high: 0x7905_F431_B5CE_4E99, low: 0xA40F_4B1E_122D_00D0),
  ]

  var isOfTheSystem: Bool { uuid.map { Self.uuidsOfTheSystem.contains($0) } ?? false }
}

extension ServiceSnapshot {
  /// Whether this attribute has the handle of this service or of one of its characteristics, but is something else.
  fileprivate func isOther(_ attribute: RemoteAttribute) -> Bool {
    if handle == attribute.handle { return attribute.kind != .service || attribute.uuid != uuid }
    return characteristics?.contains {
      $0.handle == attribute.handle && (attribute.kind != .characteristic || attribute.uuid != $0.uuid)
    } ?? false
  }

  var hasSubscription: Bool { characteristics?.contains(where: \.isNotifying) ?? false }
}

extension [ServiceSnapshot] {
  /// Adds what a discovery finds on a device, and returns it.
  mutating func discover(_ operation: PeripheralOperation, of device: Device) -> OperationResult {
    switch operation {
    case .discoverServices(let uuids): discoverServices(uuids, of: device)
    case .discoverIncludedServices(let uuids, let handle): discoverIncludedServices(uuids, of: handle, device)
    case .discoverCharacteristics(let uuids, let handle): discoverCharacteristics(uuids, of: handle, device)
    case .discoverDescriptors(let handle): discoverDescriptors(of: handle, device)
    default: .failed(.att(.requestNotSupported))
    }
  }

  private mutating func discoverServices(_ uuids: [BluetoothUUID]?, of device: Device) -> OperationResult {
    // A service that was kept for its subscriptions and has not come back to its handle is gone, and its subscriptions
    // with it.
    removeAll { !device.hasService($0) }
    for service in device.children(of: nil, .service, uuids) where service.isPrimary && !service.isOfTheSystem {
      if !contains(where: { $0.handle == service.handle }), let snapshot = service.serviceSnapshot { append(snapshot) }
    }
    sort { $0.handle < $1.handle }
    return .services(self)
  }

  private mutating func discoverIncludedServices(
    _ uuids: [BluetoothUUID]?, of handle: AttributeHandle, _ device: Device
  ) -> OperationResult {
    guard let index = firstIndex(where: { $0.handle == handle }) else { return .failed(.att(.invalidHandle)) }
    let found = device.includedServices(of: handle, uuids)
    let included = Set((self[index].includedServices ?? []) + found.map(\.handle))
    self[index].includedServices = included.sorted()
    for service in found where !contains(where: { $0.handle == service.handle }) { append(service) }
    sort { $0.handle < $1.handle }
    return .includedServices(of: handle, filter { included.contains($0.handle) })
  }

  private mutating func discoverCharacteristics(
    _ uuids: [BluetoothUUID]?, of handle: AttributeHandle, _ device: Device
  ) -> OperationResult {
    guard let index = firstIndex(where: { $0.handle == handle }) else { return .failed(.att(.invalidHandle)) }
    var found = self[index].characteristics ?? []
    // A service at the same handle may have other characteristics now, as after an update of the peripheral's program.
    // But if bluetoothd has found only a part of the service (`TornServices.swift`), it says nothing about the rest.
    if device.presentServices(doubting: [self[index].uuid]).contains(self[index].uuid) {
      found.removeAll { !device.hasCharacteristic($0, of: handle) }
    }
    for index in found.indices {
      guard let shown = device.attributes[found[index].handle], shown.uuid == found[index].uuid else { continue }
      found[index].properties = shown.characteristicProperties
    }
    for characteristic in device.children(of: handle, .characteristic, uuids)
    where !found.contains(where: { $0.handle == characteristic.handle }) {
      guard let uuid = characteristic.uuid else { continue }
      found.append(
        CharacteristicSnapshot(
          handle: characteristic.handle, uuid: uuid, properties: characteristic.characteristicProperties))
    }
    found.sort { $0.handle < $1.handle }
    self[index].characteristics = found
    return .characteristics(of: handle, found)
  }

  private mutating func discoverDescriptors(of handle: AttributeHandle, _ device: Device) -> OperationResult {
    guard let place = place(of: handle) else { return .failed(.att(.invalidHandle)) }
    let found = device.children(of: handle, .descriptor, nil).compactMap { descriptor in
      descriptor.uuid.map { DescriptorSnapshot(handle: descriptor.handle, uuid: $0) }
    }
    self[place.service].characteristics?[place.characteristic].descriptors = found
    return .descriptors(of: handle, found)
  }

  /// The position of a characteristic: its service's index and its own index within the service.
  func place(of handle: AttributeHandle) -> (service: Int, characteristic: Int)? {
    for (index, service) in enumerated() {
      if let found = service.characteristics?.firstIndex(where: { $0.handle == handle }) { return (index, found) }
    }
    return nil
  }
}
