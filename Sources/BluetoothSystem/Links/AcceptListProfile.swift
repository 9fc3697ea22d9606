import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// The GattProfile1 application that keeps bonded devices on the kernel's accept list. One registration serves all
/// devices.
struct AcceptListProfile: Sendable {
  private(set) var registration = Registration()
  private(set) var root: ObjectPath?
  private var isUnregistering = false
  /// Devices that were bonded when the registration was made and have not been disarmed since.
  private(set) var armed: Set<PeerIdentifier> = []

  /// What to ask of bluetoothd now to arm these devices. Only a registration made after a device was paired arms it,
  /// so each newly paired device needs a new registration.
  mutating func steps(arming devices: [Device], exports: inout ExportPaths, at now: Instant) -> [AdapterCall] {
    guard !armed.isSuperset(of: devices.map(\.peer)), registration.mayAsk(at: now), !isUnregistering else { return [] }
    var calls: [AdapterCall] = []
    if let root {
      isUnregistering = true
      calls.append(AdapterCall(.unregisterApplication(root: root), for: .unregisterProfile))
    }
    let root = exports.next("profiles")
    self.root = root
    registration.ask()
    let uuids = Set(devices.flatMap(\.tellingServices)).sorted()
    var object = PropertyValues<GattProfile1>()
    object.uuids = uuids.map(\.description)
    calls.append(
      AdapterCall(
        .registerApplication(root: root, objects: [root.appending("profile"): object.interfaces]),
        for: .registerProfile(root: root, arming: Set(devices.map(\.peer)))))
    return calls
  }

  /// bluetoothd has answered. Returns `false` if the answer is for an earlier registration.
  mutating func registered(
    _ root: ObjectPath, _ arming: Set<PeerIdentifier>, isAccepted: Bool, at now: Instant
  ) -> Bool {
    guard self.root == root else { return false }
    if isAccepted {
      registration.succeed()
      // Devices that were paired or changed after the call are not armed by it.
      armed.formUnion(arming)
    } else {
      self.root = nil
      registration.fail(at: now)
    }
    return true
  }

  mutating func unregistered() { isUnregistering = false }

  /// bluetoothd has dropped the object by itself.
  mutating func released(_ path: ObjectPath) {
    if let root, path.isWithin(root) { self = AcceptListProfile() }
  }

  /// The device has left the accept list. Returns whether it was on it.
  @discardableResult mutating func disarm(_ peer: PeerIdentifier) -> Bool { armed.remove(peer) != nil }
  mutating func disarmAll() { armed = [] }
}

extension BluetoothSystem {
  func isArmable(_ device: Device) -> Bool { device.isBonded && !device.uuids.isEmpty }

  mutating func armBonded(_ wanted: Set<PeerIdentifier>) {
    guard let adapter = bluez.adapter else { return }
    let devices = wanted.compactMap { bluez.device($0) }.filter(isArmable)
    trust(devices.filter { !$0.isTrusted && !$0.isTrustRequested })
    for step in profile.steps(arming: devices, exports: &exports, at: now) {
      call(adapter, step.request, for: step.pending)
    }
  }

  mutating func profileRegistered(
    _ root: ObjectPath, _ arming: Set<PeerIdentifier>, _ result: Result<Reply, BlueZError>
  ) {
    guard profile.registered(root, arming, isAccepted: (try? result.get()) != nil, at: now) else { return }
    switch result {
    case .success:
      rereading.renew()
      journal(.profileRegistered, [.peripherals: String(arming.count)])
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
