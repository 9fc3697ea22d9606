import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// What bluetoothd has of what apps publish, and what it is asked for: services, advertisements, and the mark that makes
/// centrals look again.
struct Publishing: Sendable {
  private(set) var services: [LocalAttributeIdentifier: PublishedService] = [:]
  /// The GATT applications that services were exported in, by their roots.
  private(set) var applications: [ObjectPath: Registration] = [:]
  private(set) var advertisements: [ManagerKey: PublishedAdvertisement] = [:]
  var mark = DatabaseMark()

  /// Registrations under way at most: an app that publishes and takes back as fast as it can gets no more of bluetoothd's
  /// time than it answers for.
  static let registrationLimit = 256

  /// When registrations that were refused are asked for again; also those of the past, which nobody may want now.
  var deadlines: [Instant] {
    let registrations = Array(applications.values) + advertisements.values.map(\.registration) + [mark.registration]
    return registrations.compactMap(\.deadline)
  }

  /// bluetoothd or its adapter is gone, and with it all that was registered there.
  mutating func forgetAll() { self = Publishing() }

  /// bluetoothd has dropped an advertisement by itself; it is registered again.
  mutating func released(_ path: ObjectPath) {
    for (key, advertisement) in advertisements where advertisement.path == path { advertisements[key] = nil }
  }

  // MARK: Services

  func isDone(_ identifier: LocalAttributeIdentifier) -> Bool {
    services[identifier].flatMap { applications[$0.root] }?.isDone == true
  }

  /// Whether bluetoothd has these services, or has refused them. No central is called in before: it would find a
  /// database without them, and remember it.
  func isServed(_ identifiers: some Sequence<LocalAttributeIdentifier>) -> Bool {
    guard !mark.registration.isAsked else { return false }
    return identifiers.allSatisfy { identifier in
      services[identifier].flatMap { applications[$0.root] }.map { !$0.isAsked } ?? false
    }
  }

  /// The characteristic that bluetoothd means by a path.
  func characteristic(at path: ObjectPath)
    -> (service: LocalAttributeIdentifier, manager: ManagerKey, characteristic: LocalAttributeIdentifier)?
  {
    for (identifier, service) in services {
      if let characteristic = service.characteristics[path] { return (identifier, service.manager, characteristic) }
    }
    return nil
  }

  /// What a central reads that no app is asked for: a descriptor, or the mark.
  func constant(at path: ObjectPath) -> [UInt8]? {
    if path == mark.characteristic { return mark.value }
    return services.values.lazy.compactMap { $0.descriptors[path] }.first
  }

  /// bluetoothd tells of the first subscriber, and of the last one's leaving. Returns whether it said so already.
  mutating func setNotifying(
    _ isNotifying: Bool, _ characteristic: LocalAttributeIdentifier, of service: LocalAttributeIdentifier
  ) -> Bool {
    guard isNotifying else { return services[service]?.notifying.remove(characteristic) == nil }
    return services[service]?.notifying.insert(characteristic).inserted == false
  }

  /// Registers a family of services, all at once, where bluetoothd does not have it as it is now.
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
      // One more has come to those that are there, and all are registered anew.
      for root in roots.sorted() { calls.append(withdraw(root)) }
    }
    registration.ask()
    let root = exports.next("services")
    var objects = ManagedObjects()
    for (index, member) in family.enumerated() {
      // bluetoothd takes them by their paths, and knows of each only those before it.
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

  /// Takes a service back, and with it those that were registered with it; they are registered anew.
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

  /// bluetoothd has answered for an application. Returns whose it was: nobody's any more, where it was taken back meanwhile.
  mutating func registered(_ root: ObjectPath, isAccepted: Bool, at now: Instant) -> [LocalAttributeIdentifier] {
    guard applications[root] != nil else { return [] }
    if isAccepted { applications[root]?.succeed() } else { applications[root]?.fail(at: now) }
    return members(of: root)
  }

  // MARK: Advertisements

  func isAdvertising(_ key: ManagerKey, _ request: AdvertisementRequest) -> Bool {
    advertisements[key].map { $0.request == request && $0.registration.isDone } ?? false
  }

  /// Takes a manager's advertisement back where it asks for another one, or none.
  mutating func withdrawAdvertisement(_ key: ManagerKey, unlessIt isFor: AdvertisementRequest?) -> AdapterCall? {
    guard let current = advertisements[key], current.request != isFor else { return nil }
    advertisements[key] = nil
    return current.registration.isFailed
      ? nil : AdapterCall(.unregisterAdvertisement(path: current.path), for: .ignored)
  }

  mutating func advertise(
    _ key: ManagerKey, _ request: AdvertisementRequest, exports: inout ExportPaths, at now: Instant
  ) -> AdapterCall? {
    var registration = advertisements[key]?.registration ?? Registration()
    guard !registration.isDone, registration.mayAsk(at: now) else { return nil }
    registration.ask()
    let path = exports.next("advertisements")
    let advertisement = PublishedAdvertisement(registration: registration, path: path, request: request)
    advertisements[key] = advertisement
    return AdapterCall(
      .registerAdvertisement(path: path, properties: advertisement.properties),
      for: .registerAdvertisement(key, path: path))
  }

  /// bluetoothd has answered for an advertisement. Returns `false` where it is another one by now.
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

  /// Its app has been told that it can't be, and asks for it no more.
  mutating func forgetAdvertisement(_ key: ManagerKey) { advertisements[key] = nil }
}

/// A call to the adapter, and what it is for.
struct AdapterCall: Sendable {
  let request: BlueZ.Request
  let pending: PendingCall

  init(_ request: BlueZ.Request, for pending: PendingCall) { (self.request, self.pending) = (request, pending) }
}

/// Paths of the objects that are exported to bluetoothd. None is used twice, so that what bluetoothd still says of an old
/// one is of no other.
struct ExportPaths: Sendable {
  private var last: UInt64 = 0

  mutating func next(_ kind: String) -> ObjectPath {
    last += 1
    return ObjectPath(unchecked: "/org/latchkey/\(kind)/\(last)")
  }
}
