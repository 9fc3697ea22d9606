import BlueZ
import BusValue

/// Batteries of devices that clients know of (src/battery.c in BlueZ).
struct BatteryProviders: Sendable {
  private struct Provider: Sendable {
    let client: ClientIdentifier
    let root: ObjectPath
    var objects: [ObjectPath: Object] = [:]
  }

  /// A client's BatteryProvider1.
  private struct Object: Sendable {
    var properties: PropertyValues<BatteryProvider1>
    /// Whether this object made a Battery1. bluetoothd ignores changes of the other objects.
    var isUsed = false
  }

  /// A Battery1 that a client's object made.
  struct Battery: Sendable {
    let root: ObjectPath
    let source: String?
    var percentage: UInt8?

    var properties: Properties {
      var properties = PropertyValues<Battery1>()
      properties.source = source
      properties.percentage = percentage
      return properties.all
    }
  }

  /// How many objects of a provider are known. More are ignored; bluetoothd has no such limit.
  private static let objectLimit = 4096

  private var providers: [Provider] = []
  /// By the device's path. A battery outlives its device.
  private(set) var batteries: [ObjectPath: Battery] = [:]

  /// Returns the error if the provider is refused, or `nil` if it is registered. A root belongs to one client: no other
  /// client can register it.
  mutating func register(_ root: ObjectPath, of client: ClientIdentifier) -> BlueZError? {
    guard index(of: root) == nil else { return BlueZError(.alreadyExists, "Provider already exists") }
    providers.append(Provider(client: client, root: root))
    return nil
  }

  /// Returns the devices that lose a battery, or `nil` if the client has no such provider.
  mutating func unregister(_ root: ObjectPath, of client: ClientIdentifier) -> [ObjectPath]? {
    guard let index = index(of: root, of: client) else { return nil }
    providers.remove(at: index)
    return takeBatteries { $0.root == root }
  }

  /// Returns the devices that lose a battery.
  mutating func forget(_ client: ClientIdentifier) -> [ObjectPath] {
    let roots = Set(providers.filter { $0.client == client }.map(\.root))
    providers.removeAll { $0.client == client }
    return takeBatteries { roots.contains($0.root) }
  }

  mutating func takeBattery(of device: ObjectPath) -> Bool { batteries.removeValue(forKey: device) != nil }

  mutating func takeAll() -> [ObjectPath] { takeBatteries { _ in true } }

  /// Returns whether the object is new.
  mutating func add(
    _ path: ObjectPath, _ properties: PropertyValues<BatteryProvider1>, below root: ObjectPath,
    of client: ClientIdentifier
  ) -> Bool {
    guard let index = index(of: root, of: client), providers[index].objects[path] == nil,
      providers[index].objects.count < Self.objectLimit
    else { return false }
    providers[index].objects[path] = Object(properties: properties)
    return true
  }

  /// Makes the battery of a device from the client's object.
  mutating func use(_ path: ObjectPath, below root: ObjectPath, for device: ObjectPath) {
    guard let index = index(of: root), let properties = providers[index].objects[path]?.properties else { return }
    providers[index].objects[path]?.isUsed = true
    batteries[device] = Battery(
      root: root, source: properties.source, percentage: Self.valid(properties.percentage))
  }

  /// Takes a client's changes of its object. Returns the devices whose percentage changes, with the new percentage.
  mutating func change(
    _ path: ObjectPath, _ changed: Properties, gone: [String], of client: ClientIdentifier
  ) -> [(device: ObjectPath, percentage: UInt8)] {
    let name = BatteryProvider1.name(\.percentage)
    return providers.indices.compactMap { index in
      guard providers[index].client == client, var object = providers[index].objects[path] else { return nil }
      object.properties.all.merge(changed) { $1 }
      for name in gone { object.properties.all[name] = nil }
      providers[index].objects[path] = object
      // A percentage that the client invalidates counts as zero. One above 100 is ignored.
      let new = gone.contains(name) ? 0 : changed[name] == nil ? nil : Self.valid(object.properties.percentage)
      guard object.isUsed, let device = object.properties.device, let new else { return nil }
      return (device, new)
    }
  }

