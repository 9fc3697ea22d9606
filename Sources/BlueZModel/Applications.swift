import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// What this machine serves: bluetoothd's database, the applications in it, and the subscriptions to it.
struct GATTServer: Sendable {
  var database = LocalDatabase()
  var applications: [Application] = []
  /// Client Characteristic Configurations that peers wrote, by device and the characteristic's value handle. A bonded
  /// peer's configurations outlive its links. None outlives bluetoothd or the attribute.
  var configurations: [ObjectPath: [AttributeHandle: UInt16]] = [:]
  /// Values that a peer may send in pieces, because their applications have agreed.
  var authorizedPreparations: Set<AttributeHandle> = []
  /// The subscribers of each value.
  var subscribers: [AttributeHandle: Set<ObjectPath>] = [:]
  /// How many subscriptions each value's application has been told of that have not ended.
  var notifyCounts: [AttributeHandle: Int] = [:]
  /// The writes to each value that wait for its application's socket.
  var awaitingWrites: [AttributeHandle: AwaitingWrites] = [:]

  init() {}

  init(configuration: BlueZConfiguration) {
    database = LocalDatabase(configuration: configuration)
  }

  var profileUUIDs: Set<BluetoothUUID> { applications.reduce(into: []) { $0.formUnion($1.profileUUIDs) } }

  func isRegistered(_ root: ObjectPath, _ client: ClientIdentifier) -> Bool { index(of: root, client) != nil }

  func index(of root: ObjectPath, _ client: ClientIdentifier) -> Int? {
    applications.firstIndex { $0.client == client && $0.root == root }
  }

  /// Removes an application's services, and returns them.
  mutating func remove(at index: Int) -> [LocalService] {
    let application = applications.remove(at: index)
    return remove(Set(application.services), of: application.client)
  }

  /// Removes one of an application's services, if it has it.
  mutating func remove(_ service: ObjectPath, ofApplicationAt index: Int) -> [LocalService] {
    guard applications[index].services.contains(service) else { return [] }
    applications[index].services.removeAll { $0 == service }
    return remove([service], of: applications[index].client)
  }

  private mutating func remove(_ paths: Set<ObjectPath>, of client: ClientIdentifier) -> [LocalService] {
    let leaving = database.services.filter { service in
      service.path.map { paths.contains($0) } == true && service.isOf(client)
    }
    let ranges = Set(leaving.map(\.range))
    if !ranges.isEmpty { database.services.removeAll { ranges.contains($0.range) } }
    return leaving
  }

  /// Forgets everything about an attribute that was removed.
  mutating func forget(_ handle: AttributeHandle) {
    subscribers[handle] = nil
    notifyCounts[handle] = nil
    authorizedPreparations.remove(handle)
    for device in configurations.keys { configurations[device]?[handle] = nil }
  }

  /// A subscriber of a value.
  struct Subscription: Hashable, Comparable {
    var handle: AttributeHandle
    var device: ObjectPath
    static func < (left: Self, right: Self) -> Bool { (left.handle, left.device) < (right.handle, right.device) }
  }

  /// The subscriptions that are new, and those that have ended.
  mutating func subscriptionChanges() -> (new: [Subscription], gone: [Subscription]) {
    var wanted: [AttributeHandle: Set<ObjectPath>] = [:]
    for (device, configuration) in configurations {
      for handle in configuration.keys { wanted[handle, default: []].insert(device) }
    }
    func all(_ subscribers: [AttributeHandle: Set<ObjectPath>]) -> Set<Subscription> {
      Set(subscribers.flatMap { handle, devices in devices.map { Subscription(handle: handle, device: $0) } })
    }
    let (before, after) = (all(subscribers), all(wanted))
    subscribers = wanted
    return (after.subtracting(before).sorted(), before.subtracting(after).sorted())
  }

