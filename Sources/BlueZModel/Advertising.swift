import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// LEAdvertisingManager1: what clients advertise.
struct AdvertisingState: Sendable {
  static let supportedInstances = 5
  /// By the controller's advertising set.
  var instances: [UInt8: Instance] = [:]

  struct Instance: Sendable {
    var client: ClientIdentifier
    var path: ObjectPath
    /// The object's, as they are now.
    var properties: Properties
    var parameters: AdvertisingParameters
    /// When it ends by itself.
    var deadline: Instant?
    /// When it is discoverable no more.
    var discoverableDeadline: Instant?
    var hasDiscoverableEnded = false
  }
}

extension BlueZModel {
  var advertisingProperties: Properties {
    var properties = PropertyValues<LEAdvertisingManager1>()
    properties.activeInstances = UInt8(advertising.instances.count)
    properties.supportedInstances = UInt8(AdvertisingState.supportedInstances - advertising.instances.count)
    properties.supportedIncludes = ["tx-power", "appearance", "local-name"]
    properties.supportedFeatures = []
    properties.supportedCapabilities = [
      "MaxAdvLen": .byte(31), "MaxScnRspLen": .byte(31), "MinTxPower": .int16(0), "MaxTxPower": .int16(0),
    ]
    return properties.all
  }

  mutating func registerAdvertisement(
    _ path: ObjectPath, _ properties: Properties, from client: ClientIdentifier
  ) -> Result<Reply, BlueZError> {
    guard !advertising.instances.values.contains(where: { $0.client == client && $0.path == path }) else {
      return .failure(.alreadyExists)
    }
    let sets = UInt8(1)...UInt8(AdvertisingState.supportedInstances)
    guard let set = sets.first(where: { advertising.instances[$0] == nil }) else {
      return .failure(.notPermitted("Maximum advertisements reached"))
    }
    let reader = reader(properties)
    do {
      advertising.instances[set] = AdvertisingState.Instance(
        client: client, path: path, properties: properties, parameters: try reader.parameters(ownAddress),
        deadline: try reader.timeout().map { now + $0 },
        discoverableDeadline: try reader.discoverableTimeout().map { now + $0 })
      advertise(set)
    } catch {
      return .failure(error)
    }
    changed(adapterPath, \LEAdvertisingManager1.activeInstances, \.supportedInstances)
    return .success(.none)
  }

  mutating func unregisterAdvertisement(
    _ path: ObjectPath, from client: ClientIdentifier
  ) -> Result<Reply, BlueZError> {
    guard let set = advertising.instances.first(where: { $0.value.client == client && $0.value.path == path })?.key
    else { return .failure(.doesNotExist) }
    endAdvertising(set)
    return .success(.none)
  }

  private func reader(_ properties: Properties, hasDiscoverableEnded: Bool = false) -> AdvertisementReader {
    AdvertisementReader(
      properties: PropertyValues(properties), name: adapter.alias ?? configuration.name,
      isDiscoverable: adapter.isDiscoverable,
      hasDiscoverableEnded: hasDiscoverableEnded)
  }

  /// A client says that properties of its advertisement have changed. Each is taken or, where it makes no sense, left; what
  /// is advertised changes at once.
  mutating func advertisementChanged(
    _ path: ObjectPath, _ changed: Properties, gone: [String], from client: ClientIdentifier
  ) {
    guard let set = advertising.instances.first(where: { $0.value.client == client && $0.value.path == path })?.key
    else { return }
    for name in changed.keys.sorted() { takeChange(name, changed[name], of: set) }
    for name in gone { takeChange(name, nil, of: set) }
    advertise(set)
  }

  private mutating func takeChange(_ name: String, _ value: Value?, of set: UInt8) {
    guard var instance = advertising.instances[set] else { return }
    instance.properties[name] = value
    let change = PropertyValues<LEAdvertisement1>([name: value ?? .bool(false)])
    let isOfDiscoverable = change.has(\.discoverable) || change.has(\.discoverableTimeoutSeconds)
    if isOfDiscoverable { instance.hasDiscoverableEnded = false }
    let reader = reader(instance.properties, hasDiscoverableEnded: instance.hasDiscoverableEnded)
    do {
      instance.parameters = try reader.parameters(ownAddress)
      if change.has(\.timeoutSeconds) { instance.deadline = try reader.timeout().map { now + $0 } }
      if isOfDiscoverable { instance.discoverableDeadline = try reader.discoverableTimeout().map { now + $0 } }
    } catch {
      // As it was.
      return
    }
    advertising.instances[set] = instance
  }

  /// Its `Timeout` has passed.
  mutating func advertisementTimedOut(_ set: UInt8) {
    guard let instance = advertising.instances[set] else { return }
    callWithoutAnswer(instance.client, instance.path, .release(interface: InterfaceName.advertisement))
    endAdvertising(set)
  }

  /// Its `DiscoverableTimeout` has passed.
  mutating func advertisementHidden(_ set: UInt8) {
    guard let instance = advertising.instances[set] else { return }
    advertising.instances[set]?.discoverableDeadline = nil
    advertising.instances[set]?.hasDiscoverableEnded = true
    if let parameters = try? reader(instance.properties, hasDiscoverableEnded: true).parameters(ownAddress) {
      advertising.instances[set]?.parameters = parameters
      advertise(set)
    }
  }

  mutating func forgetAdvertisements(of client: ClientIdentifier) {
    for set in advertising.instances.keys.sorted() where advertising.instances[set]?.client == client {
      endAdvertising(set)
    }
  }

  mutating func releaseAdvertisements() {
    for set in advertising.instances.keys.sorted() {
      guard let instance = advertising.instances[set] else { continue }
      callWithoutAnswer(instance.client, instance.path, .release(interface: InterfaceName.advertisement))
    }
  }

  private mutating func endAdvertising(_ set: UInt8) {
    advertising.instances[set] = nil
    if kernel.advertisingSets.remove(set) != nil { tell(.setAdvertising(configuration.controller, set: set, nil)) }
    changed(adapterPath, \LEAdvertisingManager1.activeInstances, \.supportedInstances)
  }

  private mutating func advertise(_ set: UInt8) {
    guard adapter.isPowered, let instance = advertising.instances[set] else { return }
    kernel.advertisingSets.insert(set)
    tell(.setAdvertising(configuration.controller, set: set, instance.parameters))
  }

  /// Power is back.
  mutating func refreshAdvertising() {
    for set in advertising.instances.keys.sorted() { advertise(set) }
  }

  /// A connection stops the advertisement that brought it. The kernel's rotation brings it back while others may
  /// connect; here that happens at once.
  mutating func restartAdvertising() {
    refreshAdvertising()
  }
}
