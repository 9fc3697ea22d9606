import BluetoothTypes
import HomePolicy
import LockFirmware
import Radio
import TimeTypes

/// A small generator for trials, the same for the same seed (Steele, Lea and Flood, 2014).
package struct TrialRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64
  package init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0xD1B5_4A32_D192_ED03 }
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// What a lock can tell about its door and its bolt.
package struct TrialLock: Sendable, Hashable, CaseIterable {
  /// The door has a sensor.
  package var hasSensor: Bool
  /// The lock can tell whether the thumb-turn or a key turned the bolt.
  package var tellsHands: Bool

  package static let allCases = [
    TrialLock(hasSensor: false, tellsHands: false), TrialLock(hasSensor: false, tellsHands: true),
    TrialLock(hasSensor: true, tellsHands: false), TrialLock(hasSensor: true, tellsHands: true),
  ]

  /// In words.
  package var description: String {
    switch (hasSensor, tellsHands) {
    case (false, false): "neither"
    case (false, true): "hands"
    case (true, false): "sensor"
    case (true, true): "both"
    }
  }
}

/// A door and a phone on one radio, with the real radio model and the real policy. The lock, bluetoothd and latchkeyd
/// between them are simulated only as far as a trial of thresholds needs it. It is meant for many thousands of runs;
/// the stories test the real processes.
package struct TrialWorld {
  static let door = ControllerIdentifier("door")
  static let phone = ControllerIdentifier("phone")
  static let doorAddress = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .public)
  static let phoneAddress = DeviceAddress(bits: 0xC0FF_EE00_0002, kind: .public)

  /// One opening of the door by the phone.
  package struct Opening: Sendable {
    package var at: Instant
    /// The distance from the phone to the door, in metres, when the command was written.
    package var distance: Double
    package var because: OpeningReason
  }

  package private(set) var now = Instant.zero
  package private(set) var openings: [Opening] = []
  package private(set) var questions = 0
  package var isBoltLocked = true
  /// As in the lock: LockFirmware, `isLockedAtHome` and `isLockedFromInside`.
  private var isLockedAtHome = false
  private var isLockedFromInside = false
  private let tellsHands: Bool
  /// The door's sensor, as the lock has it; `nil` where the lock has none.
  private var sensor: DoorWatch?
  private var lockingWatch = LockingWatch()
  private var linkedSince = Instant.zero
  private var isAppAsleep: Bool
  var random: TrialRandom
  private var radio: Radio
  private var policy: HomePolicy
  private var place: Position
  private var walk: (from: Position, to: Position, began: Instant, ended: Instant)?
  private var link: LinkIdentifier?
  private var isPhoneTold = false
  private var hasSpoken = false
  private var pending: [(at: Instant, event: HomeEvent)] = []
  private var leavesAt: Instant?
  private var lookDue: Instant?
  /// When the lock offers again to a phone that has not spoken.
  private var offerDue: Instant?

  /// How long the phone's system takes to tell the policy about a link, as measured on machines: when it thaws the app,
  /// and when it starts the app.
  static let thawTime: Duration = .milliseconds(300)
  static let launchTime: Duration = .seconds(2)
  private let tellingTime: Duration
  private let connectionInterval: Duration

  /// - Parameter connectionInterval: bluetoothd uses 50 ms. A longer one makes hours of a weak link quick to
  ///   simulate.
  package init(
    seed: UInt64, physics: RadioPhysics, phoneAt place: (Double, Double), isAppDead: Bool, lock: TrialLock,
    connectionInterval: Duration = .milliseconds(50), configuration: HomeConfiguration = HomeConfiguration()
  ) {
    random = TrialRandom(seed: seed)
    radio = Radio(seed: seed, physics: physics)
    var state = HomeState()
    state.isBonded = Trial.isBonded
    policy = HomePolicy(configuration, state: state)
    self.place = Position(x: place.0, y: place.1)
    self.connectionInterval = connectionInterval
    sensor = lock.hasSensor ? DoorWatch(isOnlyWay: true, door: .closed) : nil
    tellsHands = lock.tellsHands
    isAppAsleep = isAppDead
    tellingTime = isAppDead ? Self.launchTime : Self.thawTime
    put(.addController(Self.door, at: Position(x: 0, y: 0)))
    put(.addController(Self.phone, at: self.place))
    put(.setPower(Self.door, true))
    put(.setPower(Self.phone, true))
    advertise()
    initiate()
  }

  // MARK: Events

  /// The phone is carried there in a straight line. Returns when it has arrived.
  package mutating func walk(to x: Double, _ y: Double, metresPerSecond: Double) {
    let from = position
    let distance = ((x - from.x) * (x - from.x) + (y - from.y) * (y - from.y)).squareRoot()
    let duration = Duration.nanoseconds(Int64(max(0.05, distance / metresPerSecond) * 1e9))
    walk = (from, Position(x: x, y: y), now, now + duration)
    put(.walk(Self.phone, to: Position(x: x, y: y), over: duration))
    pass(duration)
    place = Position(x: x, y: y)
    walk = nil
  }

  /// The door's radio is dead: jammed, without power, or restarting.
  package mutating func jam(_ isOn: Bool) {
    put(.setShielded(Self.door, isOn))
    run(until: now)
  }

  /// The owner measures the room in which the phone is. Nothing is measured without a link.
  mutating func measureRoom() {
    tell(.roomAsked(.measure))
    pass(.seconds(21))
  }

  package mutating func pass(_ duration: Duration) { run(until: now + duration) }

  /// The side of the hand that turns the bolt: at the thumb-turn, or at the key.
  package enum Hand: Sendable { case inside, outside }

  /// A person turns the bolt by hand.
  package mutating func turnByHand(isLocked: Bool, from side: Hand) {
    isBoltLocked = isLocked
    isLockedAtHome = isLocked && isLinked
    isLockedFromInside = isLocked && side == .inside && tellsHands
    leavesAt = nil
    if isLocked, !isLockedFromInside {
      lockingWatch.turned(beside: link != nil && hasSpoken ? [Self.me] : [], at: milliseconds)
      offerLook()
    } else {
      lockingWatch.forgetAll()
    }
  }

  /// Forgets what happened so far, because only what follows counts.
  package mutating func forgetOpenings() {
    openings = []
    questions = 0
  }

  /// The owner tells the phone to open.
  package mutating func sayOpen() { tell(.unlockAsked) }

  /// Someone opens the door, or shuts it; without a sensor nobody knows.
  package mutating func door(isOpen: Bool) {
    guard sensor != nil else { return }
    let time = milliseconds
    sensor?.moved(to: isOpen ? .open : .closed, beside: link != nil && hasSpoken ? [Self.me] : [], at: time)
    offerLook()
  }

  package var trace: String {
    "left \(policy.state.hasLeft == true) lock \(whereabouts) bolt \(isBoltLocked) linked \(isLinked) at \(distance) \(now.seconds)"
  }

  /// Somebody may be leaving, so the lock sends an offer to a phone that it knows, and again ten seconds after each
  /// answer.
  private mutating func offerLook() {
    guard link != nil, hasSpoken, isSomebodyLeaving,
      !pending.contains(where: { $0.event == .offerReceived })
    else { return }
    pending.append((now + (isAppAsleep ? Self.launchTime : Self.thawTime), .offerReceived))
    isAppAsleep = false
  }

  private var isSomebodyLeaving: Bool {
    sensor?.isSomebodyLeaving(at: milliseconds) == true || lockingWatch.isSomebodyLeaving(at: milliseconds)
  }

  private var milliseconds: Int64 { now.nanoseconds / 1_000_000 }
  private static let me: [UInt8] = [1]

  package var isLinked: Bool { link != nil }

  /// The distance from the phone to the door, in metres.
  package var distance: Double { (position.x * position.x + position.y * position.y).squareRoot() }

  private var position: Position {
    guard let walk, now < walk.ended else { return walk?.to ?? place }
    let share = (now - walk.began) / (walk.ended - walk.began)
    return Position(
      x: walk.from.x + (walk.to.x - walk.from.x) * share, y: walk.from.y + (walk.to.y - walk.from.y) * share)
  }

  // MARK: Radio

  private mutating func advertise() {
    // The interval that latchkeyd asks for (reference/arrival.md, A).
    put(
      .setAdvertising(
        Self.door, set: 1,
        AdvertisingParameters(
          ownAddress: .fixed(Self.doorAddress), data: [2, 1, 6], interval: .milliseconds(152), isConnectable: true)))
  }

  private mutating func initiate() {
    put(
      .setInitiator(
        Self.phone,
        InitiatorParameters(
          targets: [.address(Self.doorAddress)], ownAddress: .fixed(Self.phoneAddress),
          connectionInterval: connectionInterval, supervisionTimeout: connectionInterval * 8 + .milliseconds(20))))
  }

  private mutating func put(_ input: RadioInput) {
    for output in radio.handle(input, at: now) { hear(output) }
  }

  private mutating func hear(_ output: RadioOutput) {
    switch output.event {
    case .connected(let parameters) where output.controller == Self.phone:
      link = parameters.link
      lookDue = nil
      linkedSince = now
      hasSpoken = false
      leavesAt = nil
      offerDue = nil
      pending.append((now + tellingTime, .linkUp))
      pending.append((now + tellingTime + .milliseconds(150), .offerReceived))
    case .disconnected where output.controller == Self.phone:
      link = nil
      pending.removeAll()
      offerDue = nil
      if isPhoneTold { tell(.linkDown) }
      isPhoneTold = false
      initiate()
    case .disconnected where output.controller == Self.door:
      if !isBoltLocked, hasSpoken { leavesAt = now + .seconds(10) }
      if hasSpoken {
        let time = milliseconds
        sensor?.linkLost(Self.me, at: time)
        lockingWatch.linkLost(Self.me, at: time)
      }
      advertise()
    case .connected, .disconnected, .advertisement, .received, .refused: break
    }
  }

  // MARK: The loop

  private mutating func run(until end: Instant) {
    while true {
      let own = [pending.map(\.at).min(), leavesAt, lookDue, offerDue]
      let next = (own + [radio.nextDeadline, policy.nextDeadline]).compactMap { $0 }.min()
      guard let next, next <= end else { break }
      now = max(now, next)
      put(.timePassed)
      if let due = leavesAt, due <= now {
        leavesAt = nil
        isBoltLocked = true
        isLockedAtHome = false
        isLockedFromInside = false
        lockingWatch.forgetAll()
      }
      if let due = offerDue, due <= now {
        offerDue = nil
        tell(.offerReceived)
        if !hasSpoken { offerDue = now + .seconds(10) }
      }
      if let due = lookDue, due <= now {
        lookDue = nil
        offerLook()
      }
      if let index = pending.indices.filter({ pending[$0].at <= now }).min(by: { pending[$0].at < pending[$1].at }) {
        let event = pending.remove(at: index).event
        if event == .linkUp { isPhoneTold = true }
        tell(event)
        if event == .offerReceived, !hasSpoken { offerDue = now + .seconds(10) }
      } else if let due = policy.nextDeadline, due <= now {
        tell(.timePassed)
      }
    }
    now = max(now, end)
    put(.timePassed)
  }

  private mutating func tell(_ event: HomeEvent) {
    let time = HomeTime(boot: "trial", instant: now, unixSeconds: now.seconds)
    for effect in policy.handle(event, at: time, using: &random) {
      switch effect {
      case .store, .readOffer, .writeAgain, .stopAsking, .answerWord, .answerErrand, .answerRoom, .endLink,
        .requestLink:
        break
      case .readSignal:
        let reading = link.flatMap { radio.rssi(of: $0, at: Self.phone) }.map(Int.init)
        pending.append((now + .milliseconds(5), .signalRead(reading)))
      case .ask: questions += 1
      case .write(let command, _): obey(command)
      }
    }
  }

  private var whereabouts: DoorWatch.Whereabouts {
    sensor?.whereabouts(of: Self.me, at: milliseconds) ?? .unknown
  }

  /// The lock answers after two connection events. One in a hundred writes is lost with its link.
  private mutating func obey(_ command: HomeCommand) {
    guard link != nil else { return }
    hasSpoken = true
    offerDue = nil
    let since = linkedSince.nanoseconds / 1_000_000
    sensor?.proven(Self.me, linkedSince: since)
    if isSomebodyLeaving { lookDue = now + .seconds(10) }
    switch command {
    case .status:
      if isBoltLocked { isLockedAtHome = true }
      answer(.unknownOperation, after: .milliseconds(120))
    case .unlock(.word): open(because: .word)
    // No trial asks the lock to lock.
    case .lock: break
    case .unlock, .unlockUnlessHome, .unlockIfLeft:
      if isBoltLocked, isLockedFromInside {
        answer(.somebodyInside, after: .milliseconds(120))
      } else if isBoltLocked, !isEnough(command) {
        answer(.lockedAtHome, after: .milliseconds(120))
      } else {
        open(because: .approach)
      }
    }
  }

  /// As the lock has it: LockFirmware, `opens`.
  private func isEnough(_ command: HomeCommand) -> Bool {
    switch (command, whereabouts) {
    case (_, .inside): false
    case (.unlock, _), (.unlockIfLeft, .left): true
    case (.unlockIfLeft, .unknown): lockingWatch.hasLeft(Self.me)
    case (.unlockUnlessHome, .unknown): !isLockedAtHome
    default: false
    }
  }

  private mutating func open(because reason: OpeningReason) {
    let time = milliseconds
    sensor?.comes(Self.me, isOnApproach: reason == .approach, at: time)
    // If the bolt is unlocked already, this is no opening.
    if isBoltLocked {
      openings.append(Opening(at: now, distance: distance, because: reason))
      if Trial.isTracing { print("opens", trace, policy.state.approach.map { "\($0)" } ?? "") }
      sensor?.unlocked(at: time)
    }
    isBoltLocked = false
    isLockedAtHome = false
    isLockedFromInside = false
    lockingWatch.forgetAll()
    answer(.done, after: .milliseconds(700))
  }

  /// The lock sends its answer, and the next offer right after it.
  private mutating func answer(_ answer: HomeAnswer, after duration: Duration) {
    pending.append((now + duration, .answered(answer, bolt: isBoltLocked ? .locked : .unlocked)))
    pending.append((now + duration + .milliseconds(50), .offerReceived))
  }
}
