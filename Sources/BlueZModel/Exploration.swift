import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// Discovery of a peer's GATT database (Bluetooth Core, Vol 3, Part G, 4.4 to 4.7).
struct Exploration: Sendable {
  /// The part of the database being explored: all of it, or what the peer said has changed.
  var range: ClosedRange<AttributeHandle>
  var services: [RemoteService] = []
  var hash: [UInt8]?
  /// Values that were read during the exploration.
  var values: [AttributeHandle: [UInt8]] = [:]

  enum Step: Sendable {
    case services(primary: Bool, start: AttributeHandle, end: AttributeHandle)
    case includes(start: AttributeHandle, end: AttributeHandle)
    case characteristics(start: AttributeHandle, end: AttributeHandle)
    case descriptors(start: AttributeHandle, end: AttributeHandle)
    /// The Characteristic Extended Properties of one characteristic.
    case extended(AttributeHandle)

    var question: ATTPDU {
      switch self {
      case .services(let primary, let start, let end):
        .readByGroupTypeRequest(
          start: start, end: end, type: primary ? WellKnownUUID.primaryService : WellKnownUUID.secondaryService)
      case .includes(let start, let end):
        .readByTypeRequest(start: start, end: end, type: WellKnownUUID.include)
      case .characteristics(let start, let end):
        .readByTypeRequest(start: start, end: end, type: WellKnownUUID.characteristic)
      case .descriptors(let start, let end): .findInformationRequest(start: start, end: end)
      case .extended(let handle): .readRequest(handle)
      }
    }
  }
}

extension BlueZModel {
  /// bluetoothd's first requests on every link. If the database is known, the hash decides whether to explore again.
  mutating func attach(_ identifier: LinkIdentifier) {
    guard let path = links[identifier]?.device, let device = devices[path] else { return }
    // Clients' subscriptions are written before anything is read.
    enqueue([.exchangeMTU(manners.mtu)] + liveSubscriptions(of: device), on: identifier)
  }

  /// The MTU is agreed on. Only now does bluetoothd read the peer's database (src/shared/gatt-client.c,
  /// `exchange_mtu_cb`), so requests that clients made in the meantime go out first.
  mutating func mtuExchanged(on identifier: LinkIdentifier) {
    enqueue([.readServerFeatures, .readDatabaseHash], on: identifier)
  }

  mutating func databaseHashArrived(_ pdu: ATTPDU, on identifier: LinkIdentifier) {
    guard let path = links[identifier]?.device, let device = devices[path] else { return }
    var hash: [UInt8]?
    if case .readByTypeResponse(let entries) = pdu, let entry = entries.first {
      hash = entry.value
      devices[path]?.values[entry.handle] = entry.value
    }
    if let database = device.database, let hash, database.hash == hash {
      if !device.isExported { export(path) }
      resolved(identifier, isNew: false)
    } else {
      // bluetoothd writes the new hash down before it explores (src/shared/gatt-client.c, db_hash_read_cb). If the
      // link is lost meanwhile, the next link finds the hash unchanged and keeps the old services.
      if hash != nil { devices[path]?.database?.hash = hash }
      explore(1...0xFFFF, hash: hash, on: identifier)
    }
  }

  /// The hash after a change that the peer reported. The next link compares with it.
  mutating func refreshedHashArrived(_ pdu: ATTPDU, on identifier: LinkIdentifier) {
    guard case .readByTypeResponse(let entries) = pdu, let path = links[identifier]?.device else { return }
    devices[path]?.database?.hash = entries.first?.value
    if let entry = entries.first { devices[path]?.values[entry.handle] = entry.value }
    store(path)
  }

  /// The peer's services in a range have changed (Service Changed). They leave the bus at once, with their
  /// subscriptions, and the range is explored again.
  mutating func servicesChanged(_ range: ClosedRange<AttributeHandle>, on identifier: LinkIdentifier) {
    guard let path = links[identifier]?.device, let database = devices[path]?.database else { return }
    removeServices(database.services.filter { range.contains($0.handle) }, of: path)
    if let running = links[identifier]?.client.exploration {
      // The range of an earlier change that is still to be explored is added.
      let ranges = [running.range, range, links[identifier]?.client.pendingExploration ?? range]
      links[identifier]?.client.pendingExploration =
        (ranges.map(\.lowerBound).min() ?? range.lowerBound)...(ranges.map(\.upperBound).max() ?? range.upperBound)
    } else {
      explore(range, hash: nil, on: identifier)
    }
  }

