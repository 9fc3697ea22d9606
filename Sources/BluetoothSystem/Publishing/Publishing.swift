import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// What bluetoothd has been given of what apps publish, and what it is being asked for: services, advertisements, and
/// the mark that makes centrals discover again.
struct Publishing: Sendable {
  private(set) var services: [LocalAttributeIdentifier: PublishedService] = [:]
  /// The GATT applications in which services were exported, by their root paths.
  private(set) var applications: [ObjectPath: Registration] = [:]
  private(set) var advertisements: [ManagerKey: PublishedAdvertisement] = [:]
  var mark = DatabaseMark()

  /// The most registrations under way. An app that publishes and removes services as fast as it can gets no more of
  /// bluetoothd's time than bluetoothd answers for.
  static let registrationLimit = 256

  /// When to ask again for refused registrations. The times may be in the past if a registration is no longer wanted.
  var deadlines: [Instant] {
    let registrations = Array(applications.values) + advertisements.values.map(\.registration) + [mark.registration]
    return registrations.compactMap(\.deadline)
  }

  /// bluetoothd or its adapter is gone, and everything that was registered there with it.
  mutating func forgetAll() { self = Publishing() }

  /// bluetoothd has dropped an advertisement by itself. It will be registered again.
  mutating func released(_ path: ObjectPath) {
    for (key, advertisement) in advertisements where advertisement.path == path { advertisements[key] = nil }
  }

  // MARK: Services

  func isDone(_ identifier: LocalAttributeIdentifier) -> Bool {
    services[identifier].flatMap { applications[$0.root] }?.isDone == true
  }

  /// Whether bluetoothd has these services or has refused them. Until then nothing is advertised: a central would
  /// find a database without the services, and remember it.
  func isServed(_ identifiers: some Sequence<LocalAttributeIdentifier>) -> Bool {
    guard !mark.registration.isAsked else { return false }
    return identifiers.allSatisfy { identifier in
      services[identifier].flatMap { applications[$0.root] }.map { !$0.isAsked } ?? false
    }
  }

  /// The characteristic at this path.
  func characteristic(at path: ObjectPath)
    -> (service: LocalAttributeIdentifier, manager: ManagerKey, characteristic: LocalAttributeIdentifier)?
  {
    for (identifier, service) in services {
      if let characteristic = service.characteristics[path] { return (identifier, service.manager, characteristic) }
    }
    return nil
  }

  /// A value that a central can read without asking an app: a descriptor's, or the mark's.
  func constant(at path: ObjectPath) -> [UInt8]? {
    if path == mark.characteristic { return mark.value }
    return services.values.lazy.compactMap { $0.descriptors[path] }.first
  }

  /// bluetoothd reports the first subscriber, or that the last one left. Returns whether it had reported the same
  /// before.
  mutating func setNotifying(
    _ isNotifying: Bool, _ characteristic: LocalAttributeIdentifier, of service: LocalAttributeIdentifier
  ) -> Bool {
    guard isNotifying else { return services[service]?.notifying.remove(characteristic) == nil }
    return services[service]?.notifying.insert(characteristic).inserted == false
  }

  /// Registers a family of services together, unless bluetoothd already has it as it is now.
  mutating func publish(
    _ family: [ServiceRecord], of manager: ManagerKey, exports: inout ExportPaths, at now: Instant
  ) -> [AdapterCall] {
    let known = family.compactMap { services[$0.definition.identifier] }
    let roots = Set(known.map(\.root))
    var registration = Registration()
    var calls: [AdapterCall] = []
    if known.count == family.count, roots.count == 1, let root = roots.first {
      guard let failed = applications[root], failed.isFailed, failed.mayAsk(at: now) else { return [] }
      registration = failed
      applications[root] = nil
    } else {
      // The family has grown, so all of it is registered anew.
      for root in roots.sorted() { calls.append(withdraw(root)) }
    }
    registration.ask()
    let root = exports.next("services")
    var objects = ManagedObjects()
    for (index, member) in family.enumerated() {
      // bluetoothd reads the services in the order of their paths, and each may include only earlier ones.
      let name = family.count == 1 ? "service" : "service\(1000 + index)"
      let includes = member.definition.includedServices.compactMap { services[$0] }.filter { $0.root == root }
      let service = PublishedService(member, manager: manager, root: root, path: root.appending(name))
      objects.merge(service.objects(of: member, including: includes.map(\.path))) { $1 }
      services[member.definition.identifier] = service
    }
    applications[root] = registration
    if let first = family.first?.definition.identifier {
      calls.append(
        AdapterCall(.registerApplication(root: root, objects: objects), for: .registerService(first, root: root)))
    }
    return calls
  }

