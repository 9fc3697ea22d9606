import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials

/// The system's own StartNotify on a characteristic: it serves every app, and outlives them.
struct NotifySession: Sendable {
  enum Step: Sendable { case starting, active, stopping, failed }
  var step: Step
  var peer: PeerIdentifier
}

extension BluetoothSystem {
  /// Keeps bluetoothd subscribed to what apps are subscribed to. It may be asked while the device is away: it then takes
  /// effect with the next link.
  mutating func reconcileNotifications() {
    guard bluez.state == .poweredOn else { return }
    let wantedNow = wantedNotifications()
    for (path, handle, peer) in wantedNow where sessions[path] == nil {
      guard operations[peer]?.current?.operation.attribute != handle else { continue }
      sessions[path] = NotifySession(step: .starting, peer: peer)
      call(path, .startNotify, for: .startNotify(path))
    }
    let wanted = Set(wantedNow.map(\.path))
    for (path, session) in sessions.sorted(by: { $0.key < $1.key })
    where session.step == .active && !wanted.contains(path) {
      sessions[path]?.step = .stopping
      call(path, .stopNotify, for: .stopNotify(path))
    }
  }

  private func wantedNotifications() -> [(path: ObjectPath, handle: AttributeHandle, peer: PeerIdentifier)] {
    var result: [(path: ObjectPath, handle: AttributeHandle, peer: PeerIdentifier)] = []
    for manager in managers.values where manager.key.role == .central {
      for (peer, peripheral) in manager.peripherals {
        guard let services = peripheral.services, let device = bluez.device(peer) else { continue }
        for characteristic in services.lazy.flatMap({ $0.characteristics ?? [] }) where characteristic.isNotifying {
          guard let attribute = device.attributes[characteristic.handle], attribute.uuid == characteristic.uuid else {
            continue
          }
          result.append((attribute.path, characteristic.handle, peer))
        }
      }
    }
    return result.sorted { $0.path < $1.path }
  }

  mutating func notifyStarted(_ path: ObjectPath, _ result: Result<Reply, BlueZError>) {
    guard let session = sessions[path], session.step == .starting else { return }
    switch result {
    case .success: sessions[path]?.step = .active
    case .failure(let error) where error.kind == .inProgress: sessions[path]?.step = .active
    case .failure(let error):
      // Asked again with the next link. That the link is lost may have been heard before.
      sessions[path]?.step = .failed
      journal(.subscriptionFailed, [.peripheral: session.peer.uuidString, .error: error.description])
    }
  }

  mutating func notifyStopped(_ path: ObjectPath) { sessions[path] = nil }

  /// What failed on the old link is tried again on the next: at once where bluetoothd keeps it for then, and when the link
  /// is there, since the failure may have been heard after the loss.
  mutating func forgetFailedSubscriptions(_ peer: PeerIdentifier) {
    for (path, session) in sessions where session.peer == peer && session.step == .failed { sessions[path] = nil }
  }

  /// A characteristic's Value changed: a notification, or the echo of a read of ours.
  mutating func valueArrived(_ path: ObjectPath, _ value: [UInt8]) {
    guard let owner = bluez.owners[path], let peer = bluez.devices[owner.device]?.peer else { return }
    guard operations[peer] != nil else { return deliverValue(path, value) }
    if let news = operations[peer]?.hold(value, of: owner.handle) { deliverValue(path, news) }
  }

  mutating func deliverValue(_ path: ObjectPath, _ value: [UInt8]) {
    guard let owner = bluez.owners[path], let peer = bluez.devices[owner.device]?.peer else { return }
    guard value.count <= ATTLimits.maximumValueLength else {
      journal(.valueRefused, [.peripheral: peer.uuidString, .bytes: String(value.count)])
      return
    }
    // The value may overtake what says that the link is up.
    tellConnections()
    for key in sortedManagers(.central)
    where isNotifying(owner.handle, peer, key) && managers[key]?.peripherals[peer]?.isConnected == true {
      tell(key, .valueUpdated(peer, characteristic: owner.handle, value: value))
      alert(key, peer, managers[key]?.peripherals[peer]?.options.notifyOnNotification ?? false, "notification")
    }
  }
}
