import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// Values for subscribers that wait for a link that is coming up. bluetoothd does not queue them: what an application
/// sends before the link can carry it is lost or cut (`LinkCapacity`). The values of one manager keep their order, and the
/// manager gets no more credit while some of its values wait, so there are never more of them than it has credit for.
struct HeldUpdates: Sendable {
  struct Update: Sendable {
    let path: ObjectPath
    let value: [UInt8]
    /// The connected subscribers that the value is meant for.
    let receivers: Set<PeerIdentifier>
  }

  private var waiting: [ManagerKey: [Update]] = [:]

  var managers: [ManagerKey] { waiting.keys.sorted() }
  func waits(for peer: PeerIdentifier) -> Bool {
    waiting.values.contains { $0.contains { $0.receivers.contains(peer) } }
  }
  func has(_ key: ManagerKey) -> Bool { waiting[key] != nil }

  mutating func add(_ update: Update, of key: ManagerKey) { waiting[key, default: []].append(update) }

  func first(of key: ManagerKey) -> Update? { waiting[key]?.first }

  mutating func removeFirst(of key: ManagerKey) {
    waiting[key]?.removeFirst()
    if waiting[key]?.isEmpty == true { waiting[key] = nil }
  }

  mutating func forget(_ key: ManagerKey) { waiting[key] = nil }
}

extension BluetoothSystem {
  /// What a notification can carry before the MTU is agreed on. bluetoothd sends a Handle Multiple Value Notification to
  /// centrals that take it, with five bytes before the value.
  private static let earlyRoom = ATTLimits.defaultMTU - 5

  /// Sends a value to bluetoothd, once the links of all connected receivers can carry it.
  mutating func send(
    _ value: [UInt8], at path: ObjectPath, of characteristic: LocalAttributeIdentifier, _ key: ManagerKey,
    to centrals: [PeerIdentifier]?
  ) {
    let subscribers = managers[key]?.subscribers[characteristic] ?? []
    let meant = centrals.map { subscribers.intersection($0) } ?? subscribers
    let update = HeldUpdates.Update(
      path: path, value: value, receivers: meant.filter { bluez.device($0)?.isConnected == true })
    heldUpdates.add(update, of: key)
    changes.add(update.receivers)
    sendHeldUpdates(of: key)
  }

  mutating func sendHeldUpdates() {
    for key in heldUpdates.managers { sendHeldUpdates(of: key) }
  }

  private mutating func sendHeldUpdates(of key: ManagerKey) {
    while let update = heldUpdates.first(of: key), mayGo(update) {
      heldUpdates.removeFirst(of: key)
      // A value for centrals that have all left while it waited is for nobody.
      let isForNobody =
        !update.receivers.isEmpty && update.receivers.allSatisfy { bluez.device($0)?.isConnected != true }
      if !isForNobody { emit(.bluez(.valueChanged(path: update.path, value: update.value))) }
    }
    managers[key]?.credit.pause(heldUpdates.has(key))
  }

  private func mayGo(_ update: HeldUpdates.Update) -> Bool {
    update.receivers.allSatisfy { peer in
      mayCarry(update.value.count, room: Self.earlyRoom, peer)
        || (update.value.count <= Self.earlyRoom && shouldBeAttached(peer))
        || capacities[peer].map { $0.since + LinkCapacity.patience <= now } ?? true
    }
  }
}
