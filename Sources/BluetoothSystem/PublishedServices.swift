import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import TimeTypes

/// A service as it is exported to bluetoothd: one application each, but for those that include each other, at a fixed
/// handle, so that neither an app's death nor another service's coming and going moves an attribute.
struct PublishedService: Sendable {
  var registration = Registration()
  let manager: ManagerKey
  /// Of the application.
  let root: ObjectPath
  /// Of the service.
  let path: ObjectPath
  var characteristics: [ObjectPath: LocalAttributeIdentifier] = [:]
  var paths: [LocalAttributeIdentifier: ObjectPath] = [:]
  var descriptors: [ObjectPath: [UInt8]] = [:]
  /// Characteristics that bluetoothd has somebody subscribed to since the registration.
  var notifying: Set<LocalAttributeIdentifier> = []
}

struct PublishedAdvertisement: Sendable {
  var registration: Registration
  let path: ObjectPath
  let request: AdvertisementRequest

  /// How often it is sent, in milliseconds: 152.5 ms is the first interval that Apple's Accessory Design Guidelines
  /// recommend. At bluetoothd's own 1.28 s a link comes up seconds after somebody has come within range, too late to see
  /// him come nearer. bluetoothd 5.77 and later obey, earlier ones do so with `--experimental` and else pay no heed.
  static let intervalMilliseconds: UInt32 = 152
}

extension BluetoothSystem {
  mutating func addService(_ key: ManagerKey, _ definition: ServiceDefinition) {
    if let error = refusal(of: definition, key) {
      tell(key, .serviceAdded(definition.identifier, error: error))
      return
    }
    if let known = managers[key]?.services[definition.identifier] {
      if known.definition == definition, published[definition.identifier]?.registration.isDone == true {
        tell(key, .serviceAdded(definition.identifier, error: nil))
        grantCredit(key)
        return
      }
      unpublish(definition.identifier)
    }
    let span = definition.handleSpan
    guard let handle = managers[key]?.services[definition.identifier]?.handle ?? freeHandles(span) else {
      tell(
        key,
        .serviceAdded(definition.identifier, error: .limit("No attribute handles are left.")))
      return
    }
    let order = min(managers.values.flatMap { $0.services.values.map(\.order) }.max() ?? 0, .max - 1) + 1
    let record = ServiceRecord(manager: key, definition: definition, handle: handle, order: order)
    managers[key]?.services[definition.identifier] = record
    managers[key]?.unannounced.insert(definition.identifier)
    persist(.service(record))
  }

  private func refusal(of definition: ServiceDefinition, _ key: ManagerKey) -> PeerError? {
    guard let manager = managers[key] else { return .notConnected }
    if manager.services[definition.identifier] == nil, manager.services.count >= configuration.serviceLimit {
      return .limit("A manager publishes at most \(configuration.serviceLimit) services.")
    }
    if managers.values.contains(where: { $0.key != key && $0.services[definition.identifier] != nil }) {
      return .coreBluetooth(.invalidParameters, message: "Another manager has published this service.")
    }
    let attributes = definition.characteristics.reduce(definition.includedServices.count) {
      $0 + 1 + $1.descriptors.count
    }
    guard attributes <= configuration.attributeLimit else {
      return .limit("A service has at most \(configuration.attributeLimit) attributes.")
    }
    let values = definition.characteristics.flatMap { [$0.value ?? []] + $0.descriptors.map(\.value) }
    guard values.allSatisfy({ $0.count <= ATTLimits.maximumValueLength }) else {
      return .coreBluetooth(.invalidParameters, message: "A value has at most \(ATTLimits.maximumValueLength) bytes.")
    }
    let identifiers = definition.characteristics.map(\.identifier)
    let others = managers.values.lazy.flatMap(\.services).filter { $0.key != definition.identifier }
    guard Set(identifiers).count == identifiers.count,
      Set(identifiers).isDisjoint(
        with: others.flatMap { $0.value.definition.characteristics.lazy.map(\.identifier) })
    else {
      return .coreBluetooth(.invalidParameters, message: "Two characteristics have one identifier; give each its own.")
    }
    let handles = managers.values.lazy.filter { $0.key.app == key.app }.flatMap(\.services)
      .filter { $0.key != definition.identifier }.reduce(definition.handleSpan) { $0 + $1.value.definition.handleSpan }
    guard handles <= configuration.handleLimit else {
      return .limit("The services of an app take at most \(configuration.handleLimit) attribute handles.")
    }
    return nil
  }