  /// The value that an application has at a path.
  func value(at path: ObjectPath, of client: ClientIdentifier) -> LocalAttribute? {
    database.attributes.first {
      if case .application(client, path) = $0.source { !$0.properties.isEmpty } else { false }
    }
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
    guard !server.isRegistered(root, client) else {
      return .failure(.alreadyExists)
    }
    let reader = ApplicationReader(client: client, objects: objects, database: server.database)
    let reading: ApplicationReader.Reading
    let profiles: [(path: ObjectPath, uuids: Set<BluetoothUUID>)]
    do {
      profiles = try reader.profiles()
      reading = try reader.services()
    } catch {
      return .failure(.failed(error.reason))
    }
    if let failure = reading.failure {
      server.database.nextHandle = reading.nextHandle
      tell(reading.assigned, to: client)
      return .failure(.failed(failure.reason))
    }
    let services = reading.services
    guard !services.isEmpty || !profiles.isEmpty else {
      let hasObjects = objects.values.contains { !$0.isEmpty }
      return .failure(.failed(hasObjects ? "No valid service object found" : "No object received"))
    }
    server.database.insert(services)
    server.applications.append(
      GATTServer.Application(client: client, root: root, services: services.compactMap(\.path), profiles: profiles))
    if !services.isEmpty {
      changed(adapterPath, \Adapter1.uuids)
      for service in services { announceChange(of: service.range) }
    }
    tell(reading.assigned, to: client)
    let uuids = profiles.reduce(into: Set<BluetoothUUID>()) { $0.formUnion($1.uuids) }
    if !uuids.isEmpty { armAll(for: uuids) }
    return .success(.none)
  }

  private mutating func tell(_ assigned: [ApplicationReader.Assignment], to client: ClientIdentifier) {
    for object in assigned {
      callWithoutAnswer(client, object.path, .assignHandle(interface: object.interface, object.handle))
    }
  }

  mutating func unregisterApplication(_ root: ObjectPath, from client: ClientIdentifier) -> Result<Reply, BlueZError> {
    guard let index = server.index(of: root, client) else {
      return .failure(.doesNotExist)
    }
    removeApplication(at: index)
    return .success(.none)
  }

  mutating func forgetApplications(of client: ClientIdentifier) {
    while let index = server.applications.firstIndex(where: { $0.client == client }) { removeApplication(at: index) }
  }

  /// The application's services are removed at once. What its profiles put on the kernel's list stays there.
  private mutating func removeApplication(at index: Int) { take(away: server.remove(at: index)) }

  /// One of an application's services is gone. The others, and the application, stay registered.
  mutating func serviceRemoved(_ path: ObjectPath, of root: ObjectPath, from client: ClientIdentifier) {
    guard let index = server.index(of: root, client) else { return }
    take(away: server.remove(path, ofApplicationAt: index))
  }

  private mutating func take(away leaving: [LocalService]) {
    guard !leaving.isEmpty else { return }
    for service in leaving {
      for attribute in service.attributes {
        server.forget(attribute.handle)
        closeChannels(ofAttribute: attribute.handle)
      }
      answerPeers(waitingFor: service)
    }
    changed(adapterPath, \Adapter1.uuids)
    for service in leaving { announceChange(of: service.range) }
  }

  /// Indicates Service Changed to connected peers that subscribed to it. Other peers see the change by the Database
  /// Hash.
  private mutating func announceChange(of range: ClosedRange<AttributeHandle>) {
    guard let handle = server.database.serviceChangedHandle else { return }
    var writer = ByteWriter()
    writer.write(range.lowerBound)
    writer.write(range.upperBound)
    for identifier in links.keys.sorted() {
      guard let device = links[identifier]?.device, server.configurations[device]?[handle] ?? 0 != 0 else { continue }
      queueIndication(handle, writer.bytes, .nobody, on: identifier)
    }
  }
}

extension LocalService {
  func isOf(_ client: ClientIdentifier) -> Bool {
    attributes.contains { if case .application(client, _) = $0.source { true } else { false } }
      || !attributes.contains { if case .application = $0.source { true } else { false } }
  }
}
