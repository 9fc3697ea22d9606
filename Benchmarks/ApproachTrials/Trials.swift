import HomePolicy
import Radio
import TimeTypes

/// The results of many trials of one kind.
package struct TrialFigures: Sendable, Equatable {
  package var runs = 0
  /// The door opened although no owner came.
  package var falseOpens = 0
  /// The owner came to the door and it stayed locked.
  package var refused = 0
  /// It opened more than once for one arrival.
  package var openedTwice = 0
  /// The owner was asked.
  package var asked = 0
  /// From crossing 3 m to the command, in seconds; negative if the command was written farther away.
  package var secondsFromThreeMetres: [Double] = []
  package var metresAtCommand: [Double] = []
  /// Seeds of the first few runs that went wrong.
  package var seeds: [UInt64] = []

  package init() {}

  mutating func note(_ seed: UInt64) { if seeds.count < 10 { seeds.append(seed) } }
}

/// A kind of trial: how an owner comes home, or stays there.
package enum Trial: String, Sendable, CaseIterable {
  /// On foot from beyond the radio's range to the door.
  case approach = "approach on foot"
  /// On foot from beyond the radio's range, after the bolt was locked by hand on the way out, next to the phone.
  case lockedOnTheWayOut = "locked by hand on the way out"
  /// Out for 10 s to 3 min, far enough for the lock to lock, and back.
  case shortAbsence = "10 s to 3 min away"
  /// An approach with a stop of one to ten minutes, 5 to 20 m away.
  case stopOnTheWay = "stop 5 to 20 m away"
  /// By bicycle, or running.
  case fast = "3 to 9 m/s"
  /// The door's radio is dead for a while at night. The phone lies somewhere at home, and the bolt was locked by
  /// hand.
  case jamAtNight = "jam at night"
  /// As `jamAtNight`, but minutes after a parcel was taken in or a visitor left.
  case jamAfterParcel = "jam within 10 min of a parcel"
  /// An evening at home, from room to room and past the door, with three outages of the radio.
  case eveningAtHome = "evening at home"
  /// Along the street, past the house.
  case walkingPast = "walking past"

  /// The policy's parameters.
  nonisolated(unsafe) package static var configuration = HomeConfiguration()
  nonisolated(unsafe) package static var isTracing = false
  /// Whether the phone and the lock have bonded. They have not on a guest's first visit.
  nonisolated(unsafe) package static var isBonded = true
  /// How many of the rooms farthest from the door the owner measures before each trial.
  nonisolated(unsafe) package static var measuredRooms = 0

  /// Whether the door should open.
  package var isArrival: Bool {
    switch self {
    case .approach, .lockedOnTheWayOut, .shortAbsence, .stopOnTheWay, .fast: true
    case .jamAtNight, .jamAfterParcel, .eveningAtHome, .walkingPast: false
    }
  }

  /// Runs the trial once for each seed.
  package func run(seeds: Range<UInt64>, physics: RadioPhysics, lock: TrialLock) -> TrialFigures {
    var figures = TrialFigures()
    for seed in seeds { run(seed, physics, lock, &figures) }
    return figures
  }

  private func run(_ seed: UInt64, _ physics: RadioPhysics, _ lock: TrialLock, _ figures: inout TrialFigures) {
    let hasSensor = lock.hasSensor
    figures.runs += 1
    var dice = TrialRandom(seed: seed ^ 0xA11CE)
    func draw(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &dice) }
    let isAppDead = Bool.random(using: &dice)
    switch self {
    case .approach, .lockedOnTheWayOut, .shortAbsence, .stopOnTheWay, .fast:
      var world = TrialWorld(
        seed: seed, physics: physics, phoneAt: hasSensor ? (-2, 1) : (0.8, 0.4), isAppDead: isAppDead,
        lock: lock, configuration: Self.configuration)
      // The trial begins at home, because the very first link does not count as an arrival.
      world.isBoltLocked = false
      world.pass(.seconds(30))
      world.measureRooms(Self.measuredRooms, beside: hasSensor ? (-2, 1) : (0.8, 0.4), &dice)
      if hasSensor { world.goOut() }
      if self == .lockedOnTheWayOut {
        world.turnByHand(isLocked: true, from: .outside)
        // The key is pulled out.
        world.pass(.milliseconds(1500))
      }
      let bearing = draw(-1.2...1.2)
      let outside = (x: cosine(bearing) * 130, y: sine(bearing) * 130)
      let leavingSpeed = self == .shortAbsence ? 8 : hasSensor ? draw(0.7...2) : 1.4
      world.walk(to: outside.x, outside.y, metresPerSecond: leavingSpeed)
      world.pass(.seconds(self == .shortAbsence ? draw(10...180) : draw(600...86400)))
      let speed = self == .fast ? draw(3...9) : draw(0.5...2)
      let before = world.openings.count
      world.isBoltLocked = true
      if Self.isTracing { print(seed, "returns", world.trace) }
      if self == .stopOnTheWay {
        let stop = draw(5...20)
        world.walk(to: cosine(bearing) * stop, sine(bearing) * stop, metresPerSecond: speed)
        world.pass(.seconds(draw(60...600)))
      }
      let threeMetres = world.approach(bearing: bearing, metresPerSecond: speed)
      world.fumble(seconds: 40)
      let openings = Array(world.openings.dropFirst(before))
      if openings.isEmpty {
        figures.refused += 1
        figures.note(seed)
      }
      if openings.count > 1 {
        figures.openedTwice += 1
        figures.note(seed)
      }
      if let first = openings.first {
        figures.secondsFromThreeMetres.append((first.at - threeMetres) / .seconds(1))
        figures.metresAtCommand.append(first.distance)
      }
      if world.questions > 0 { figures.asked += 1 }
    case .jamAtNight, .jamAfterParcel:
      let (distance, bearing) = (draw(1...12), draw(1.8...4.4))
      var world = TrialWorld(
        seed: seed, physics: physics,
        phoneAt: hasSensor ? (-2, 1) : (cosine(bearing) * distance, sine(bearing) * distance),
        isAppDead: isAppDead, lock: lock, connectionInterval: .milliseconds(250),
        configuration: Self.configuration)
      if hasSensor {
        world.comeHome(&dice)
      } else {
        // The owner is at home, and has locked the door.
        world.pass(.seconds(60))
        world.turnByHand(isLocked: true, from: .inside)
      }
      let bed = (cosine(bearing) * distance, sine(bearing) * distance)
      world.measureRooms(Self.measuredRooms, beside: bed, &dice)
      if Self.measuredRooms > 0 { world.measureRoom() }
      world.forgetOpenings()
      if self == .jamAfterParcel {
        world.walk(to: cosine(bearing) * distance, sine(bearing) * distance, metresPerSecond: 1)
        world.pass(.seconds(draw(660...3600)))
        world.answerTheDoor(seconds: draw(3...120))
      }
      // The phone was carried to this place.
      world.walk(to: cosine(bearing) * (distance + 0.5), sine(bearing) * distance, metresPerSecond: 1)
      world.pass(.seconds(self == .jamAfterParcel ? draw(1...300) : hasSensor ? draw(660...3600) : 60))
      world.turnByHand(isLocked: true, from: .inside)
      if self == .jamAfterParcel { world.pass(.seconds(draw(0...240))) }
      if Self.isTracing { print(seed, "jam", world.trace) }
      world.jam(true)
      world.pass(.seconds(draw(5...7200)))
      world.jam(false)
      // The owner is asleep or already up, and then goes to the kitchen, which is beside the door.
      world.pass(.seconds(draw(0...1800)))
      world.walk(to: -1, 0.5, metresPerSecond: draw(0.5...1.5))
      world.pass(.seconds(600))
      finish(world, seed, &figures)
    case .eveningAtHome:
      var world = TrialWorld(
        seed: seed, physics: physics, phoneAt: (-2, 1), isAppDead: isAppDead,
        lock: lock, connectionInterval: .milliseconds(250), configuration: Self.configuration)
      if hasSensor { world.comeHome(&dice) }
      world.pass(.seconds(60))
      world.turnByHand(isLocked: Bool.random(using: &dice), from: .inside)
      world.measureRooms(Self.measuredRooms, beside: (-2, 1), &dice)
      world.forgetOpenings()
      for _ in 0..<3 {
        if hasSensor {
          world.stayAtHome(660, &dice)
          if Int.random(in: 0..<3, using: &dice) == 0 {
            if Self.isTracing { print(seed, "parcel", world.trace) }
            world.answerTheDoor(seconds: draw(3...120))
          }
        }
        world.stayAtHome(draw(60...600), &dice)
        if Self.isTracing { print(seed, "jam", world.trace) }
        world.jam(true)
        world.stayAtHome(draw(5...300), &dice)
        world.jam(false)
        // An approach may last as long as this.
        world.stayAtHome(960, &dice)
      }
      finish(world, seed, &figures)
    case .walkingPast:
      var world = TrialWorld(
        seed: seed, physics: physics, phoneAt: hasSensor ? (-2, 1) : (0.8, 0.4), isAppDead: isAppDead,
        lock: lock, configuration: Self.configuration)
      world.isBoltLocked = false
      world.pass(.seconds(30))
      if hasSensor { world.goOut() }
      world.walk(to: 20, 130, metresPerSecond: 1.4)
      world.pass(.seconds(600))
      world.isBoltLocked = true
      world.walk(to: draw(8...20), -130, metresPerSecond: draw(0.8...2))
      finish(world, seed, &figures)
    }
  }

  private func finish(_ world: TrialWorld, _ seed: UInt64, _ figures: inout TrialFigures) {
    if !world.openings.isEmpty {
      figures.falseOpens += 1
      figures.note(seed)
    }
    if world.questions > 0 { figures.asked += 1 }
  }
}

