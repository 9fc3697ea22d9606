import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import HashTreeCollections

/// The system's own StartNotify calls on remote characteristics. Each serves all apps, and outlives them.
struct NotifySessions: Sendable {
  enum State: Sendable {
    case starting
    /// It was asked for on a link that was lost before the answer. What waits for a pairing is then never answered: bluetoothd
    /// drops what it has not sent or sent again (src/shared/att.c, `disc_att_send_op`).
    case unanswered
    case active, stopping, failed
  }

  private struct Session {
    var state: State
    let peer: PeerIdentifier
    let device: ObjectPath
  }

  // Trees: while a turn may have to be undone, a change copies a few nodes and not every session.
  private var sessions: TreeDictionary<ObjectPath, Session> = [:]
  private var byDevice: TreeDictionary<ObjectPath, Set<ObjectPath>> = [:]
  /// Devices whose sessions have changed.
  private var touched: Set<ObjectPath> = []

  mutating func takeTouched() -> Set<ObjectPath> {
    guard !touched.isEmpty else { return [] }
    defer { touched = [] }
    return touched
  }

  private mutating func put(_ session: Session, _ path: ObjectPath) {
    sessions[path] = session
    byDevice[session.device, default: []].insert(path)
    touched.insert(session.device)
  }

  private mutating func change(_ path: ObjectPath, to state: State) {
    guard let device = sessions[path]?.device else { return }
    sessions[path]?.state = state
    touched.insert(device)
  }

  subscript(path: ObjectPath) -> State? { sessions[path]?.state }
  /// Sessions that bluetoothd was asked for and has not answered.
  var starting: [ObjectPath] {
    sessions.filter { $0.value.state == .starting || $0.value.state == .unanswered }.map(\.key)
  }

  /// Sessions with a peer that bluetoothd has confirmed.
  func active(of peer: PeerIdentifier) -> [ObjectPath] {
    sessions.filter { $0.value.peer == peer && $0.value.state == .active }.keys.sorted()
  }

  /// Begins a session that is wanted and does not exist. Returns `false` if it exists.
  mutating func start(_ path: ObjectPath, of peer: PeerIdentifier, at device: ObjectPath) -> Bool {
    guard sessions[path] == nil else { return false }
    put(Session(state: .starting, peer: peer, device: device), path)
    return true
  }

  /// Ends sessions on these devices that are no longer wanted. Returns those that bluetoothd must be asked to stop.
  mutating func stop(on devices: [ObjectPath], unless wanted: Set<ObjectPath>) -> [ObjectPath] {
    var unwanted: [ObjectPath] = []
    for device in devices {
      for path in byDevice[device] ?? [] where sessions[path]?.state == .active && !wanted.contains(path) {
        unwanted.append(path)
      }
    }
    for path in unwanted { change(path, to: .stopping) }
    return unwanted.sorted()
  }

  /// An app's own `setNotifyValue` has started the session.
  mutating func isActive(_ path: ObjectPath, of peer: PeerIdentifier, at device: ObjectPath) {
    put(Session(state: .active, peer: peer, device: device), path)
  }

  /// bluetoothd has answered. Returns the peer if the subscription failed: it is asked for again with the next link.
  /// The old link's loss may already have been reported.
  mutating func started(_ path: ObjectPath, _ error: BlueZError?) -> PeerIdentifier? {
    guard let session = sessions[path], session.state == .starting || session.state == .unanswered else { return nil }
    let isThere = error.map { $0.kind == .inProgress } ?? true
    change(path, to: isThere ? .active : .failed)
    return isThere ? nil : session.peer
  }

  /// bluetoothd was asked to go on with a session. Returns the peer if the subscription failed.
  mutating func renewed(_ path: ObjectPath, _ error: BlueZError?) -> PeerIdentifier? {
    guard let session = sessions[path], session.state == .active, let error, !error.saysThatSessionExists else {
      return nil
    }
    sessions[path]?.state = .failed
    return session.peer
  }

  /// Retries on the next link what failed on the old one. It is called at the loss, because bluetoothd keeps the
  /// request for the next link, and when the next link is up, because the failure may be reported after the loss.
  private mutating func forgetFailures(of peer: PeerIdentifier, at device: ObjectPath) {
    for path in byDevice[device] ?? [] where sessions[path]?.peer == peer && sessions[path]?.state == .failed {
      hasEnded(path)
    }
  }

  mutating func linkIsLost(_ peer: PeerIdentifier, at device: ObjectPath) {
    forgetFailures(of: peer, at: device)
    for path in byDevice[device] ?? [] where sessions[path]?.peer == peer && sessions[path]?.state == .starting {
      change(path, to: .unanswered)
    }
  }

  /// Returns the sessions that were asked for on the last link and have had no answer. They are asked for again.
  mutating func linkIsUp(_ peer: PeerIdentifier, at device: ObjectPath) -> [ObjectPath] {
    forgetFailures(of: peer, at: device)
    let unanswered = (byDevice[device] ?? []).filter {
      sessions[$0]?.peer == peer && sessions[$0]?.state == .unanswered
    }
    for path in unanswered { hasEnded(path) }
    return unanswered.sorted()
  }

