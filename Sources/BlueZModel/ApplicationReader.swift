import BlueZ
import BluetoothTypes
import BusValue

/// Reads an application's exported objects into services, in the order of their paths, where `char9` comes before `char10`.
/// (bluetoothd uses the order in which the application lists them, which dictionaries do not keep. Applications number
/// their objects in that order.)
struct ApplicationReader {
  /// An exported object of one kind.
  struct Object<Table: InterfaceTable> {
    let path: ObjectPath
    let properties: PropertyValues<Table>
  }

  let client: ClientIdentifier
  let objects: ManagedObjects
  let database: LocalDatabase
  private let profileObjects: [Object<GattProfile1>]
  private let serviceObjects: [Object<GattService1>]
  /// By service.
  private let characteristics: [ObjectPath: [Object<GattCharacteristic1>]]
  /// By characteristic.
  private let descriptors: [ObjectPath: [Object<GattDescriptor1>]]

  /// A handle that bluetoothd gave to an object whose property `Handle` is 0, which asks for any handle.
  struct Assignment: Sendable {
    let path: ObjectPath
    let interface: String
    let handle: AttributeHandle
  }

  /// Why an application is refused, in bluetoothd's words (src/gatt-database.c).
  struct Failure: Error {
    var reason: String
    static let invalid = Failure(reason: "No valid service object found")
    static let unfit = Failure(reason: "Failed to create entry in database")
  }

  init(client: ClientIdentifier, objects: ManagedObjects, database: LocalDatabase) {
    self.client = client
    self.objects = objects
    self.database = database
    func all<Table: InterfaceTable>() -> [Object<Table>] {
      objects.compactMap { path, interfaces in
        PropertyValues<Table>(interfaces).map { Object(path: path, properties: $0) }
      }.sorted { Self.isBefore($0.path, $1.path) }
    }
    func below<Table: InterfaceTable>(
      _ parent: KeyPath<Table, Property<ObjectPath>>, _ handle: KeyPath<Table, Property<UInt16>>
    ) -> [ObjectPath: [Object<Table>]] {
      Dictionary(grouping: all()) { $0.properties[dynamicMember: parent] ?? .root }.mapValues { children in
        // Objects that ask for handles are sorted by their handles.
        children.sorted { left, right in
          let (a, b) = (left.properties[dynamicMember: handle] ?? 0, right.properties[dynamicMember: handle] ?? 0)
          return a == b ? Self.isBefore(left.path, right.path) : a < b
        }
      }
    }
    profileObjects = all()
    serviceObjects = all()
    characteristics = below(\.service, \.handle)
    descriptors = below(\.characteristic, \.handle)
  }

  /// Of two parts of paths that differ only in their number, the one with the shorter number is first.
  private static func isBefore(_ left: ObjectPath, _ right: ObjectPath) -> Bool {
    let (a, b) = (left.text.split(separator: "/"), right.text.split(separator: "/"))
    for (one, other) in zip(a, b) where one != other {
      let (first, second) = (one.drop { !$0.isNumber }, other.drop { !$0.isNumber })
      let areNumbered =
        one.dropLast(first.count) == other.dropLast(second.count)
        && (first + second).allSatisfy(\.isHexDigit) && !first.isEmpty && !second.isEmpty
      return areNumbered && first.count != second.count ? first.count < second.count : one < other
    }
    return a.count < b.count
  }

  /// Any text is allowed. Text that is not a UUID never matches a device.
  func profiles() throws(Failure) -> [(path: ObjectPath, uuids: Set<BluetoothUUID>)] {
    var result: [(path: ObjectPath, uuids: Set<BluetoothUUID>)] = []
    for profile in profileObjects {
      guard let texts = profile.properties.uuids, !texts.isEmpty else { throw .invalid }
      result.append((profile.path, Set(texts.compactMap { BluetoothUUID(bluez: $0) })))
    }
    return result
  }

  /// An application's services, as far as they could be read. When one of them does not fit, bluetoothd has reserved
  /// handles for it and its predecessors, and has told objects of them.
  struct Reading {
    var services: [LocalService] = []
    var assigned: [Assignment] = []
    /// The database's next handle. Handles that were reserved in vain are not used again.
    var nextHandle: Int
    var failure: Failure?
  }