  /// bluetoothd's own services lie below.
  private static let firstHandle = 0x0100

  private func freeHandles(_ span: Int) -> AttributeHandle? {
    let used = managers.values.flatMap { $0.services.values }
      .map { (Int($0.handle), Int($0.handle) + $0.definition.handleSpan) }.sorted { $0.0 < $1.0 }
    var candidate = Self.firstHandle
    for (start, end) in used {
      if candidate + span <= start { break }
      candidate = max(candidate, (end + 15) & ~15)
    }
    return candidate + span <= 0xFF00 ? AttributeHandle(candidate) : nil
  }

  mutating func removeService(_ key: ManagerKey, _ identifier: LocalAttributeIdentifier) {
    guard let record = managers[key]?.services.removeValue(forKey: identifier) else { return }
    unpublish(identifier)
    managers[key]?.unannounced.remove(identifier)
    for characteristic in record.definition.characteristics {
      managers[key]?.subscribers[characteristic.identifier] = nil
      for central in remembered.removeValue(forKey: characteristic.identifier) ?? [] {
        erase(SubscriptionRecord.key(central, characteristic.identifier))
      }
    }
    erase(StoreKey(.service, identifier.uuidString))
  }

  private mutating func unpublish(_ identifier: LocalAttributeIdentifier) {
    guard let service = published.removeValue(forKey: identifier), let adapter = bluez.adapter else { return }
    call(adapter, .unregisterApplication(root: service.root), for: .ignored)
    forgetRelatives(registeredAt: service.root)
  }

  mutating func reconcilePublished() {
    guard let adapter = bluez.adapter else { return }
    for key in sortedManagers(.peripheral) {
      let services = (managers[key]?.services ?? [:]).values.sorted { $0.order < $1.order }
      for record in services { publish(record, key, adapter) }
    }
    reconcileMark(adapter)
    for key in sortedManagers(.peripheral) { reconcileAdvertisement(key, adapter) }
  }

  /// Whether bluetoothd has what a manager publishes, or has refused it. Nobody is called in before: who connected
  /// would find a database without these services, and remember it.
  private func isServed(_ key: ManagerKey) -> Bool {
    guard !mark.registration.isAsked else { return false }
    return (managers[key]?.services ?? [:]).keys.allSatisfy { published[$0].map { !$0.registration.isAsked } ?? false }
  }

  private mutating func publish(_ record: ServiceRecord, _ key: ManagerKey, _ adapter: ObjectPath) {
    let family = family(of: record, key)
    // The first of them registers all.
    let identifier = record.definition.identifier
    guard family.first?.definition.identifier == identifier, mayRegister else { return }
    let known = family.compactMap { published[$0.definition.identifier] }
    let roots = Set(known.map(\.root))
    var registration = Registration()
    if known.count == family.count, roots.count == 1 {
      guard known[0].registration.isFailed, known[0].registration.mayAsk(at: now) else { return }
      registration = known[0].registration
    } else {
      // One more has come to those that are there, and all are registered anew.
      for root in roots.sorted() {
        call(adapter, .unregisterApplication(root: root), for: .ignored)
        forgetRelatives(registeredAt: root)
      }
    }
    registration.ask()
    lastExport += 1
    let root = ObjectPath(unchecked: "/org/latchkey/services/\(lastExport)")
    var objects = ManagedObjects()
    for (index, member) in family.enumerated() {
      // bluetoothd takes them by their paths, and knows of each only those before it.
      let name = family.count == 1 ? "service" : "service\(1000 + index)"
      var service = PublishedService(manager: key, root: root, path: root.appending(name))
      objects.merge(export(member, &service)) { $1 }
      service.registration = registration
      published[member.definition.identifier] = service
    }
    call(adapter, .registerApplication(root: root, objects: objects), for: .registerService(identifier, root: root))
  }

  /// An app that publishes and takes back as fast as it can gets no more of bluetoothd's time than it answers for.
  private var mayRegister: Bool {
    calls.all.count { pending in
      switch pending {
      case .registerService, .registerAdvertisement: true
      default: false
      }
    } < Self.registrationLimit
  }
  private static let registrationLimit = 256