  private mutating func removeServices(_ leaving: [RemoteService], of path: ObjectPath) {
    guard !leaving.isEmpty else { return }
    takeAway(leaving, of: path)
    let left = Set(devices[path]?.database?.services.map(\.uuid) ?? [])
    let gone = Set(leaving.map(\.uuid)).subtracting(left)
    devices[path]?.uuids.removeAll { gone.contains($0) }
    changed(path, \Device1.uuids)
  }

  private mutating func takeAway(_ leaving: [RemoteService], of path: ObjectPath) {
    guard !leaving.isEmpty else { return }
    unexport(path, services: leaving)
    devices[path]?.database?.services.removeAll { leaving.contains($0) }
  }

  mutating func explore(_ range: ClosedRange<AttributeHandle>, hash: [UInt8]?, on identifier: LinkIdentifier) {
    links[identifier]?.client.exploration = Exploration(range: range, hash: hash)
    let step = Exploration.Step.services(primary: true, start: range.lowerBound, end: range.upperBound)
    enqueue([.explore(step)], on: identifier, first: true)
  }

  /// Handles a step's answer. Returns the next step, or `nil` when all is known.
  mutating func explored(
    _ step: Exploration.Step, _ pdu: ATTPDU, on identifier: LinkIdentifier
  ) -> ATTClient.Operation? {
    guard var exploration = links[identifier]?.client.exploration else { return nil }
    let next = exploration.take(step, pdu)
    links[identifier]?.client.exploration = exploration
    if let next { return .explore(next) }
    links[identifier]?.client.exploration = nil
    explorationEnded(exploration, on: identifier)
    return nil
  }

  private mutating func explorationEnded(_ exploration: Exploration, on identifier: LinkIdentifier) {
    guard let path = links[identifier]?.device else { return }
    let known = devices[path]?.database?.services.filter { exploration.range.contains($0.handle) } ?? []
    let leaving = known.filter { !exploration.services.contains($0) }
    let uuidsBefore = devices[path]?.uuids ?? []
    takeAway(leaving, of: path)
    var database = devices[path]?.database ?? RemoteDatabase()
    let new = exploration.services.filter { !database.services.contains($0) }
    database.services = (database.services + new).sorted { $0.handle < $1.handle }
    database.hash = exploration.hash
    devices[path]?.database = database
    devices[path]?.values.merge(exploration.values) { $1 }
    let remaining = Set(database.services.map(\.uuid))
    devices[path]?.uuids.removeAll { uuid in !remaining.contains(uuid) && leaving.contains { $0.uuid == uuid } }
    if devices[path]?.uuids != uuidsBefore { changed(path, \Device1.uuids) }
    // During a `Pair()` call, `UUIDs` changes before the objects appear; otherwise after. If services were already
    // resolved, `UUIDs` also changes first.
    let wasExported = devices[path]?.isExported == true
    if devices[path]?.isResolved == true || devices[path]?.bondedCall != nil {
      addUUIDs(database.services.filter(\.isPrimary).map(\.uuid), to: path)
    }
    if devices[path]?.bondedCall != nil { tellResolved(path) }
    if wasExported {
      addObjects(of: new, to: path)
    } else {
      export(path)
    }
    addUUIDs(database.services.filter(\.isPrimary).map(\.uuid), to: path)
    resolved(identifier, isNew: true)
    if exploration.hash == nil { enqueue([.refreshDatabaseHash], on: identifier, first: true) }
    if let range = links[identifier]?.client.pendingExploration {
      links[identifier]?.client.pendingExploration = nil
      explore(range, hash: nil, on: identifier)
    }
  }

  mutating func export(_ path: ObjectPath) {
    guard let database = devices[path]?.database else { return }
    devices[path]?.isExported = true
    addObjects(of: database.services, to: path)
  }

  private mutating func addObjects(of services: [RemoteService], to path: ObjectPath) {
    guard isRunning, kernel.isPlugged, !services.isEmpty, let device = devices[path] else { return }
    flushChanges()
    for (place, attribute) in services.flatMap({ $0.attributes(under: path) }) {
      outbox.append(.broadcast(.interfacesAdded(path: place, interfaces(of: attribute, device))))
    }
  }

