import AppLink
import BluetoothTypes
import TimeTypes

/// Operations on one peripheral, in the order in which apps asked for them. ATT allows one at a time.
struct OperationQueue: Sendable {
  struct Item: Sendable {
    var manager: ManagerKey
    var identifier: OperationIdentifier
    var operation: PeripheralOperation
  }

  /// The operation that bluetoothd has been asked for.
  private struct Running {
    let item: Item
    let givenUpAt: Instant
    var held = HeldValues()
  }

  private(set) var waiting: [Item] = []
  /// Discoveries, kept apart from the queue. They wait for bluetoothd's own discovery and need no transaction of
  /// their own.
  private(set) var discoveries: [Item] = []
  private var running: Running?
  private var retryAt: Instant?
  private var retries = 0

  /// bluetoothd's own transactions take 30 s at most.
  private static let limit: Duration = .seconds(40)
  private static let retryLimit = 10
  /// The delay between tries while another client's operation on the same attribute is under way.
  private static let retryDelay: Duration = .milliseconds(200)
  /// Managers whose apps were told to wait before further writes without response.
  private var crowded: Set<ManagerKey> = []

  var isEmpty: Bool { waiting.isEmpty && running == nil && discoveries.isEmpty }
  var current: Item? { running?.item }
  var waitingCount: Int { waiting.count + discoveries.count }
  var heldCount: Int { running?.held.count ?? 0 }
  func waitingCount(of app: String) -> Int { (waiting + discoveries).count { $0.manager.app == app } }
  func discoversServices(for manager: ManagerKey) -> Bool {
    discoveries.contains { item in
      guard item.manager == manager, case .discoverServices = item.operation else { return false }
      return true
    }
  }
  func hasTimedOut(at now: Instant) -> Bool { running.map { $0.givenUpAt <= now } ?? false }

  /// When the current operation is given up, or the first one is tried again.
  var deadline: Instant? { [running?.givenUpAt, retryAt].compactMap(\.self).min() }

  mutating func add(_ item: Item) {
    waiting.append(item)
    guard item.operation.isWriteCommand else { return }
    if writeCommands(of: item.manager) >= PeripheralOperation.writeWindow { crowded.insert(item.manager) }
  }

  private func writeCommands(of manager: ManagerKey) -> Int {
    let all = waiting + (current.map { [$0] } ?? [])
    return all.count { $0.manager == manager && $0.operation.isWriteCommand }
  }

  /// Whether the app need not be told that this operation has ended. Core Bluetooth reports no end of a write without
  /// response. But an app that was told to wait has to learn when there is room again
  /// (`peripheralIsReady(toSendWriteWithoutResponse:)`).
  mutating func endsUnheard(_ item: Item) -> Bool {
    guard item.operation.isWriteCommand else { return false }
    guard crowded.contains(item.manager) else { return true }
    if writeCommands(of: item.manager) == 0 { crowded.remove(item.manager) }
    return false
  }
  mutating func addDiscovery(_ item: Item) { discoveries.append(item) }

  /// Removes and returns the discoveries that can be answered now.
  mutating func takeDiscoveries(unless mustWait: (PeripheralOperation) -> Bool) -> [Item] {
    let ready = discoveries.filter { !mustWait($0.operation) }
    discoveries.removeAll { !mustWait($0.operation) }
    return ready
  }

  /// The operation that can begin now, or `nil`.
  mutating func next(at now: Instant) -> Item? {
    guard running == nil, let item = waiting.first else { return nil }
    if let retryAt, retryAt > now { return nil }
    // The time for the retry has come, whatever happens to it.
    retryAt = nil
    return item
  }

  /// The next operation is finished without asking bluetoothd.
  mutating func finishNext() { waiting.removeFirst() }

  /// bluetoothd is asked for the next operation.
  mutating func startNext(at now: Instant) {
    running = Running(item: waiting.removeFirst(), givenUpAt: now + Self.limit)
  }

  /// Another client on this machine is using the attribute, so the operation is tried again soon.
  ///
  /// - Returns: the values held in the meantime; `nil` after too many tries.
  mutating func postpone(at now: Instant) -> HeldValues? {
    guard let running, retries < Self.retryLimit else { return nil }
    retries += 1
    retryAt = now + Self.retryDelay
    waiting.insert(running.item, at: 0)
    self.running = nil
    return running.held
  }

  /// bluetoothd has answered. Returns the values held in the meantime.
  mutating func complete() -> HeldValues {
    defer { running = nil }
    retries = 0
    return running?.held ?? HeldValues()
  }

  /// Drops the current operation.
  /// - Returns: the operation, and the values that were held in the meantime. `nil` if none was under way.
  mutating func dropCurrent() -> (item: Item, held: HeldValues)? {
    defer { running = nil }
    return running.map { ($0.item, $0.held) }
  }

  /// Removes the operations that match, and returns them in the order in which apps asked for them. If the current
  /// operation is among them, `running` is that operation with the values held in the meantime.
  mutating func remove(
    where matches: (Item) -> Bool
  ) -> (items: [Item], running: (item: Item, held: HeldValues)?) {
    var removed = (waiting + discoveries).filter(matches)
    waiting.removeAll(where: matches)
    discoveries.removeAll(where: matches)
    let dropped = current.map(matches) == true ? dropCurrent() : nil
    if let dropped { removed.append(dropped.item) }
    return (removed.sorted { $0.identifier.rawValue < $1.identifier.rawValue }, dropped)
  }

  /// Keeps a value that may be the echo of the read under way, or that comes before bluetoothd's answer to a
  /// subscription: a peripheral may send its first value before it confirms (`notify_handler` in
  /// src/shared/gatt-client.c passes it on).
  /// - Returns: what to deliver now: the value itself, or the oldest held value if there are too many.
  mutating func hold(_ value: [UInt8], of handle: AttributeHandle) -> [UInt8]? {
    switch current?.operation {
    case .readCharacteristic(handle), .setNotify(true, handle): running?.held.hold(value)
    default: value
    }
  }

  /// The values held for the current operation. None is held for it from now on.
  mutating func takeHeld() -> [[UInt8]] {
    defer { running?.held = HeldValues() }
    return running.map { Array($0.held.news(around: nil).before) } ?? []
  }
}

extension PeripheralOperation {
  /// The attribute of an operation that needs its own transaction.
  var attribute: AttributeHandle? {
    switch self {
    case .readCharacteristic(let handle), .writeCharacteristic(let handle, _, _), .setNotify(_, let handle),
      .readDescriptor(let handle), .writeDescriptor(let handle, _):
      handle
    case .discoverServices, .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors, .readRSSI,
      .openChannel:
      nil
    }
  }
}
