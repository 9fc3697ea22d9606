import AppLink
import BlueZ
import BluetoothTypes

/// Services of which bluetoothd has found only a part.
///
/// A peripheral may take a service away while bluetoothd reads it. bluetoothd then keeps what it has read so far: a service
/// without characteristics, or a characteristic without its configuration, to which nobody can subscribe. The peripheral's notice (Service Changed)
/// corrects that, unless the link is lost first. The service may then come back as it was, with the same Database Hash,
/// and bluetoothd believes what it has.
extension Device {
  /// Client Characteristic Configuration.
  private static let configuration = BluetoothUUID(UInt16(0x2902))

  /// The services that are there.
  /// - Parameters:
  ///   - doubted: services that lack something, as far as it is known. Those of them that lack a configuration, or have no
  ///     characteristics, don't count.
  ///   - emptied: services of which only those don't count that have no characteristics.
  func presentServices(
    doubting doubted: Set<BluetoothUUID>, emptied: Set<BluetoothUUID> = []
  ) -> Set<BluetoothUUID> {
    let empty = doubted.isEmpty && emptied.isEmpty ? [] : servicesWithoutCharacteristics
    let torn = doubted.isEmpty ? [] : servicesWithoutConfiguration
    return Set(
      attributes.values.lazy.filter { attribute in
        guard attribute.kind == .service else { return false }
        guard let uuid = attribute.uuid else { return true }
        if doubted.contains(uuid), torn.contains(attribute.handle) || empty.contains(attribute.handle) { return false }
        return !emptied.contains(uuid) || !empty.contains(attribute.handle)
      }.compactMap(\.uuid))
  }

  private var servicesWithoutCharacteristics: Set<AttributeHandle> {
    let services = attributes.values.lazy.filter { $0.kind == .service }.map(\.handle)
    return Set(services).subtracting(attributes.values.lazy.filter { $0.kind == .characteristic }.compactMap(\.parent))
  }

  func isEmptyService(_ handle: AttributeHandle) -> Bool {
    attributes[handle]?.kind == .service
      && !attributes.values.contains { $0.kind == .characteristic && $0.parent == handle }
  }

  /// Services with a characteristic that notifies or indicates and has no configuration (Core Specification, Volume 3,
  /// Part G, 3.3.3.3: it shall have one).
  private var servicesWithoutConfiguration: Set<AttributeHandle> {
    let configured = Set(
      attributes.values.lazy.filter { $0.kind == .descriptor && $0.uuid == Self.configuration }.compactMap(\.parent))
    return Set(
      attributes.values.lazy.filter { attribute in
        attribute.kind == .characteristic
          && !attribute.characteristicProperties.isDisjoint(with: [.notify, .indicate])
          && !configured.contains(attribute.handle)
      }.compactMap(\.parent))
  }
}

extension BluetoothSystem {
  /// bluetoothd could not subscribe to a characteristic that notifies or indicates, because it knows of no configuration.
  mutating func doubtService(of handle: AttributeHandle, _ peer: PeerIdentifier) {
    guard let device = bluez.device(peer), let characteristic = device.attributes[handle],
      !characteristic.characteristicProperties.isDisjoint(with: [.notify, .indicate]),
      let uuid = characteristic.parent.flatMap({ device.attributes[$0]?.uuid })
    else { return }
    doubt(uuid, peer)
  }

  /// An app has found an attribute that bluetoothd does not show any more, in a service that is where it was.
  mutating func doubtService(lacking handle: AttributeHandle, _ peer: PeerIdentifier, of key: ManagerKey) {
    let known = held[key, peer]?.services?.first { service in
      service.characteristics?.contains { characteristic in
        characteristic.handle == handle || characteristic.descriptors?.contains { $0.handle == handle } == true
      } == true
    }
    guard let known, let shown = bluez.device(peer)?.attributes[known.handle], shown.kind == .service,
      shown.uuid == known.uuid
    else { return }
    doubt(known.uuid, peer)
  }

  /// Services in which apps have found characteristics, and of which bluetoothd shows none any more.
  func emptiedServices(of device: Device) -> [BluetoothUUID] {
    held.holders(of: device.peer).flatMap { $0.peripheral.services ?? [] }.filter { known in
      known.characteristics?.isEmpty == false && device.attributes[known.handle]?.uuid == known.uuid
        && device.isEmptyService(known.handle)
    }.map(\.uuid)
  }

  /// An app looks for the characteristics of a service, and bluetoothd shows none. A service may be empty (Core Specification,
  /// Volume 3, Part G, 3.1), but nobody looks for what is in such a one, so after the usual tries that is believed.
  mutating func doubtEmptyService(_ handle: AttributeHandle, of device: Device) {
    guard device.isEmptyService(handle), let uuid = device.attributes[handle]?.uuid, uuid.isTelling else { return }
    healings[device.peer, default: DatabaseHealing()].doubtsEmpty(uuid)
    checkDatabase(device.peer)
  }

  private mutating func doubt(_ service: BluetoothUUID, _ peer: PeerIdentifier) {
    healings[peer, default: DatabaseHealing()].doubts(service)
    uncheckedDatabases.insert(peer)
  }
}
