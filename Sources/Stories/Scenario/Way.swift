import TimeTypes
import Worlds

/// A machine's last move: a jump, or a walk that takes a while.
struct Way: Sendable, Equatable {
  var from: Place
  var to: Place
  var began: Instant
  var over: Duration

  /// The machine's place at that time. A walk is straight and at an even pace.
  func place(at time: Instant) -> Place {
    let (passed, whole) = ((time - began).wholeNanoseconds, over.wholeNanoseconds)
    guard passed < whole else { return to }
    let share = max(0, Double(passed) / Double(whole))
    return Place(x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share)
  }

  /// The part of the walk that others can notice: between the first and the last place within `radius` of one of them,
  /// in metres. A walk that comes near none of them stays whole.
  func near(_ others: [Place], within radius: Double) -> Way {
    let (dx, dy) = (to.x - from.x, to.y - from.y)
    let length = dx * dx + dy * dy
    guard length > 0 else { return self }
    var near: ClosedRange<Double>?
    for other in others {
      // Where the line and the circle around the other machine meet, as shares of the walk.
      let (ox, oy) = (from.x - other.x, from.y - other.y)
      let half = (ox * dx + oy * dy) / length
      let root = half * half - (ox * ox + oy * oy - radius * radius) / length
      guard root >= 0 else { continue }
      let (first, last) = (max(0, -half - root.squareRoot()), min(1, -half + root.squareRoot()))
      guard first < last else { continue }
      near = near.map { min($0.lowerBound, first)...max($0.upperBound, last) } ?? first...last
    }
    guard let near else { return self }
    func at(_ share: Double) -> Place { Place(x: from.x + dx * share, y: from.y + dy * share) }
    return Way(
      from: near.lowerBound == 0 ? from : at(near.lowerBound), to: near.upperBound == 1 ? to : at(near.upperBound),
      began: began, over: over * (near.upperBound - near.lowerBound))
  }
}
