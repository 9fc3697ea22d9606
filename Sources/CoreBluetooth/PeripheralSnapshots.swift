import AppLink
import BluetoothTypes
import Foundation

// Conversion between the objects that an app holds and the values that the system uses. An attribute that is still
// the same (handle and UUID) keeps its object. Everything here is called under the lock.

extension CBPeripheral {
  func apply(_ snapshot: PeripheralSnapshot) {
    currentName = snapshot.name ?? currentName
    currentState = CBPeripheralState(rawValue: Int(snapshot.state.rawValue)) ?? .disconnected
    mtu = max(ATTLimits.defaultMTU, min(snapshot.mtu, ATTLimits.maximumMTU))
    if let services = snapshot.services { merge(services: services) } else { serviceList = nil }
  }

  func merge(services snapshots: [ServiceSnapshot]) {
    let services = include(snapshots)
    for (service, snapshot) in zip(services, snapshots) {
      if let characteristics = snapshot.characteristics { service.merge(characteristics: characteristics) }
      if let included = snapshot.includedServices {
        service.includedServiceList = included.compactMap { handle in services.first { $0.handle == handle } }
      }
    }
    // A secondary service is found only through those that include it.
    serviceList = services.filter { $0.primary }
  }

  /// The services found so far, and those that they include.
  private var allServices: [CBService] {
    var found: [CBService] = []
    var open = serviceList ?? []
    while let service = open.popLast() {
      guard !found.contains(where: { $0 === service }) else { continue }
      found.append(service)
      open += service.includedServiceList ?? []
    }
    return found.sorted { $0.handle < $1.handle }
  }

  /// Forgets services that are not valid any more, and returns them.
  func invalidate(_ handles: [AttributeHandle]) -> [CBService] {
    let all = allServices
    let isInvalid: (CBService) -> Bool = { handles.contains($0.handle) }
    serviceList?.removeAll(where: isInvalid)
    for service in all { service.includedServiceList?.removeAll(where: isInvalid) }
    return all.filter(isInvalid)
  }

  /// The objects for these services: existing ones if known, otherwise new ones.
  func include(_ snapshots: [ServiceSnapshot]) -> [CBService] {
    let known = allServices
    return snapshots.map { snapshot in
      known.first { $0.handle == snapshot.handle && $0.attributeUUID.bluetoothUUID == snapshot.uuid }
        ?? CBService(
          uuid: CBUUID(snapshot.uuid), primary: snapshot.isPrimary, handle: snapshot.handle, peripheral: self)
    }
  }

  func characteristic(_ handle: AttributeHandle) -> CBCharacteristic? {
    func find(in services: [CBService]) -> CBCharacteristic? {
      for service in services {
        if let found = service.characteristicList?.first(where: { $0.handle == handle }) { return found }
      }
      return nil
    }
    return find(in: serviceList ?? []) ?? find(in: allServices)
  }

  var snapshot: PeripheralSnapshot {
    PeripheralSnapshot(
      identifier: peer, name: currentName,
      state: PeripheralState(rawValue: UInt8(currentState.rawValue)) ?? .disconnected,
      services: serviceList.map { _ in allServices.map(\.snapshot) }, mtu: mtu)
  }
}

extension CBService {
  func merge(characteristics snapshots: [CharacteristicSnapshot]) {
    let known = characteristicList ?? []
    characteristicList = snapshots.map { snapshot in
      let characteristic =
        known.first { $0.handle == snapshot.handle && $0.attributeUUID.bluetoothUUID == snapshot.uuid }
        ?? CBCharacteristic(
          uuid: CBUUID(snapshot.uuid),
          properties: CBCharacteristicProperties(rawValue: UInt(snapshot.properties.rawValue)),
          handle: snapshot.handle, service: self)
      characteristic.propertySet = CBCharacteristicProperties(rawValue: UInt(snapshot.properties.rawValue))
      characteristic.notifying = snapshot.isNotifying
      if let descriptors = snapshot.descriptors { characteristic.merge(descriptors: descriptors) }
      return characteristic
    }
  }

  var snapshot: ServiceSnapshot {
    ServiceSnapshot(
      handle: handle, uuid: attributeUUID.bluetoothUUID, isPrimary: primary,
      includedServices: includedServiceList?.map(\.handle), characteristics: characteristicList?.map(\.snapshot))
  }
}

extension CBCharacteristic {
  func merge(descriptors snapshots: [DescriptorSnapshot]) {
    let known = descriptorList ?? []
    descriptorList = snapshots.map { snapshot in
      known.first { $0.handle == snapshot.handle && $0.attributeUUID.bluetoothUUID == snapshot.uuid }
        ?? CBDescriptor(uuid: CBUUID(snapshot.uuid), handle: snapshot.handle, characteristic: self)
    }
  }

  var snapshot: CharacteristicSnapshot {
    CharacteristicSnapshot(
      handle: handle, uuid: attributeUUID.bluetoothUUID,
      properties: CharacteristicProperties(rawValue: UInt16(truncatingIfNeeded: propertySet.rawValue)),
      isNotifying: notifying,
      descriptors: descriptorList?.map { DescriptorSnapshot(handle: $0.handle, uuid: $0.attributeUUID.bluetoothUUID) })
  }
}