  private func export(_ record: ServiceRecord, _ service: inout PublishedService) -> ManagedObjects {
    let path = service.path
    var objects: ManagedObjects = [
      path: [
        InterfaceName.gattService: [
          "UUID": .string(record.definition.uuid.description), "Primary": .bool(record.definition.isPrimary),
          "Handle": .uint16(record.handle), "Includes": .array(of: "o", includes(record, service.root)),
        ]
      ]
    ]
    for (index, characteristic) in record.definition.characteristics.enumerated() {
      let place = path.appending("characteristic\(index)")
      service.characteristics[place] = characteristic.identifier
      service.paths[characteristic.identifier] = place
      objects[place] = [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(characteristic.uuid.description), "Service": .path(path),
          "Flags": .strings(characteristic.flags.map(\.rawValue)),
        ]
      ]
      for (position, descriptor) in characteristic.descriptors.enumerated() {
        let below = place.appending("descriptor\(position)")
        service.descriptors[below] = descriptor.value
        objects[below] = [
          InterfaceName.gattDescriptor: [
            "UUID": .string(descriptor.uuid.description), "Characteristic": .path(place),
            "Flags": .strings([GATTFlag.read.rawValue]),
          ]
        ]
      }
    }
    return objects
  }

  private func includes(_ record: ServiceRecord, _ root: ObjectPath) -> [Value] {
    record.definition.includedServices.compactMap { identifier in
      guard let service = published[identifier], service.root == root else { return nil }
      return .path(service.path)
    }
  }

  mutating func serviceRegistered(
    _ identifier: LocalAttributeIdentifier, _ root: ObjectPath, _ result: Result<Reply, BlueZError>
  ) {
    guard published[identifier]?.root == root else { return }
    let members = published.filter { $0.value.root == root }.keys.sorted()
    for member in members { registered(member, root, result) }
  }

  private mutating func registered(
    _ identifier: LocalAttributeIdentifier, _ root: ObjectPath, _ result: Result<Reply, BlueZError>
  ) {
    guard var service = published[identifier], service.root == root else { return }
    let isNew = managers[service.manager]?.unannounced.remove(identifier) != nil
    switch result {
    case .success:
      service.registration.succeed()
      published[identifier] = service
      if isNew {
        tell(service.manager, .serviceAdded(identifier, error: nil))
        grantCredit(service.manager)
      }
    case .failure(let error):
      service.registration.fail(at: now)
      published[identifier] = service
      journal(.serviceRefused, [.app: service.manager.app, .error: error.description])
      guard isNew else { return }
      tell(
        service.manager,
        .serviceAdded(identifier, error: .coreBluetooth(.unknown, message: error.description)))
      removeService(service.manager, identifier)
    }
  }

  // MARK: Advertising

  mutating func startAdvertising(_ key: ManagerKey, _ request: AdvertisementRequest) {
    guard request.serviceUUIDs.count <= configuration.uuidLimit, request.localName?.utf8.count ?? 0 <= 248 else {
      tell(
        key,
        .advertisingStarted(
          error: .coreBluetooth(
            .invalidParameters,
            message: "An advertisement has a name of at most 248 bytes and at most \(configuration.uuidLimit) services."
          )))
      return
    }
    if managers[key]?.advertisement != nil, advertisements[key]?.request == request,
      advertisements[key]?.registration.isDone == true
    {
      tell(
        key,
        .advertisingStarted(error: .coreBluetooth(.alreadyAdvertising, message: "Advertising has already started.")))
      return
    }
    managers[key]?.advertisement = request
    managers[key]?.isAdvertisingUnannounced = true
    persistManager(key)
  }

  mutating func stopAdvertising(_ key: ManagerKey) {
    managers[key]?.advertisement = nil
    managers[key]?.isAdvertisingUnannounced = false
    persistManager(key)
  }

  private mutating func reconcileAdvertisement(_ key: ManagerKey, _ adapter: ObjectPath) {
    let request = bluez.isPowered && mayWork(key) ? managers[key]?.advertisement : nil
    if let current = advertisements[key], current.request != request {
      if !current.registration.isFailed {
        call(adapter, .unregisterAdvertisement(path: current.path), for: .ignored)
      }
      advertisements[key] = nil
    }
    guard let request, isServed(key), mayRegister else { return }
    var registration = advertisements[key]?.registration ?? Registration()
    guard !registration.isDone, registration.mayAsk(at: now) else { return }
    registration.ask()
    lastExport += 1
    let path = ObjectPath(unchecked: "/org/latchkey/advertisements/\(lastExport)")
    advertisements[key] = PublishedAdvertisement(registration: registration, path: path, request: request)
    var properties: Properties = [
      "Type": .string("peripheral"), "ServiceUUIDs": .strings(request.serviceUUIDs.map(\.description)),
      // As on every other system; a bluetoothd that looks for nothing in particular shows nothing of others.
      "Discoverable": .bool(true),
      "MinInterval": .uint32(PublishedAdvertisement.intervalMilliseconds),
      "MaxInterval": .uint32(PublishedAdvertisement.intervalMilliseconds),
    ]
    if let name = request.localName { properties["LocalName"] = .string(name) }
    call(
      adapter, .registerAdvertisement(path: path, properties: properties),
      for: .registerAdvertisement(key, path: path))
  }

  mutating func advertisementRegistered(_ key: ManagerKey, _ path: ObjectPath, _ result: Result<Reply, BlueZError>) {
    guard var advertisement = advertisements[key], advertisement.path == path else { return }
    let isNew = managers[key]?.isAdvertisingUnannounced == true
    managers[key]?.isAdvertisingUnannounced = false
    switch result {
    case .success:
      advertisement.registration.succeed()
      advertisements[key] = advertisement
      if isNew { tell(key, .advertisingStarted(error: nil)) }
    case .failure(let error):
      advertisement.registration.fail(at: now)
      advertisements[key] = advertisement
      journal(.advertisementRefused, [.app: key.app, .error: error.description])
      guard isNew else { return }
      tell(key, .advertisingStarted(error: .coreBluetooth(.unknown, message: error.description)))
      stopAdvertising(key)
      advertisements[key] = nil
    }
  }

  /// bluetoothd has dropped an exported object; it is registered again by the reconciler.
  mutating func released(_ path: ObjectPath, _ interface: String) {
    switch interface {
    case InterfaceName.advertisement:
      for (key, advertisement) in advertisements where advertisement.path == path { advertisements[key] = nil }
    case InterfaceName.gattProfile:
      if let root = profile.root, path.isWithin(root) { profile = ProfileRegistration() }
    case InterfaceName.agent:
      pairing.agentIsGone()
      cancelQuestions()
    default: break
    }
  }
}

