import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// A linked peripheral that lacks services it is known to have, though bluetoothd says that they are resolved.
///
/// bluetoothd says so too where its discovery failed, may say so before the objects are there (bluez/bluez#1489), and
/// skips the discovery where the peer's Database Hash is the one it wrote down before a discovery that a lost link cut
/// short (src/shared/gatt-client.c, `db_hash_read_cb`). There is no call that makes it look again. A short link at
/// which nothing is asked is what is left: a peripheral of Latchkey's then changes its hash (`DatabaseMark`).
struct DatabaseHealing: Sendable {
  private(set) var missing: Set<BluetoothUUID> = []
  /// Links ended for it so far.
  private(set) var attempts = 0
  /// When the link is ended; `nil` while there is none, or when nothing more is tried.
  private(set) var dropAt: Instant?
  private var hasGivenUp = false

  static let attemptLimit = 3
  /// What is late may take this long; well below `DatabaseMark.visitLimit`.
  private static let patience: [Duration] = [.seconds(2), .seconds(3), .seconds(5)]

  /// These are missing on the link that is there.
  mutating func misses(_ uuids: Set<BluetoothUUID>, at now: Instant) {
    missing = uuids
    guard !hasGivenUp, dropAt == nil else { return }
    dropAt = now + Self.patience[min(attempts, Self.patience.count - 1)]
  }

  /// The link has gone by itself; the next one is looked at anew.
  mutating func linkIsGone() { dropAt = nil }

  /// Whether a discovery of these services waits for what is missing. `nil`: of all.
  func delaysDiscovery(of uuids: [BluetoothUUID]?) -> Bool {
    !hasGivenUp && uuids.map { !missing.isDisjoint(with: $0) } ?? true
  }

  /// The link is ended once more. Returns `false` where that has been tried often enough: the services have gone for good, or
  /// bluetoothd can't be helped from here.
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

  /// An app has found these services: their absence is a fault from now on.
  mutating func expectServices(_ uuids: [BluetoothUUID], of peer: PeerIdentifier) {
    guard var record = peers[peer] else { return }
    let known = Set(record.services ?? [])
    let new = known.union(uuids.filter(\.isTelling))
    guard new != known, new.count <= Self.expectationLimit else { return }
    record.services = new.sorted()
    peers[peer] = record
    persist(.peer(record))
  }

  /// Whether a discovery waits for services that are not there yet.
  func mustWait(_ operation: PeripheralOperation, _ peer: PeerIdentifier) -> Bool {
    guard case .discoverServices(let uuids) = operation else { return false }
    return healings[peer]?.delaysDiscovery(of: uuids) ?? false
  }

  mutating func reconcileDatabases() {
    for peer in uncheckedDatabases.sorted() { checkDatabase(peer) }
    uncheckedDatabases = []
    for peer in healings.keys.sorted() {
      guard let dropAt = healings[peer]?.dropAt, dropAt <= now else { continue }
      dropForMissing(peer)
    }
  }

  private mutating func checkDatabase(_ peer: PeerIdentifier) {
    guard let device = bluez.device(peer), device.isConnected, device.isResolved, !device.isDisconnecting,
      isWanted(peer)
    else {
      healings[peer]?.linkIsGone()
      return
    }
    let missing = missingServices(of: device)
    guard !missing.isEmpty else {
      if let healing = healings.removeValue(forKey: peer), healing.attempts > 0 {
        journal(.servicesBack, [.peripheral: peer.uuidString, .attempts: String(healing.attempts)])
      }
      return
    }
    healings[peer, default: DatabaseHealing()].misses(missing, at: now)
  }

  private func missingServices(of device: Device) -> Set<BluetoothUUID> {
    let present = Set(device.attributes.values.lazy.filter { $0.kind == .service }.compactMap(\.uuid))
    // Not one object: the announcement is late, or the discovery has failed.
    if present.isEmpty { return Set(device.uuids.filter(\.isTelling)).union(peers[device.peer]?.services ?? []) }
    return Set(peers[device.peer]?.services ?? []).subtracting(present)
  }

  private mutating func dropForMissing(_ peer: PeerIdentifier) {
    guard var healing = healings[peer] else { return }
    guard let device = bluez.device(peer), device.isUsable else {
      healings[peer]?.linkIsGone()
      return
    }
    let names = healing.missing.sorted().map(\.description).joined(separator: " ")
    let isTriedAgain = healing.endLink()
    healings[peer] = healing
    guard isTriedAgain else {
      forgetServices(healing.missing, of: peer)
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
    // The link is to come back by itself: what `Disconnect` may disarm is armed again.
    profile.disarm(peer)
    bluez.devices[device.path]?.isDisconnecting = true
    links[peer, default: LinkHealth()].isAskedToEnd(at: now)
    call(device.path, .disconnect, for: .disconnect(peer))
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
  /// Generic Access, Generic Attribute, Device Information and Battery: nearly everything has them.
  private static let common: Set<UInt16> = [0x1800, 0x1801, 0x180A, 0x180F]

  /// Whether a service of this UUID tells a device from others.
  var isTelling: Bool { shortValue.map { !Self.common.contains($0) } ?? true }
}