  /// bluetoothd has stopped the session, or its object was removed.
  mutating func hasEnded(_ path: ObjectPath) {
    guard let device = sessions.removeValue(forKey: path)?.device else { return }
    byDevice[device]?.remove(path)
    if byDevice[device]?.isEmpty == true { byDevice[device] = nil }
    touched.insert(device)
  }
}

extension BluetoothSystem {
  /// Keeps bluetoothd subscribed to everything that apps are subscribed to. This works while the device is away, too:
  /// the subscription then takes effect with the next link.
  mutating func reconcileNotifications() {
    guard bluez.state == .poweredOn else { return }
    let devices = changedPeers().compactMap { bluez.device($0) }
    guard !devices.isEmpty else { return }
    let wanted = devices.flatMap { wantedNotifications(of: $0) }.sorted { $0.path < $1.path }
    for (path, handle, device, peer) in wanted where operations[peer]?.current?.operation.attribute != handle {
      if sessions.start(path, of: peer, at: device) { call(path, .startNotify, for: .startNotify(path)) }
    }
    for path in sessions.stop(on: devices.map(\.path), unless: Set(wanted.map(\.path))) {
      call(path, .stopNotify, for: .stopNotify(path))
    }
  }

  private typealias WantedNotification = (
    path: ObjectPath, handle: AttributeHandle, device: ObjectPath, peer: PeerIdentifier
  )

  private func wantedNotifications(of device: Device) -> [WantedNotification] {
    var result: [WantedNotification] = []
    for holding in held.holders(of: device.peer) where holding.manager.role == .central {
      for characteristic in (holding.peripheral.services ?? []).lazy.flatMap({ $0.characteristics ?? [] })
      where characteristic.isNotifying {
        guard let attribute = device.attributes[characteristic.handle], attribute.uuid == characteristic.uuid else {
          continue
        }
        result.append((attribute.path, characteristic.handle, device.path, device.peer))
      }
    }
    return result
  }

  mutating func notificationsOfNewLink(_ peer: PeerIdentifier) {
    guard let device = bluez.devicePaths[peer] else { return }
    for path in sessions.linkIsUp(peer, at: device) { calls.forget(.startNotify(path)) }
  }

  mutating func notificationsOfLostLink(_ peer: PeerIdentifier) {
    if let device = bluez.devicePaths[peer] { sessions.linkIsLost(peer, at: device) }
  }

  mutating func notifyStarted(_ path: ObjectPath, _ result: Result<Reply, BlueZError>) {
    let failure: BlueZError? = if case .failure(let error) = result { error } else { nil }
    guard let peer = sessions.started(path, failure), let failure else { return }
    journal(.subscriptionFailed, [.peripheral: peer.uuidString, .error: failure.description])
  }

  /// A link with the peer works. bluetoothd subscribes again by itself, but it forgets a session, and does not say so, if
  /// a link is lost while it does (`register_notify_cb` in src/gatt-client.c). So it is asked once for each link; a
  /// session that it still has is not written to the peer again.
  mutating func renewNotifications(of peer: PeerIdentifier) {
    for path in sessions.active(of: peer) { call(path, .startNotify, for: .renewNotify(path)) }
  }

  mutating func notifyRenewed(_ path: ObjectPath, _ result: Result<Reply, BlueZError>) {
    guard case .failure(let error) = result, let peer = sessions.renewed(path, error) else { return }
    journal(.subscriptionFailed, [.peripheral: peer.uuidString, .error: error.description])
  }

  /// A characteristic's Value changed: a notification, or the echo of our own read.
  mutating func valueArrived(_ path: ObjectPath, _ value: [UInt8]) {
    guard let owner = bluez.owners[path], let peer = bluez.devices[owner.device]?.peer else { return }
    peerSpoke(peer)
    guard let value = abandonedReads.hold(value, at: path) else { return }
    guard operations[peer] != nil else { return deliverValue(path, value) }
    if let news = operations[peer]?.hold(value, of: owner.handle) { deliverValue(path, news) }
  }

  mutating func deliverValue(_ path: ObjectPath, _ value: [UInt8]) {
    guard let owner = bluez.owners[path], let peer = bluez.devices[owner.device]?.peer else { return }
    guard value.count <= ATTLimits.maximumValueLength else {
      journal(.valueRefused, [.peripheral: peer.uuidString, .bytes: String(value.count)])
      return
    }
    // The value may arrive before the message that the link is up.
    tellConnections()
    for key in sortedManagers(.central)
    where isNotifying(owner.handle, peer, key) && held[key, peer]?.isConnected == true {
      tell(key, .valueUpdated(peer, characteristic: owner.handle, value: value))
      alert(key, peer, held[key, peer]?.options.notifyOnNotification ?? false, "notification")
    }
  }
}

extension BlueZError {
  /// `StartNotify` was called for a session that exists. Old versions of bluetoothd say so by `Failed`.
  fileprivate var saysThatSessionExists: Bool {
    kind == .inProgress || message == "Already notifying"
  }
}
