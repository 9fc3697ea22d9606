import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// A linked peripheral that lacks services it is known to have, though bluetoothd says that they are resolved.
///
/// This happens when bluetoothd's discovery failed, or when it announces resolution before the objects exist
/// (bluez/bluez#1489). It also happens when a lost link cut a discovery short: bluetoothd had already written down
/// the peer's Database Hash, and skips the discovery on the next link if the hash is the same
/// (src/shared/gatt-client.c, `db_hash_read_cb`). There is no call that makes it look again. The remaining remedy is
/// a short link without any requests: a Latchkey peripheral changes its hash after one (`DatabaseMark`). A device
/// without a bond can also be removed; the last try does that.
///
/// A service that was there on the present link, and that the peripheral takes away, may come back soon: its program may have
/// been started anew. If it does not, nothing is wrong, and the link stays: bluetoothd has heard of the change.
struct DatabaseHealing: Sendable {
  private(set) var missing: Set<BluetoothUUID> = []
  /// How many links have been ended to heal it.
  private(set) var attempts = 0
  /// When the link will be ended. `nil` without a link, or when no more tries are made.
  private(set) var dropAt: Instant?
  private var hasGivenUp = false
  /// Services that apps look for, and that the peripheral announces.
  private(set) var asked: Set<BluetoothUUID> = []
  /// Services that lack something that an app needs.
  private(set) var doubted: Set<BluetoothUUID> = []
  /// Services that lack all their characteristics. As soon as there is one, nothing is wrong.
  private(set) var emptied: Set<BluetoothUUID> = []
  /// Services that the peripheral has taken away on the present link.
  private var takenAway: Set<BluetoothUUID> = []
  /// The system has waited for what the peripheral took away, and it has not come back. The link stays as it is.
  private(set) var isContent = false
  /// bluetoothd was asked to remove the device. The healing goes on when the device's object disappears.
  private(set) var removesDevice = false

  static let attemptLimit = 3
  /// How long late services may take; well below `DatabaseMark.visitLimit`.
  private static let patience: [Duration] = [.seconds(2), .seconds(3), .seconds(5)]

  /// These services are missing on the present link.
  mutating func misses(_ uuids: Set<BluetoothUUID>, at now: Instant) {
    missing = uuids
    removesDevice = false
    if !tookAway(uuids) { isContent = false }
    guard !hasGivenUp, !isContent, dropAt == nil else { return }
    dropAt = now + Self.patience[min(attempts, Self.patience.count - 1)]
  }

  mutating func expects(_ uuids: Set<BluetoothUUID>) { asked.formUnion(uuids) }
  mutating func doubts(_ uuid: BluetoothUUID) {
    asked.insert(uuid)
    doubted.insert(uuid)
  }
  mutating func doubtsEmpty(_ uuid: BluetoothUUID) {
    asked.insert(uuid)
    emptied.insert(uuid)
  }

  mutating func takesAway(_ uuid: BluetoothUUID) {
    takenAway.insert(uuid)
    // bluetoothd takes a service's characteristics away before the service itself. What lacked something is gone now.
    doubted.remove(uuid)
    emptied.remove(uuid)
    isContent = false
  }

  /// Whether the peripheral has taken all of these away on the present link. They may come back, and nothing is wrong.
  func tookAway(_ uuids: Set<BluetoothUUID>) -> Bool { uuids.isSubset(of: takenAway) }

  mutating func bringsBack(_ uuid: BluetoothUUID) { takenAway.remove(uuid) }

  /// The link was lost by itself. The next one is examined afresh.
  mutating func linkIsGone() {
    dropAt = nil
    takenAway = []
    isContent = false
  }

  /// Whether a discovery of these services waits for what is missing. `nil` means all services.
  func delaysDiscovery(of uuids: [BluetoothUUID]?) -> Bool {
    !hasGivenUp && !isContent && uuids.map { !missing.isDisjoint(with: $0) } ?? true
  }