extension TrialWorld {
  /// Walks to within reach of the handle. Returns the time at which the owner was three metres away.
  mutating func approach(bearing: Double, metresPerSecond: Double) -> Instant {
    walk(to: cosine(bearing) * 3, sine(bearing) * 3, metresPerSecond: metresPerSecond)
    let threeMetres = now
    walk(to: cosine(bearing) * 0.6, sine(bearing) * 0.6, metresPerSecond: min(metresPerSecond, 2))
    return threeMetres
  }

  /// From the hall through the door, which falls shut.
  mutating func goOut() {
    walk(to: -0.6, 0, metresPerSecond: 1)
    door(isOpen: true)
    pass(.milliseconds(1500))
    walk(to: 0.8, 0.4, metresPerSecond: 1)
    door(isOpen: false)
    pass(.seconds(2))
  }

  /// Goes out and comes home, so that the door's sensor has seen it once.
  mutating func comeHome(_ dice: inout TrialRandom) {
    isBoltLocked = false
    pass(.seconds(30))
    goOut()
    walk(to: 130, 10, metresPerSecond: 1.4)
    pass(.seconds(600))
    _ = approach(bearing: Double.random(in: -1.2...1.2, using: &dice), metresPerSecond: 1.4)
    fumble(seconds: 12)
    comeIn()
    forgetOpenings()
  }

