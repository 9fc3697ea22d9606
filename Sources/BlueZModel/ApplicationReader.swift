import BlueZ
import BluetoothTypes
import BusValue

/// Reads an application's exported objects into services, in the order of their paths. (bluetoothd takes them in the order
/// in which the application names them, which dictionaries do not keep.)
struct ApplicationReader {
  typealias Object = (path: ObjectPath, properties: Properties)

  let client: ClientIdentifier
  let objects: ManagedObjects
  let database: LocalDatabase
  private let profileObjects: [Object]
  private let serviceObjects: [Object]
  /// Of each service.
  private let characteristics: [ObjectPath: [Object]]
  /// Of each characteristic.
  private let descriptors: [ObjectPath: [Object]]

  /// Why not, in bluetoothd's words (src/gatt-database.c).
  struct Failure: Error {
    var reason: String
    static let invalid = Failure(reason: "No valid service object found")
    static let unfit = Failure(reason: "Failed to create entry in database")
  }

  init(client: ClientIdentifier, objects: ManagedObjects, database: LocalDatabase) {
    self.client = client
    self.objects = objects
    self.database = database
    func all(_ interface: String) -> [Object] {
      objects.compactMap { path, interfaces in interfaces[interface].map { (path, $0) } }.sorted { $0.path < $1.path }
    }
    func below(_ interface: String, _ parent: String) -> [ObjectPath: [Object]] {
      Dictionary(grouping: all(interface)) { $0.properties[parent]?.pathValue ?? .root }.mapValues { children in
        // Those that ask for handles stand in the handles' order.
        children.sorted { left, right in
          let (a, b) = (Self.handle(left.properties) ?? 0, Self.handle(right.properties) ?? 0)
          return a == b ? left.path < right.path : a < b
        }
      }
    }
    profileObjects = all(InterfaceName.gattProfile)
    serviceObjects = all(InterfaceName.gattService)
    characteristics = below(InterfaceName.gattCharacteristic, "Service")
    descriptors = below(InterfaceName.gattDescriptor, "Characteristic")
  }

  /// Any text will do: what is no UUID matches no device's.
  func profiles() throws(Failure) -> [(path: ObjectPath, uuids: Set<BluetoothUUID>)] {
    var result: [(path: ObjectPath, uuids: Set<BluetoothUUID>)] = []
    for (path, properties) in profileObjects {
      guard let texts = properties["UUIDs"]?.stringsValue, !texts.isEmpty else { throw .invalid }
      result.append((path, Set(texts.compactMap { BluetoothUUID(bluez: $0) })))
    }
    return result
  }

  func services() throws(Failure) -> [LocalService] {
    var scratch = database
    var result: [LocalService] = []
    /// Only what this application has registered so far can be included.
    var known: [ObjectPath: LocalService] = [:]
    try checkParents()
    for object in serviceObjects {
      let service = try read(object, at: scratch.nextHandle, among: known)
      guard scratch.isFree(service.range) else { throw .unfit }
      scratch.insert(service)
      known[object.path] = service
      result.append(service)
    }
    return result
  }

  /// What hangs on nothing makes the whole application invalid.
  private func checkParents() throws(Failure) {
    for (children, owner) in [
      (characteristics, InterfaceName.gattService), (descriptors, InterfaceName.gattCharacteristic),
    ] {
      for parent in children.keys where objects[parent]?[owner] == nil { throw .invalid }
    }
  }

  private func read(
    _ object: Object, at next: Int, among known: [ObjectPath: LocalService]
  ) throws(Failure) -> LocalService {
    let (path, properties) = object
    let uuid = try Self.uuid(properties)
    guard let isPrimary = properties["Primary"]?.boolValue else { throw .unfit }
    let includes = try includes(properties)
    do {
      var builder = ServiceBuilder(uuid, isPrimary: isPrimary, at: Self.handle(properties).map { Int($0) } ?? next)
      for included in includes.compactMap({ known[$0] }) { try builder.addInclude(included.range, included.uuid) }
      // Room is made for what is not found, too.
      let missing = includes.count { known[$0] == nil }
      for (characteristic, properties) in characteristics[path] ?? [] {
        let flags = try CharacteristicFlags(properties["Flags"])
        let value = try builder.addCharacteristic(
          Self.uuid(properties), flags.properties, flags.permissions, .application(client, characteristic),
          at: Self.handle(properties), subscription: flags.subscription, extended: flags.extended)
        builder.giveChannels(
          value, notify: properties["NotifyAcquired"] != nil, write: properties["WriteAcquired"] != nil)
        for (descriptor, properties) in descriptors[characteristic] ?? [] {
          try builder.addDescriptor(
            Self.uuid(properties), CharacteristicFlags(properties["Flags"]).permissions,
            .application(client, descriptor), at: Self.handle(properties))
        }
      }
      return builder.service(path: path, spare: missing)
    } catch let failure as Failure {
      throw failure
    } catch {
      throw .unfit
    }
  }

  private func includes(_ properties: Properties) throws(Failure) -> [ObjectPath] {
    guard let value = properties["Includes"] else { return [] }
    guard case .array(_, let elements) = value else { throw .unfit }
    return elements.compactMap(\.pathValue)
  }

  /// The handle an object asks for; 0 and nothing mean any.
  private static func handle(_ properties: Properties) -> AttributeHandle? {
    guard let value = properties["Handle"]?.integerValue, let handle = UInt16(exactly: value), handle != 0
    else { return nil }
    return handle
  }

  private static func uuid(_ properties: Properties) throws(Failure) -> BluetoothUUID {
    guard let text = properties["UUID"]?.stringValue, let uuid = BluetoothUUID(bluez: text),
      // These are bluetoothd's own.
      uuid != WellKnownUUID.genericAccess, uuid != WellKnownUUID.genericAttribute
    else { throw .unfit }
    return uuid
  }
}

/// What a characteristic's or a descriptor's `Flags` come to (src/gatt-database.c, parse_chrc_flags).
struct CharacteristicFlags {
  var properties: CharacteristicProperties = []
  var permissions: LocalPermissions = []
  /// What the Client Characteristic Configuration asks for beside.
  var subscription: LocalPermissions = []
  /// Of the Characteristic Extended Properties.
  var extended: UInt8 = 0

  init(_ value: Value?) throws(ApplicationReader.Failure) {
    guard let flags = value?.stringsValue, !flags.isEmpty else { throw .invalid }
    for text in flags {
      guard let flag = GATTFlag(rawValue: text) else { throw .invalid }
      take(flag)
    }
    if extended != 0 { properties.insert(.extendedProperties) }
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
