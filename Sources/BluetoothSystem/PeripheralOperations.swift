import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import TimeTypes

/// Operations on one peripheral, in the order apps asked for them: one at a time, as ATT has it.
struct OperationQueue: Sendable {
  struct Item: Sendable {
    var manager: ManagerKey
    var identifier: OperationIdentifier
    var operation: PeripheralOperation
  }
  var waiting: [Item] = []
  var current: Item?
  /// Discoveries wait for bluetoothd's own, beside the line: they need no transaction of theirs.
  var discoveries: [Item] = []
  var retryAt: Instant?
  var retries = 0
  /// When the current operation is given up: bluetoothd's own transactions take 30 s at most.
  var deadline: Instant?
  static let limit: Duration = .seconds(40)
  /// Values that arrived while a read of the same attribute was under way; one of them may be the read's own echo.
  var heldValues: [[UInt8]] = []
  static let heldLimit = 32
  var isEmpty: Bool { waiting.isEmpty && current == nil && discoveries.isEmpty }
}

extension BluetoothSystem {
  mutating func perform(
    _ key: ManagerKey, _ peer: PeerIdentifier, _ identifier: OperationIdentifier, _ operation: PeripheralOperation
  ) {
    let item = OperationQueue.Item(manager: key, identifier: identifier, operation: operation)
    guard managers[key]?.peripherals[peer]?.told == .connected, bluez.device(peer) != nil else {
      finish(item, peer, .failed(.notConnected))
      return
    }
    var queue = operations[peer] ?? OperationQueue()
    guard queue.waiting.count + queue.discoveries.count < configuration.operationLimit,
      waitingOperations(of: key.app) < configuration.operationLimit * 4
    else {
      finish(item, peer, .failed(.limit("Too many operations wait for this peripheral.")))
      return
    }
    switch operation {
    case .readRSSI:
      readSignal(item, peer)
      return
    case .discoverServices, .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors:
      queue.discoveries.append(item)
    default: queue.waiting.append(item)
    }
    operations[peer] = queue
  }

  private func waitingOperations(of app: String) -> Int {
    operations.values.reduce(0) { sum, queue in
      sum + queue.waiting.count { $0.manager.app == app } + queue.discoveries.count { $0.manager.app == app }
    }
  }

  func hasOpenWork(_ app: String) -> Bool {
    if remoteRequests.hasAny(of: app) { return true }
    if signalReadings.values.contains(where: { $0.isFor(app) }) { return true }
    return operations.values.contains { queue in
      queue.current?.manager.app == app || queue.waiting.contains { $0.manager.app == app }
        || queue.discoveries.contains { $0.manager.app == app }
    }
  }

  mutating func finish(_ item: OperationQueue.Item, _ peer: PeerIdentifier, _ result: OperationResult) {
    tell(item.manager, .operationCompleted(peer, item.identifier, result))
  }

  mutating func runOperations() {
    for peer in operations.keys.sorted() {
      answerDiscoveries(peer)
      startNext(peer)
      if operations[peer]?.isEmpty == true { operations[peer] = nil }
    }
  }

  private mutating func answerDiscoveries(_ peer: PeerIdentifier) {
    guard let device = bluez.device(peer), device.isResolved, let items = operations[peer]?.discoveries else { return }
    // What is not there yet may come; what does not come ends the link, and the discovery with it.
    let waiting = items.filter { mustWait($0.operation, peer) }
    operations[peer]?.discoveries = waiting
    for item in items where !mustWait(item.operation, peer) {
      finish(item, peer, discover(item.operation, device, item.manager))
    }
  }

  private mutating func startNext(_ peer: PeerIdentifier) {
    while var queue = operations[peer], queue.current == nil, let item = queue.waiting.first {
      if let retryAt = queue.retryAt {
        guard retryAt <= now else { return }
        // Its time has come, whatever becomes of it.
        operations[peer]?.retryAt = nil
        queue.retryAt = nil
      }
      guard let device = bluez.device(peer) else { return }
      switch begin(item, device, peer) {
      case .wait: return
      case .finished(let result):
        queue.waiting.removeFirst()
        operations[peer] = queue
        finish(item, peer, result)
      case .call(let path, let request):
        queue.waiting.removeFirst()
        queue.current = item
        queue.deadline = now + OperationQueue.limit
        queue.retryAt = nil
        queue.heldValues = []
        operations[peer] = queue
        call(path, request, for: .operation(peer))
      }
    }
  }

  private enum Beginning {
    case wait
    case finished(OperationResult)
    case call(ObjectPath, BlueZ.Request)
  }

