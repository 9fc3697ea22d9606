import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// One Device1.
struct Device: Sendable {
  /// Never changes, though the address may: a bonded device keeps the path under which it was found.
  let path: ObjectPath
  var address: DeviceAddress
  var name: String?
  var alias: String?
  var appearance: UInt16?
  var modalias: String?
  var isTrusted = false
  var isBlocked = false
  var uuids: [BluetoothUUID] = []
  var bond: Bond?
  /// A pairing without a bond has been made on the present link.
  var isPairedForLink = false

  /// Discovered or connected, but not wanted by a client. It is removed some time after it was last seen.
  var isTemporary = true
  var lastSeen: Instant
  /// It is removed earlier, because a request for it failed and it has not been seen since.
  var vanishesAt: Instant?

  /// What advertisements say, except the name, the services and the appearance, which links also provide.
  var advertised = AdvertisementData()
  /// What else they say, by AD type.
  var otherStructures: [UInt8: [UInt8]] = [:]
  var rssi: Int8?

  // Connection
  var link: LinkIdentifier?
  var isResolved = false
  var pendingConnect: PendingConnect?
  /// Calls that wait for the end of the link: of Disconnect, and of RemoveDevice.
  var disconnectCalls: [PendingCall] = []
  var removalCalls: [PendingCall] = []
  var disconnectDeadline: Instant?
  var pairCall: PendingCall?
  /// A `Pair()` call that has made the bond and waits for the services.
  var bondedCall: PendingCall?
  /// The bond was made before the services were known. `Paired` is announced only when they are.
  var isPairedUntold = false
  /// The kernel's entry: connect whenever heard. It holds the address that the device had when the entry was made.
  var autoConnect: InitiatorTarget?
  /// A profile wanted auto-connect, and `Disconnect()` parked it.
  var isAutoConnectParked = false

  // GATT client
  var battery: RemoteBattery?
  var database: RemoteDatabase?
  /// Whether the database's objects are on the bus.
  var isExported = false
  var values: [AttributeHandle: [UInt8]] = [:]
  /// StartNotify sessions by the characteristic's value handle.
  var sessions: [AttributeHandle: NotifySessions] = [:]
  /// AcquireNotify calls that wait for the peer.
  var acquiringCalls: [AttributeHandle: PendingCall] = [:]

  init(path: ObjectPath, address: DeviceAddress, now: Instant) {
    self.path = path
    self.address = address
    lastSeen = now
  }

  mutating func wasSeen(at now: Instant) {
    lastSeen = now
    vanishesAt = nil
  }

  /// Fields that this advertisement lacks, except the flags, keep the values of earlier ones: a device may send several
  /// advertisements.
  /// - Parameter replacing: manufacturer, service and other data replace the earlier data instead of adding to it.
  mutating func hear(_ data: AdvertisementData, _ report: AdvertisementReport, replacing: Bool, at now: Instant) {
    wasSeen(at: now)
    rssi = report.rssi
    if let power = data.transmitPowerLevel { advertised.transmitPowerLevel = power }
    // Flags count as 0 when there are none (src/eir.c, eir_parse).
    advertised.flags = data.flags ?? 0
    if replacing, !data.manufacturerData.isEmpty { advertised.manufacturerData = [:] }
    if replacing, !data.serviceData.isEmpty { advertised.serviceData = [:] }
    advertised.manufacturerData.merge(data.manufacturerData) { $1 }
    advertised.serviceData.merge(data.serviceData) { $1 }
    let other = AdvertisementCodec.otherStructures(report)
    if replacing, !other.isEmpty { otherStructures = [:] }
    otherStructures.merge(other) { $1 }
    if let appearance = data.appearance, appearance != 0 { self.appearance = appearance }
  }

  func add(to deadlines: inout Deadlines, _ timings: BlueZConfiguration.Timings) {
    deadlines.add(vanishing(after: timings.temporaryDevice), .temporary(path))
    deadlines.add(pendingConnect?.deadline, .connect(path))
    deadlines.add(disconnectDeadline, .disconnect(path))
  }

  /// When it is removed as a temporary device, or `nil` if it is not one.
  private func vanishing(after limit: Duration) -> Instant? {
    guard isTemporary, link == nil, pendingConnect == nil else { return nil }
    return vanishesAt ?? lastSeen + limit
  }

  /// Its sessions wait for the next link.
  mutating func loseSessionsLink() {
    for handle in sessions.keys { sessions[handle]?.loseLink() }
  }

  var isPaired: Bool { bond != nil || isPairedForLink }

  /// Whether it is on disk.
  var isKept: Bool { !isTemporary && (bond != nil || isTrusted || isBlocked) }

  /// What to look for on the air: the identity if known, else the address.
  var target: InitiatorTarget {
    if let key = bond?.identityKey { .identity(key) } else { .address(address) }
  }
}

