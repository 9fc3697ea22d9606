import AppLink
import BluetoothTypes
import TimeTypes

/// Operations on one peripheral, in the order apps asked for them: one at a time, as ATT has it.
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
    /// Values that arrived while a read of the same attribute was under way; one of them may be the read's own echo.
    var heldValues: [[UInt8]] = []
  }

  private(set) var waiting: [Item] = []
  /// Discoveries wait for bluetoothd's own, beside the line: they need no transaction of theirs.
  private(set) var discoveries: [Item] = []
  private var running: Running?
  private var retryAt: Instant?
  private var retries = 0

  /// bluetoothd's own transactions take 30 s at most.
  private static let limit: Duration = .seconds(40)
  private static let retryLimit = 10
  /// How long somebody else's operation on the same attribute may take.
  private static let retryDelay: Duration = .milliseconds(200)
  private static let heldLimit = 32

  var isEmpty: Bool { waiting.isEmpty && running == nil && discoveries.isEmpty }
  var current: Item? { running?.item }
  var waitingCount: Int { waiting.count + discoveries.count }
  var heldCount: Int { running?.heldValues.count ?? 0 }
  func waitingCount(of app: String) -> Int { (waiting + discoveries).count { $0.manager.app == app } }
  func hasAny(of app: String) -> Bool { current?.manager.app == app || waitingCount(of: app) > 0 }
  func hasTimedOut(at now: Instant) -> Bool { running.map { $0.givenUpAt <= now } ?? false }

  /// When the operation under way is given up, or the first one is tried again.
  var deadline: Instant? { [running?.givenUpAt, retryAt].compactMap(\.self).min() }

  mutating func add(_ item: Item) { waiting.append(item) }
  mutating func addDiscovery(_ item: Item) { discoveries.append(item) }

  /// Takes out the discoveries that can be answered.
  mutating func takeDiscoveries(unless mustWait: (PeripheralOperation) -> Bool) -> [Item] {
    let ready = discoveries.filter { !mustWait($0.operation) }
    discoveries.removeAll { !mustWait($0.operation) }
    return ready
  }

  /// The operation that can be begun now; `nil`: none.
  mutating func next(at now: Instant) -> Item? {
    guard running == nil, let item = waiting.first else { return nil }
    if let retryAt, retryAt > now { return nil }
    // Its time has come, whatever becomes of it.
    retryAt = nil
    return item
  }

  /// The next operation needs nobody's answer.
  mutating func finishNext() { waiting.removeFirst() }

  /// bluetoothd is asked for the next operation.
  mutating func startNext(at now: Instant) {
    running = Running(item: waiting.removeFirst(), givenUpAt: now + Self.limit)
  }

  /// Somebody else on this machine is at this attribute: the operation is tried again soon. Returns `false` where it was
  /// tried often enough.
  mutating func postpone(at now: Instant) -> Bool {
    guard let item = current, retries < Self.retryLimit else { return false }
    retries += 1
    retryAt = now + Self.retryDelay
    waiting.insert(item, at: 0)
    running = nil
    return true
  }

  /// bluetoothd has answered. Returns the values that were held meanwhile.
  mutating func complete() -> [[UInt8]] {
    defer { running = nil }
    retries = 0
    return running?.heldValues ?? []
  }

  /// Its reply, should one come, belongs to nobody.
  mutating func dropCurrent() -> Item? {
    defer { running = nil }
    return current
  }

  /// Takes out what matches, in the order in which it was asked for, and says whether that was under way.
  mutating func remove(where matches: (Item) -> Bool) -> (items: [Item], wasRunning: Bool) {
    var removed = (waiting + discoveries).filter(matches)
    waiting.removeAll(where: matches)
    discoveries.removeAll(where: matches)
    let isRunning = current.map(matches) ?? false
    if isRunning, let item = dropCurrent() { removed.append(item) }
    return (removed.sorted { $0.identifier.rawValue < $1.identifier.rawValue }, isRunning)
  }

  /// Keeps a value that may be the echo of the read that is under way. Returns what is to be told now: the value itself, or
  /// the oldest of too many. The echo comes with the read's answer, and so is among the last; what is older is news.
  mutating func hold(_ value: [UInt8], of handle: AttributeHandle) -> [UInt8]? {
    guard case .readCharacteristic(handle)? = current?.operation else { return value }
    running?.heldValues.append(value)
    return heldCount > Self.heldLimit ? running?.heldValues.removeFirst() : nil
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
