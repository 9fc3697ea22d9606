import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// LEAdvertisingManager1: what clients advertise.
struct Advertising: Sendable {
  private static let supportedInstances = 5
  /// By the controller's advertising set.
  private var instances: [UInt8: Instance] = [:]

  private struct Instance: Sendable {
    var client: ClientIdentifier
    var path: ObjectPath
    /// The present properties of the object.
    var properties: Properties
    var parameters: AdvertisingParameters
    /// When the advertisement ends by itself.
    var deadline: Instant?
    /// When the advertisement stops being discoverable.
    var discoverableDeadline: Instant?
    var hasDiscoverableEnded = false
    /// The kernel's rotation: its beginning, and its period.
    var rotatesFrom: Instant
    var rotation: Duration
    /// When the advertisement begins again, if a new link has stopped it.
    var resumesAt: Instant?
  }

  /// The data of the adapter that goes into an advertisement.
  struct Surroundings {
    var name: String
    var isDiscoverable: Bool
    var ownAddress: OwnAddress
    var isExperimental: Bool
    var isDualMode: Bool
  }

  /// Returns the advertising set that was assigned.
  mutating func register(
    _ path: ObjectPath, _ properties: Properties, from client: ClientIdentifier, on adapter: Surroundings,
    at now: Instant
  ) throws(BlueZError) -> UInt8 {
    guard set(of: path, client) == nil else { throw .alreadyExists }
    guard let set = (UInt8(1)...UInt8(Self.supportedInstances)).first(where: { instances[$0] == nil }) else {
      throw .notPermitted("Maximum advertisements reached")
    }
    let reader = adapter.reader(properties)
    instances[set] = Instance(
      client: client, path: path, properties: properties, parameters: try reader.parameters(adapter.ownAddress),
      deadline: try reader.timeout().map { now + $0 },
      discoverableDeadline: try reader.discoverableTimeout().map { now + $0 }, rotatesFrom: now,
      rotation: try reader.rotation())
    return set
  }

  func set(of path: ObjectPath, _ client: ClientIdentifier) -> UInt8? {
    instances.first { $0.value.client == client && $0.value.path == path }?.key
  }

  func sets(of client: ClientIdentifier) -> [UInt8] { sets.filter { instances[$0]?.client == client } }

  var sets: [UInt8] { instances.keys.sorted() }

  func parameters(of set: UInt8) -> AdvertisingParameters? { instances[set]?.parameters }

  mutating func end(_ set: UInt8) { instances[set] = nil }

  /// Properties of an advertisement have changed. An invalid one is ignored.
  mutating func change(
    _ changed: Properties, gone: [String], of set: UInt8, on adapter: Surroundings, at now: Instant
  ) {
    for name in changed.keys.sorted() { change(name, changed[name], of: set, on: adapter, at: now) }
    for name in gone { change(name, nil, of: set, on: adapter, at: now) }
  }

  private mutating func change(
    _ name: String, _ value: Value?, of set: UInt8, on adapter: Surroundings, at now: Instant
  ) {
    guard adapter.isExperimental || !AdvertisementReader.isFixed(name), var instance = instances[set] else { return }
    instance.properties[name] = value
    let isOfDiscoverable =
      name == LEAdvertisement1.name(\.discoverable) || name == LEAdvertisement1.name(\.discoverableTimeoutSeconds)
    if isOfDiscoverable { instance.hasDiscoverableEnded = false }
    let reader = adapter.reader(instance.properties, hasDiscoverableEnded: instance.hasDiscoverableEnded)
    do {
      instance.parameters = try reader.parameters(adapter.ownAddress)
      if name == LEAdvertisement1.name(\.timeoutSeconds) { instance.deadline = try reader.timeout().map { now + $0 } }
      if isOfDiscoverable { instance.discoverableDeadline = try reader.discoverableTimeout().map { now + $0 } }
    } catch {
      // The advertisement stays as it was.
      return
    }
    instances[set] = instance
  }

  /// Something about the adapter has changed, such as its name. Returns the advertising sets whose content changes with
  /// it.
  mutating func reread(on adapter: Surroundings) -> [UInt8] {
    sets.filter { set in
      guard let instance = instances[set] else { return false }
      let reader = adapter.reader(instance.properties, hasDiscoverableEnded: instance.hasDiscoverableEnded)
      guard let parameters = try? reader.parameters(adapter.ownAddress), parameters != instance.parameters else {
        return false
      }
      instances[set]?.parameters = parameters
      return true
    }
  }

  /// The advertisement's `DiscoverableTimeout` has passed. Returns `false` if the set is unknown or its properties
  /// can't be read.
  mutating func hide(_ set: UInt8, on adapter: Surroundings) -> Bool {
    guard let instance = instances[set] else { return false }
    instances[set]?.discoverableDeadline = nil
    instances[set]?.hasDiscoverableEnded = true
    let reader = adapter.reader(instance.properties, hasDiscoverableEnded: true)
    guard let parameters = try? reader.parameters(adapter.ownAddress) else { return false }
    instances[set]?.parameters = parameters
    return true
  }

