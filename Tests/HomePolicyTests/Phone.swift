import Foundation
import HomePolicy
import RandomTesting
import Testing
import TimeTypes

/// A phone with its policy, its clock and its disk.
struct Phone {
  var policy: HomePolicy
  var time = HomeTime(boot: "first", instant: Instant(nanoseconds: 3_600_000_000_000), unixSeconds: 1_800_000_000)
  var random = SeededGenerator(seed: 1)
  /// What survives the process.
  var disk: HomeState
  /// Every write, and whether the decision to it was on disk by then.
  var writes: [(command: HomeCommand, operation: UInt64, isStored: Bool)] = []

  /// Every time when a command was written again: whether to be confirmed.
  var rewrites: [Bool] = []

  /// Every question to the owner, and the outcome of each command of the owner.
  var questions: [Doubt] = []
  var wordOutcomes: [WordOutcome] = []
  var errandOutcomes: [ErrandOutcome] = []
  var roomOutcomes: [RoomOutcome] = []
  /// After which pause the next link was to be asked for, each time that the lock turned the phone away.
  var ends: [Duration] = []
  /// How often a link was asked for before that.
  var linkRequests = 0

  var unlocks: [UInt64] { writes.filter { $0.command != .status }.map(\.operation) }

  /// - Parameter isBonded: the phone has been here before.
  init(_ configuration: HomeConfiguration = HomeConfiguration(), isBonded: Bool = true) {
    disk = HomeState()
    disk.isBonded = isBonded ? true : nil
    policy = HomePolicy(configuration, state: disk)
  }

  @discardableResult
  mutating func happens(_ event: HomeEvent) -> [HomeEffect] {
    switch event {
    case .linkUp: writesAtLinkUp = writes.count
    case .linkDown:
      lastOffer = nil
      hasSpoken = false
      isAsked = false
    case .offerReceived: lastOffer = time.instant
    case .answered(_, let bolt):
      lockSays = bolt
      isAsked = false
    default: break
    }
    let effects = policy.handle(event, at: time, using: &random)
    for effect in effects {
      switch effect {
      case .store:
        if isDiskFull {
          happens(.storeFailed)
          return effects
        }
        disk = policy.state
      case .write(let command, let operation):
        writes.append((command, operation, command == .status || disk.opening?.operation == operation))
        isAsked = command == .status && operation == 0
      case .ask(let doubt): questions.append(doubt)
      case .answerWord(let outcome): wordOutcomes.append(outcome)
      case .readSignal:
        isAskedForSignal = true
      case .writeAgain(let isConfirmed): rewrites.append(isConfirmed)
      case .readOffer: isAskedForOffer = true
      case .stopAsking: break
      case .answerErrand(let outcome): errandOutcomes.append(outcome)
      case .answerRoom(let outcome): roomOutcomes.append(outcome)
      case .endLink(let pause): ends.append(pause)
      case .requestLink: linkRequests += 1
      }
    }
    return effects
  }

  /// The signal has this strength for this long. It is read whenever the policy asks.
  mutating func signal(_ dBm: Int?, for seconds: Double = 1.5) {
    let end = time.instant + .seconds(seconds)
    while true {
      if isAskedForSignal {
        isAskedForSignal = false
        happens(.signalRead(dBm))
      }
      if isAsked, hasSpoken, let bolt = lockSays {
        pass(0.06)
        happens(.answered(.unknownOperation, bolt: bolt))
        happens(.offerReceived)
      }
      let next = min(policy.nextDeadline ?? end, nextOffer ?? end)
      guard next < end else { break }
      pass(until: next)
      if let offer = nextOffer, offer <= time.instant { happens(.offerReceived) } else { happens(.timePassed) }
    }
    pass(until: end)
  }

  /// The door has opened, and the lock offers every ten seconds; the signal is so strong for so long, one after the other.
  mutating func look(_ levels: [(dBm: Int, seconds: Double)]) {
    pass(60)
    for (dBm, seconds) in levels {
      var left = seconds
      while left > 0 {
        happens(.offerReceived)
        signal(dBm, for: min(left, 10))
        left -= 10
      }
    }
  }

  private mutating func pass(until instant: Instant) {
    if instant > time.instant { pass(Double((instant - time.instant).wholeNanoseconds) / 1e9) }
  }

  /// Like a lock: to a phone that has not answered yet, it offers again every ten seconds.
  private var nextOffer: Instant? {
    guard isOffering, let lastOffer, writes.count == writesAtLinkUp else { return nil }
    return lastOffer + .seconds(10)
  }

  /// The link is lost, and comes up again so many seconds later, with an offer.
  mutating func losesLink(for seconds: Double) {
    happens(.linkDown)
    pass(seconds)
    happens(.linkUp)
    happens(.offerReceived)
  }

  /// The link comes up at the edge of its range, and the owner walks to the door.
  mutating func walkHome(isOffered: Bool = true) {
    happens(.linkUp)
    if isOffered { happens(.offerReceived) }
    for dBm in stride(from: -93, through: -60, by: 3) { signal(dBm, for: 1) }
  }

  /// When the lock last offered, on this link.
  private var lastOffer: Instant?
  private var writesAtLinkUp = 0
  var isOffering = true
  /// The bolt's position that the lock reports when asked, on a link on which a test made it answer once.
  var lockSays: HomeBolt? { didSet { hasSpoken = true } }
  private var hasSpoken = false
  /// The lock still has to answer something that is not an opening.
  private var isAsked = false
  /// A disk that can't be written.
  var isDiskFull = false
  /// The policy waits for a signal reading.
  var isAskedForSignal = false
  /// The policy has read the offer, and waits for it.
  var isAskedForOffer = false

  mutating func pass(_ seconds: Double) {
    time.instant += .seconds(seconds)
    time.unixSeconds += seconds
  }

  /// The process ends, and another one takes over what is on disk.
  mutating func relaunch(isLinked: Bool) {
    policy = HomePolicy(policy.configuration, state: disk)
    isAskedForSignal = false
    happens(.started(isLinked: isLinked))
  }

  mutating func reboot(offFor seconds: Double, calendarStep: Double = 0) {
    time = HomeTime(
      boot: time.boot + "+", instant: Instant(nanoseconds: 20_000_000_000),
      unixSeconds: time.unixSeconds + seconds + calendarStep)
  }

  /// The first link, with nothing to unlock for.
  mutating func settle() {
    happens(.linkUp)
    happens(.offerReceived)
    happens(.answered(.unknownOperation, bolt: .unlocked))
    happens(.offerReceived)
  }
}
