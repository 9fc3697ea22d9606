import AppLink
import BluetoothTypes
import TimeTypes

/// One peripheral as one manager sees it: whether it is requested, and what the app knows about it.
struct Peripheral: Sendable {
  private(set) var options = ConnectOptions()
  private(set) var isWanted = false
  /// The state after every queued event. `delivered` is the state after the last event that the app has handled.
  private(set) var told = PeripheralState.disconnected
  private(set) var delivered = PeripheralState.disconnected
  var services: [ServiceSnapshot]?
  /// Characteristics whose subscriptions have ended with a link, of whose loss the app has not heard yet.
  private var endedSubscriptions: Set<AttributeHandle> = []
  /// Services that the app was told are invalid, and that are kept for their subscriptions.
  var invalidServices: Set<AttributeHandle> = []
  /// All services that were there when the app last discovered services, and those that have appeared since. `nil` if
  /// it has discovered none.
  var seenServices: Set<AttributeHandle>?
  /// The present link has completed the request, and the journal says so. An app that kept running while the system was
  /// away is told of the connection once more, even if an event about it was queued already. That is not a second
  /// completion.
  private(set) var isCompleted = false
  /// The time from which the request counts, as set by the app.
  private(set) var notBefore = Instant.zero
  /// When the app asked for it, or when its link came up, in seconds since 1970. It is for people, and is not on disk:
  /// `nil` means that it was before this system started.
  private(set) var sinceUnixSeconds: Double?

  init() {}

  init(_ record: PeripheralRecord) {
    options = record.options
    delivered = record.told
    told = record.told
    services = record.services
    // Events that were noticed but not delivered will be noticed again: a loss, or a link for a request that came and
    // went.
    isWanted = record.isWanted || isHeldByApp
  }

  /// The app believes it is connected, or is about to be told so.
  var isConnected: Bool { told == .connected }
  /// A request that waits for its link.
  var isPending: Bool { isWanted && !isConnected }
  /// No longer requested, and its app knows that.
  var isIdle: Bool { !isWanted && told == .disconnected && delivered == .disconnected }

  /// Connected or pending, as the app's last process knew it. Everything since, even a link that came and went, is
  /// told after the restoration.
  var isRestored: Bool { isWanted || isHeldByApp }
  private var isHeldByApp: Bool { delivered == .connected || delivered == .connecting }

  /// `services` as the app's last process knew them: subscribed until it has heard of the loss.
  var restoredServices: [ServiceSnapshot]? {
    guard !endedSubscriptions.isEmpty else { return services }
    return services?.withSubscriptions { $0.isNotifying || endedSubscriptions.contains($0.handle) }
  }

  func isDue(at now: Instant) -> Bool { isWanted && notBefore <= now }

  // MARK: What the app asks

  /// Returns whether the request is new.
  mutating func request(_ options: ConnectOptions, at now: Instant, unixSeconds: Double) -> Bool {
    self.options = options
    guard !isWanted else { return false }
    isWanted = true
    isCompleted = false
    notBefore = now + .seconds(options.startDelaySeconds)
    sinceUnixSeconds = unixSeconds
    told = .connecting
    // Everything still queued is older than this request.
    delivered = .connecting
    endedSubscriptions = []
    return true
  }

  /// The app cancelled the request. It counts as told, even if it has not received the answer yet.
  mutating func isTakenBack() {
    (told, delivered) = (.disconnected, .disconnected)
    endedSubscriptions = []
  }

  /// It is no longer requested.
  mutating func release() {
    isWanted = false
    services = services?.withSubscriptions { _ in false }
  }

  /// The app kept running while the system was away. What it holds now is what it wants.
  mutating func resume(as state: PeripheralState, _ options: ConnectOptions?, _ shown: [ServiceSnapshot]?) {
    isWanted = true
    self.options = options ?? self.options
    (told, delivered) = (state, state)
    endedSubscriptions = []
    if let shown { services = shown }
    invalidServices = []
  }

  /// The app's next process knows nothing of it.
  mutating func isForgotten() {
    (services, seenServices, invalidServices, endedSubscriptions) = (nil, nil, [], [])
  }

  // MARK: Events

  mutating func linkIsUp(unixSeconds: Double) {
    told = .connected
    isCompleted = true
    // The app is shown all services that are kept, and may use them again.
    invalidServices = []
    sinceUnixSeconds = unixSeconds
  }

  mutating func linkIsLost(isBonded: Bool?, unixSeconds: Double) {
    sinceUnixSeconds = unixSeconds
    isCompleted = false
    let isReconnecting = options.enableAutoReconnect
    isWanted = isReconnecting
    told = isReconnecting ? .connecting : .disconnected
    // A peer without a bond forgets its subscribers.
    guard isBonded == false else { return }
    if delivered == .connected { endedSubscriptions.formUnion(services?.subscriptions ?? []) }
    services = services?.withSubscriptions { _ in false }
  }

  /// The request can't be kept any more.
  mutating func hasFailed() { told = .disconnected }

  /// Records what an app's process has handled: its next process finds exactly that restored.
  mutating func wasDelivered(_ state: PeripheralState) {
    // A request made after the event was queued is newer than the event.
    delivered = state == .disconnected && isWanted ? .connecting : state
    if state != .connected { endedSubscriptions = [] }
  }
}

extension ConnectOptions {
  /// Limits the delay to a valid number: zero to one day.
  var bounded: ConnectOptions {
    var options = self
    options.startDelaySeconds = startDelaySeconds.isFinite ? min(max(startDelaySeconds, 0), 86400) : 0
    return options
  }
}

extension [ServiceSnapshot] {
  fileprivate var subscriptions: [AttributeHandle] {
    flatMap { $0.characteristics ?? [] }.filter(\.isNotifying).map(\.handle)
  }

  fileprivate func withSubscriptions(where isSubscribed: (CharacteristicSnapshot) -> Bool) -> [ServiceSnapshot] {
    map { service in
      var service = service
      service.characteristics = service.characteristics?.map { characteristic in
        var characteristic = characteristic
        characteristic.isNotifying = isSubscribed(characteristic)
        return characteristic
      }
      return service
    }
  }
}