  /// A link has come up. The controller no longer advertises, and the kernel begins again at its next rotation (seen 242
  /// times, 0.02 to 2.00 s after the link).
  mutating func stop(at now: Instant) {
    for (set, instance) in instances {
      let rounds = (now - instance.rotatesFrom).wholeNanoseconds / instance.rotation.wholeNanoseconds
      instances[set]?.resumesAt = instance.rotatesFrom + instance.rotation * Int(rounds + 1)
    }
  }

  mutating func resumed(_ set: UInt8) { instances[set]?.resumesAt = nil }

  /// What the client is told when bluetoothd drops the advertisement.
  func release(of set: UInt8) -> Notice? {
    instances[set].map {
      Notice(client: $0.client, path: $0.path, callback: .release(interface: LEAdvertisement1.interface))
    }
  }

  var releases: [Notice] { sets.compactMap(release) }

  func add(to deadlines: inout Deadlines) {
    for set in sets {
      deadlines.add(instances[set]?.deadline, .advertisement(set))
      deadlines.add(instances[set]?.resumesAt, .advertisingRotation(set))
      deadlines.add(instances[set]?.discoverableDeadline, .discoverableAdvertisement(set))
    }
  }

  var properties: Properties {
    var properties = PropertyValues<LEAdvertisingManager1>()
    properties.activeInstances = UInt8(instances.count)
    properties.supportedInstances = UInt8(Self.supportedInstances - instances.count)
    properties.supportedIncludes = ["tx-power", "appearance", "local-name"]
    properties.supportedFeatures = []
    properties.supportedCapabilities = [
      "MaxAdvLen": .byte(31), "MaxScnRspLen": .byte(31), "MinTxPower": .int16(0), "MaxTxPower": .int16(0),
    ]
    return properties.all
  }
}

extension Advertising.Surroundings {
  fileprivate func reader(_ properties: Properties, hasDiscoverableEnded: Bool = false) -> AdvertisementReader {
    AdvertisementReader(
      properties: PropertyValues(properties), name: name, isDiscoverable: isDiscoverable, isDualMode: isDualMode,
      hasDiscoverableEnded: hasDiscoverableEnded)
  }
}

extension BlueZModel {
  private var surroundings: Advertising.Surroundings {
    Advertising.Surroundings(
      name: adapterName, isDiscoverable: adapter.isDiscoverable, ownAddress: ownAddress,
      isExperimental: configuration.isExperimental, isDualMode: configuration.isDualMode)
  }

  mutating func registerAdvertisement(
    _ path: ObjectPath, _ properties: Properties, from client: ClientIdentifier
  ) -> Result<Reply, BlueZError> {
    do throws(BlueZError) {
      advertise(try advertising.register(path, properties, from: client, on: surroundings, at: now))
    } catch {
      return .failure(error)
    }
    changed(adapterPath, \LEAdvertisingManager1.activeInstances, \.supportedInstances)
    return .success(.none)
  }

  mutating func unregisterAdvertisement(
    _ path: ObjectPath, from client: ClientIdentifier
  ) -> Result<Reply, BlueZError> {
    guard let set = advertising.set(of: path, client) else { return .failure(.doesNotExist) }
    endAdvertising(set)
    return .success(.none)
  }

  /// A client reports changed properties of its advertisement. What is advertised changes at once.
  mutating func advertisementChanged(
    _ path: ObjectPath, _ changed: Properties, gone: [String], from client: ClientIdentifier
  ) {
    guard let set = advertising.set(of: path, client) else { return }
    advertising.change(changed, gone: gone, of: set, on: surroundings, at: now)
    advertise(set)
  }

  /// The advertisement's `Timeout` has passed.
  mutating func advertisementTimedOut(_ set: UInt8) {
    guard let notice = advertising.release(of: set) else { return }
    tell([notice])
    endAdvertising(set)
  }

  mutating func advertisementHidden(_ set: UInt8) {
    if advertising.hide(set, on: surroundings) { advertise(set) }
  }

  mutating func endAdvertising(_ set: UInt8) {
    advertising.end(set)
    if kernel.advertisingSets.remove(set) != nil { tell(.setAdvertising(configuration.controller, set: set, nil)) }
    changed(adapterPath, \LEAdvertisingManager1.activeInstances, \.supportedInstances)
  }

  mutating func advertise(_ set: UInt8) {
    advertising.resumed(set)
    guard adapter.isPowered, let parameters = advertising.parameters(of: set) else { return }
    kernel.advertisingSets.insert(set)
    tell(.setAdvertising(configuration.controller, set: set, parameters))
  }

  /// The adapter's name has changed, or whether it is discoverable.
  mutating func refreshAdvertisements() {
    for set in advertising.reread(on: surroundings) { advertise(set) }
  }

  /// Power is back, or a link is gone.
  mutating func refreshAdvertising() {
    for set in advertising.sets { advertise(set) }
  }
}
