import BlueZ
import BluetoothTypes
import BusValue

/// This machine's GATT database: bluetoothd's own services and those of applications.
struct LocalDatabase: Sendable {
  var services: [LocalService] = []
  /// The next free handle. It only grows: services that are registered again move, unless they ask for their handles.
  var nextHandle = 1

  var attributes: [LocalAttribute] { services.flatMap(\.attributes) }

  func attribute(_ handle: AttributeHandle) -> LocalAttribute? {
    let index = firstIndex(reaching: handle)
    guard index < services.count, services[index].range.contains(handle) else { return nil }
    return services[index].attributes.first { $0.handle == handle }
  }

  func attributes(in range: ClosedRange<AttributeHandle>) -> [LocalAttribute] {
    services[firstIndex(reaching: range.lowerBound)...].prefix { $0.range.lowerBound <= range.upperBound }
      .flatMap(\.attributes).filter { range.contains($0.handle) }
  }

  func isFree(_ range: ClosedRange<AttributeHandle>) -> Bool {
    let index = firstIndex(reaching: range.lowerBound)
    return index == services.count || services[index].range.lowerBound > range.upperBound
  }

  /// The index of the first service that ends at or after a handle. Services are sorted by handle.
  func firstIndex(reaching handle: AttributeHandle) -> Int {
    var (low, high) = (0, services.count)
    while low < high {
      let middle = (low + high) / 2
      if services[middle].range.upperBound < handle { low = middle + 1 } else { high = middle }
    }
    return low
  }

  mutating func insert(_ new: [LocalService]) {
    for service in new { insert(service) }
  }

  mutating func insert(_ service: LocalService) {
    services.insert(service, at: firstIndex(reaching: service.range.lowerBound))
    nextHandle = max(nextHandle, Int(service.range.upperBound) + 1)
  }

  /// A digest of the services. Real devices use AES-CMAC (Bluetooth Core, Vol 3, Part G, 7.3.1).
  var hash: [UInt8] {
    var mixer = Mixer(0x6461_7461_6261_7365)
    for attribute in attributes {
      mixer.absorb(UInt64(attribute.handle))
      mixer.absorb(attribute.type.fullLittleEndian)
      if attribute.isPartOfHash { mixer.absorb(attribute.fixedValue ?? []) }
    }
    return mixer.bytes(16)
  }
}

struct LocalService: Sendable {
  var uuid: BluetoothUUID
  var range: ClosedRange<AttributeHandle>
  var attributes: [LocalAttribute]
  /// The application's object, or `nil` for bluetoothd's own services.
  var path: ObjectPath?
}

struct LocalAttribute: Sendable {
  enum Source: Sendable {
    case fixed([UInt8])
    case deviceName
    case databaseHash
    /// The Client Characteristic Configuration of the characteristic with this value handle, per peer.
    case configuration(of: AttributeHandle)
    /// Written by the peer, without effect.
    case clientFeatures
    case application(ClientIdentifier, ObjectPath)
  }

  var handle: AttributeHandle
  var type: BluetoothUUID
  var source: Source
  var permissions: LocalPermissions
  /// The characteristic's properties if this attribute is an application's value; otherwise empty.
  var properties: CharacteristicProperties = []
  /// The application offers sockets instead of being called: it has the property NotifyAcquired or WriteAcquired.
  var givesNotifyChannel = false
  var givesWriteChannel = false

  var fixedValue: [UInt8]? { if case .fixed(let value) = source { value } else { nil } }
  var isPartOfHash: Bool {
    [
      WellKnownUUID.primaryService, WellKnownUUID.secondaryService, WellKnownUUID.include,
      WellKnownUUID.characteristic,
    ].contains(type)
  }
}

/// Builds a service, attribute by attribute.
struct ServiceBuilder {
  let uuid: BluetoothUUID
  private(set) var attributes: [LocalAttribute] = []
  private var next: Int

  /// Why attributes do not fit.
  struct Failure: Error { var reason: String }

  init(_ uuid: BluetoothUUID, isPrimary: Bool = true, at handle: Int) {
    self.uuid = uuid
    next = handle
    attributes.append(
      LocalAttribute(
        handle: UInt16(clamping: next), type: isPrimary ? WellKnownUUID.primaryService : WellKnownUUID.secondaryService,
        source: .fixed(uuid.bytesOnAir), permissions: .readable))
    next += 1
  }

  private mutating func take(_ wanted: AttributeHandle?) throws(Failure) -> AttributeHandle {
    if let wanted {
      guard Int(wanted) >= next else { throw Failure(reason: "handle \(wanted) is taken") }
      next = Int(wanted)
    }
    guard let handle = UInt16(exactly: next) else { throw Failure(reason: "out of handles") }
    next += 1
    return handle
  }

