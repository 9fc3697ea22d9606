import TimeTypes
import Worlds

/// A machine's last move: a jump, or a walk that takes a while.
struct Way: Sendable, Equatable {
  var from: Place
  var to: Place
  var began: Instant
  var over: Duration

  /// Its place at that time: the walk is straight and at an even pace.
  func place(at time: Instant) -> Place {
    let (passed, whole) = ((time - began).wholeNanoseconds, over.wholeNanoseconds)
    guard passed < whole else { return to }
    let share = max(0, Double(passed) / Double(whole))
    return Place(x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share)
  }
}
