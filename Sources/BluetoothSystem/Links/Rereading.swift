import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// Reading again what bluetoothd's signals should have told and may not have.
struct Rereading: Sendable {
  /// Devices that are being read, one question each.
  private(set) var devices: Set<ObjectPath> = []
  /// How often everything was read since the last registration.
  private var rounds = 0
  /// From when on everything may be read again; `nil`: nobody is waited for.
  private var dueAt: Instant?

  /// Returns whether it is to be asked now.
  mutating func ask(_ path: ObjectPath) -> Bool { devices.insert(path).inserted }
  mutating func answered(_ path: ObjectPath) { devices.remove(path) }

  mutating func renew() {
    rounds = 0
    dueAt = nil
  }

  /// Somebody is waited for. Returns whether everything is to be read now.
  mutating func isDue(at now: Instant) -> Bool {
    if let dueAt, dueAt > now { return false }
    let isAsked = dueAt != nil
    if isAsked { rounds += 1 }
    dueAt = now + BackOff.patient.wait(afterFailures: rounds + 1)
    return isAsked
  }
}

/// Once a bluetoothd under load has connected a device of which no signal arrived, and the request was held until the
/// system's restart. So what only a linked device does, and a reply that ought to have been preceded by a signal, have
/// the device read. Of the devices that the kernel connects by itself there need be no word at all: they are read again,
/// ever more rarely, when the system is awake anyway. For that there is no alarm, since held requests wake nobody;
/// systemd's watchdog sees to it that something always happens.
extension BluetoothSystem {
  /// Asks what bluetoothd believes of a device. bluetoothd answers in line with its signals, so the answer is no older
  /// than what is known.
  mutating func reread(_ path: ObjectPath) {
    guard rereading.ask(path) else { return }
    call(path, .getAllProperties(interface: InterfaceName.device), for: .reread(path))
  }

  /// Something came from a device that counts as away.
  mutating func livedUnheard(_ path: ObjectPath) {
    guard let device = bluez.devices[path], !device.isConnected, isWanted(device.peer) else { return }
    reread(path)
  }

  /// One question for all devices that are armed and away.
  mutating func reconcileRereading(_ wanted: Set<PeerIdentifier>) {
    guard wanted.contains(where: { profile.armed.contains($0) && bluez.device($0)?.isConnected == false }) else {
      return rereading.renew()
    }
    if rereading.isDue(at: now) { call(.root, .getManagedObjects, for: .rereadAll) }
  }

  mutating func rereadAll(_ result: Result<Reply, BlueZError>) {
    guard case .success(.objects(let objects)) = result else { return }
    for path in objects.keys.sorted() {
      if let properties = objects[path]?[InterfaceName.device] { compare(path, properties) }
    }
  }

  mutating func reread(_ path: ObjectPath, _ result: Result<Reply, BlueZError>) {
    rereading.answered(path)
    if case .success(.properties(let properties)) = result { compare(path, properties) }
  }

  private mutating func compare(_ path: ObjectPath, _ properties: Properties) {
    guard let device = bluez.devices[path], let isConnected = PropertyValues<Device1>(properties).connected,
      isConnected != device.isConnected
    else { return }
    journal(
      .linkUnheard, [.peripheral: device.peer.uuidString, .connected: isConnected ? "yes" : "no"])
    // What an advertisement said once is no sighting now.
    deviceChanged(path, properties.filter { !Device.advertised.contains($0.key) }, [])
  }
}

extension Device {
  /// Properties whose change means that the device was heard.
  static let advertised: Set<String> = [
    Device1.name(\.rssi), Device1.name(\.manufacturerData), Device1.name(\.serviceData),
  ]
}
