import AppLink
import BluetoothSystem
import BluetoothTypes

/// An app as its developer would write it, together with what its library does: it takes events and returns requests.
/// It complains about what no app may be told.
package struct ModelApp: Sendable {
  let actor: Actor
  let targets: [Target]
  var disk = Disk()

  // The process
  var process: ProcessIdentity?
  var isSuspended = false
  var link: AppLinkIdentifier?
  var lastEvent: UInt64 = 0
  var managers: [Int: ModelManager] = [:]
  /// The process dies of the event after that many more.
  var diesAfter: Int?
  private var lastOperation: UInt64 = 0
  private(set) var complaints: [String] = []

  /// What the app has written to its own disk: what it wants, and what it has learned.
  struct Disk: Sendable {
    var wishes: [Int: Set<Target>] = [:]
    /// Connections that the system is to make again by itself.
    var kept: [Int: Set<Target>] = [:]
    var subscriptions: [Int: Set<Target>] = [:]
    var scans: [Int: Bool] = [:]
    var identifiers: [Target: PeerIdentifier] = [:]
    /// The newest value that each manager was told.
    var lastValues: [Int: [Target: UInt32]] = [:]
    /// What was being read when the system died: the answer may look like one more notification of the newest value.
    var echoes: [Int: Set<Target>] = [:]
    var isPublishing = false
    var newestValue: UInt32 = 0
    /// Writes that were answered with success, and those that reached this app.
    var writesDone = 0
    var writesTaken = 0
    /// The same of L2CAP channels.
    var channelsOpened = 0
    var channelsTaken = 0
  }

  init(_ actor: Actor, targets: [Target]) { (self.actor, self.targets) = (actor, targets) }

  mutating func complain(_ text: String) {
    if complaints.count < 20 { complaints.append("\(actor.name): \(text)") }
  }

  // MARK: The process

  mutating func die() {
    process = nil
    isSuspended = false
    link = nil
    lastEvent = 0
    managers = [:]
    diesAfter = nil
  }

  var lastHeard: EventSequence? { lastEvent > 0 ? EventSequence(lastEvent) : nil }

  /// The app is attached. A new process makes its managers; an old one tells the system of those that it has.
  mutating func attached(_ reply: AttachReply) -> [Request] {
    if managers.isEmpty {
      for (index, plan) in actor.managers.enumerated() {
        let restores = plan.role == .central ? reply.centralsToRestore : reply.peripheralsToRestore
        let isRestored = plan.restoreIdentifier.map(restores.contains) ?? false
        guard index == 0 || plan.role == .peripheral || isRestored else { continue }
        managers[index + 1] = ModelManager(plan)
      }
    }
    return managers.keys.sorted().flatMap { number -> [Request] in
      guard var manager = managers[number] else { return [] }
      // The link is new: answers to earlier requests won't come.
      manager.outstanding = [:]
      manager.credit = 0
      let confirmed = manager.confirmCancellations()
      managers[number] = manager
      let identifier = ManagerIdentifier(UInt32(number))
      guard manager.hasBeenTold else { return [.createManager(identifier, manager.creation)] }
      return [.resumeManager(identifier, manager.creation, manager.view)]
        + confirmed.flatMap { reconnect(to: $0, number) } + askAgain(number)
    }
  }

  mutating func makeManager(_ number: Int) -> [Request] {
    guard link != nil, !isSuspended, managers[number] == nil else { return [] }
    let manager = ModelManager(actor.managers[number - 1])
    managers[number] = manager
    return [.createManager(ManagerIdentifier(UInt32(number)), manager.creation)]
  }

  mutating func dropManager(_ number: Int) -> [Request] {
    guard link != nil, !isSuspended, managers.removeValue(forKey: number) != nil else { return [] }
    disk.wishes[number] = nil
    disk.kept[number] = nil
    disk.subscriptions[number] = nil
    disk.scans[number] = nil
    return [.destroyManager(ManagerIdentifier(UInt32(number)))]
  }

  /// What this process waits to read.
  var reads: Set<Target> {
    Set(
      managers.values.flatMap { manager in
        manager.outstanding.values.compactMap { asked -> Target? in
          guard case .readCharacteristic = asked.operation else { return nil }
          return target(asked.peer)
        }
      })
  }

  /// The system has died while apps waited to read these.
  mutating func systemDied(during reads: Set<Target>) {
    for index in actor.managers.indices { disk.echoes[index + 1, default: []].formUnion(reads) }
  }

  // MARK: Events

  mutating func receive(_ event: AppLink.Event) -> [Request] {
    if event.sequence.rawValue != lastEvent + 1 { complain("event \(event.sequence.rawValue) after \(lastEvent)") }
    if isSuspended { complain("told of \(event.body.kind) while suspended") }
    lastEvent = event.sequence.rawValue
    guard let identifier = event.manager else { return [.handled(through: event.sequence)] }
    let number = Int(identifier.rawValue)
    guard let manager = managers[number] else {
      complain("told of \(event.body.kind) for manager \(number), which it does not have")
      return [.handled(through: event.sequence)]
    }
    let requests = manager.plan.role == .central ? central(event.body, number) : peripheral(event.body, number)
    managers[number]?.hasBeenTold = true
    return requests + [.handled(through: event.sequence)]
  }

  func target(_ peer: PeerIdentifier) -> Target? { disk.identifiers.first { $0.value == peer }?.key }

  private mutating func central(_ body: AppLink.Event.Body, _ number: Int) -> [Request] {
    switch body {
    case .willRestoreCentral(let restoration):
      if managers[number]?.hasBeenTold == true { complain("willRestoreState is not the first") }
      managers[number]?.view.peripherals = restoration.peripherals
      managers[number]?.view.scan = restoration.scan
      return []
    case .stateChanged(let state): return stateChanged(state, number)
    case .discovered(let snapshot, let advertisement, _): return discovered(snapshot, advertisement, number)
    case .connected(let snapshot):
      switch managers[number]?.state(of: snapshot.identifier) {
      case .connecting: break
      // Asked for again while it was connected.
      case .connected: break
      case .disconnecting: return []
      case nil, .disconnected: complain("connected, but did not ask")
      }
      managers[number]?.show(snapshot)
      return explore(snapshot.identifier, number)
    case .disconnected(let peer, _, _, let isReconnecting):
      managers[number]?.setState(isReconnecting ? .connecting : nil, of: peer)
      managers[number]?.reported[peer] = nil
      managers[number]?.openChannels.removeAll { $0.peer == peer }
      return isReconnecting ? [] : reconnect(to: peer, number)
    case .failedToConnect(let peer, let error):
      managers[number]?.setState(nil, of: peer)
      // Its user would have to act. Then the app would ask again. `Reference` knows whether it is true.
      if error.saysThatBondIsLost { return [] }
      complain("failed to connect: \(error)")
      return []
    case .operationCompleted(let peer, let operation, let result): return completed(peer, operation, result, number)
    case .valueUpdated(let peer, _, let value):
      valueUpdated(peer, value, number)
      return []
    case .servicesModified(let peer, let invalidated):
      managers[number]?.forgetServices(invalidated, of: peer)
      return managers[number]?.state(of: peer) == .connected ? explore(peer, number) : []
    case .connectionEvent(let snapshot, let isConnected):
      linkSeen(snapshot.identifier, isConnected, number)
      return []
    case .nameChanged, .mtuChanged: return []
    default:
      complain("a central manager is told of \(body.kind)")
      return []
    }
  }

  private mutating func stateChanged(_ state: ManagerState, _ number: Int) -> [Request] {
    if managers[number]?.view.state == state { complain("told twice that the state is \(state)") }
    managers[number]?.view.state = state
    guard state == .poweredOn else {
      // The library ends a scan with the radio.
      guard managers[number]?.view.scan != nil else { return [] }
      managers[number]?.endScan()
      return [.central(ManagerIdentifier(UInt32(number)), .stopScan)]
    }
    var requests: [Request] = []
    if let allowsDuplicates = disk.scans[number], managers[number]?.view.scan == nil {
      requests += scan(number, allowsDuplicates: allowsDuplicates)
    }
    for target in (disk.wishes[number] ?? []).sorted() {
      if let peer = disk.identifiers[target] { requests += reconnect(to: peer, number) }
    }
    return requests
  }

  private mutating func discovered(
    _ snapshot: PeripheralSnapshot, _ advertisement: AdvertisementData, _ number: Int
  ) -> [Request] {
    guard managers[number]?.view.scan != nil else { return [] }
    managers[number]?.hears(of: snapshot.identifier, advertisement)
    let shown = advertisement.serviceUUIDs + advertisement.overflowServiceUUIDs
    guard let target = targets.first(where: { shown.contains($0.service) }) else { return [] }
    disk.identifiers[target] = snapshot.identifier
    return reconnect(to: snapshot.identifier, number)
  }

  /// Asks for a connection that the app still wants.
  private mutating func reconnect(to peer: PeerIdentifier, _ number: Int, delay: Duration = .zero) -> [Request] {
    guard let target = target(peer), disk.wishes[number]?.contains(target) == true,
      managers[number]?.view.state == .poweredOn, managers[number]?.state(of: peer) == nil
    else { return [] }
    managers[number]?.setState(.connecting, of: peer)
    let options = ConnectOptions(
      enableAutoReconnect: disk.kept[number]?.contains(target) == true,
      startDelaySeconds: Double(delay.components.seconds))
    managers[number]?.view.connectOptions[peer] = options
    return [.central(ManagerIdentifier(UInt32(number)), .connect(peer, options))]
  }

  private mutating func valueUpdated(_ peer: PeerIdentifier, _ value: [UInt8], _ number: Int) {
    if managers[number]?.state(of: peer) != .connected { complain("a value, but not connected") }
    guard let target = target(peer) else { return complain("a value from a stranger") }
    let value = UInt32(bytes: value)
    if let last = disk.lastValues[number]?[target], value <= last {
      if value == last, disk.echoes[number]?.remove(target) != nil { return }
      complain("the value \(value) of \(target) after \(last)")
    }
    disk.lastValues[number, default: [:]][target] = value
  }

  // MARK: Exploring

  /// What is left to do until the subscription that the app wants is there.
  mutating func explore(_ peer: PeerIdentifier, _ number: Int) -> [Request] {
    guard let target = target(peer), disk.subscriptions[number]?.contains(target) == true,
      let shown = managers[number]?.view.peripherals.first(where: { $0.identifier == peer }), shown.state == .connected,
      managers[number]?.isExploring(peer) == false
    else { return [] }
    guard let service = shown.services?.first(where: { $0.uuid == target.service }) else {
      return perform(.discoverServices([target.service]), peer, number)
    }
    guard let characteristics = service.characteristics, !characteristics.isEmpty else {
      return perform(.discoverCharacteristics(nil, service: service.handle), peer, number)
    }
    guard let offer = characteristics.first(where: { $0.uuid == target.offerUUID }), !offer.isNotifying else {
      return []
    }
    return perform(.setNotify(true, characteristic: offer.handle), peer, number)
  }

  mutating func perform(_ operation: PeripheralOperation, _ peer: PeerIdentifier, _ number: Int) -> [Request] {
    lastOperation += 1
    let identifier = OperationIdentifier(lastOperation)
    managers[number]?.outstanding[identifier] = ModelManager.Outstanding(peer: peer, operation: operation)
    return [.central(ManagerIdentifier(UInt32(number)), .perform(peer, identifier, operation))]
  }

  private mutating func completed(
    _ peer: PeerIdentifier, _ operation: OperationIdentifier, _ result: OperationResult, _ number: Int
  ) -> [Request] {
    guard let asked = managers[number]?.outstanding.removeValue(forKey: operation) else {
      complain("told of the end of an operation that it does not wait for")
      return []
    }
    if asked.peer != peer { complain("an operation on another peripheral ended") }
    switch result {
    case .services(let services):
      managers[number]?.change(peer) { $0.services = services }
      // It is not there now. The app hears if that changes.
      return services.isEmpty ? [] : explore(peer, number)
    case .characteristics(let service, let found):
      managers[number]?.change(peer) { shown in
        guard let index = shown.services?.firstIndex(where: { $0.handle == service }) else { return }
        shown.services?[index].characteristics = found
      }
      return found.isEmpty ? [] : explore(peer, number)
    case .notifying(let isOn):
      if case .setNotify(_, let handle) = asked.operation {
        managers[number]?.change(peer) { $0.setNotifying(isOn, handle) }
      }
    case .done: if case .writeCharacteristic(_, _, withResponse: true) = asked.operation { disk.writesDone += 1 }
    case .channel(let descriptor, _):
      disk.channelsOpened += 1
      if let target = target(peer) { keepChannel(descriptor, target, peer, number) }
    case .failed, .includedServices, .descriptors, .value, .rssi: break
    }
    return []
  }

  // MARK: Calls that a schedule makes

  func mayCall(_ number: Int) -> Bool {
    link != nil && !isSuspended && managers[number]?.view.state == .poweredOn
  }

  mutating func scan(_ number: Int, allowsDuplicates: Bool) -> [Request] {
    guard mayCall(number) else { return [] }
    disk.scans[number] = allowsDuplicates
    let request = ScanRequest(services: targets.map(\.service), allowDuplicates: allowsDuplicates)
    managers[number]?.begin(request)
    return [.central(ManagerIdentifier(UInt32(number)), .scan(request))]
  }

  mutating func stopScan(_ number: Int) -> [Request] {
    guard mayCall(number) else { return [] }
    disk.scans[number] = nil
    guard managers[number]?.view.scan != nil else { return [] }
    managers[number]?.endScan()
    return [.central(ManagerIdentifier(UInt32(number)), .stopScan)]
  }

  mutating func connect(_ number: Int, _ target: Target, isKept: Bool = false, delay: Duration = .zero)
    -> [Request]
  {
    guard mayCall(number) else { return [] }
    disk.wishes[number, default: []].insert(target)
    if isKept { disk.kept[number, default: []].insert(target) } else { disk.kept[number]?.remove(target) }
    guard let peer = disk.identifiers[target] else {
      return managers[number]?.view.scan == nil ? scan(number, allowsDuplicates: false) : []
    }
    return reconnect(to: peer, number, delay: delay)
  }

  mutating func cancel(_ number: Int, _ target: Target) -> [Request] {
    guard mayCall(number) else { return [] }
    disk.wishes[number]?.remove(target)
    guard let peer = disk.identifiers[target], let state = managers[number]?.state(of: peer),
      state == .connecting || state == .connected
    else { return [] }
    managers[number]?.setState(.disconnecting, of: peer)
    return [.central(ManagerIdentifier(UInt32(number)), .cancelConnection(peer))]
  }

  mutating func subscribe(_ number: Int, _ target: Target, _ isOn: Bool) -> [Request] {
    guard mayCall(number) else { return [] }
    guard !isOn else {
      disk.subscriptions[number, default: []].insert(target)
      return disk.identifiers[target].map { explore($0, number) } ?? []
    }
    disk.subscriptions[number]?.remove(target)
    guard let (peer, offer) = attribute(target, target.offerUUID, number), offer.isNotifying else { return [] }
    return perform(.setNotify(false, characteristic: offer.handle), peer, number)
  }

  mutating func read(_ number: Int, _ target: Target) -> [Request] {
    guard mayCall(number), let (peer, offer) = attribute(target, target.offerUUID, number) else { return [] }
    return perform(.readCharacteristic(offer.handle), peer, number)
  }

  mutating func write(_ number: Int, _ target: Target) -> [Request] {
    guard mayCall(number), let (peer, command) = attribute(target, target.commandUUID, number) else { return [] }
    return perform(.writeCharacteristic(command.handle, value: [1, 2, 3], withResponse: true), peer, number)
  }

  /// As much at once as an app has that does not ask whether there is room.
  mutating func stream(_ number: Int, _ target: Target) -> [Request] {
    guard mayCall(number), let (peer, stream) = attribute(target, target.streamUUID, number) else { return [] }
    return (0..<20).flatMap { part in
      perform(.writeCharacteristic(stream.handle, value: [UInt8(part)], withResponse: false), peer, number)
    }
  }

  mutating func readSignal(_ number: Int, _ target: Target) -> [Request] {
    guard mayCall(number), let peer = disk.identifiers[target], managers[number]?.state(of: peer) == .connected else {
      return []
    }
    return perform(.readRSSI, peer, number)
  }

  /// A characteristic of a connected target, once it was discovered.
  func attribute(_ target: Target, _ uuid: BluetoothUUID, _ number: Int) -> (PeerIdentifier, CharacteristicSnapshot)? {
    guard let peer = disk.identifiers[target],
      let shown = managers[number]?.view.peripherals.first(where: { $0.identifier == peer }), shown.state == .connected,
      let service = shown.services?.first(where: { $0.uuid == target.service }),
      let found = service.characteristics?.first(where: { $0.uuid == uuid })
    else { return nil }
    return (peer, found)
  }
}

extension UInt32 {
  init(bytes: [UInt8]) { self = bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) } }
  var bytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> (8 * UInt32($0))) } }
}
