import AppLink
import BlueZ
import BluetoothTypes

/// What apps are told of a database that changes: services that are not where an app has found them, and services that
/// are new on a link whose services were all there (CBPeripheralDelegate's `peripheral(_:didModifyServices:)`).
extension BluetoothSystem {
  /// A service has appeared. While bluetoothd still resolves the services of a link, nothing is new.
  mutating func serviceAppeared(_ attribute: RemoteAttribute, on device: Device) {
    guard attribute.kind == .service, !attribute.isOfTheSystem, device.isConnected, device.isResolved else { return }
    newServices[device.peer, default: []].insert(attribute.handle)
  }

  /// The database is complete. A service that an app has found at another handle than where it is now is invalid, and
  /// apps are told of that and of new services.
  /// - Parameter gone: services that will not come back.
  mutating func tellDatabaseChanges(of device: Device, gone: Set<BluetoothUUID> = []) {
    let new = newServices.removeValue(forKey: device.peer) ?? []
    let services = device.attributes.values.filter { $0.kind == .service }
    let present = Set(services.compactMap(\.uuid))
    let holders = held.holders(of: device.peer).filter { $0.manager.role == .central }
    for (key, peripheral) in holders.map({ ($0.manager, $0.peripheral) }).sorted(by: { $0.0 < $1.0 }) {
      guard peripheral.isConnected, let view = peripheral.services else { continue }
      let moved = view.filter { service in
        !device.hasService(service) && (present.contains(service.uuid) || gone.contains(service.uuid))
      }.map(\.handle)
      let untold = moved.filter { !peripheral.invalidServices.contains($0) }
      if !moved.isEmpty {
        held[key, device.peer]?.services?.removeAll { moved.contains($0.handle) }
        held[key, device.peer]?.invalidServices.subtract(moved)
        persistPeripheral(key, device.peer)
      }
      // A service that was there when the app last discovered services is not new, even if bluetoothd announces it
      // again.
      let known = peripheral.seenServices ?? Set(services.map(\.handle))
      let hasNew = !new.isSubset(of: known)
      if hasNew || peripheral.seenServices == nil { held[key, device.peer]?.seenServices = known.union(new) }
      // A discovery that waits finds what is new.
      let isDiscovering = operations[device.peer]?.discoversServices(for: key) ?? false
      if !untold.isEmpty || hasNew && !isDiscovering { tell(key, .servicesModified(device.peer, invalidated: untold)) }
    }
  }
}

extension Device {
  /// Whether a service that was found is still there.
  func hasService(_ service: ServiceSnapshot) -> Bool {
    guard let attribute = attributes[service.handle] else { return false }
    return attribute.kind == .service && attribute.uuid == service.uuid
  }
}