  mutating func addInclude(_ range: ClosedRange<AttributeHandle>, _ uuid: BluetoothUUID) throws(Failure) {
    var writer = ByteWriter()
    writer.write(range.lowerBound)
    writer.write(range.upperBound)
    if uuid.shortValue != nil { writer.write(uuid.bytesOnAir) }
    let handle = try take(nil)
    attributes.append(
      LocalAttribute(
        handle: handle, type: WellKnownUUID.include, source: .fixed(writer.bytes), permissions: .readable))
  }

  /// Returns the value's handle.
  @discardableResult
  mutating func addCharacteristic(
    _ uuid: BluetoothUUID, _ properties: CharacteristicProperties, _ permissions: LocalPermissions,
    _ source: LocalAttribute.Source, at wanted: AttributeHandle? = nil, subscription: LocalPermissions = [],
    extended: UInt8 = 0
  ) throws(Failure) -> AttributeHandle {
    let declaration = try take(wanted)
    let value = try take(nil)
    var writer = ByteWriter([UInt8(truncatingIfNeeded: properties.rawValue)])
    writer.write(value)
    writer.write(uuid.bytesOnAir)
    attributes.append(
      LocalAttribute(
        handle: declaration, type: WellKnownUUID.characteristic, source: .fixed(writer.bytes), permissions: .readable))
    attributes.append(
      LocalAttribute(handle: value, type: uuid, source: source, permissions: permissions, properties: properties))
    if !properties.isDisjoint(with: [.notify, .indicate]) {
      let handle = try take(nil)
      attributes.append(
        LocalAttribute(
          handle: handle, type: WellKnownUUID.clientConfiguration, source: .configuration(of: value),
          permissions: subscription.union([.readable, .writeable])))
    }
    if extended != 0 {
      let handle = try take(nil)
      attributes.append(
        LocalAttribute(
          handle: handle, type: WellKnownUUID.extendedProperties, source: .fixed([extended, 0]), permissions: .readable)
      )
    }
    return value
  }

  /// The value of the last characteristic goes through sockets.
  mutating func giveChannels(_ value: AttributeHandle, notify: Bool, write: Bool) {
    guard let index = attributes.firstIndex(where: { $0.handle == value }) else { return }
    attributes[index].givesNotifyChannel = notify
    attributes[index].givesWriteChannel = write
  }

  /// Returns its handle.
  mutating func addDescriptor(
    _ uuid: BluetoothUUID, _ permissions: LocalPermissions, _ source: LocalAttribute.Source,
    at wanted: AttributeHandle? = nil
  ) throws(Failure) -> AttributeHandle {
    let handle = try take(wanted)
    attributes.append(LocalAttribute(handle: handle, type: uuid, source: source, permissions: permissions))
    return handle
  }

  /// - Parameter last: the last handle that the service reserves, if it reserves more than its attributes need.
  func service(path: ObjectPath?, through last: AttributeHandle? = nil) -> LocalService {
    let first = attributes[0].handle
    let end = last ?? attributes.last?.handle ?? first
    return LocalService(uuid: uuid, range: first...max(first, end), attributes: attributes, path: path)
  }
}

extension LocalDatabase {
  /// bluetoothd's own services.
  init(configuration: BlueZConfiguration) {
    do {
      var access = ServiceBuilder(WellKnownUUID.genericAccess, at: 1)
      try access.addCharacteristic(WellKnownUUID.deviceName, .read, .readable, .deviceName)
      try access.addCharacteristic(WellKnownUUID.appearance, .read, .readable, .fixed([0, 0]))
      insert(access.service(path: nil))
      var generic = ServiceBuilder(WellKnownUUID.genericAttribute, at: nextHandle)
      try generic.addCharacteristic(WellKnownUUID.serviceChanged, .indicate, [], .fixed([]))
      try generic.addCharacteristic(
        WellKnownUUID.clientFeatures, [.read, .write], [.readable, .writeable], .clientFeatures)
      try generic.addCharacteristic(WellKnownUUID.databaseHash, .read, .readable, .databaseHash)
      // bluetoothd reserves ten handles here and does not use all of them.
      insert(generic.service(path: nil, through: 15))
      guard configuration.hasDeviceInformation else { return }
      var information = ServiceBuilder(WellKnownUUID.deviceInformation, at: nextHandle)
      try information.addCharacteristic(WellKnownUUID.plugAndPlay, .read, .readable, .fixed(PlugAndPlay.own.bytes))
      insert(information.service(path: nil))
    } catch {
      preconditionFailure("bluetoothd's own services fit into an empty database: \(error.reason)")
    }
  }

  /// The value handle of Service Changed.
  var serviceChangedHandle: AttributeHandle? {
    // It is in one of the first services, which are bluetoothd's own, so the lazy search does not go through the
    // others.
    services.lazy.flatMap(\.attributes).first { $0.type == WellKnownUUID.serviceChanged }?.handle
  }
}