  private mutating func begin(_ item: OperationQueue.Item, _ device: Device, _ peer: PeerIdentifier) -> Beginning {
    guard let handle = item.operation.attribute, let attribute = device.attributes[handle] else {
      // The attribute may be about to be announced.
      return device.isResolved ? .finished(.failed(.att(.invalidHandle))) : .wait
    }
    let properties = attribute.characteristicProperties
    switch item.operation {
    case .readCharacteristic:
      guard properties.contains(.read) else { return .finished(.failed(.att(.readNotPermitted))) }
      return .call(attribute.path, .readValue(offset: 0))
    case .readDescriptor: return .call(attribute.path, .readValue(offset: 0))
    case .writeCharacteristic(_, let value, let withResponse):
      guard value.count <= ATTLimits.maximumValueLength else {
        return .finished(.failed(.att(.invalidAttributeValueLength)))
      }
      guard properties.contains(withResponse ? .write : .writeWithoutResponse) else {
        return .finished(.failed(.att(.writeNotPermitted)))
      }
      return .call(attribute.path, .writeValue(value, WriteOptions(kind: withResponse ? .request : .command)))
    case .writeDescriptor(_, let value):
      guard value.count <= ATTLimits.maximumValueLength else {
        return .finished(.failed(.att(.invalidAttributeValueLength)))
      }
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
    switch sessions[attribute.path]?.step {
    case .active:
      setNotifying(true, attribute.handle, peer, item.manager)
      return .finished(.notifying(true))
    case .starting, .stopping: return .wait
    case .failed, nil: return .call(attribute.path, .startNotify)
    }
  }

  mutating func operationCompleted(_ peer: PeerIdentifier, _ result: Result<Reply, BlueZError>) {
    guard var queue = operations[peer], let item = queue.current else { return }
    let path = item.operation.attribute.flatMap { bluez.device(peer)?.attributes[$0]?.path }
    if case .failure(let error) = result, error.name == BlueZError.inProgress.name, queue.retries < 10 {
      if case .setNotify = item.operation, let path, sessions[path] != nil {
        // Ours is under way already.
      } else {
        // Somebody else on this machine is at this attribute.
        queue.retries += 1
        queue.retryAt = now + .milliseconds(200)
        queue.waiting.insert(item, at: 0)
        queue.current = nil
        queue.deadline = nil
        operations[peer] = queue
        return
      }
    }
    queue.current = nil
    queue.deadline = nil
    queue.retries = 0
    var held = queue.heldValues
    queue.heldValues = []
    operations[peer] = queue
    switch (item.operation, result) {
    case (.readCharacteristic, .success(.bytes(let value))), (.readDescriptor, .success(.bytes(let value))):
      if let echo = held.lastIndex(of: value) { held.remove(at: echo) }
      finish(item, peer, .value(value))
    case (.writeCharacteristic, .success), (.writeDescriptor, .success): finish(item, peer, .done)
    case (.setNotify(let on, let handle), .success):
      if let path { sessions[path] = NotifySession(step: .active, peer: peer) }
      setNotifying(on, handle, peer, item.manager)
      finish(item, peer, .notifying(on))
    case (_, .failure(let error)):
      let isRead = if case .readCharacteristic = item.operation { true } else { false }
      finish(item, peer, .failed(PeerError(error, reading: isRead)))
    default: finish(item, peer, .failed(.coreBluetooth(.unknown, message: "bluetoothd's answer makes no sense.")))
    }
    if let path { for value in held { deliverValue(path, value) } }
  }

  mutating func failCurrentOperation(_ peer: PeerIdentifier, _ error: PeerError) {
    guard let item = operations[peer]?.current else { return }
    operations[peer]?.current = nil
    operations[peer]?.deadline = nil
    calls.forget(.operation(peer))
    finish(item, peer, .failed(error))
  }

  /// Every operation of one manager on one peripheral ends.
  mutating func failOperations(_ peer: PeerIdentifier, of key: ManagerKey, _ error: PeerError) {
    failSignalReadings(peer, of: key, error)
    guard var queue = operations[peer] else { return }
    var failed: [OperationQueue.Item] = []
    if let current = queue.current, current.manager == key {
      failed.append(current)
      // Its reply, should one come, belongs to nobody.
      queue.current = nil
      queue.deadline = nil
      calls.forget(.operation(peer))
    }
    failed += (queue.waiting + queue.discoveries).filter { $0.manager == key }
    queue.waiting.removeAll { $0.manager == key }
    queue.discoveries.removeAll { $0.manager == key }
    operations[peer] = queue.isEmpty ? nil : queue
    for item in failed.sorted(by: { $0.identifier.rawValue < $1.identifier.rawValue }) {
      finish(item, peer, .failed(error))
    }
  }

  /// The app's process is gone; nobody waits for these any more.
  mutating func forgetOperations(ofApp name: String) {
    forgetSignalReadings(ofApp: name)
    for peer in operations.keys {
      guard var queue = operations[peer] else { continue }
      if queue.current?.manager.app == name {
        queue.current = nil
        queue.deadline = nil
        calls.forget(.operation(peer))
      }
      queue.waiting.removeAll { $0.manager.app == name }
      queue.discoveries.removeAll { $0.manager.app == name }
      operations[peer] = queue.isEmpty ? nil : queue
    }
  }
}

extension PeripheralOperation {
  /// The attribute that an operation with a transaction of its own is on.
  var attribute: AttributeHandle? {
    switch self {
    case .readCharacteristic(let handle), .writeCharacteristic(let handle, _, _), .setNotify(_, let handle),
      .readDescriptor(let handle), .writeDescriptor(let handle, _):
      handle
    case .discoverServices, .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors, .readRSSI: nil
    }
  }
}
