import Glibc

/// The path between two controllers that are on the air: how strongly they hear each other, at any time after the
/// last change of either's motion. It is the same in both directions and depends only on the time, so asking more
/// often gives the same results.
struct Path: Sendable, Equatable {
  private let physics: RadioPhysics
  private let seed: UInt64
  /// The numbers of the controllers, and their motions.
  private let lowerNumber: UInt64
  private let upperNumber: UInt64
  private let lowerMotion: Motion
  private let upperMotion: Motion
  /// The pair's constant share of the path loss, in dB.
  private let shadow: Double
  /// From when on both stand still.
  let restsFrom: Int64

  init(_ one: Controller, _ other: Controller, physics: RadioPhysics, seed: UInt64) {
    self.physics = physics
    self.seed = seed
    let (lower, upper) = one.number <= other.number ? (one, other) : (other, one)
    (lowerNumber, upperNumber) = (lower.number, upper.number)
    (lowerMotion, upperMotion) = (lower.motion, upper.motion)
    restsFrom = max(lower.motion.ended, upper.motion.ended)
    var draws = RandomDraws(seed, DrawPurpose.shadowing, lower.number, upper.number)
    shadow = physics.shadowing * draws.bell()
  }

  /// The mean strength at which the two hear each other, in dBm, or `nil` if they don't.
  func signal(at time: Int64) -> Double? {
    let (one, other) = (lowerMotion.position(at: time), upperMotion.position(at: time))
    let (x, y) = (other.x - one.x, other.y - one.y)
    let unshaded = physics.signal(over: (x * x + y * y).squareRoot()) + shadow
    // For most pairs far apart, this check is enough.
    guard physics.reaches(unshaded + physics.wayShadowingLimit) else { return nil }
    var signal = unshaded + wayShadow(one, other)
    if let carriage = lowerMotion.carriage { signal -= physics.bodyLoss * carriage.shade(towards: x, y, at: time) }
    if let carriage = upperMotion.carriage { signal -= physics.bodyLoss * carriage.shade(towards: -x, -y, at: time) }
    return physics.reaches(signal) ? signal : nil
  }

  func rests(at time: Int64) -> Bool { time >= restsFrom }

  /// Whether only interference can spoil packets from `start` to `end`. For moving controllers this uses the most
  /// that shadows and bodies can take: between two that move evenly, the distance is longest at the beginning or at
  /// the end.
  func isSafe(from start: Int64, to end: Int64) -> Bool {
    if rests(at: start) { return signal(at: start).map(physics.isSafe) ?? false }
    let times = [start, min(end, restsFrom)] + ends.filter { $0 > start && $0 < end }
    let bodies = (lowerMotion.carriage == nil ? 0.0 : 1) + (upperMotion.carriage == nil ? 0.0 : 1)
    let least = shadow - physics.wayShadowingLimit - physics.bodyLoss * bodies
    return times.allSatisfy { physics.isSafe(physics.signal(over: distance(at: $0)) + least) }
  }

  /// When the two may first hear each other, by distance alone, or `nil` if they can't. It is computed from the
  /// beginning of the motions and not from the present, so that it does not depend on when it is asked.
  func reachBegins() -> Int64? {
    let reach = physics.reach(withShadow: shadow)
    let beginning = max(lowerMotion.began, upperMotion.began)
    if distance(at: beginning) <= reach { return beginning }
    let turns = ([beginning] + ends.filter { $0 > beginning }).sorted()
    for (from, until) in zip(turns, turns.dropFirst()) {
      if let share = Self.nearing(relativePlace(at: from), relativePlace(at: until), reach) {
        return from + Int64(Double(until - from) * share)
      }
    }
    return nil
  }

  private var ends: [Int64] { [lowerMotion.ended, upperMotion.ended] }

  private func relativePlace(at time: Int64) -> Position {
    let (one, other) = (lowerMotion.position(at: time), upperMotion.position(at: time))
    return Position(x: other.x - one.x, y: other.y - one.y)
  }

  private func distance(at time: Int64) -> Double {
    let place = relativePlace(at: time)
    return (place.x * place.x + place.y * place.y).squareRoot()
  }

  /// The share of the way between two places after which the distance from the middle is `distance` or less.
  private static func nearing(_ from: Position, _ to: Position, _ distance: Double) -> Double? {
    let (x, y) = (to.x - from.x, to.y - from.y)
    let (a, b) = (x * x + y * y, from.x * x + from.y * y)
    let c = from.x * from.x + from.y * from.y - distance * distance
    guard c > 0 else { return 0 }
    let root = b * b - a * c
    guard a > 0, root >= 0 else { return nil }
    let share = (-b - root.squareRoot()) / a
    return (0...1).contains(share) ? share : nil
  }

  /// What walls and furniture add or take at these places, in dB: one field for each end of the pair, and the sum of
  /// both (Wang, Tameh and Nix, "Joint shadowing process in urban peer-to-peer radio channels", IEEE Trans. Veh.
  /// Technol. 57, 2008). It stays the same while both stand still.
  private func wayShadow(_ one: Position, _ other: Position) -> Double {
    guard physics.wayShadowing > 0 else { return 0 }
    let sum = (field(of: lowerNumber, at: one) + field(of: upperNumber, at: other)) / 2.0.squareRoot()
    return physics.wayShadowing * min(RandomDraws.bellLimit, max(-RandomDraws.bellLimit, sum))
  }

  /// A smooth random field of standard deviation 1: values on a grid, interpolated between the grid's points.
  private func field(of controller: UInt64, at place: Position) -> Double {
    let (x, y) = (place.x / physics.fieldSpacing, place.y / physics.fieldSpacing)
    let (column, row) = (x.rounded(.down), y.rounded(.down))
    var (sum, squares) = (0.0, 0.0)
    for (right, up) in [(0.0, 0.0), (1, 0), (0, 1), (1, 1)] {
      let share = (1 - abs(x - column - right)) * (1 - abs(y - row - up))
      guard share > 0 else { continue }
      var draws = RandomDraws(
        seed, DrawPurpose.wayShadowing, lowerNumber, upperNumber, controller, UInt64(bitPattern: Int64(column + right)),
        UInt64(bitPattern: Int64(row + up)))
      sum += share * draws.bell()
      squares += share * share
    }
    return sum / squares.squareRoot()
  }
}

extension Radio {
  /// The path between two controllers, or `nil` if one of them can't send or receive at all.
  func path(between one: ControllerIdentifier, and other: ControllerIdentifier) -> Path? {
    guard controllers[one]?.isOnAir == true, controllers[other]?.isOnAir == true else { return nil }
    return way(between: one, and: other)
  }

  /// The path between two controllers, even if they can't send or receive now. `nil` if one of them is unknown, or both
  /// are the same.
  func way(between one: ControllerIdentifier, and other: ControllerIdentifier) -> Path? {
    guard one != other, let first = controllers[one], let second = controllers[other] else { return nil }
    return Path(first, second, physics: physics, seed: seed)
  }
}
