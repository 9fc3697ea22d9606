import AppLink
import BlueZ
import BluetoothTypes

/// Services of which bluetoothd has found only a part.
///
/// A peripheral may take a service away while bluetoothd reads it. bluetoothd then keeps what it has read so far, for example
/// a characteristic without its configuration, to which nobody can subscribe. The peripheral's notice (Service Changed)
/// corrects that, unless the link is lost first. The service may then come back as it was, with the same Database Hash,
/// and bluetoothd believes what it has.
extension Device {
  /// Client Characteristic Configuration.
  private static let configuration = BluetoothUUID(UInt16(0x2902))

  /// The services that are there.
  /// - Parameter doubted: services with a characteristic to which bluetoothd could not subscribe. Those of them that lack a
  ///   configuration don't count.
  func presentServices(doubting doubted: Set<BluetoothUUID>) -> Set<BluetoothUUID> {
    let torn = doubted.isEmpty ? [] : servicesWithoutConfiguration
    return Set(
      attributes.values.lazy.filter { attribute in
        guard attribute.kind == .service else { return false }
        return !torn.contains(attribute.handle) || attribute.uuid.map(doubted.contains) != true
      }.compactMap(\.uuid))
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
    healings[peer, default: DatabaseHealing()].doubts(uuid)
    uncheckedDatabases.insert(peer)
  }
}
