import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import TimeTypes

/// Operations on peripherals: checked, carried out one after the other, and answered.
extension BluetoothSystem {
  mutating func perform(
    _ key: ManagerKey, _ peer: PeerIdentifier, _ identifier: OperationIdentifier, _ operation: PeripheralOperation
  ) {
    let item = OperationQueue.Item(manager: key, identifier: identifier, operation: operation)
    guard held[key, peer]?.isConnected == true, bluez.device(peer) != nil else {
      finish(item, peer, .failed(.notConnected))
      return
    }
    var queue = operations[peer] ?? OperationQueue()
    guard queue.waitingCount < configuration.operationLimit,
      waitingOperations(of: key.app) < configuration.operationLimit * 4
    else {
      finish(item, peer, .failed(.limit("Too many operations wait for this peripheral.")))
      return
    }
    switch operation {
    case .readRSSI:
      readSignal(item, peer)
      return
    case .openChannel(let psm):
      openChannel(psm, item, peer)
      return
    case .discoverServices(let uuids):
      queue.addDiscovery(item)
      expectAsked(uuids, peer)
    case .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors:
      queue.addDiscovery(item)
    default: queue.add(item)
    }
    operations[peer] = queue
  }

  private func waitingOperations(of app: String) -> Int {
    operations.values.reduce(0) { $0 + $1.waitingCount(of: app) }
  }

  mutating func finish(_ item: OperationQueue.Item, _ peer: PeerIdentifier, _ result: OperationResult) {
    let isUnheard = operations[peer]?.endsUnheard(item) ?? item.operation.isWriteCommand
    tell(item.manager, .operationCompleted(peer, item.identifier, result), wakes: !isUnheard)
  }

  mutating func runOperations() {
    for peer in changedPeers().filter({ operations[$0] != nil }).sorted() {
      answerDiscoveries(peer)
      startNext(peer)
      if operations[peer]?.isEmpty == true { operations[peer] = nil }
    }
  }

  private mutating func answerDiscoveries(_ peer: PeerIdentifier) {
    guard let device = bluez.device(peer), device.isResolved, var queue = operations[peer] else { return }
    for case .discoverCharacteristics(let uuids?, let service) in queue.discoveries.map(\.operation)
    where !uuids.isEmpty {
      doubtEmptyService(service, of: device)
    }
    // A missing service may still appear, so a discovery of it waits. If it does not appear, either the link is ended
    // and the discovery fails, or the service counts as gone and the discovery is answered without it.
    let items = queue.takeDiscoveries { mustWait($0, peer) }
    operations[peer] = queue
    for item in items {
      finish(item, peer, discover(item.operation, device, item.manager))
    }
  }

  private mutating func startNext(_ peer: PeerIdentifier) {
    while let item = operations[peer]?.next(at: now) {
      guard let device = bluez.device(peer) else { return }
      switch begin(item, device, peer) {
      case .wait: return
      case .finished(let result):
        operations[peer]?.finishNext()
        finish(item, peer, result)
      case .call where !calls.hasRoom(for: item.manager.app):
        operations[peer]?.finishNext()
        finish(
          item, peer,
          .failed(.limit("bluetoothd has left too many operations of this app unanswered; restart bluetooth.service.")))
      case .call(let path, let request):
        operations[peer]?.startNext(at: now)
        call(path, request, for: .operation(peer))
      }
    }
  }

  private enum Beginning {
    case wait
    case finished(OperationResult)
    case call(ObjectPath, BlueZ.Request)
  }

  /// What a write in one piece carries before the MTU is agreed on.
  private static let earlyWriteRoom = ATTLimits.defaultMTU - 3

