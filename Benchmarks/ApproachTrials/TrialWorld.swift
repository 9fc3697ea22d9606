import BluetoothTypes
import HomePolicy
import Radio
import TimeTypes

/// A small generator for trials, the same for the same seed (Steele, Lea and Flood, 2014).
public struct TrialRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64
  public init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0xD1B5_4A32_D192_ED03 }
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// A door and a phone on one radio: the real radio model and the real policy, and between them as much of a lock, of
/// bluetoothd and of latchkeyd as a trial of thresholds needs. It is for many thousands of runs; what the processes make of
/// it is the stories' matter.
public struct TrialWorld {
  static let door = ControllerIdentifier("door")
  static let phone = ControllerIdentifier("phone")
  static let doorAddress = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .public)
  static let phoneAddress = DeviceAddress(bits: 0xC0FF_EE00_0002, kind: .public)

  /// Takes what happens in a run, line by line, for whoever looks at one.
  nonisolated(unsafe) public static var trace: ((String) -> Void)?

  /// One opening of the door by the phone.
  public struct Opening: Sendable {
    public var at: Instant
    /// From the phone to the door, in metres, when the command was written.
    public var distance: Double
    public var because: OpeningReason
  }

  public private(set) var now = Instant.zero
  public private(set) var openings: [Opening] = []
  public private(set) var questions = 0
  public var isBoltLocked = true
  /// As the lock has it: LockFirmware, `isLockedAtHome`.
  private var isLockedAtHome = false
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
  /// When the lock calls on the phone that is there, and until when it does so often, since its bolt was locked.
  private var callsAt: Instant?
  private var watchesUntil = Instant.zero

  /// How long the phone's system takes to tell the policy of a link, as seen on machines: thawed, and started anew.
  static let thawTime: Duration = .milliseconds(300)
  static let launchTime: Duration = .seconds(2)
  private let tellingTime: Duration
  private var connectionInterval: Duration

  /// - Parameter connectionInterval: 50 ms is bluetoothd's; a longer one makes hours of a weak link quick to simulate.
  public init(
    seed: UInt64, physics: RadioPhysics, phoneAt place: (Double, Double), isAppDead: Bool,
    connectionInterval: Duration = .milliseconds(50), configuration: HomeConfiguration = HomeConfiguration()
  ) {
    random = TrialRandom(seed: seed)
    radio = Radio(seed: seed, physics: physics)
    policy = HomePolicy(configuration, state: HomeState())
    self.place = Position(x: place.0, y: place.1)
    self.connectionInterval = connectionInterval
    tellingTime = isAppDead ? Self.launchTime : Self.thawTime
    put(.addController(Self.door, at: Position(x: 0, y: 0)))
    put(.addController(Self.phone, at: self.place))
    put(.setPower(Self.door, true))
    put(.setPower(Self.phone, true))
    advertise()
    initiate()
  }

  // MARK: What happens to it

  /// The phone is carried there in a straight line; returns when it has arrived.
  public mutating func walk(to x: Double, _ y: Double, metresPerSecond: Double) {
    let from = position
    let distance = ((x - from.x) * (x - from.x) + (y - from.y) * (y - from.y)).squareRoot()
    let duration = Duration.nanoseconds(Int64(max(0.05, distance / metresPerSecond) * 1e9))
    walk = (from, Position(x: x, y: y), now, now + duration)
    put(.walk(Self.phone, to: Position(x: x, y: y), over: duration))
    pass(duration)
    place = Position(x: x, y: y)
    walk = nil
  }

  /// The door's radio is dead: jammed, without power, or in a restart.
  public mutating func jam(_ isOn: Bool) {
    note(isOn ? "JAM" : "FREED")
    put(.setShielded(Self.door, isOn))
    run(until: now)
  }

  public mutating func pass(_ duration: Duration) { run(until: now + duration) }

  /// Someone turns the bolt by hand.
  public mutating func turnByHand(isLocked: Bool) {
    isBoltLocked = isLocked
    isLockedAtHome = isLocked
    leavesAt = nil
    if isLocked { watch() }
    note("a hand turned the bolt: \(isLocked ? "locked" : "unlocked")")
  }

  /// Somebody goes out or comes in: the door opens and shuts.
  public mutating func useDoor() {
    note("the door was shut")
    watch()
  }

  /// The lock calls often for a while on who is there: they may be leaving.
  private mutating func watch() {
    watchesUntil = now + .seconds(90)
    if isLinked, hasSpoken { callsAt = now }
  }

  /// Some days of a home's life: the phone is carried from place to place, and lies there when the lock calls. Whatever
  /// the door did meanwhile is of no account.
  mutating func live(in places: [(x: Double, y: Double)], bolt isLocked: Bool) {
    let (usual, home) = (connectionInterval, place)
    changeInterval(.seconds(1))
    for place in places {
      walk(to: place.x, place.y, metresPerSecond: 1.4)
      pass(.seconds(30))
      if isLinked { callsAt = now }
      pass(.seconds(310))
    }
    walk(to: home.x, home.y, metresPerSecond: 1.4)
    changeInterval(usual)
    pass(.seconds(60))
    isBoltLocked = isLocked
    isLockedAtHome = isLocked
    leavesAt = nil
    openings = []
    questions = 0
  }

  /// What the agent has learned: whether its home reaches to the edge of the range.
  public var isHomeAtEdge: Bool { policy.isHomeAtEdge }

  private mutating func changeInterval(_ interval: Duration) {
    connectionInterval = interval
    jam(true)
    pass(.seconds(20))
    jam(false)
    initiate()
    pass(.seconds(20))
  }

  public var isLinked: Bool { link != nil }

  /// From the phone to the door, in metres.
  public var distance: Double { (position.x * position.x + position.y * position.y).squareRoot() }

  private var position: Position {
    guard let walk, now < walk.ended else { return walk?.to ?? place }
    let share = (now - walk.began) / (walk.ended - walk.began)
    return Position(
      x: walk.from.x + (walk.to.x - walk.from.x) * share, y: walk.from.y + (walk.to.y - walk.from.y) * share)
  }

  // MARK: The radio's side

  private mutating func advertise() {
    // As latchkeyd asks for: reference/arrival.md, A.
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
      note("link")
      link = parameters.link
      hasSpoken = false
      callsAt = nil
      leavesAt = nil
      pending.append((now + tellingTime, .linkUp))
      pending.append((now + tellingTime + .milliseconds(150), .offerReceived))
    case .disconnected where output.controller == Self.phone:
      callsAt = nil
      note("link lost")
      link = nil
      pending.removeAll()
      if isPhoneTold { tell(.linkDown) }
      isPhoneTold = false
      initiate()
    case .disconnected where output.controller == Self.door:
      if !isBoltLocked, hasSpoken { leavesAt = now + .seconds(10) }
      advertise()
    case .connected, .disconnected, .advertisement, .received, .refused: break
    }
  }

  // MARK: The loop

  private mutating func run(until end: Instant) {
    while true {
      let next = [radio.nextDeadline, pending.map(\.at).min(), policy.nextDeadline, leavesAt, callsAt].compactMap { $0 }
        .min()
      guard let next, next <= end else { break }
      now = max(now, next)
      put(.timePassed)
      if let due = leavesAt, due <= now {
        leavesAt = nil
        isBoltLocked = true
        isLockedAtHome = false
        note("locked itself")
      }
      if let due = callsAt, due <= now {
        callsAt = nil
        if isPhoneTold { pending.append((now + .milliseconds(50), .offerReceived)) }
      }
      if let index = pending.indices.filter({ pending[$0].at <= now }).min(by: { pending[$0].at < pending[$1].at }) {
        let event = pending.remove(at: index).event
        if event == .linkUp { isPhoneTold = true }
        tell(event)
        if event == .offerReceived, !hasSpoken { pending.append((now + .seconds(10), .offerReceived)) }
      } else if let due = policy.nextDeadline, due <= now {
        tell(.timePassed)
      }
    }
    now = max(now, end)
    put(.timePassed)
  }

  private func note(_ what: @autoclosure () -> String) {
    guard let trace = Self.trace else { return }
    let tenths = { (value: Double) in "\((value * 10).rounded() / 10)" }
    trace("\(tenths(now.seconds)) s, \(tenths(distance)) m: \(what())")
  }

  private mutating func tell(_ event: HomeEvent) {
    note("\(event)")
    let had = (policy.state.approach, policy.state.departure, policy.state.home)
    defer {
      if let approach = policy.state.approach, had.0 == nil { note("  approach from \(approach.signal) dBm") }
      if policy.state.departure?.isOver == true, had.1?.isOver != true { note("  was seen to leave") }
      if let home = policy.state.home, home != had.2 { note("  learned: \(home.weakest) dBm at home") }
    }
    let time = HomeTime(boot: "trial", instant: now, unixSeconds: now.seconds)
    for effect in policy.handle(event, at: time, using: &random) {
      switch effect {
      case .store, .readOffer, .stopAsking, .answerWord: break
      case .readSignal:
        let reading = link.flatMap { radio.rssi(of: $0, at: Self.phone) }.map(Int.init)
        pending.append((now + .milliseconds(5), .signalRead(reading)))
      case .ask: questions += 1
      case .write(let command, _): obey(command)
      }
    }
  }

  /// The lock answers after two connection events; one in a hundred writes is lost with its link.
  private mutating func obey(_ command: HomeCommand) {
    guard link != nil else { return }
    note("-> \(command), bolt \(isBoltLocked ? "locked" : "unlocked")\(isLockedAtHome ? " at home" : "")")
    if !hasSpoken, command == .status, isBoltLocked { watchesUntil = now + .seconds(90) }
    hasSpoken = true
    callsAt = now + (now < watchesUntil ? .seconds(10) : .seconds(3600))
    switch command {
    case .status:
      if isBoltLocked { isLockedAtHome = true }
      pending.append(
        (now + .milliseconds(120), .answered(.unknownOperation, bolt: isBoltLocked ? .locked : .unlocked)))
    case .unlockUnlessHome where isLockedAtHome:
      pending.append((now + .milliseconds(120), .answered(.lockedAtHome, bolt: .locked)))
    case .unlock, .unlockUnlessHome:
      // What is open already does not open.
      if isBoltLocked {
        openings.append(Opening(at: now, distance: distance, because: command == .unlock(.word) ? .word : .approach))
      }
      isBoltLocked = false
      isLockedAtHome = false
      pending.append((now + .milliseconds(700), .answered(.done, bolt: .unlocked)))
    }
    // Right after the answer, as the lock does: a later one would be of a lock that knows nobody.
    pending.removeAll { $0.event == .offerReceived }
    if let answered = pending.last?.at { pending.append((answered + .milliseconds(30), .offerReceived)) }
  }
}