  /// The system has waited for what is missing. Returns whether the peripheral has taken all of it away, so that there
  /// is nothing to heal.
  mutating func acceptsLoss() -> Bool {
    guard tookAway(missing) else { return false }
    dropAt = nil
    isContent = true
    return true
  }

  mutating func willRemoveDevice() { removesDevice = true }

  /// Ends the link once more. Returns `false` after too many tries: the services are gone for good, or bluetoothd
  /// can't be helped from here.
  mutating func endLink() -> Bool {
    dropAt = nil
    guard attempts < Self.attemptLimit else {
      hasGivenUp = true
      return false
    }
    attempts += 1
    return true
  }
}

extension BluetoothSystem {
  private static let expectationLimit = 32

  /// An app has found these services. From now on their absence is a fault.
  mutating func expectServices(_ uuids: [BluetoothUUID], of peer: PeerIdentifier) {
    guard var record = peers[peer] else { return }
    let known = Set(record.services ?? [])
    let new = known.union(uuids.filter(\.isTelling))
    guard new != known, new.count <= Self.expectationLimit else { return }
    record.services = new.sorted()
    peers[peer] = record
    persist(.peer(record))
  }

  /// An app looks for these services. Those that the peripheral announces should be there, although no app has found
  /// them yet: the very first discovery may have been cut short.
  mutating func expectAsked(_ uuids: [BluetoothUUID]?, _ peer: PeerIdentifier) {
    // A peripheral may announce services that it does not have. An app that looks for any is content with those there are.
    guard let uuids, let device = bluez.device(peer), device.isConnected else { return }
    let asked = Set(device.announced).intersection(uuids)
    guard !asked.isEmpty, !device.isResolved || !asked.isSubset(of: presentServices(of: device)) else { return }
    healings[peer, default: DatabaseHealing()].expects(asked)
    uncheckedDatabases.insert(peer)
  }

  /// A service has gone. On a link on which bluetoothd had found everything, it was the peripheral that took it away.
  mutating func serviceDisappeared(_ attribute: RemoteAttribute, from device: Device) {
    guard attribute.kind == .service, let uuid = attribute.uuid, device.isConnected, device.isResolved,
      isWanted(device.peer)
    else { return }
    healings[device.peer, default: DatabaseHealing()].takesAway(uuid)
  }

  /// Whether a discovery waits for services that have not appeared yet.
  func mustWait(_ operation: PeripheralOperation, _ peer: PeerIdentifier) -> Bool {
    guard let healing = healings[peer] else { return false }
    switch operation {
    case .discoverServices(let uuids): return healing.delaysDiscovery(of: uuids)
    case .discoverCharacteristics(_, let service):
      guard let device = bluez.device(peer), device.isEmptyService(service) else { return false }
      return healing.delaysDiscovery(of: device.attributes[service]?.uuid.map { [$0] } ?? [])
    default: return false
    }
  }

  mutating func reconcileDatabases() {
    for peer in uncheckedDatabases.sorted() { checkDatabase(peer) }
    uncheckedDatabases = []
    for peer in healings.due(at: now) { dropForMissing(peer) }
  }

  mutating func checkDatabase(_ peer: PeerIdentifier) {
    guard let device = bluez.device(peer), device.isConnected, device.isResolved, !device.isDisconnecting,
      isWanted(peer)
    else {
      healings[peer]?.linkIsGone()
      newServices[peer] = nil
      return
    }
    for emptied in emptiedServices(of: device) { healings[peer, default: DatabaseHealing()].doubtsEmpty(emptied) }
    let missing = missingServices(of: device)
    guard !missing.isEmpty else {
      knownServices.sees(device.distinctServices, on: peer)
      if let healing = healings.removeValue(forKey: peer), healing.attempts > 0 {
        journal(.servicesBack, [.peripheral: peer.uuidString, .attempts: String(healing.attempts)])
      }
      return tellDatabaseChanges(of: device)
    }
    guard !acceptsUpdate(of: device, lacking: missing) else { return }
    healings[peer, default: DatabaseHealing()].misses(missing, at: now)
    // Nothing more is waited for, so what has come in place of a service that was taken away is told at once.
    if healings[peer]?.isContent == true { tellDatabaseChanges(of: device) }
  }

