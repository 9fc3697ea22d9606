import Foundation
import HomePolicy
import RandomTesting
import Testing
import Timekeeping

/// A phone with its policy, its clock and its disk.
struct Phone {
  var policy: HomePolicy
  var time = HomeTime(boot: "first", instant: Instant(nanoseconds: 3_600_000_000_000), unixSeconds: 1_800_000_000)
  var random = SeededGenerator(seed: 1)
  /// What survives the process.
  var disk: HomeState
  /// Every write, and whether the decision to it was on the disk by then.
  var writes: [(command: HomeCommand, operation: UInt64, isStored: Bool)] = []

  var unlocks: [UInt64] { writes.filter { $0.command == .unlock }.map(\.operation) }

  init(_ configuration: HomeConfiguration = HomeConfiguration()) {
    disk = HomeState()
    policy = HomePolicy(configuration, state: disk)
  }

  @discardableResult
  mutating func happens(_ event: HomeEvent) -> [HomeEffect] {
    let effects = policy.handle(event, at: time, using: &random)
    for effect in effects {
      switch effect {
      case .store: disk = policy.state
      case .write(let command, let operation):
        writes.append((command, operation, command == .status || disk.arrival?.operation == operation))
      case .readSignal, .readOffer: break
      }
    }
    return effects
  }

  mutating func pass(_ seconds: Double) {
    time.instant += .seconds(seconds)
    time.unixSeconds += seconds
  }

  /// The process ends and another takes over what is on the disk.
  mutating func relaunch(isLinked: Bool) {
    policy = HomePolicy(policy.configuration, state: disk)
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
    happens(.answered(.unknownOperation))
    happens(.offerReceived)
  }
}
