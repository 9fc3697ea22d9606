import BluetoothTypes
import TimeTypes

/// One link. Its two ends meet at connection events, `interval` apart, and lose each other after `timeout` without a
/// meeting. Idle events that can't fail are not processed one by one.
struct Link: Sendable {
  typealias Role = LinkParameters.Role

  struct End: Sendable {
    let controller: ControllerIdentifier
    var isOpen = true
    var queue: [Frame] = []
    /// Its host has ended the link, and the peer does not know yet.
    var termination: DisconnectReason?
    /// The last event at which it heard the peer, or `nil` before the first.
    var lastHeard: Int64?
  }

  enum Effect: Sendable {
    case received(Role, Frame)
    case disconnected(Role, DisconnectReason)

    /// The end whose host learns of it.
    var role: Role {
      switch self {
      case .received(let role, _), .disconnected(let role, _): role
      }
    }
  }

  /// The conditions between the link's ends.
  struct Conditions {
    var physics: RadioPhysics
    /// `nil` while one of them can't send or receive at all.
    var path: Path?
  }

  var central: End
  var peripheral: End
  private let number: UInt64
  private let begun: Int64
  private let firstEvent: Int64
  private let interval: Int64
  private let timeout: Int64
  /// The number of the last event processed, from 0.
  private var lastEvent: Int64 = -1

  /// The result of the last search for the end of the link (`nil`: it lives for ever), with the path it is valid for.
  /// Whether an event fails depends only on its number and the path, so the result holds until a controller moves
  /// differently.
  private var search: (path: Path, deadline: Int64?)?

  /// How many frames an event carries in each direction.
  private static let framesInAnEvent = 4
  /// How many idle events are searched at a time for the end of the link.
  private static let searchLimit = 5000

  /// - Parameter number: identifies its random sequences.
  init(
    central: ControllerIdentifier, peripheral: ControllerIdentifier, number: UInt64, now: Instant, interval: Duration,
    timeout: Duration
  ) {
    self.central = End(controller: central)
    self.peripheral = End(controller: peripheral)
    self.number = number
    begun = now.nanoseconds
    self.interval = interval.wholeNanoseconds
    self.timeout = timeout.wholeNanoseconds
    var draws = RandomDraws(number, DrawPurpose.anchor)
    // The transmit window: at least 1.25 ms after the request (Vol 6, Part B, 4.5.3).
    firstEvent = begun + 1_250_000 + draws.below(self.interval)
  }

  subscript(role: Role) -> End {
    get { role == .central ? central : peripheral }
    set { if role == .central { central = newValue } else { peripheral = newValue } }
  }

  func role(of controller: ControllerIdentifier) -> Role? {
    if central.controller == controller { return .central }
    return peripheral.controller == controller ? .peripheral : nil
  }

  var isOver: Bool { !central.isOpen && !peripheral.isOpen }

  private var areBothOpen: Bool { central.isOpen && peripheral.isOpen }

  private var hasTraffic: Bool {
    !central.queue.isEmpty || !peripheral.queue.isEmpty || central.termination != nil || peripheral.termination != nil
  }

  private func time(of event: Int64) -> Int64 { firstEvent + event * interval }

  /// When an end gives up. A link that was never established ends after six intervals (Vol 6, Part B, 4.5.2).
  private func limit(of end: End) -> Int64 {
    if let lastHeard = end.lastHeard { return lastHeard + timeout }
    return max(begun + 6 * interval, firstEvent + interval)
  }

  private var earliestLimit: Int64? {
    switch (central.isOpen, peripheral.isOpen) {
    case (true, true): min(limit(of: central), limit(of: peripheral))
    case (true, false): limit(of: central)
    case (false, true): limit(of: peripheral)
    case (false, false): nil
    }
  }