  /// Whether the peripheral was updated, so that what it lacks is gone. What an app has asked for is looked for all the same.
  private mutating func acceptsUpdate(of device: Device, lacking missing: Set<BluetoothUUID>) -> Bool {
    let services = device.distinctServices
    guard knownServices.isUpdated(device.peer, having: services) else { return false }
    if let healing = healings[device.peer] {
      guard missing.isDisjoint(with: healing.asked), !healing.tookAway(missing) else { return false }
    }
    knownServices.replace(services, on: device.peer)
    healings[device.peer] = nil
    forgetServices(missing, of: device.peer)
    tellDatabaseChanges(of: device, gone: missing)
    return true
  }

  private func presentServices(of device: Device) -> Set<BluetoothUUID> {
    let healing = healings[device.peer]
    return device.presentServices(doubting: healing?.doubted ?? [], emptied: healing?.emptied ?? [])
  }

  private func missingServices(of device: Device) -> Set<BluetoothUUID> {
    // There are no service objects at all: the announcement is late, or the discovery has failed.
    guard device.attributes.values.contains(where: { $0.kind == .service }) else {
      return Set(device.uuids.filter(\.isTelling)).union(peers[device.peer]?.services ?? [])
    }
    let present = presentServices(of: device)
    return Set(peers[device.peer]?.services ?? []).union(healings[device.peer]?.asked ?? []).subtracting(present)
  }

  private mutating func dropForMissing(_ peer: PeerIdentifier) {
    guard var healing = healings[peer] else { return }
    guard let device = bluez.device(peer), device.isUsable else {
      healings[peer]?.linkIsGone()
      return
    }
    // What was kept for a subscription is kept on: the service may still come back.
    if healing.acceptsLoss() {
      healings[peer] = healing
      return tellDatabaseChanges(of: device)
    }
    let names = healing.missing.sorted().map(\.description).joined(separator: " ")
    let isTriedAgain = healing.endLink()
    healings[peer] = healing
    guard isTriedAgain else {
      forgetServices(healing.missing, of: peer)
      tellDatabaseChanges(of: device, gone: healing.missing)
      journal(
        .servicesGone,
        [
          .peripheral: peer.uuidString, .services: names,
          .advice: "If the device still has them, remove it (bluetoothctl remove) and pair it again.",
        ])
      return
    }
    journal(
      .servicesMissing,
      [.peripheral: peer.uuidString, .services: names, .attempt: String(healing.attempts)])
    // The link should come back by itself, so the device is armed again: `Disconnect` may disarm it.
    disarm(peer)
    // bluetoothd forgets a device's database when it removes the device. Without a bond, no keys are lost by that.
    if healing.attempts == DatabaseHealing.attemptLimit, !device.isBonded, let adapter = bluez.adapter {
      attempts[peer] = nil
      healings[peer]?.willRemoveDevice()
      return call(adapter, .removeDevice(device.path), for: .ignored)
    }
    askToDisconnect(device)
  }

  private mutating func forgetServices(_ uuids: Set<BluetoothUUID>, of peer: PeerIdentifier) {
    guard var record = peers[peer], let known = record.services else { return }
    let left = known.filter { !uuids.contains($0) }
    record.services = left.isEmpty ? nil : left
    peers[peer] = record
    persist(.peer(record))
  }
}

extension BluetoothUUID {
  /// Generic Access, Generic Attribute, Device Information and Battery: nearly every device has them.
  private static let common: Set<UInt16> = [0x1800, 0x1801, 0x180A, 0x180F]

  /// Whether a service with this UUID distinguishes a device from others.
  var isTelling: Bool { shortValue.map { !Self.common.contains($0) } ?? true }
}