extension ServiceDefinition {
  /// How many handles the service takes: its declaration, two and a client configuration for each characteristic, and
  /// an extended-properties descriptor where one is declared.
  var handleSpan: Int {
    1 + includedServices.count + characteristics.reduce(0) { $0 + 4 + $1.descriptors.count }
  }
}

extension CharacteristicDefinition {
  /// What bluetoothd is told of what may be done with it, and by whom.
  var flags: [GATTFlag] {
    var flags: [GATTFlag] = []
    func add(_ flag: GATTFlag, where condition: Bool) { if condition { flags.append(flag) } }
    let isWriteable = properties.contains(.write) || properties.contains(.writeWithoutResponse)
    add(.broadcast, where: properties.contains(.broadcast))
    add(.read, where: properties.contains(.read))
    add(.encryptRead, where: properties.contains(.read) && permissions.contains(.readEncryptionRequired))
    add(.writeWithoutResponse, where: properties.contains(.writeWithoutResponse))
    add(.write, where: properties.contains(.write))
    add(.encryptWrite, where: isWriteable && permissions.contains(.writeEncryptionRequired))
    add(.notify, where: properties.contains(.notify) || properties.contains(.notifyEncryptionRequired))
    add(.encryptNotify, where: properties.contains(.notifyEncryptionRequired))
    add(.indicate, where: properties.contains(.indicate) || properties.contains(.indicateEncryptionRequired))
    add(.encryptIndicate, where: properties.contains(.indicateEncryptionRequired))
    add(.authenticatedSignedWrites, where: properties.contains(.authenticatedSignedWrites))
    return flags
  }
}
