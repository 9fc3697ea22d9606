import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials

/// What each app has discovered of a peripheral's attributes: bluetoothd knows them all, an app sees what it asked for.
extension BluetoothSystem {
  mutating func discover(_ operation: PeripheralOperation, _ device: Device, _ key: ManagerKey) -> OperationResult {
    guard var peripheral = managers[key]?.peripherals[device.peer] else { return .failed(.notConnected) }
    var view = peripheral.services ?? []
    let result: OperationResult
    switch operation {
    case .discoverServices(let uuids):
      for service in device.children(of: nil, .service, uuids) where service.isPrimary {
        if !view.contains(where: { $0.handle == service.handle }), let snapshot = service.serviceSnapshot {
          view.append(snapshot)
        }
      }
      view.sort { $0.handle < $1.handle }
      peripheral.services = view
      expectServices(view.map(\.uuid), of: device.peer)
      result = .services(view)
    case .discoverIncludedServices(let uuids, let handle):
      guard let index = view.firstIndex(where: { $0.handle == handle }) else {
        return .failed(.att(.invalidHandle))
      }
      let included = device.includedServices(of: handle, uuids)
      view[index].includedServices = Array(
        Set((view[index].includedServices ?? []) + included.map(\.handle)).sorted())
      for service in included where !view.contains(where: { $0.handle == service.handle }) { view.append(service) }
      view.sort { $0.handle < $1.handle }
      peripheral.services = view
      result = .includedServices(
        of: handle,
        view.filter { candidate in
          view.first { $0.handle == handle }?.includedServices?.contains(candidate.handle) ?? false
        })
    case .discoverCharacteristics(let uuids, let handle):
      guard let index = view.firstIndex(where: { $0.handle == handle }) else {
        return .failed(.att(.invalidHandle))
      }
      var found = view[index].characteristics ?? []
      for characteristic in device.children(of: handle, .characteristic, uuids)
      where !found.contains(where: { $0.handle == characteristic.handle }) {
        guard let uuid = characteristic.uuid else { continue }
        found.append(
          CharacteristicSnapshot(
            handle: characteristic.handle, uuid: uuid, properties: characteristic.characteristicProperties))
      }
      found.sort { $0.handle < $1.handle }
      view[index].characteristics = found
      peripheral.services = view
      result = .characteristics(of: handle, found)
    case .discoverDescriptors(let handle):
      guard let place = view.place(of: handle) else { return .failed(.att(.invalidHandle)) }
      let found = device.children(of: handle, .descriptor, nil).compactMap { descriptor in
        descriptor.uuid.map { DescriptorSnapshot(handle: descriptor.handle, uuid: $0) }
      }
      view[place.service].characteristics?[place.characteristic].descriptors = found
      peripheral.services = view
      result = .descriptors(of: handle, found)
    default: return .failed(.att(.requestNotSupported))
    }
    managers[key]?.peripherals[device.peer] = peripheral
    persistPeripheral(key, device.peer)
    return result
  }

  func isNotifying(_ handle: AttributeHandle, _ peer: PeerIdentifier, _ key: ManagerKey) -> Bool {
    guard let view = managers[key]?.peripherals[peer]?.services, let place = view.place(of: handle) else {
      return false
    }
    return view[place.service].characteristics?[place.characteristic].isNotifying ?? false
  }

  mutating func setNotifying(_ on: Bool, _ handle: AttributeHandle, _ peer: PeerIdentifier, _ key: ManagerKey) {
    guard var view = managers[key]?.peripherals[peer]?.services, let place = view.place(of: handle) else { return }
    view[place.service].characteristics?[place.characteristic].isNotifying = on
    managers[key]?.peripherals[peer]?.services = view
    persistPeripheral(key, peer)
  }

  /// An attribute is no longer there: what apps discovered below it is void.
  mutating func attributeRemoved(_ peer: PeerIdentifier, _ attribute: RemoteAttribute) {
    guard attribute.kind == .service else { return }
    for key in sortedManagers(.central) {
      guard var peripheral = managers[key]?.peripherals[peer],
        peripheral.services?.contains(where: { $0.handle == attribute.handle }) == true
      else { continue }
      // While bluetoothd forgets a device that left, nothing is said; it may come back as it was.
      guard peripheral.isConnected, bluez.device(peer)?.isConnected == true else { continue }
      // A subscription outlives the server's restart where the attributes come back with their handles.
      if peripheral.services?.first(where: { $0.handle == attribute.handle })?.hasSubscription != true {
        peripheral.services?.removeAll { $0.handle == attribute.handle }
      }
      managers[key]?.peripherals[peer] = peripheral
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
    guard case .array(_, let paths)? = attributes[handle]?.properties["Includes"] else { return [] }
    return paths.compactMap { $0.pathValue?.remoteAttribute?.handle }.compactMap { attributes[$0]?.serviceSnapshot }
      .filter { service in uuids.map { $0.contains(service.uuid) } ?? true }
  }
}

extension RemoteAttribute {
  var serviceSnapshot: ServiceSnapshot? {
    guard kind == .service, let uuid else { return nil }
    return ServiceSnapshot(handle: handle, uuid: uuid, isPrimary: isPrimary)
  }
}

extension ServiceSnapshot {
  var hasSubscription: Bool { characteristics?.contains(where: \.isNotifying) ?? false }
}

extension [ServiceSnapshot] {
  /// Where a characteristic stands.
  func place(of handle: AttributeHandle) -> (service: Int, characteristic: Int)? {
    for (index, service) in enumerated() {
      if let found = service.characteristics?.firstIndex(where: { $0.handle == handle }) { return (index, found) }
    }
    return nil
  }
}