  private mutating func begin(_ item: OperationQueue.Item, _ device: Device, _ peer: PeerIdentifier) -> Beginning {
    guard let handle = item.operation.attribute, let attribute = device.attributes[handle] else {
      // The attribute may be about to be announced.
      if device.isResolved, let handle = item.operation.attribute {
        doubtService(lacking: handle, peer, of: item.manager)
      }
      return device.isResolved ? .finished(.failed(.att(.invalidHandle))) : .wait
    }
    guard knows(attribute, peer, item.manager) else { return .finished(.failed(.att(.invalidHandle))) }
    let properties = attribute.characteristicProperties
    switch item.operation {
    case .readCharacteristic:
      guard properties.contains(.read) else { return .finished(.failed(.att(.readNotPermitted))) }
      guard mayCarry(0, room: 0, peer) else { return .wait }
      return .call(attribute.path, .readValue(offset: 0))
    case .readDescriptor:
      guard mayCarry(0, room: 0, peer) else { return .wait }
      return .call(attribute.path, .readValue(offset: 0))
    case .writeCharacteristic(_, let value, let withResponse):
      guard value.count <= ATTLimits.maximumValueLength else {
        return .finished(.failed(.att(.invalidAttributeValueLength)))
      }
      guard properties.contains(withResponse ? .write : .writeWithoutResponse) else {
        return .finished(.failed(.att(.writeNotPermitted)))
      }
      guard mayCarry(value.count, room: Self.earlyWriteRoom, peer) else { return .wait }
      return .call(attribute.path, .writeValue(value, WriteOptions(kind: withResponse ? .request : .command)))
    case .writeDescriptor(_, let value):
      guard value.count <= ATTLimits.maximumValueLength else {
        return .finished(.failed(.att(.invalidAttributeValueLength)))
      }
      guard mayCarry(value.count, room: Self.earlyWriteRoom, peer) else { return .wait }
      return .call(attribute.path, .writeValue(value, WriteOptions(kind: .request)))
    case .setNotify(let on, _): return beginNotify(on, item, attribute, properties, peer)
    default: return .finished(.failed(.att(.requestNotSupported)))
    }
  }

  private mutating func beginNotify(
    _ on: Bool, _ item: OperationQueue.Item, _ attribute: RemoteAttribute, _ properties: CharacteristicProperties,
    _ peer: PeerIdentifier
  ) -> Beginning {
    guard properties.contains(.notify) || properties.contains(.indicate) else {
      return .finished(.failed(.att(.requestNotSupported)))
    }
    if !on {
      setNotifying(false, attribute.handle, peer, item.manager)
      return .finished(.notifying(false))
    }
    switch sessions[attribute.path] {
    case .active:
      setNotifying(true, attribute.handle, peer, item.manager)
      return .finished(.notifying(true))
    case .starting, .unanswered, .stopping: return .wait
    case .failed, nil: return .call(attribute.path, .startNotify)
    }
  }

  mutating func operationCompleted(_ peer: PeerIdentifier, _ result: Result<Reply, BlueZError>) {
    guard let item = operations[peer]?.current else { return }
    let path = item.operation.attribute.flatMap { bluez.device(peer)?.attributes[$0]?.path }
    if case .failure(let error) = result, error.kind == .inProgress {
      if case .setNotify = item.operation, let path, sessions[path] != nil {
        // Our own session is already starting.
      } else if let held = operations[peer]?.postpone(at: now) {
        return deliver(held.news(around: nil).before, path)
      }
    }
    let held = operations[peer]?.complete() ?? HeldValues()
    let read: [UInt8]? = if case .success(.bytes(let value)) = result { value } else { nil }
    let news = held.news(around: read)
    // The peripheral sent these before the answer, and their order says which value is the newest. An app hears those
    // of a subscription once it is subscribed.
    let isSubscription = if case .setNotify = item.operation { true } else { false }
    if !isSubscription { deliver(news.before, path) }
    switch (item.operation, result) {
    case (.readCharacteristic, .success(.bytes(let value))), (.readDescriptor, .success(.bytes(let value))):
      finish(item, peer, .value(value))
    case (.writeCharacteristic, .success), (.writeDescriptor, .success): finish(item, peer, .done)
    case (.setNotify(let on, let handle), .success):
      if let path, let device = bluez.device(peer) { sessions.isActive(path, of: peer, at: device.path) }
      setNotifying(on, handle, peer, item.manager)
      finish(item, peer, .notifying(on))
    case (_, .failure(let error)):
      if case .setNotify(true, let handle) = item.operation, error.kind == .notSupported {
        doubtService(of: handle, peer)
      }
      let isRead = if case .readCharacteristic = item.operation { true } else { false }
      finish(item, peer, .failed(PeerError(error, reading: isRead)))
    default: finish(item, peer, .failed(.coreBluetooth(.unknown, message: "bluetoothd's answer makes no sense.")))
    }
    deliver(isSubscription ? news.before : news.after, path)
  }

