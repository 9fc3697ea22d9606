import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import HashTreeCollections
import TimeTypes

/// The GattProfile1 application that keeps bonded devices on the kernel's accept list. One registration serves all
/// devices.
struct AcceptListProfile: Sendable {
  private(set) var registration = Registration()
  private(set) var root: ObjectPath?
  private var isUnregistering = false
  /// Devices that were bonded when the registration was made and have not been disarmed since.
  private(set) var armed: TreeSet<PeerIdentifier> = []
  /// The registration under way: the devices that were bonded when it was asked for, and those among them that it arms
  /// anew, because they were not armed then or have been disarmed since.
  private var arming = ConnectionWork.Armable()
  private var newlyArmed: TreeSet<PeerIdentifier> = []

  /// What to ask of bluetoothd now to arm these devices. Only a registration made after a device was paired arms it,
  /// so each newly paired device needs a new registration.
  mutating func steps(for work: ConnectionWork, exports: inout ExportPaths, at now: Instant) -> [AdapterCall] {
    guard !work.unarmed.isEmpty, registration.mayAsk(at: now), !isUnregistering else { return [] }
    var calls: [AdapterCall] = []
    if let root {
      isUnregistering = true
      calls.append(AdapterCall(.unregisterApplication(root: root), for: .unregisterProfile))
    }
    let root = exports.next("profiles")
    self.root = root
    registration.ask()
    (arming, newlyArmed) = (work.armable, work.unarmed)
    var object = PropertyValues<GattProfile1>()
    object.uuids = work.services.map(\.description)
    calls.append(
      AdapterCall(
        .registerApplication(root: root, objects: [root.appending("profile"): object.interfaces]),
        for: .registerProfile(root: root)))
    return calls
  }

  struct Answer {
    /// Devices that were not armed before.
    var newlyArmed: TreeSet<PeerIdentifier> = []
    /// How many devices the registration was for.
    var count: Int
  }

  /// bluetoothd has answered. Returns `nil` if the answer is for an earlier registration.
  mutating func registered(_ root: ObjectPath, isAccepted: Bool, at now: Instant) -> Answer? {
    guard self.root == root else { return nil }
    var answer = Answer(count: arming.count)
    if isAccepted {
      registration.succeed()
      // Devices that were paired or changed after the call are not armed by it.
      answer.newlyArmed = newlyArmed
      for peer in newlyArmed { armed.insert(peer) }
    } else {
      self.root = nil
      registration.fail(at: now)
    }
    (arming, newlyArmed) = (ConnectionWork.Armable(), [])
    return answer
  }

  mutating func unregistered() { isUnregistering = false }

  /// bluetoothd has dropped the object by itself.
  mutating func released(_ path: ObjectPath) {
    if let root, path.isWithin(root) { self = AcceptListProfile() }
  }

  /// The device has left the accept list. Returns whether it was on it.
  mutating func disarm(_ peer: PeerIdentifier) -> Bool {
    if arming.contains(peer) { newlyArmed.insert(peer) }
    return armed.remove(peer) != nil
  }

  mutating func disarmAll() {
    armed = []
    newlyArmed = arming.peers
  }
}

extension BluetoothSystem {
  func isArmable(_ device: Device) -> Bool { device.isBonded && !device.uuids.isEmpty }

  mutating func armBonded() {
    guard let adapter = bluez.adapter else { return }
    let changed = changedPeers().filter(connections.armable.contains).compactMap { bluez.device($0) }
    trust(changed.filter { !$0.isTrusted && !$0.isTrustRequested })
    for step in profile.steps(for: connections, exports: &exports, at: now) {
      call(adapter, step.request, for: step.pending)
    }
  }

  mutating func profileRegistered(_ root: ObjectPath, _ result: Result<Reply, BlueZError>) {
    guard let answer = profile.registered(root, isAccepted: (try? result.get()) != nil, at: now) else { return }
    switch result {
    case .success:
      changes.add(Set(answer.newlyArmed))
      rereading.renew()
      journal(.profileRegistered, [.peripherals: String(answer.count)])
    case .failure(let error): journal(.profileRefused, [.error: error.description])
    }
  }

  /// Trusts the devices, because another client's `Disconnect` does not disarm a trusted device.
  private mutating func trust(_ devices: [Device]) {
    for device in devices.sorted(by: { $0.path < $1.path }) where !device.isDisconnecting {
      bluez.devices[device.path]?.isTrustRequested = true
      call(
        device.path, .set(\Device1.trusted, to: true), for: .ignored)
    }
  }
}
