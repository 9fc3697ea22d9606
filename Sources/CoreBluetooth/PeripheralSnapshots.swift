import AppLink
import BluetoothTypes
import Foundation

// Conversion between the objects that an app holds and the values that the system uses. An attribute that is still
// the same (handle and UUID) keeps its object. Everything here is called under the lock.

extension CBPeripheral {
  /// Takes over what the system has preserved for this process of the app.
  func restore(_ snapshot: PeripheralSnapshot) {
    note(snapshot)
    if let services = snapshot.services { merge(services: services) } else { serviceList = nil }
  }

  /// A link is there. A new one begins without services: Apple's page on `centralManager(_:didDisconnectPeripheral:error:)` says that
  /// the end of a link invalidates them, and Nordic's IOS-CoreBluetooth-Mock, which was compared with iOS (pull request 119), clears
  /// them before that call.
  func beginLink(_ snapshot: PeripheralSnapshot) {
    // The app has repeated its request for a connection that it already has, so it keeps its services.
    let isSame = currentState == .connected && isToldConnected
    note(snapshot)
    guard !isSame else { return }
    let isSubscribed = snapshot.services?.contains(where: \.hasSubscription) ?? false
    if isSubscribed, let formerServices { serviceList = formerServices }
    formerServices = nil
    defer { hasLostLink = false }
    if isSubscribed || !hasLostLink, let services = snapshot.services {
      merge(services: services)
    } else {
      serviceList = nil
    }
  }

  private func note(_ snapshot: PeripheralSnapshot) {
    currentName = snapshot.name ?? currentName
    currentState = CBPeripheralState(rawValue: Int(snapshot.state.rawValue)) ?? .disconnected
    mtu = max(ATTLimits.defaultMTU, min(snapshot.mtu, ATTLimits.maximumMTU))
  }

  /// The link has ended, or the request for one.
  func invalidateServices() {
    for characteristic in allServices.flatMap({ $0.characteristicList ?? [] }) { characteristic.notifying = false }
    formerServices = serviceList ?? formerServices
    serviceList = nil
    hasLostLink = true
  }

  /// Adds services that the app has just discovered. The system's answer also contains services from the app's
  /// discoveries on earlier links. Those that are new on this link are left out unless the app has looked for them.
  func add(services snapshots: [ServiceSnapshot], lookingFor uuids: [BluetoothUUID]?) {
    let known = allServices
    let found = snapshots.filter { snapshot in
      uuids?.contains(snapshot.uuid) ?? true || known.contains { $0.handle == snapshot.handle }
    }
    merge(
      services: found.map { snapshot in
        var snapshot = snapshot
        let service = known.first { $0.handle == snapshot.handle && $0.attributeUUID.bluetoothUUID == snapshot.uuid }
        if service?.characteristicList == nil { snapshot.characteristics = nil }
        if service?.includedServiceList == nil { snapshot.includedServices = nil }
        return snapshot
      })
  }

  private func merge(services snapshots: [ServiceSnapshot]) {
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
  var allServices: [CBService] {
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
    let invalid = all.filter(isInvalid)
    // No value comes for these objects any more.
    for characteristic in invalid.flatMap({ $0.characteristicList ?? [] }) { characteristic.notifying = false }
    return invalid
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

extension ServiceSnapshot {
  fileprivate var hasSubscription: Bool { characteristics?.contains(where: \.isNotifying) ?? false }
}

extension CBService {
  /// Adds characteristics that the app has just looked for, and keeps those that it already knew on this link.
  func add(characteristics snapshots: [CharacteristicSnapshot], lookingFor uuids: [BluetoothUUID]?) {
    let known = characteristicList ?? []
    let found = snapshots.filter { snapshot in
      uuids?.contains(snapshot.uuid) ?? true || known.contains { $0.handle == snapshot.handle }
    }
    merge(
      characteristics: found.map { snapshot in
        var snapshot = snapshot
        let characteristic = known.first {
          $0.handle == snapshot.handle && $0.attributeUUID.bluetoothUUID == snapshot.uuid
        }
        if characteristic?.descriptorList == nil { snapshot.descriptors = nil }
        return snapshot
      })
  }

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