  /// Processes everything up to `now`. The conditions must not have changed since the last call.
  mutating func pass(to now: Int64, _ conditions: Conditions) -> [Effect] {
    var effects: [Effect] = []
    if let path = conditions.path {
      while areBothOpen, time(of: lastEvent + 1) <= now {
        if !hasTraffic, path.isSafe(from: time(of: lastEvent + 1), to: now) {
          lastEvent = (now - firstEvent) / interval
          central.lastHeard = time(of: lastEvent)
          peripheral.lastHeard = time(of: lastEvent)
          break
        }
        if let earliestLimit, earliestLimit < time(of: lastEvent + 1) { break }
        effects += meet(path, conditions.physics)
      }
    }
    if now >= firstEvent { lastEvent = max(lastEvent, (now - firstEvent) / interval) }
    for role in [Role.central, .peripheral] where self[role].isOpen && limit(of: self[role]) <= now {
      let reason: DisconnectReason =
        if self[role].termination != nil {
          .localHostTerminated
        } else if self[role].lastHeard == nil {
          .failedToEstablish
        } else {
          .connectionTimeout
        }
      self[role].shut()
      effects.append(.disconnected(role, reason))
    }
    return effects
  }

  /// The next connection event.
  private mutating func meet(_ path: Path, _ physics: RadioPhysics) -> [Effect] {
    lastEvent += 1
    guard let signal = path.signal(at: time(of: lastEvent)) else { return [] }
    var draws = eventDraws(lastEvent)
    // The peripheral answers only if it has heard the central.
    guard physics.receiveOnLink(signal, &draws) else { return [] }
    peripheral.lastHeard = time(of: lastEvent)
    var effects = carry(from: .central, to: .peripheral)
    guard peripheral.isOpen, physics.receiveOnLink(signal, &draws) else { return effects }
    central.lastHeard = time(of: lastEvent)
    effects += carry(from: .peripheral, to: .central)
    return effects
  }

  private func eventDraws(_ event: Int64) -> RandomDraws {
    RandomDraws(number, DrawPurpose.connectionEvent, UInt64(bitPattern: event))
  }

  private mutating func carry(from sender: Role, to receiver: Role) -> [Effect] {
    let frames = self[sender].queue.prefix(Self.framesInAnEvent)
    self[sender].queue.removeFirst(frames.count)
    var effects = frames.map { Effect.received(receiver, $0) }
    if self[sender].queue.isEmpty, let reason = self[sender].termination {
      self[sender].shut()
      self[receiver].shut()
      effects.append(.disconnected(sender, .localHostTerminated))
      effects.append(.disconnected(receiver, reason == .localHostTerminated ? .remoteUserTerminated : reason))
    }
    return effects
  }

  /// When the next thing happens by itself after `now`, up to which everything has been processed.
  mutating func deadline(_ conditions: Conditions, after now: Int64) -> Int64? {
    guard areBothOpen, let path = conditions.path else { return earliestLimit }
    if hasTraffic { return nextDelivery(path, conditions.physics) }
    if let search, search.path == path, search.deadline.map({ $0 > now }) ?? true { return search.deadline }
    let deadline = endOfSearch(path, conditions.physics)
    search = (path, deadline)
    return deadline
  }

  /// With something to send: the next event at which some of it arrives, or when the link dies. Events at which neither
  /// end hears the other are passed over, because hosts can't see them.
  private func nextDelivery(_ path: Path, _ physics: RadioPhysics) -> Int64 {
    func sends(_ end: End) -> Bool { !end.queue.isEmpty || end.termination != nil }
    let senders = (central: sends(central), peripheral: sends(peripheral))
    // The queues are not needed here, and copying them would cost time.
    var copy = self
    for role in [Role.central, .peripheral] { (copy[role].queue, copy[role].termination) = ([], nil) }
    for _ in 0..<Self.searchLimit {
      let next = copy.time(of: copy.lastEvent + 1)
      if let limit = copy.earliestLimit, limit < next { return limit }
      _ = copy.meet(path, physics)
      if senders.central && copy.peripheral.lastHeard == next || senders.peripheral && copy.central.lastHeard == next {
        return next
      }
    }
    return copy.time(of: copy.lastEvent)
  }

  /// The time at which an idle link at the edge of its range dies, or until which it is known to live. `nil` if it
  /// lives for ever.
  private func endOfSearch(_ path: Path, _ physics: RadioPhysics) -> Int64? {
    var copy = self
    for _ in 0..<Self.searchLimit {
      let next = copy.time(of: copy.lastEvent + 1)
      if path.isSafe(from: next, to: .max) { return nil }
      if let limit = copy.earliestLimit, limit < next { return limit }
      _ = copy.meet(path, physics)
    }
    return copy.time(of: copy.lastEvent)
  }
}

extension Link.End {
  /// This end no longer takes part in the link.
  mutating func shut() {
    isOpen = false
    queue = []
    termination = nil
  }
}