  /// The database is known and on the bus.
  private mutating func resolved(_ identifier: LinkIdentifier, isNew: Bool) {
    guard let path = links[identifier]?.device, let device = devices[path], let database = device.database
    else { return }
    armIfWanted(path)
    if !device.isResolved { tellResolved(path) }
    finishPair(path)
    store(path)
    var operations: [ATTClient.Operation] = []
    if let features = database.characteristic(WellKnownUUID.clientFeatures) {
      operations.append(.writeClientFeatures(features.valueHandle))
    }
    if let handle = database.characteristic(WellKnownUUID.serviceChanged)?.configurationHandle {
      operations.append(.subscribeToServiceChanged(handle))
    }
    if isNew, let name = database.characteristic(WellKnownUUID.deviceName) {
      operations.append(.readName(name.valueHandle))
    }
    if isNew, let identity = database.characteristic(WellKnownUUID.plugAndPlay) {
      operations.append(.readPlugAndPlay(identity.valueHandle))
    }
    operations += batteryOperations(of: path)
    enqueue(operations, on: identifier, first: !isNew)
  }

  private mutating func tellResolved(_ path: ObjectPath) {
    devices[path]?.isResolved = true
    tellPaired(path)
    changed(path, \Device1.servicesResolved)
  }

  private mutating func tellPaired(_ path: ObjectPath) {
    guard devices[path]?.isPairedUntold == true else { return }
    devices[path]?.isPairedUntold = false
    changed(path, \Device1.paired)
  }

  /// The services are known, or will not be. A `Pair()` that made a bond succeeds either way (src/device.c,
  /// browse_request_complete).
  mutating func finishPair(_ path: ObjectPath) {
    guard let call = devices[path]?.bondedCall else { return }
    devices[path]?.bondedCall = nil
    tellPaired(path)
    reply(to: call, .success(.none))
  }

  mutating func nameArrived(_ pdu: ATTPDU, on identifier: LinkIdentifier) {
    guard case .readResponse(let bytes) = pdu, let path = links[identifier]?.device else { return }
    setName(String(decoding: bytes, as: UTF8.self), of: path)
  }

  mutating func plugAndPlayArrived(_ pdu: ATTPDU, on identifier: LinkIdentifier) {
    guard case .readResponse(let bytes) = pdu, let path = links[identifier]?.device,
      let modalias = PlugAndPlay(bytes)?.modalias, devices[path]?.modalias != modalias
    else { return }
    devices[path]?.modalias = modalias
    changed(path, \Device1.modalias)
    store(path)
  }

  mutating func setName(_ name: String, of path: ObjectPath) {
    guard !name.isEmpty, let device = devices[path], device.name != name else { return }
    devices[path]?.name = name
    changed(path, \Device1.name)
    if device.alias == nil { changed(path, \Device1.alias) }
    store(path)
  }
}

extension Exploration {
  /// Handles a step's answer. Returns the step after it.
  mutating func take(_ step: Step, _ pdu: ATTPDU) -> Step? {
    switch (step, pdu) {
    case (.services(let primary, let start, let end), .readByGroupTypeResponse(let groups)):
      for group in groups where group.start >= start && group.end >= group.start {
        guard let uuid = BluetoothUUID(onAir: group.value) else { continue }
        services.append(
          RemoteService(handle: group.start, endHandle: group.end, uuid: uuid, isPrimary: primary))
      }
      if let last = groups.last?.end, last >= start, last < end {
        return .services(primary: primary, start: last + 1, end: end)
      }
      return afterServices(primary)
    case (.services(let primary, _, _), _): return afterServices(primary)

    case (.includes(let start, let end), .readByTypeResponse(let entries)):
      for entry in entries where entry.value.count >= 4 {
        let included = UInt16(entry.value[1]) << 8 | UInt16(entry.value[0])
        for index in services.indices where services[index].holds(entry.handle) {
          services[index].includes.append(included)
        }
      }
      if let next = Self.next(after: entries.last?.handle, start, end) { return .includes(start: next, end: end) }
      return .characteristics(start: range.lowerBound, end: range.upperBound)
    case (.includes, _): return .characteristics(start: range.lowerBound, end: range.upperBound)

    case (.characteristics(let start, let end), .readByTypeResponse(let entries)):
      for entry in entries { addCharacteristic(entry) }
      if let next = Self.next(after: entries.last?.handle, start, end) {
        return .characteristics(start: next, end: end)
      }
      return descriptorStep(from: range.lowerBound)
    case (.characteristics, _): return descriptorStep(from: range.lowerBound)

    case (.descriptors(let start, let end), .findInformationResponse(let entries)):
      for entry in entries { addDescriptor(entry) }
      if let next = Self.next(after: entries.last?.handle, start, end) { return .descriptors(start: next, end: end) }
      return end == 0xFFFF ? extendedStep(after: 0) : descriptorStep(from: end + 1)
    case (.descriptors(_, let end), _):
      return end == 0xFFFF ? extendedStep(after: 0) : descriptorStep(from: end + 1)

    case (.extended(let handle), .readResponse(let value)):
      takeExtended(value, of: handle)
      return extendedStep(after: handle)
    case (.extended(let handle), _): return extendedStep(after: handle)
    }
  }

