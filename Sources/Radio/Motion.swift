import Glibc

/// The position and movement of a controller: a straight line at constant speed, from the place and time of the last
/// command. The position is computed from the time when it is needed, so nothing drifts, and no process has to wake
/// up for a step.
struct Motion: Sendable, Hashable {
  let start: Position
  let end: Position
  /// When it was at `start`, and when it is at `end`, in nanoseconds.
  let began: Int64
  let ended: Int64
  /// How a person carries it, or `nil` for something that has never been carried, such as a lock.
  let carriage: Carriage?

  /// Placed there in an instant. A person who carried it keeps their stance.
  init(at position: Position, now: Int64, carriage: Carriage? = nil) {
    start = position
    end = position
    began = now
    ended = now
    self.carriage = carriage
  }

  /// - Parameter walk: identifies the walk's random sequences.
  init(from start: Position, to end: Position, began: Int64, ended: Int64, walk: UInt64, before: Carriage?) {
    self.start = start
    self.end = end
    self.began = began
    self.ended = ended
    carriage = Carriage(from: start, to: end, ended: ended, walk: walk, before: before)
  }

  func position(at time: Int64) -> Position {
    guard time < ended else { return end }
    guard time > began else { return start }
    let share = Double(time - began) / Double(ended - began)
    return Position(x: start.x + (end.x - start.x) * share, y: start.y + (end.y - start.y) * share)
  }
}

/// How a person carries a controller: the direction they face, and the side of the body on which they have it. The
/// body swings a little while walking, and is still otherwise.
struct Carriage: Sendable, Hashable {
  /// The direction the person faces, in radians.
  let heading: Double
  /// The angle from there to the side with the controller, in radians: a front pocket, a back pocket, a hand.
  let pocket: Double
  let walk: UInt64
  /// From when the person stands still, in nanoseconds.
  let ended: Int64

  /// The standard deviation of the swing, in radians: about 20 degrees.
  private static let swing = 0.35
  /// How long one swing takes to change into the next, in nanoseconds.
  private static let swingTime: Int64 = 2_000_000_000

  init(from start: Position, to end: Position, ended: Int64, walk: UInt64, before: Carriage?) {
    let isTurn = start != end
    heading = isTurn ? atan2(end.y - start.y, end.x - start.x) : before?.heading ?? 0
    var draws = RandomDraws(walk, DrawPurpose.pocket)
    pocket = draws.unit() * 2 * .pi
    self.walk = walk
    self.ended = ended
  }

  private init(_ carriage: Carriage, ended: Int64) {
    heading = carriage.heading
    pocket = carriage.pocket
    walk = carriage.walk
    self.ended = ended
  }

  /// The same, but standing still from `time` on.
  func stopped(at time: Int64) -> Carriage { Carriage(self, ended: min(time, ended)) }

  /// How much of the body is between the controller and something in that direction, from 0 (none) to 1 (all).
  func shade(towards x: Double, _ y: Double, at time: Int64) -> Double {
    let distance = (x * x + y * y).squareRoot()
    // If both are at the same place, there is no direction.
    guard distance > 0.01 else { return 0.5 }
    let side = heading + pocket + Self.swing * swingNumber(at: min(time, ended))
    return (1 - (cos(side) * x + sin(side) * y) / distance) / 2
  }

  private func swingNumber(at time: Int64) -> Double {
    let (knot, rest) = time.quotientAndRemainder(dividingBy: Self.swingTime)
    func number(_ knot: Int64) -> Double {
      var draws = RandomDraws(walk, DrawPurpose.swing, UInt64(bitPattern: knot))
      return draws.bell()
    }
    let share = Double(rest) / Double(Self.swingTime)
    return number(knot) * (1 - share) + number(knot + 1) * share
  }
}
