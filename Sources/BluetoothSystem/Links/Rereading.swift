import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// Repeats reads of what bluetoothd's signals should have said but may not have.
struct Rereading: Sendable {
  /// Devices being read, with one question each.
  private(set) var devices: Set<ObjectPath> = []
  /// How many times everything was read since the last reset.
  private var rounds = 0
  /// From when everything may be read again, or `nil` if no device is awaited.
  private var dueAt: Instant?

  /// Returns whether to ask now.
  mutating func ask(_ path: ObjectPath) -> Bool { devices.insert(path).inserted }
  mutating func answered(_ path: ObjectPath) { devices.remove(path) }

  mutating func renew() {
    rounds = 0
    dueAt = nil
  }

  /// With more devices than this, everything is read more rarely: the answer is as long as they are many.
  private static let devicesReadOften = 64

  /// Called while devices are awaited. Returns whether to read everything now.
  /// - Parameter count: how many are awaited.
  mutating func isDue(at now: Instant, awaiting count: Int) -> Bool {
    if let dueAt, dueAt > now { return false }
    let isAsked = dueAt != nil
    if isAsked { rounds += 1 }
    let wait = BackOff.patient.wait(afterFailures: rounds + 1) * max(1, count / Self.devicesReadOften)
    dueAt = now + min(wait, BackOff.patient.longest)
    return isAsked
  }
}

/// A bluetoothd under load was once seen to connect a device without a signal; the request was then held until the
/// system restarted. So a device is read again when it does something that only a linked device does, or when a reply
/// arrives without the signal that should have preceded it. For devices that the kernel connects by itself there may
/// be no message at all. They are read again, at ever longer intervals, when the system is awake anyway. There is no
/// alarm for that, since held requests must not wake the machine; systemd's watchdog ensures that something always
/// happens.
extension BluetoothSystem {
  /// Asks bluetoothd for its view of a device. bluetoothd's answers are in order with its signals, so the answer is
  /// never older than what is known.
  mutating func reread(_ path: ObjectPath) {
    guard rereading.ask(path) else { return }
    call(path, .getAllProperties(interface: InterfaceName.device), for: .reread(path))
  }

  /// Something came from a device that counts as away.
  mutating func livedUnheard(_ path: ObjectPath) {
    guard let device = bluez.devices[path], !device.isConnected, isWanted(device.peer) else { return }
    reread(path)
  }

  /// One question covers all devices that are armed and away.
  mutating func reconcileRereading() {
    judgeConnections()
    guard connections.away > 0 else { return rereading.renew() }
    if rereading.isDue(at: now, awaiting: connections.away) { call(.root, .getManagedObjects, for: .rereadAll) }
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
    // What an advertisement said at some earlier time is not a sighting now.
    deviceChanged(path, properties.filter { !Device.advertised.contains($0.key) }, [])
  }
}

extension Device {
  /// Properties that change only when the device was heard.
  static let advertised: Set<String> = [
    Device1.name(\.rssi), Device1.name(\.manufacturerData), Device1.name(\.serviceData),
  ]

  /// Properties that change also over a link, or when bluetoothd forgets what it had heard.
  static let alsoAdvertised: Set<String> = [
    Device1.name(\.name), Device1.name(\.uuids), Device1.name(\.txPower), Device1.name(\.advertisingData),
  ]
}
