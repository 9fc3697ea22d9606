import BluetoothTypes
import TimeTypes

/// A world of radios: positions, advertisers, listeners and live links. It is a pure state machine: the same seed and
/// the same inputs at the same times give the same outputs. Each advertiser, listener and link draws from its own
/// random sequence (by seed, name and time), so the order in which hosts send commands changes nothing else.
package struct Radio: Sendable {
  let seed: UInt64
  let physics: RadioPhysics
  var now = Instant.zero
  var controllers: [ControllerIdentifier: Controller] = [:]
  var links: [LinkIdentifier: Link] = [:]
  /// Whether a link is over of whose end no host was told.
  var hasUnheardEnds = false
  var refusals: [ConnectionRefusal] = []
  var linkCount: UInt64 = 0
  /// How many messages of the attribute protocol were sent so far.
  package private(set) var attributeFrameCount = 0

  /// The most controllers in a world.
  static let controllerLimit = 256
  /// The farthest place from the centre, in metres in each direction.
  static let placeLimit = 1e7

  package init(seed: UInt64, physics: RadioPhysics = RadioPhysics()) {
    self.seed = seed
    self.physics = physics
  }

  /// Handles everything that was due before or at `now`, then the input. Returns what hosts learn, in order. Time
  /// never goes back: an earlier `now` counts as the latest one so far.
  package mutating func handle(_ input: RadioInput, at now: Instant) -> [RadioOutput] {
    var outputs: [RadioOutput] = []
    passTime(to: now, &outputs)
    do throws(Refusal) {
      try take(input)
    } catch {
      outputs.append(RadioOutput(error.controller, .refused(error.reason)))
    }
    findDeadline()
    return outputs
  }

  /// When the next thing happens by itself, or `nil` while nothing can. Advertisements that no controller hears are
  /// not events, and neither is an idle link.
  package private(set) var nextDeadline: Instant?

  /// Whether links have ended, since the last call, without any host being told.
  package mutating func takeUnheardEnds() -> Bool {
    defer { hasUnheardEnds = false }
    return hasUnheardEnds
  }

  /// Whether neither end knows of the link any more, or there never was one.
  package func isOver(_ link: LinkIdentifier) -> Bool { links[link] == nil }

  /// The signal strength that one end of a link sees, in dBm, or `nil` if there is no such link.
  ///
  /// - Parameter time: the present time if it is later than the last input. The radio need not be told that time
  ///   passed.
  package func rssi(of link: LinkIdentifier, at controller: ControllerIdentifier, time: Instant? = nil) -> Int8? {
    let nanoseconds = max(now, time ?? now).nanoseconds
    guard let state = links[link], let role = state.role(of: controller), state[role].isOpen,
      let number = controllers[controller]?.number
    else { return nil }
    // If the peer has suddenly become silent (shielded, or without power), the last reading stands until the link is
    // lost.
    guard let signal = way(of: state)?.signal(at: nanoseconds) else {
      return RadioPhysics.reading(physics.sensitivity)
    }
    let peer = (role == .central ? state.peripheral : state.central).controller
    if let strength = controllers[peer]?.manners.strength { return strength }
    var draws = RandomDraws(seed, DrawPurpose.signalReading, number, UInt64(bitPattern: nanoseconds))
    return RadioPhysics.reading(signal + physics.noise * draws.bell())
  }

  private mutating func passTime(to time: Instant, _ outputs: inout [RadioOutput]) {
    while let deadline = nextDeadline, deadline <= time {
      now = max(now, deadline)
      passLinks(&outputs)
      advertise(&outputs)
      findDeadline()
    }
    now = max(now, time)
    // Nothing is due, but links must be processed up to now before the world around them changes.
    passLinks(&outputs)
  }

  private mutating func findDeadline() {
    let (link, advertisement) = (nextLinkDeadline(), nextAdvertisement())
    let next = min(link ?? .max, advertisement ?? .max)
    nextDeadline = next == .max ? nil : Instant(nanoseconds: next)
  }

  private mutating func take(_ input: RadioInput) throws(Refusal) {
    switch input {
    case .addController(let identifier, let position): try add(identifier, position)
    case .removeController(let identifier):
      _ = try known(identifier)
      dropLinks(of: identifier, alsoEnding: true)
      controllers[identifier] = nil
    case .move(let identifier, let position):
      _ = try known(identifier)
      try requirePlace(identifier, position)
      let before = controllers[identifier]?.motion
      controllers[identifier]?.motion = Motion(
        at: position, now: now.nanoseconds, carriage: before?.carriage?.stopped(at: now.nanoseconds))
    case .walk(let identifier, let position, let duration): try walk(identifier, to: position, over: duration)
    case .setShielded(let identifier, let isShielded):
      _ = try known(identifier)
      controllers[identifier]?.isShielded = isShielded
    case .setPower(let identifier, let isPowered): try setPower(identifier, isPowered)
    case .setAdvertising(let identifier, let set, let parameters):
      try setAdvertising(identifier, set: set, parameters)
    case .setScan(let identifier, let parameters): try setScan(identifier, parameters)
    case .setInitiator(let identifier, let parameters): try setInitiator(identifier, parameters)
    case .disconnect(let identifier, let link, let reason): try disconnect(identifier, link, reason)
    case .send(let identifier, let link, let frame):
      try send(identifier, link, frame)
      if frame.channel == Frame.attributes { attributeFrameCount += 1 }
    case .timePassed: break
    }
  }

  private mutating func add(_ identifier: ControllerIdentifier, _ position: Position) throws(Refusal) {
    try require(identifier, controllers[identifier] == nil, "there is such a controller already")
    try require(identifier, (1...64).contains(identifier.name.utf8.count), "a controller's name has 1 to 64 bytes")
    try require(
      identifier, controllers.count < Self.controllerLimit, "more than \(Self.controllerLimit) controllers")
    try requirePlace(identifier, position)
    controllers[identifier] = Controller(identifier, at: position, now: now)
  }

  /// The longest walk: a hundred years.
  static let walkLimit = Duration.seconds(36500 * 86400)

  private mutating func walk(
    _ identifier: ControllerIdentifier, to position: Position, over duration: Duration
  ) throws(Refusal) {
    let controller = try known(identifier)
    try requirePlace(identifier, position)
    try require(
      identifier, duration >= .nanoseconds(1) && duration <= Self.walkLimit,
      "a walk takes more than no time, and at most a hundred years")
    var draws = RandomDraws(seed, DrawPurpose.walk, controller.number, UInt64(bitPattern: now.nanoseconds))
    let (end, isBeyond) = now.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    controllers[identifier]?.motion = Motion(
      from: controller.motion.position(at: now.nanoseconds), to: position, began: now.nanoseconds,
      ended: isBeyond ? .max : end, walk: draws.next(), before: controller.motion.carriage)
  }

  /// The position of a controller at the last input, or at a later time. `nil` if there is no controller of this
  /// name.
  package func position(of controller: ControllerIdentifier, time: Instant? = nil) -> Position? {
    controllers[controller]?.motion.position(at: max(now, time ?? now).nanoseconds)
  }

  /// The mean strength at which two controllers hear each other, in dBm, without the noise of a single packet. `nil`
  /// if they don't. `rssi(of:at:time:)` returns this plus a packet's noise.
  package func signal(
    between one: ControllerIdentifier, and other: ControllerIdentifier, time: Instant? = nil
  ) -> Double? {
    path(between: one, and: other)?.signal(at: max(now, time ?? now).nanoseconds)
  }

  private mutating func setPower(_ identifier: ControllerIdentifier, _ isPowered: Bool) throws(Refusal) {
    let controller = try known(identifier)
    if isPowered, !controller.isPowered {
      // It begins anew, with a reset.
      dropLinks(of: identifier, alsoEnding: true)
      controllers[identifier]?.isPowered = true
    } else if !isPowered, controller.isPowered {
      controllers[identifier]?.powerOff()
      dropLinks(of: identifier, alsoEnding: false)
    }
  }
}

/// An invalid input, which changed nothing.
struct Refusal: Error {
  let controller: ControllerIdentifier
  let reason: String
}

extension Radio {
  func known(_ identifier: ControllerIdentifier) throws(Refusal) -> Controller {
    guard let controller = controllers[identifier] else {
      throw Refusal(controller: identifier, reason: "no such controller")
    }
    return controller
  }

  /// A controller that can accept a command of its host. Stopping something that does not exist is always allowed.
  func commanded(_ identifier: ControllerIdentifier, toStop: Bool) throws(Refusal) -> Controller {
    let controller = try known(identifier)
    try require(identifier, controller.isPowered || toStop, "the controller is off")
    return controller
  }

  func require(
    _ identifier: ControllerIdentifier, _ condition: Bool, _ otherwise: @autoclosure () -> String
  ) throws(Refusal) {
    guard condition else { throw Refusal(controller: identifier, reason: otherwise()) }
  }

  private func requirePlace(_ identifier: ControllerIdentifier, _ position: Position) throws(Refusal) {
    let isNear = abs(position.x) <= Self.placeLimit && abs(position.y) <= Self.placeLimit
    try require(identifier, isNear, "a place is at most 10,000 km from the middle")
  }
}