  private mutating func deliver(_ news: some Sequence<[UInt8]>, _ path: ObjectPath?) {
    guard let path else { return }
    for value in news { deliverValue(path, value) }
  }

  mutating func failCurrentOperation(_ peer: PeerIdentifier, _ error: PeerError) {
    guard let (item, held) = operations[peer]?.dropCurrent() else { return }
    abandon(item, peer, held)
    finish(item, peer, .failed(error))
  }

  /// bluetoothd goes on with an operation that no app waits for any more. Its reply is ignored, except a read's: that
  /// shows which of the values that arrive is the read's echo (`AbandonedReads`).
  private mutating func abandon(_ item: OperationQueue.Item, _ peer: PeerIdentifier, _ held: HeldValues) {
    guard case .readCharacteristic(let handle) = item.operation, let device = bluez.device(peer), device.isConnected,
      let devicePath = bluez.devicePaths[peer], let path = device.attributes[handle]?.path
    else { return giveUp(item, peer) }
    abandonedReads.began(path, of: devicePath, held: held)
    giveUp(item, peer, countingAs: .abandonedRead(path))
  }

  private mutating func giveUp(
    _ item: OperationQueue.Item, _ peer: PeerIdentifier, countingAs other: PendingCall? = nil
  ) {
    let app = item.manager.app
    calls.giveUp(.operation(peer), of: app, countingAs: other)
    let count = calls.givenUpCount(of: app)
    guard count == PendingCalls.appLimit else { return }
    journal(.operationsRefused, [.app: app, .times: String(count), .advice: "restart bluetooth.service"])
  }

  /// The link is gone, and its apps are about to be told. Values that were held for an echo came before that.
  mutating func deliverHeldValues(of peer: PeerIdentifier) {
    guard let devicePath = bluez.devicePaths[peer] else { return }
    for (path, values) in abandonedReads.linkEnded(of: devicePath) { deliver(values, path) }
    guard let attribute = operations[peer]?.current?.operation.attribute,
      let path = bluez.device(peer)?.attributes[attribute]?.path
    else { return }
    deliver(operations[peer]?.takeHeld() ?? [], path)
  }

  mutating func abandonedReadCompleted(_ path: ObjectPath, _ result: Result<Reply, BlueZError>) {
    let value: [UInt8]? = if case .success(.bytes(let value)) = result { value } else { nil }
    deliver(abandonedReads.answered(path, value), path)
  }

  /// Fails every operation of one manager on one peripheral.
  mutating func failOperations(_ peer: PeerIdentifier, of key: ManagerKey, _ error: PeerError) {
    failSignalReadings(peer, of: key, error)
    failChannelOpenings(peer, of: key, error)
    for item in removeOperations(peer, where: { $0.manager == key }) { finish(item, peer, .failed(error)) }
  }

  private mutating func removeOperations(_ peer: PeerIdentifier, where matches: (OperationQueue.Item) -> Bool)
    -> [OperationQueue.Item]
  {
    guard let removed = operations[peer]?.remove(where: matches) else { return [] }
    if let running = removed.running { abandon(running.item, peer, running.held) }
    if operations[peer]?.isEmpty == true { operations[peer] = nil }
    return removed.items
  }

  /// The app's process has ended, so its operations need no answer.
  mutating func forgetOperations(ofApp name: String) {
    forgetChannels(ofApp: name)
    forgetOperations { $0.manager.app == name }
  }

  /// The manager is gone, and its number may be given to another one.
  mutating func forgetOperations(of key: ManagerKey) {
    forgetChannelOpenings { $0.manager == key }
    forgetOperations { $0.manager == key }
  }

  private mutating func forgetOperations(where matches: (OperationQueue.Item) -> Bool) {
    forgetSignalReadings(where: matches)
    for peer in Array(operations.keys) { _ = removeOperations(peer, where: matches) }
  }
}
