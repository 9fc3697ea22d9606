import BluetoothTypes
import TimeTypes

/// One advertising set and the times of its events: each comes one interval and up to 10 ms after the one before
/// (Bluetooth Core, Vol 6, Part B, 4.4.2.2.1). While no controller listens, nothing is computed: the time of the next
/// event is worked out when it is needed.
struct AdvertisingSet: Sendable {
  let parameters: AdvertisingParameters
  /// Identifies its random sequences.
  let number: UInt64
  private(set) var next: Int64
  /// When the next event comes, in nanoseconds.
  var heardUntil: Int64?
  private let interval: Int64

  private static let delayLimit: Int64 = 10_000_000
  /// After an hour unheard, the old rhythm is dropped, and the next event is drawn at random instead.
  private static let memory: Int64 = 3600 * 1_000_000_000

  init(_ parameters: AdvertisingParameters, number: UInt64, now: Instant) {
    self.parameters = parameters
    self.number = number
    interval = parameters.interval.wholeNanoseconds
    var draws = RandomDraws(number, DrawPurpose.advertisingPhase, UInt64(bitPattern: now.nanoseconds))
    next = now.nanoseconds + 1 + draws.below(Self.delayLimit)
  }

  /// The random sequence for one event of the set at one listener.
  func draws(_ purpose: UInt64, at event: Int64, _ listener: UInt64) -> RandomDraws {
    RandomDraws(number, purpose, UInt64(bitPattern: event), listener)
  }

  func following(_ event: Int64) -> Int64 {
    var draws = RandomDraws(number, DrawPurpose.advertisingDelay, UInt64(bitPattern: event))
    return event + interval + draws.below(Self.delayLimit)
  }

  /// Passes over the events before `time`.
  mutating func skip(to time: Int64) {
    // While a controller listened, the rhythm was kept, whether or not the time was asked for.
    if let heardUntil { pass(to: min(time, heardUntil)) }
    pass(to: time)
  }

  private mutating func pass(to time: Int64) {
    if time - next > Self.memory {
      var draws = RandomDraws(number, DrawPurpose.advertisingPhase, UInt64(bitPattern: time))
      next = time + draws.below(interval)
    }
    while next < time { next = following(next) }
  }
}

/// A controller that could use an advertising set's next events.
private struct Listener {
  let controller: ControllerIdentifier
  let number: UInt64
  let window: ListeningWindow
  let path: Path
  /// After this time it no longer hears them.
  let last: Int64
  let isInitiator: Bool

  /// The strength of an event of the set in dBm, or `nil` if it does not get through. This is decided here, because at
  /// the edge of the range hardly one event in a thousand gets through, and each other one would otherwise cost the
  /// world a step.
  func signal(of set: AdvertisingSet, at event: Int64, _ physics: RadioPhysics) -> Double? {
    guard event <= last, window.covers(event), let signal = path.signal(at: event) else { return nil }
    let purpose = isInitiator ? DrawPurpose.advertisementAtInitiator : DrawPurpose.advertisementAtScanner
    var draws = set.draws(purpose, at: event, number)
    guard physics.receive(signal, &draws) != nil else { return nil }
    // An initiator's request goes the other way, and must get through as well.
    guard isInitiator else { return signal }
    return physics.receive(signal, &draws) != nil ? signal : nil
  }
}

extension Radio {
  /// The most sets a controller has.
  static let advertisingSetLimit = 16
  /// How far ahead to look for events that fall into a listener's window. Then the search continues from there.
  private static let horizon: Int64 = 600 * 1_000_000_000
  /// As `horizon`, while a controller is carried. Many events are then out of range, and each takes longer to check.
  private static let walkHorizon: Int64 = 30 * 1_000_000_000

  /// What a controller advertises, in the order of its sets.
  package func advertisements(of identifier: ControllerIdentifier) -> [AdvertisingParameters] {
    (controllers[identifier]?.advertisingSets ?? [:]).sorted { $0.key < $1.key }.map(\.value.parameters)
  }

  mutating func setAdvertising(
    _ identifier: ControllerIdentifier, set: UInt8, _ parameters: AdvertisingParameters?
  ) throws(Refusal) {
    let controller = try commanded(identifier, toStop: parameters == nil)
    guard let parameters else {
      controllers[identifier]?.advertisingSets[set] = nil
      return
    }
    try require(identifier, parameters.data.count <= 31, "advertising data is longer than 31 bytes")
    try require(identifier, parameters.scanResponse.count <= 31, "scan response data is longer than 31 bytes")
    try require(
      identifier, parameters.interval >= .milliseconds(20) && parameters.interval <= .milliseconds(10240),
      "advertising interval is not within 20 ms to 10.24 s")
    try require(
      identifier, controller.advertisingSets[set] != nil || controller.advertisingSets.count < Self.advertisingSetLimit,
      "more than \(Self.advertisingSetLimit) advertising sets")
    var draws = RandomDraws(seed, controller.number, UInt64(set))
    controllers[identifier]?.advertisingSets[set] = AdvertisingSet(parameters, number: draws.next(), now: now)
  }