  /// Removes a service and the others registered with it. The others are registered anew.
  mutating func unpublish(_ identifier: LocalAttributeIdentifier) -> AdapterCall? {
    services[identifier].map { withdraw($0.root) }
  }

  private mutating func withdraw(_ root: ObjectPath) -> AdapterCall {
    applications[root] = nil
    for member in members(of: root) { services[member] = nil }
    return AdapterCall(.unregisterApplication(root: root), for: .ignored)
  }

  private func members(of root: ObjectPath) -> [LocalAttributeIdentifier] {
    services.filter { $0.value.root == root }.keys.sorted()
  }

  /// bluetoothd has answered for an application. Returns its services; empty if it was removed in the meantime.
  mutating func registered(_ root: ObjectPath, isAccepted: Bool, at now: Instant) -> [LocalAttributeIdentifier] {
    guard applications[root] != nil else { return [] }
    if isAccepted { applications[root]?.succeed() } else { applications[root]?.fail(at: now) }
    return members(of: root)
  }

  // MARK: Advertisements

  func isAdvertising(_ key: ManagerKey, _ request: AdvertisementRequest) -> Bool {
    advertisements[key].map { $0.content.request == request && $0.registration.isDone } ?? false
  }

  /// Removes a manager's advertisement if another one, or none, is wanted now.
  mutating func withdrawAdvertisement(_ key: ManagerKey, unlessIt isAs: PublishedAdvertisement.Content?) -> AdapterCall?
  {
    guard let current = advertisements[key], current.content != isAs else { return nil }
    advertisements[key] = nil
    return current.registration.isFailed
      ? nil : AdapterCall(.unregisterAdvertisement(path: current.path), for: .ignored)
  }

  mutating func advertise(
    _ key: ManagerKey, _ content: PublishedAdvertisement.Content, exports: inout ExportPaths, at now: Instant
  ) -> AdapterCall? {
    var registration = advertisements[key]?.registration ?? Registration()
    guard !registration.isDone, registration.mayAsk(at: now) else { return nil }
    registration.ask()
    let path = exports.next("advertisements")
    let advertisement = PublishedAdvertisement(registration: registration, path: path, content: content)
    advertisements[key] = advertisement
    return AdapterCall(
      .registerAdvertisement(path: path, properties: advertisement.properties),
      for: .registerAdvertisement(key, path: path))
  }

  /// bluetoothd has answered for an advertisement. Returns `false` if the answer is for an earlier one.
  mutating func advertisementRegistered(_ key: ManagerKey, _ path: ObjectPath, isAccepted: Bool, at now: Instant)
    -> Bool
  {
    guard advertisements[key]?.path == path else { return false }
    if isAccepted {
      advertisements[key]?.registration.succeed()
    } else {
      advertisements[key]?.registration.fail(at: now)
    }
    return true
  }

  /// The app has been told that its advertisement failed, and no longer asks for it.
  mutating func forgetAdvertisement(_ key: ManagerKey) { advertisements[key] = nil }
}

/// A call to the adapter, and its purpose.
struct AdapterCall: Sendable {
  let request: BlueZ.Request
  let pending: PendingCall

  init(_ request: BlueZ.Request, for pending: PendingCall) { (self.request, self.pending) = (request, pending) }
}

/// Paths of the objects exported to bluetoothd. Paths are never reused, so a late message about an old object can't
/// be taken for one about a new object.
struct ExportPaths: Sendable {
  private var last: UInt64 = 0

  mutating func next(_ kind: String) -> ObjectPath {
    last += 1
    return ObjectPath(unchecked: "/org/latchkey/\(kind)/\(last)")
  }
}
