import Foundation
import TimeTypes

/// A time scale on which quiet hours are short. It is linear between two moments, and the length of a gap grows with
/// the logarithm of its time. So milliseconds and days fit into one picture.
struct FoldedTime {
  /// In milliseconds, ascending.
  let milliseconds: [Double]
  /// The place of each moment, from 0 to 1.
  let places: [Double]

  /// - Parameter moments: in any order. The beginning and the end of the picture must be among them.
  init(_ moments: [Instant]) {
    let sorted = Set(moments.map { max(0, $0.nanoseconds / 1_000_000) }).union([0]).sorted().map(Double.init)
    var sums = [0.0]
    for (earlier, later) in zip(sorted, sorted.dropFirst()) {
      sums.append((sums.last ?? 0) + Self.length(later - earlier))
    }
    let whole = sums.last ?? 0
    milliseconds = sorted
    places = sums.map { whole > 0 ? $0 / whole : 0 }
  }

  /// The length of a gap. A second is about four times as long as 50 ms, and a day about five times as long as a
  /// second.
  private static func length(_ milliseconds: Double) -> Double { log2(1 + milliseconds / 50) }

  /// The place of a moment, from 0 to 1.
  func place(_ instant: Instant) -> Double {
    let wanted = Double(instant.nanoseconds) / 1e6
    guard let after = milliseconds.firstIndex(where: { $0 >= wanted }) else { return 1 }
    guard after > 0 else { return 0 }
    let share = (wanted - milliseconds[after - 1]) / (milliseconds[after] - milliseconds[after - 1])
    return places[after - 1] + (places[after] - places[after - 1]) * share
  }

  /// The moment at a place from 0 to 1.
  func instant(at place: Double) -> Instant {
    let after = max(1, places.firstIndex { $0 >= place } ?? places.count - 1)
    guard after < places.count else { return Instant(nanoseconds: Int64((milliseconds.last ?? 0) * 1e6)) }
    let share = (place - places[after - 1]) / max(places[after] - places[after - 1], .leastNormalMagnitude)
    let found = milliseconds[after - 1] + (milliseconds[after] - milliseconds[after - 1]) * share
    return Instant(nanoseconds: Int64(found * 1e6))
  }
}
