import JournalEvents
import Stories
import TimeTypes

/// The times when a moving machine was in radio range of another, if only distance counts.
enum RadioRange {
  struct Bands {
    var machine: String
    var other: String
    /// Each lasts until the next.
    var bands: [(from: Instant, isNear: Bool)]
  }

  /// A straight way at an even pace.
  private struct Way {
    var began: Instant
    var seconds: Double
    var from: (x: Double, y: Double)
    var to: (x: Double, y: Double)

    func distance(from place: (x: Double, y: Double), after elapsed: Double) -> Double {
      let share = seconds > 0 ? min(1, max(0, elapsed / seconds)) : 1
      let x = from.x + (to.x - from.x) * share - place.x
      let y = from.y + (to.y - from.y) * share - place.y
      return (x * x + y * y).squareRoot()
    }
  }

  /// The bands of each machine that moves, for each machine that does not. Empty if the positions or the range are
  /// unknown.
  static func bands(of report: Report, until end: Instant) -> [Bands] {
    guard let stage = report.stage, let range = report.rangeMetres else { return [] }
    var ways: [String: [Way]] = [:]
    for entry in report.timeline {
      guard let event = entry.event(as: Recorded.Story.self), [.ownerLeft, .ownerReturned, .moved].contains(event),
        let x = number(entry[.x]), let y = number(entry[.y]), let fromX = number(entry[.fromX]),
        let fromY = number(entry[.fromY])
      else { continue }
      let way = Way(
        began: entry.instant, seconds: entry[.way] == "walk" ? number(entry[.over]) ?? 0 : 0, from: (fromX, fromY),
        to: (x, y))
      ways[entry.machine, default: []].append(way)
    }
    return stage.filter { ways[$0.name] != nil }.flatMap { mover in
      stage.filter { ways[$0.name] == nil }.map { other in
        let place = (x: other.x, y: other.y)
        let first = Way(began: .zero, seconds: 0, from: (mover.x, mover.y), to: (mover.x, mover.y))
        let bands = ([first] + (ways[mover.name] ?? [])).flatMap { changes($0, place, range) }
        return Bands(machine: mover.name, other: other.name, bands: bands)
      }
    }
  }

  private static func number(_ text: String?) -> Double? {
    text.flatMap(Double.init).flatMap { $0.isFinite ? $0 : nil }
  }

  /// Where the walk begins, and where it crosses the edge of the range.
  private static func changes(
    _ way: Way, _ place: (x: Double, y: Double), _ range: Double
  ) -> [(from: Instant, isNear: Bool)] {
    let steps = 400
    func isNear(_ step: Int) -> Bool {
      way.distance(from: place, after: way.seconds * Double(step) / Double(steps)) <= range
    }
    // A jump has no way: only its end counts.
    var near = way.seconds > 0 ? isNear(0) : isNear(steps)
    var changes = [(from: way.began, isNear: near)]
    guard way.seconds > 0 else { return changes }
    for step in 1...steps where isNear(step) != near {
      near.toggle()
      let nanoseconds = Int64(way.seconds * Double(step) / Double(steps) * 1e9)
      changes.append((Instant(nanoseconds: way.began.nanoseconds + nanoseconds), near))
    }
    return changes
  }
}