  /// Through the door, which is shut behind.
  mutating func comeIn() {
    if isBoltLocked { sayOpen() }
    pass(.seconds(3))
    door(isOpen: true)
    walk(to: -1, 0.5, metresPerSecond: 1)
    pass(.seconds(2))
    door(isOpen: false)
    pass(.seconds(10))
  }

  /// A parcel, or somebody who stays at the door for a talk.
  mutating func answerTheDoor(seconds: Double) {
    walk(to: -0.7, 0.2, metresPerSecond: 1.2)
    let wasLocked = isBoltLocked
    if wasLocked { turnByHand(isLocked: false, from: .inside) }
    door(isOpen: true)
    pass(.seconds(seconds))
    door(isOpen: false)
    if wasLocked { turnByHand(isLocked: true, from: .inside) }
  }

  /// Stands at the door looking for the keys: steps from one foot to the other, and turns.
  mutating func fumble(seconds: Int) {
    for step in 0..<(seconds / 4) {
      let turn = Double(step) * 1.7
      walk(to: 0.6 + 0.2 * cosine(turn), 0.3 * sine(turn), metresPerSecond: 0.5)
      pass(.seconds(3))
    }
  }

  /// Measures this many of the rooms farthest from the door, and comes back.
  mutating func measureRooms(_ count: Int, beside place: (Double, Double), _ dice: inout TrialRandom) {
    guard count > 0 else { return }
    for _ in 0..<count {
      walk(to: Double.random(in: -9 ... -6, using: &dice), Double.random(in: -5...5, using: &dice), metresPerSecond: 1)
      measureRoom()
    }
    walk(to: place.0, place.1, metresPerSecond: 1)
  }

  /// Moves around at home for this many seconds.
  mutating func stayAtHome(_ seconds: Double, _ dice: inout TrialRandom) {
    let end = now + .nanoseconds(Int64(seconds * 1e9))
    while now < end { goSomewhere(&dice, until: end) }
  }

  /// Stays for a while, then goes to another place in the home. Its rooms are behind the door, up to ten metres deep.
  private mutating func goSomewhere(_ dice: inout TrialRandom, until end: Instant) {
    let isAtTheDoor = Int.random(in: 0..<6, using: &dice) == 0
    let x = isAtTheDoor ? Double.random(in: -2 ... -0.5, using: &dice) : Double.random(in: -9 ... -1, using: &dice)
    let y = isAtTheDoor ? Double.random(in: -1...1, using: &dice) : Double.random(in: -5...5, using: &dice)
    walk(to: x, y, metresPerSecond: Double.random(in: 0.4...1.6, using: &dice))
    let stay = Duration.seconds(Double.random(in: 2...400, using: &dice))
    if now < end { pass(min(stay, end - now)) }
  }
}
