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
  /// Values that a peer may send in pieces, since their applications have been asked.
  var authorizedPreparations: Set<AttributeHandle> = []
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
    let reader = ApplicationReader(client: client, objects: objects, database: server.database)
    let services: [LocalService]
    let profiles: [(path: ObjectPath, uuids: Set<BluetoothUUID>)]
    do {
      profiles = try reader.profiles()
      services = try reader.services()
    } catch {
      return .failure(.failed(error.reason))
    }
    guard !services.isEmpty || !profiles.isEmpty else { return .failure(.failed("No object received")) }
    server.database.insert(services)
    server.applications.append(
      GATTServer.Application(client: client, root: root, services: services.compactMap(\.path), profiles: profiles))
    if !services.isEmpty {
      changed(adapterPath, \Adapter1.uuids)
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
    let paths = Set(application.services)
    let leaving = server.database.services.filter { service in
      service.path.map { paths.contains($0) } == true && service.isOf(application.client)
    }
    guard !leaving.isEmpty else { return }
    let ranges = Set(leaving.map(\.range))
    server.database.services.removeAll { ranges.contains($0.range) }
    for service in leaving {
      for attribute in service.attributes {
        server.subscribed.remove(attribute.handle)
        closeChannels(ofAttribute: attribute.handle)
        server.authorizedPreparations.remove(attribute.handle)
        for device in server.configurations.keys { server.configurations[device]?[attribute.handle] = nil }
      }
      answerPeers(waitingFor: service)
    }
    changed(adapterPath, \Adapter1.uuids)
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