  func services() throws(Failure) -> Reading {
    try checkParents()
    try checkFlags()
    var scratch = database
    var reading = Reading(nextHandle: scratch.nextHandle)
    /// Only services already read from this application can be included.
    var known: [ObjectPath: LocalService] = [:]
    do throws(Failure) {
      for object in serviceObjects {
        let service = try read(object, into: &scratch, among: known, &reading.assigned)
        scratch.insert(service)
        known[object.path] = service
        reading.services.append(service)
      }
    } catch {
      reading.failure = error
    }
    reading.nextHandle = scratch.nextHandle
    return reading
  }

  /// An object without its parent makes the whole application invalid.
  private func checkParents() throws(Failure) {
    for parent in characteristics.keys where objects[parent]?[GattService1.interface] == nil { throw .invalid }
    for parent in descriptors.keys where objects[parent]?[GattCharacteristic1.interface] == nil { throw .invalid }
  }

  /// Flags that make no sense make the whole application invalid, too. bluetoothd reads them when it hears of the
  /// object.
  private func checkFlags() throws(Failure) {
    for one in characteristics.values.joined() { _ = try CharacteristicFlags(one.properties.flags) }
    for one in descriptors.values.joined() { _ = try CharacteristicFlags(ofDescriptor: one.properties.flags) }
  }

  /// How many handles bluetoothd reserves for a service.
  private func attributeCount(_ service: ObjectPath, _ includes: [ObjectPath]) throws(Failure) -> Int {
    var count = 1 + includes.count
    for characteristic in characteristics[service] ?? [] {
      let flags = try CharacteristicFlags(characteristic.properties.flags)
      count += 2 + (descriptors[characteristic.path]?.count ?? 0)
      if !flags.properties.isDisjoint(with: [.notify, .indicate]) { count += 1 }
      if flags.extended != 0 { count += 1 }
    }
    return count
  }

  private func read(
    _ object: Object<GattService1>, into database: inout LocalDatabase, among known: [ObjectPath: LocalService],
    _ assigned: inout [Assignment]
  ) throws(Failure) -> LocalService {
    let properties = object.properties
    let uuid = try Self.uuid(properties.uuid)
    guard let isPrimary = properties.primary, let includes = try Self.includes(properties) else { throw .unfit }
    let first = try Self.handle(properties).map { Int($0) } ?? database.nextHandle
    let count = try attributeCount(object.path, includes)
    guard let start = UInt16(exactly: first), let end = UInt16(exactly: first + count - 1),
      database.isFree(start...end)
    else { throw .unfit }
    database.nextHandle = max(database.nextHandle, first + count)
    do {
      var builder = ServiceBuilder(uuid, isPrimary: isPrimary, at: first)
      Self.assign(object, start, &assigned)
      // Handles are reserved for included services that are missing, too.
      for included in includes.compactMap({ known[$0] }) { try builder.addInclude(included.range, included.uuid) }
      for characteristic in characteristics[object.path] ?? [] {
        let properties = characteristic.properties
        let flags = try CharacteristicFlags(properties.flags)
        // A characteristic's `Handle` is that of its value. The declaration has the handle before it.
        let value = try builder.addCharacteristic(
          Self.uuid(properties.uuid), flags.properties, flags.permissions, .application(client, characteristic.path),
          at: Self.handle(properties).map { $0 - 1 }, subscription: flags.subscription, extended: flags.extended)
        Self.assign(characteristic, value, &assigned)
        builder.giveChannels(value, notify: properties.has(\.notifyAcquired), write: properties.has(\.writeAcquired))
        for descriptor in descriptors[characteristic.path] ?? [] {
          let properties = descriptor.properties
          let handle = try builder.addDescriptor(
            Self.uuid(properties.uuid), CharacteristicFlags(ofDescriptor: properties.flags).permissions,
            .application(client, descriptor.path), at: Self.handle(properties))
          Self.assign(descriptor, handle, &assigned)
        }
      }
      // bluetoothd reserves as many handles as there are attributes, so no handle may be asked for beyond them.
      guard let last = builder.attributes.last, last.handle <= end else { throw Failure.unfit }
      return builder.service(path: object.path, through: end)
    } catch let failure as Failure {
      throw failure
    } catch {
      throw .unfit
    }
  }

  /// The handle that an object asks for. Zero or no value means any handle.
  private static func handle<Table>(_ properties: PropertyValues<Table>) throws(Failure) -> AttributeHandle? {
    switch properties.all[Self.handleName] {
    case nil, .uint16(0): return nil
    case .uint16(let handle): return handle
    case .some: throw .unfit
    }
  }

  private static let handleName = GattService1.name(\.handle)