  /// Returns the device that loses a battery.
  mutating func remove(_ path: ObjectPath, below root: ObjectPath, of client: ClientIdentifier) -> ObjectPath? {
    guard let index = index(of: root, of: client),
      let device = providers[index].objects.removeValue(forKey: path)?.properties.device,
      batteries[device]?.root == root
    else { return nil }
    batteries[device] = nil
    return device
  }

  /// Returns `false` if the device has no such battery, or the percentage is the same.
  mutating func setPercentage(_ percentage: UInt8, of device: ObjectPath) -> Bool {
    guard let battery = batteries[device], battery.percentage != percentage else { return false }
    batteries[device]?.percentage = percentage
    return true
  }

  private static func valid(_ percentage: UInt8?) -> UInt8? { percentage.flatMap { $0 <= 100 ? $0 : nil } }

  private mutating func takeBatteries(_ isTaken: (Battery) -> Bool) -> [ObjectPath] {
    let devices = batteries.filter { isTaken($0.value) }.keys.sorted()
    for device in devices { batteries[device] = nil }
    return devices
  }

  private func index(of root: ObjectPath, of client: ClientIdentifier? = nil) -> Int? {
    providers.firstIndex { $0.root == root && (client == nil || $0.client == client) }
  }
}

extension BlueZModel {
  mutating func unregisterBatteryProvider(_ root: ObjectPath, _ pending: PendingCall) {
    guard let devices = batteryProviders.unregister(root, of: pending.client) else {
      return reply(to: pending, .failure(BlueZError(.doesNotExist, "Provider does not exist")))
    }
    removeBatteries(devices)
    reply(to: pending, .success(.none))
  }

  mutating func batteryAdded(
    _ path: ObjectPath, _ properties: PropertyValues<BatteryProvider1>, below root: ObjectPath,
    of client: ClientIdentifier
  ) {
    guard batteryProviders.add(path, properties, below: root, of: client) else {
      // An object that is known already has changed.
      return providedBatteryChanged(path, properties.all, gone: [], of: client)
    }
    guard let device = properties.device, devices[device]?.isTemporary == false,
      batteryProperties(of: device) == nil
    else { return }
    batteryProviders.use(path, below: root, for: device)
    tellBatteryAdded(device)
  }

  mutating func providedBatteryChanged(
    _ path: ObjectPath, _ changes: Properties, gone: [String], of client: ClientIdentifier
  ) {
    for (device, percentage) in batteryProviders.change(path, changes, gone: gone, of: client)
    where batteryProviders.setPercentage(percentage, of: device) {
      changed(device, \Battery1.percentage)
    }
  }

  mutating func batteryRemoved(_ path: ObjectPath, below root: ObjectPath, of client: ClientIdentifier) {
    if let device = batteryProviders.remove(path, below: root, of: client) { tellBatteryRemoved(device) }
  }

  /// Batteries have been removed: clients are told.
  mutating func removeBatteries(_ lost: [ObjectPath]) {
    for device in lost { tellBatteryRemoved(device) }
  }

  /// The properties of Battery1 at a device's path, or `nil` if it has none. The peer's own battery and a client's exclude
  /// each other.
  func batteryProperties(of path: ObjectPath) -> Properties? {
    if let provided = batteryProviders.batteries[path] { return provided.properties }
    guard let battery = devices[path]?.battery, battery.isShown else { return nil }
    return battery.properties
  }

  mutating func tellBatteryAdded(_ path: ObjectPath) {
    guard let properties = batteryProperties(of: path) else { return }
    flushChanges()
    outbox.append(.broadcast(.interfacesAdded(path: path, [InterfaceName.battery: properties])))
  }

  mutating func tellBatteryRemoved(_ path: ObjectPath) {
    guard isRunning else { return }
    flushChanges()
    // An object without any other interface leaves the bus.
    let isLast = devices[path] == nil
    outbox.append(
      .broadcast(
        .interfacesRemoved(path: path, (isLast ? [InterfaceName.properties] : []) + [InterfaceName.battery])))
  }
}