  /// When a listener's window next covers an event of a set, or may cover one. `nil` while no controller could use
  /// one.
  mutating func nextAdvertisement() -> Int64? {
    var earliest: Int64?
    for identifier in controllers.keys {
      for (handle, set) in controllers[identifier]?.advertisingSets ?? [:] {
        let (listeners, wakeUp) = listeners(to: set, of: identifier)
        if let wakeUp { earliest = min(earliest ?? wakeUp, wakeUp) }
        guard let last = listeners.map(\.last).max() else {
          if set.heardUntil != nil {
            controllers[identifier]?.advertisingSets[handle]?.skip(to: min(now.nanoseconds, set.heardUntil ?? 0))
            controllers[identifier]?.advertisingSets[handle]?.heardUntil = nil
          }
          continue
        }
        controllers[identifier]?.advertisingSets[handle]?.skip(to: now.nanoseconds + 1)
        controllers[identifier]?.advertisingSets[handle]?.heardUntil = last
        guard var event = controllers[identifier]?.advertisingSets[handle]?.next else { continue }
        let isWalking = listeners.contains { !$0.path.rests(at: now.nanoseconds) }
        let end = min(event + (isWalking ? Self.walkHorizon : Self.horizon), earliest ?? .max)
        while event <= last, event < end,
          !listeners.contains(where: { $0.signal(of: set, at: event, physics) != nil })
        { event = set.following(event) }
        guard event <= last else { continue }
        earliest = min(earliest ?? event, event)
      }
    }
    return earliest
  }

  /// Sends the advertisements that are due now.
  mutating func advertise(_ outputs: inout [RadioOutput]) {
    for identifier in controllers.keys.sorted() {
      for handle in (controllers[identifier]?.advertisingSets ?? [:]).keys.sorted() {
        guard let before = controllers[identifier]?.advertisingSets[handle], before.next <= now.nanoseconds else {
          continue
        }
        let listeners = listeners(to: before, of: identifier).listeners
        guard !listeners.isEmpty else { continue }
        controllers[identifier]?.advertisingSets[handle]?.skip(to: now.nanoseconds)
        guard let set = controllers[identifier]?.advertisingSets[handle], set.next == now.nanoseconds else { continue }
        var initiators: [(controller: ControllerIdentifier, signal: Double)] = []
        for listener in listeners {
          guard let signal = listener.signal(of: set, at: set.next, physics) else { continue }
          if listener.isInitiator {
            initiators.append((listener.controller, signal))
          } else {
            report(set, of: identifier, to: listener.controller, signal: signal, &outputs)
          }
        }
        connect(set, handle, of: identifier, heardBy: initiators, &outputs)
      }
    }
  }

  /// The controllers that could use the set's next events, and when another may start to without any input: a scanner
  /// that has seen everything may see more when the address changes, and a moving one may come near.
  private func listeners(
    to set: AdvertisingSet, of advertiser: ControllerIdentifier
  ) -> (listeners: [Listener], wakeUp: Int64?) {
    var result: [Listener] = []
    var wakeUp: Int64?
    func wake(at time: Int64) { wakeUp = min(wakeUp ?? time, time) }
    guard controllers[advertiser]?.isOnAir == true else { return ([], nil) }
    for (identifier, controller) in controllers where controller.scanner != nil || controller.initiator != nil {
      let scans = controller.scanner.map { !$0.hasSeenAll(of: set, at: now) } ?? false
      let initiates =
        set.parameters.isConnectable && controller.initiator?.wants(set.parameters.ownAddress, at: now) == true
        && !areLinked(identifier, advertiser)
      let waitsForAddress = controller.scanner != nil && !scans && set.parameters.ownAddress.isResolvable
      // What a path does to signals takes the longest to compute.
      guard scans || initiates || waitsForAddress, let path = path(between: advertiser, and: identifier) else {
        continue
      }
      // Controllers that stand still and can't hear each other never will.
      let staysHeard = path.signal(at: max(now.nanoseconds, path.restsFrom)) != nil
      guard staysHeard || !path.rests(at: now.nanoseconds) else { continue }
      if waitsForAddress, case .resolvable(let key) = set.parameters.ownAddress {
        wake(at: ResolvableAddress.nextChange(of: key, after: now).nanoseconds)
      }
      guard scans || initiates else { continue }
      if !path.rests(at: now.nanoseconds) {
        guard let beginning = path.reachBegins() else { continue }
        if beginning > now.nanoseconds {
          wake(at: beginning)
          continue
        }
      }
      let last = staysHeard ? Int64.max : path.restsFrom
      if scans, let scanner = controller.scanner {
        result.append(
          Listener(
            controller: identifier, number: controller.number, window: scanner.window, path: path, last: last,
            isInitiator: false))
      }
      if initiates, let initiator = controller.initiator {
        result.append(
          Listener(
            controller: identifier, number: controller.number, window: initiator.window, path: path, last: last,
            isInitiator: true))
      }
    }
    return (result.sorted { $0.controller < $1.controller }, wakeUp)
  }
}