struct PendingConnect: Sendable {
  var caller: PendingCall?
  var deadline: Instant
  /// Whether the link that it waited for came up and was refused, so that no other is tried.
  var isRefused = false
}

extension BlueZModel {
  /// The device behind an address on the air: its own address, or one that its identity key resolves.
  func device(onAir address: DeviceAddress) -> ObjectPath? {
    if let exact = devices.values.first(where: { $0.address == address }) { return exact.path }
    guard address.isResolvablePrivate else { return nil }
    return devices.values.first { $0.bond?.identityKey?.resolves(address) == true }?.path
  }

  /// Creates a device. It is not on the bus before `added`.
  mutating func makeDevice(_ address: DeviceAddress) -> ObjectPath {
    let device = Device(path: devicePath(address), address: address, now: now)
    // A bonded device keeps the path of an address it no longer has. Another device may get that address later.
    if devices[device.path] != nil { removeDevice(device.path) }
    devices[device.path] = device
    return device.path
  }

  /// A client wants a device removed. If there is a link, it is ended first, in the time that `Disconnect()` takes
  /// (src/adapter.c, remove_device).
  mutating func forgetDevice(_ path: ObjectPath, _ pending: PendingCall) {
    guard let device = devices[path] else { return reply(to: pending, .failure(.doesNotExist)) }
    guard adapter.isPowered else { return reply(to: pending, .failure(.notReady)) }
    endPairing(of: path)
    guard device.link != nil, devices[path]?.link != nil else { return removeDevice(path, for: pending) }
    devices[path]?.removalCalls.append(pending)
    scheduleDisconnection(of: path)
  }

  /// Removes a device and everything about it: link, bond, auto-connect, objects.
  ///
  /// - Parameter caller: is answered when the link has ended, before the objects leave the bus.
  mutating func removeDevice(_ path: ObjectPath, for caller: PendingCall? = nil) {
    guard let device = devices[path] else { return }
    if let link = device.link {
      devices[path]?.removalCalls = []
      tell(.disconnect(configuration.controller, link, .remoteUserTerminated))
      endLink(link, .localHostTerminated)
      for call in device.removalCalls { reply(to: call, .success(.none)) }
    }
    failPendingCalls(of: path, .failed("br-connection-canceled"))
    if let caller { reply(to: caller, .success(.none)) }
    storage.forget(device.address)
    disarm(path)
    server.configurations[path] = nil
    refreshServerSubscriptions(hasLeft: true)
    unexport(path)
    endBattery(of: path)
    monitors.forget(path)
    devices[path] = nil
    let keepsObject = batteryProviders.batteries[path] != nil
    removed(path, (keepsObject ? [] : [InterfaceName.properties]) + [InterfaceName.device])
    refreshInitiator()
  }

  private mutating func failPendingCalls(of path: ObjectPath, _ error: BlueZError) {
    guard var device = devices[path] else { return }
    let calls = [device.pendingConnect?.caller, device.bondedCall].compactMap(\.self)
    let pairing = device.pairCall
    let waiting = device.disconnectCalls
    device.pendingConnect = nil
    device.pairCall = nil
    device.bondedCall = nil
    device.disconnectCalls = []
    devices[path] = device
    for call in calls { reply(to: call, .failure(error)) }
    if let pairing { reply(to: pairing, .failure(.authenticationCanceled)) }
    for call in waiting { reply(to: call, .success(.none)) }
  }

  /// Takes a device's GATT objects, or those of some services, off the bus. Their sessions end with them.
  mutating func unexport(_ path: ObjectPath, services: [RemoteService]? = nil) {
    guard let device = devices[path], let database = device.database else { return }
    let leaving = services ?? database.services
    for service in leaving {
      for characteristic in service.characteristics {
        let sessions = devices[path]?.sessions.removeValue(forKey: characteristic.valueHandle)
        devices[path]?.values[characteristic.valueHandle] = nil
        for call in sessions?.waiting ?? [] { reply(to: call, .failure(.notSupported)) }
      }
      guard device.isExported else { continue }
      let serviceDepth = path.depth + 1
      for object in service.objectPaths(under: path).reversed() {
        let interface =
          switch object.depth - serviceDepth {
          case 0: InterfaceName.gattService
          case 1: InterfaceName.gattCharacteristic
          default: InterfaceName.gattDescriptor
          }
        removed(object, [InterfaceName.properties, interface])
      }
    }
    if services == nil { devices[path]?.isExported = false }
  }

  /// Adds newly found services to the device's UUIDs.
  mutating func addUUIDs(_ uuids: some Sequence<BluetoothUUID>, to path: ObjectPath) {
    guard let device = devices[path] else { return }
    let new = Set(uuids).subtracting(device.uuids)
    guard !new.isEmpty else { return }
    devices[path]?.uuids = (device.uuids + new).sorted()
    changed(path, \Device1.uuids)
  }
}
