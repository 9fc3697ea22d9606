import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// What this machine serves: bluetoothd's database, the applications in it, and who subscribed to what.
struct GATTServer: Sendable {
  var database = LocalDatabase()
  var applications: [Application] = []
  /// Client Characteristic Configurations that peers wrote, by device and the characteristic's value handle. A bonded
  /// peer's outlive its links, nobody's outlive bluetoothd or the attribute.
  var configurations: [ObjectPath: [AttributeHandle: UInt16]] = [:]
  /// Values with subscribers: their applications know of it by StartNotify.
  var subscribed: Set<AttributeHandle> = []

  init() {}

  init(configuration: BlueZConfiguration) {
    database = LocalDatabase(configuration: configuration)
  }

  struct Application: Sendable {
    var client: ClientIdentifier
    var root: ObjectPath
    var services: [ObjectPath]
    var profiles: [(path: ObjectPath, uuids: Set<BluetoothUUID>)]

    var profileUUIDs: Set<BluetoothUUID> { profiles.reduce(into: []) { $0.formUnion($1.uuids) } }
  }
}

/// GattManager1.
extension BlueZModel {
  mutating func registerApplication(
    _ root: ObjectPath, _ objects: ManagedObjects, from client: ClientIdentifier
  ) -> Result<Reply, BlueZError> {
    guard !server.applications.contains(where: { $0.client == client && $0.root == root }) else {
      return .failure(.alreadyExists)
    }
    var reader = ApplicationReader(client: client, objects: objects, database: server.database)
    let services: [LocalService]
    let profiles: [(path: ObjectPath, uuids: Set<BluetoothUUID>)]
    do {
      profiles = try reader.profiles()
      services = try reader.services()
    } catch {
      return .failure(.failed(error.reason))
    }
    guard !services.isEmpty || !profiles.isEmpty else { return .failure(.failed("No object received")) }
    for service in services { server.database.insert(service) }
    server.applications.append(
      GATTServer.Application(client: client, root: root, services: services.compactMap(\.path), profiles: profiles))
    if !services.isEmpty {
      changed(adapterPath, InterfaceName.adapter, "UUIDs")
      for service in services { announceChange(of: service.range) }
    }
    let uuids = profiles.reduce(into: Set<BluetoothUUID>()) { $0.formUnion($1.uuids) }
    if !uuids.isEmpty { armAll(for: uuids) }
    return .success(.none)
  }

  mutating func unregisterApplication(_ root: ObjectPath, from client: ClientIdentifier) -> Result<Reply, BlueZError> {
    guard let index = server.applications.firstIndex(where: { $0.client == client && $0.root == root }) else {
      return .failure(.doesNotExist)
    }
    removeApplication(at: index)
    return .success(.none)
  }

  mutating func forgetApplications(of client: ClientIdentifier) {
    while let index = server.applications.firstIndex(where: { $0.client == client }) { removeApplication(at: index) }
  }

  /// Its services go at once. What its profiles put on the kernel's list stays there.
  private mutating func removeApplication(at index: Int) {
    let application = server.applications.remove(at: index)
    let leaving = server.database.services.filter { service in
      service.path.map { application.services.contains($0) } == true && service.isOf(application.client)
    }
    guard !leaving.isEmpty else { return }
    for service in leaving {
      server.database.services.removeAll { $0.range == service.range }
      for attribute in service.attributes {
        server.subscribed.remove(attribute.handle)
        for device in server.configurations.keys { server.configurations[device]?[attribute.handle] = nil }
      }
      answerPeers(waitingFor: service)
    }
    changed(adapterPath, InterfaceName.adapter, "UUIDs")
    for service in leaving { announceChange(of: service.range) }
  }

  /// Indicates Service Changed to connected peers that subscribed to it. Others see it by the Database Hash.
  private mutating func announceChange(of range: ClosedRange<AttributeHandle>) {
    guard let handle = server.database.serviceChangedHandle else { return }
    var writer = ByteWriter()
    writer.write(range.lowerBound)
    writer.write(range.upperBound)
    for identifier in links.keys.sorted() {
      guard let device = links[identifier]?.device, server.configurations[device]?[handle] ?? 0 != 0 else { continue }
      queueIndication(handle, writer.bytes, nil, on: identifier)
    }
  }
}

extension LocalService {
  func isOf(_ client: ClientIdentifier) -> Bool {
    attributes.contains { if case .application(client, _) = $0.source { true } else { false } }
      || !attributes.contains { if case .application = $0.source { true } else { false } }
  }
}

/// Reads an application's exported objects into services, in the order of their paths.
struct ApplicationReader {
  let client: ClientIdentifier
  let objects: ManagedObjects
  let database: LocalDatabase

  /// Why not, in bluetoothd's words (src/gatt-database.c).
  struct Failure: Error {
    var reason: String
    static let invalid = Failure(reason: "No valid service object found")
    static let unfit = Failure(reason: "Failed to create entry in database")
  }

  func profiles() throws(Failure) -> [(path: ObjectPath, uuids: Set<BluetoothUUID>)] {
    var result: [(path: ObjectPath, uuids: Set<BluetoothUUID>)] = []
    for (path, properties) in of(InterfaceName.gattProfile) {
      guard let texts = properties["UUIDs"]?.stringsValue else { throw .invalid }
      let uuids = texts.compactMap { BluetoothUUID($0) }
      guard uuids.count == texts.count, !uuids.isEmpty else { throw .invalid }
      result.append((path, Set(uuids)))
    }
    return result
  }

