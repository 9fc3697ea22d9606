import AppLink
import BlueZ
import BluetoothTypes

/// All services published on this machine as one GATT database: whether another service fits in, and where.
struct PublishedDatabase {
  let services: [ServiceRecord]
  let configuration: BluetoothSystem.Configuration

  /// bluetoothd's own services are below this handle.
  static let firstHandle = 0x0100
  /// The system's own service is above (`DatabaseMark`).
  static let endOfHandles = 0xFF00

  /// Generic Access and Generic Attribute. bluetoothd publishes them itself, and refuses to register others with these
  /// UUIDs. By apps' reports, Apple's systems refuse them with `uuidNotAllowed`, and they also refuse some other
  /// services that they publish themselves. bluetoothd accepts those others.
  private static let ownServices: Set<BluetoothUUID> = [BluetoothUUID(UInt16(0x1800)), BluetoothUUID(UInt16(0x1801))]

  /// Why a manager can't publish a service, or `nil` if it can.
  func refusal(of definition: ServiceDefinition, by key: ManagerKey) -> PeerError? {
    if Self.ownServices.contains(definition.uuid) {
      return .coreBluetooth(.uuidNotAllowed, message: "bluetoothd itself publishes the service \(definition.uuid).")
    }
    let own = services.filter { $0.manager == key }
    let others = services.filter { $0.definition.identifier != definition.identifier }
    if others.count == services.count, own.count >= configuration.serviceLimit {
      return .limit("A manager publishes at most \(configuration.serviceLimit) services.")
    }
    if services.contains(where: { $0.manager != key && $0.definition.identifier == definition.identifier }) {
      return .coreBluetooth(.invalidParameters, message: "Another manager has published this service.")
    }
    guard definition.attributeCount <= configuration.attributeLimit else {
      return .limit("A service has at most \(configuration.attributeLimit) attributes.")
    }
    let values = definition.characteristics.flatMap { [$0.value ?? []] + $0.descriptors.map(\.value) }
    guard values.allSatisfy({ $0.count <= ATTLimits.maximumValueLength }) else {
      return .coreBluetooth(.invalidParameters, message: "A value has at most \(ATTLimits.maximumValueLength) bytes.")
    }
    let identifiers = definition.characteristics.map(\.identifier)
    guard Set(identifiers).count == identifiers.count,
      Set(identifiers).isDisjoint(with: others.lazy.flatMap { $0.definition.characteristics.lazy.map(\.identifier) })
    else {
      return .coreBluetooth(.invalidParameters, message: "Two characteristics have one identifier; give each its own.")
    }
    let handles = others.lazy.filter { $0.manager.app == key.app }
      .reduce(definition.handleSpan) { $0 + $1.definition.handleSpan }
    guard handles <= configuration.handleLimit else {
      return .limit("The services of an app take at most \(configuration.handleLimit) attribute handles.")
    }
    return nil
  }

  /// A handle from which a service of this size fits in, or `nil` if there is none.
  func freeHandles(_ span: Int) -> AttributeHandle? {
    let used = services.map { (Int($0.handle), Int($0.handle) + $0.definition.handleSpan) }.sorted { $0.0 < $1.0 }
    var candidate = Self.firstHandle
    for (start, end) in used {
      if candidate + span <= start { break }
      candidate = max(candidate, (end + 15) & ~15)
    }
    return candidate + span <= Self.endOfHandles ? AttributeHandle(candidate) : nil
  }

  /// The next number in the order of publishing.
  var nextOrder: Int { min(services.map(\.order).max() ?? 0, .max - 1) + 1 }
}

extension ServiceDefinition {
  var attributeCount: Int {
    characteristics.reduce(includedServices.count) { $0 + 1 + $1.descriptors.count }
  }

  /// How many handles the service takes: one for its declaration, and for each characteristic two, one for the client
  /// configuration and one for an extended-properties descriptor.
  var handleSpan: Int {
    1 + includedServices.count + characteristics.reduce(0) { $0 + 4 + $1.descriptors.count }
  }
}