  private mutating func takeExtended(_ value: [UInt8], of handle: AttributeHandle) {
    values[handle] = value
    for service in services.indices where services[service].holds(handle) {
      for index in services[service].characteristics.indices
      where services[service].characteristics[index].extendedHandle == handle {
        services[service].characteristics[index].extended = value.first ?? 0
      }
    }
  }

  private func extendedStep(after handle: AttributeHandle) -> Step? {
    services.lazy.flatMap(\.characteristics).compactMap(\.extendedHandle).filter { $0 > handle }.min().map {
      .extended($0)
    }
  }

  /// The handle to continue from, or `nil` if the range is done or the peer does not advance.
  private static func next(
    after last: AttributeHandle?, _ start: AttributeHandle, _ end: AttributeHandle
  ) -> AttributeHandle? {
    guard let last, last >= start, last < end else { return nil }
    return last + 1
  }

  private mutating func afterServices(_ primary: Bool) -> Step? {
    if primary { return .services(primary: false, start: range.lowerBound, end: range.upperBound) }
    services.sort { $0.handle < $1.handle }
    return services.isEmpty ? nil : .includes(start: range.lowerBound, end: range.upperBound)
  }

  private mutating func addCharacteristic(_ entry: ATTPDU.HandleAndValue) {
    guard entry.value.count >= 5, let uuid = BluetoothUUID(onAir: Array(entry.value.dropFirst(3))),
      let index = services.firstIndex(where: { $0.holds(entry.handle) })
    else { return }
    let valueHandle = UInt16(entry.value[2]) << 8 | UInt16(entry.value[1])
    guard services[index].holds(valueHandle), valueHandle > entry.handle else { return }
    services[index].characteristics.append(
      RemoteCharacteristic(
        handle: entry.handle, valueHandle: valueHandle,
        properties: CharacteristicProperties(rawValue: UInt16(entry.value[0])), uuid: uuid))
  }

  private mutating func addDescriptor(_ entry: ATTPDU.HandleAndType) {
    for index in services.indices where services[index].holds(entry.handle) {
      guard let owner = services[index].characteristics.lastIndex(where: { $0.valueHandle < entry.handle })
      else { return }
      services[index].characteristics[owner].descriptors.append(
        RemoteDescriptor(handle: entry.handle, uuid: entry.type))
    }
  }

  /// The next gap after a characteristic's value, at or after `handle`.
  private func descriptorStep(from handle: AttributeHandle) -> Step? {
    for service in services {
      for (index, characteristic) in service.characteristics.enumerated() {
        let isLast = index + 1 == service.characteristics.count
        let end = isLast ? service.endHandle : service.characteristics[index + 1].handle - 1
        guard characteristic.valueHandle < end else { continue }
        let start = characteristic.valueHandle + 1
        if start >= handle, start <= end { return .descriptors(start: start, end: end) }
      }
    }
    return extendedStep(after: 0)
  }
}

extension RemoteService {
  func holds(_ handle: AttributeHandle) -> Bool { handle > self.handle && handle <= endHandle }
}