  mutating func services() throws(Failure) -> [LocalService] {
    var scratch = database
    var result: [LocalService] = []
    try checkParents()
    // Those that ask for handles first, so that nobody else takes them.
    let services = of(InterfaceName.gattService).sorted { left, right in
      let (a, b) = (Self.handle(left.properties) != nil, Self.handle(right.properties) != nil)
      return a == b ? left.path < right.path : a
    }
    for (path, properties) in services {
      let service = try read(path, properties, scratch)
      guard scratch.isFree(service.range) else { throw .unfit }
      scratch.insert(service)
      result.append(service)
    }
    return result
  }

  /// What hangs on nothing makes the whole application invalid.
  private func checkParents() throws(Failure) {
    for (interface, parent, owner) in [
      (InterfaceName.gattCharacteristic, "Service", InterfaceName.gattService),
      (InterfaceName.gattDescriptor, "Characteristic", InterfaceName.gattCharacteristic),
    ] {
      for (_, properties) in of(interface) {
        guard let path = properties[parent]?.pathValue, objects[path]?[owner] != nil else { throw .invalid }
      }
    }
  }

  private func read(
    _ path: ObjectPath, _ properties: Properties, _ scratch: LocalDatabase
  ) throws(Failure) -> LocalService {
    let uuid = try Self.uuid(path, properties)
    guard let isPrimary = properties["Primary"]?.boolValue else { throw .invalid }
    do {
      var builder = ServiceBuilder(
        uuid, isPrimary: isPrimary, at: Self.handle(properties).map { Int($0) } ?? scratch.nextHandle)
      for include in includes(properties) {
        guard let included = scratch.services.first(where: { $0.path == include }) else { continue }
        try builder.addInclude(included.range, included.uuid)
      }
      for (characteristic, properties) in of(InterfaceName.gattCharacteristic)
      where properties["Service"]?.pathValue == path {
        let flags = try Self.flags(characteristic, properties)
        try builder.addCharacteristic(
          Self.uuid(characteristic, properties), flags.properties, flags.permissions,
          .application(client, characteristic), at: Self.handle(properties))
        for (descriptor, properties) in of(InterfaceName.gattDescriptor)
        where properties["Characteristic"]?.pathValue == characteristic {
          try builder.addDescriptor(
            Self.uuid(descriptor, properties), Self.flags(descriptor, properties).permissions,
            .application(client, descriptor), at: Self.handle(properties))
        }
      }
      return builder.service(path: path)
    } catch let failure as Failure {
      throw failure
    } catch {
      throw .unfit
    }
  }

  private func of(_ interface: String) -> [(path: ObjectPath, properties: Properties)] {
    objects.compactMap { path, interfaces in interfaces[interface].map { (path, $0) } }
      .sorted { left, right in
        let (a, b) = (Self.handle(left.1) ?? 0, Self.handle(right.1) ?? 0)
        return a == b ? left.0 < right.0 : a < b
      }
  }

  private func includes(_ properties: Properties) -> [ObjectPath] {
    guard case .array(_, let elements)? = properties["Includes"] else { return [] }
    return elements.compactMap(\.pathValue)
  }

  /// The handle an object asks for; 0 and nothing mean any.
  private static func handle(_ properties: Properties) -> AttributeHandle? {
    guard let value = properties["Handle"]?.integerValue, let handle = UInt16(exactly: value), handle != 0
    else { return nil }
    return handle
  }

  private static func uuid(_ path: ObjectPath, _ properties: Properties) throws(Failure) -> BluetoothUUID {
    guard let text = properties["UUID"]?.stringValue, let uuid = BluetoothUUID(text) else {
      throw .unfit
    }
    return uuid
  }

  private static func flags(
    _ path: ObjectPath, _ properties: Properties
  ) throws(Failure) -> (properties: CharacteristicProperties, permissions: AttributePermissions) {
    guard let flags = properties["Flags"]?.stringsValue else { throw .invalid }
    var result: CharacteristicProperties = []
    var permissions: AttributePermissions = []
    for flag in flags {
      switch flag {
      case "broadcast": result.insert(.broadcast)
      case "read":
        result.insert(.read)
        permissions.insert(.readable)
      case "write":
        result.insert(.write)
        permissions.insert(.writeable)
      case "write-without-response":
        result.insert(.writeWithoutResponse)
        permissions.insert(.writeable)
      case "notify": result.insert(.notify)
      case "indicate": result.insert(.indicate)
      case "encrypt-read", "encrypt-authenticated-read", "secure-read":
        result.insert(.read)
        permissions.formUnion([.readable, .readEncryptionRequired])
      case "encrypt-write", "encrypt-authenticated-write", "secure-write":
        result.insert(.write)
        permissions.formUnion([.writeable, .writeEncryptionRequired])
      case "encrypt-notify", "encrypt-authenticated-notify", "secure-notify":
        result.formUnion([.notify, .notifyEncryptionRequired])
      case "encrypt-indicate", "encrypt-authenticated-indicate", "secure-indicate":
        result.formUnion([.indicate, .indicateEncryptionRequired])
      case "authenticated-signed-writes": result.insert(.authenticatedSignedWrites)
      case "extended-properties", "reliable-write", "writable-auxiliaries": result.insert(.extendedProperties)
      case "authorize": break
      default: throw .invalid
      }
    }
    return (result, permissions)
  }
}