  /// An object that asks for any handle is told which one it got.
  private static func assign<Table: InterfaceTable>(
    _ object: Object<Table>, _ handle: AttributeHandle, _ assigned: inout [Assignment]
  ) {
    guard object.properties.all[Self.handleName] == .uint16(0) else { return }
    assigned.append(Assignment(path: object.path, interface: Table.interface, handle: handle))
  }

  /// The included services. Empty without the property, and `nil` if the property is not a list of paths.
  private static func includes(_ properties: PropertyValues<GattService1>) throws(Failure) -> [ObjectPath]? {
    switch properties.all[GattService1.name(\.includes)] {
    case nil: []
    case .array("o", _)?: properties.includes
    case .array(_, let elements)?: elements.isEmpty ? [] : nil
    case .bytes(let bytes)?: bytes.isEmpty ? [] : nil
    case .dictionary(_, _, let members)?: members.isEmpty ? [] : nil
    case .some: nil
    }
  }

  private static func uuid(_ uuid: BluetoothUUID?) throws(Failure) -> BluetoothUUID {
    guard let uuid,
      // bluetoothd provides these services itself.
      uuid != WellKnownUUID.genericAccess, uuid != WellKnownUUID.genericAttribute
    else { throw .unfit }
    return uuid
  }
}

/// The meaning of a characteristic's or descriptor's `Flags` (src/gatt-database.c, parse_chrc_flags).
struct CharacteristicFlags {
  var properties: CharacteristicProperties = []
  var permissions: LocalPermissions = []
  /// The additional requirements of the Client Characteristic Configuration.
  var subscription: LocalPermissions = []
  /// The value of the Characteristic Extended Properties.
  var extended: UInt8 = 0

  init(_ flags: [String]?) throws(ApplicationReader.Failure) {
    guard let flags, !flags.isEmpty else { throw .invalid }
    for text in flags {
      guard let flag = GATTFlag(rawValue: text) else { throw .invalid }
      take(flag)
    }
    if extended != 0 { properties.insert(.extendedProperties) }
  }

  /// A descriptor's words are fewer: those for reads and writes with a response (parse_desc_flags).
  init(ofDescriptor flags: [String]?) throws(ApplicationReader.Failure) {
    try self.init(flags)
    guard properties.isSubset(of: [.read, .write]) else { throw .invalid }
  }

  private mutating func take(_ flag: GATTFlag) {
    switch flag {
    case .broadcast: properties.insert(.broadcast)
    case .read: allowRead([])
    case .write: allowWrite([])
    case .writeWithoutResponse:
      properties.insert(.writeWithoutResponse)
      permissions.insert(.writeable)
    case .notify: properties.insert(.notify)
    case .indicate: properties.insert(.indicate)
    case .authenticatedSignedWrites:
      properties.insert(.authenticatedSignedWrites)
      permissions.insert(.writeable)
    case .extendedProperties: properties.insert(.extendedProperties)
    case .reliableWrite:
      extended |= 1
      permissions.insert(.writeable)
    case .writableAuxiliaries: extended |= 2
    case .encryptRead: allowRead(.readEncryptionRequired)
    case .encryptWrite: allowWrite(.writeEncryptionRequired)
    case .encryptAuthenticatedRead: allowRead(.readAuthenticationRequired)
    case .encryptAuthenticatedWrite: allowWrite(.writeAuthenticationRequired)
    case .secureRead: allowRead(.readSecurityRequired)
    case .secureWrite: allowWrite(.writeSecurityRequired)
    case .encryptNotify: allowSubscription(.notify, .writeEncryptionRequired)
    case .encryptAuthenticatedNotify: allowSubscription(.notify, .writeAuthenticationRequired)
    case .secureNotify: allowSubscription(.notify, .writeSecurityRequired)
    case .encryptIndicate: allowSubscription(.indicate, .writeEncryptionRequired)
    case .encryptAuthenticatedIndicate: allowSubscription(.indicate, .writeAuthenticationRequired)
    case .secureIndicate: allowSubscription(.indicate, .writeSecurityRequired)
    case .authorize: permissions.insert(.preparationAuthorized)
    }
  }

  private mutating func allowRead(_ level: LocalPermissions) {
    properties.insert(.read)
    permissions.formUnion([.readable, level])
  }

  private mutating func allowWrite(_ level: LocalPermissions) {
    properties.insert(.write)
    permissions.formUnion([.writeable, level])
  }

  private mutating func allowSubscription(_ kind: CharacteristicProperties, _ level: LocalPermissions) {
    properties.insert(kind)
    subscription.insert(level)
  }
}
