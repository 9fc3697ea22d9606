import AppLink
import BluetoothTypes
import TimeTypes

/// One peripheral as one manager has it: whether it is asked for, and what the app knows of it.
struct Peripheral: Sendable {
  private(set) var options = ConnectOptions()
  private(set) var isWanted = false
  /// The state after every event that waits; `delivered` is the state the app has been told.
  private(set) var told = PeripheralState.disconnected
  private(set) var delivered = PeripheralState.disconnected
  var services: [ServiceSnapshot]?
  /// From when on the request counts, as its app has it.
  private(set) var notBefore = Instant.zero

  init() {}

  init(_ record: PeripheralRecord) {
    options = record.options
    delivered = record.told
    told = record.told
    services = record.services
    // What was noticed but not told is noticed again: a loss, or a link that came and went for a request.
    isWanted = record.isWanted || isHeldByApp
  }

  /// The app believes it connected, or is about to hear so.
  var isConnected: Bool { told == .connected }
  /// A request that waits for its link.
  var isPending: Bool { isWanted && !isConnected }
  /// Nobody wants it, and its app has heard that.
  var isIdle: Bool { !isWanted && told == .disconnected && delivered == .disconnected }

  /// Connected or pending, as the app's last process knew it. What has happened since, a link that came and went even, is
  /// told after the restoration.
  var isRestored: Bool { isWanted || isHeldByApp }
  private var isHeldByApp: Bool { delivered == .connected || delivered == .connecting }

  func isDue(at now: Instant) -> Bool { isWanted && notBefore <= now }

  // MARK: What the app asks

  /// Returns whether that is a new request.
  mutating func request(_ options: ConnectOptions, at now: Instant) -> Bool {
    self.options = options
    guard !isWanted else { return false }
    isWanted = true
    notBefore = now + .seconds(options.startDelaySeconds)
    told = .connecting
    // What still waits to be told is older than this request.
    delivered = .connecting
    return true
  }

  /// The app knows what it has taken back, whether or not it has heard the answer.
  mutating func isTakenBack() { (told, delivered) = (.disconnected, .disconnected) }

  /// It is not asked for any more.
  mutating func release() {
    isWanted = false
    services = services?.withoutSubscriptions
  }

  /// The app has gone on while the system was away: what it holds now is what it wants.
  mutating func resume(as state: PeripheralState, _ options: ConnectOptions?, _ shown: [ServiceSnapshot]?) {
    isWanted = true
    self.options = options ?? self.options
    (told, delivered) = (state, state)
    if let shown { services = shown }
  }

  // MARK: What happens to it

  mutating func linkIsUp() { told = .connected }

  mutating func linkIsLost(isBonded: Bool?) {
    let isReconnecting = options.enableAutoReconnect
    isWanted = isReconnecting
    told = isReconnecting ? .connecting : .disconnected
    // A peer without a bond forgets who was subscribed.
    if isBonded == false { services = services?.withoutSubscriptions }
  }

  /// The request can't be kept any more.
  mutating func hasFailed() { told = .disconnected }

  /// What an app's process has been told is what its successor finds restored.
  mutating func wasDelivered(_ state: PeripheralState) {
    // A request made after the event was queued is newer than the event.
    delivered = state == .disconnected && isWanted ? .connecting : state
  }
}

extension ConnectOptions {
  /// With a delay that is a number: none, or a day at most.
  var bounded: ConnectOptions {
    var options = self
    options.startDelaySeconds = startDelaySeconds.isFinite ? min(max(startDelaySeconds, 0), 86400) : 0
    return options
  }
}

extension [ServiceSnapshot] {
  var attributeCount: Int {
    reduce(0) { sum, service in
      sum + 1 + (service.includedServices?.count ?? 0)
        + (service.characteristics ?? []).reduce(0) { $0 + 1 + ($1.descriptors?.count ?? 0) }
    }
  }

  var withoutSubscriptions: [ServiceSnapshot] {
    map { service in
      var service = service
      service.characteristics = service.characteristics?.map { characteristic in
        var characteristic = characteristic
        characteristic.isNotifying = false
        return characteristic
      }
      return service
    }
  }
}
