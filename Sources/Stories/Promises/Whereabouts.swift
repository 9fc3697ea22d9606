import Foundation
import Journal
import JournalEvents
import Worlds

extension Evidence {
  /// How far from the door its home reaches, in metres. No radio reaches as far.
  private static let homeRadius = 50.0

  /// Whether a machine is far away from the door at this point of the story. `false` if its place is not known, as on a
  /// real machine.
  func isFar(_ machine: String, from door: String, at index: Int) -> Bool {
    guard let places = positions(of: machine, at: index) else { return false }
    return places.allSatisfy { (distance($0, to: door, at: index) ?? 0) > Self.homeRadius }
  }

  /// Whether a place is at the door's home.
  func isNear(_ place: Place, _ door: String, at index: Int) -> Bool {
    (distance(place, to: door, at: index) ?? 0) <= Self.homeRadius
  }

  /// In metres, or `nil` if the door's place is not known.
  func distance(_ place: Place, to door: String, at index: Int) -> Double? {
    positions(of: door, at: index)?.map { hypot(place.x - $0.x, place.y - $0.y) }.min()
  }

  /// Where a machine is: one place, or both ends of the walk that it is on. `nil` if it is not known.
  func positions(of machine: String, at index: Int) -> [Place]? {
    let moved = last(before: index) {
      $0.machine == machine && ($0.isMark(.moved) || $0.isMark(.ownerLeft) || $0.isMark(.ownerReturned))
    }
    guard let moved else { return machines.first { $0.name == machine }.map { [$0.position] } }
    let mark = entries[moved]
    guard let end = place(mark, .x, .y) else { return nil }
    let walk = Int64((Double(mark[.over] ?? "") ?? 0) * 1e9)
    guard walk > 0, index < entries.count, entries[index].t < mark.t + walk else { return [end] }
    return place(mark, .fromX, .fromY).map { [$0, end] }
  }

  func place(_ entry: JournalEntry, _ x: JournalField, _ y: JournalField) -> Place? {
    guard let x = entry[x].flatMap({ Double($0) }), let y = entry[y].flatMap({ Double($0) }) else { return nil }
    return Place(x: x, y: y)
  }

  /// Whether the lock lets a phone in at this point of the story, as far as the records show it. The lock's latest answer
  /// to it tells, or a step that gave it keys, or else the description of the world.
  func hasKey(_ phone: String, of door: String, at index: Int) -> Bool {
    let latest = last(before: index) { entry in
      // A guest calls the door as they like. In a story with several, the records about others are left out.
      guard entry.machine == phone else { return false }
      return entry.isProvisioning || entry.isAgent(.enrolled) || entry.isAgent(.turnedAway)
        || entry.isAgent(.statusAnswered) || entry.isAgent(.unlockAnswered) || entry.isAgent(.lockAnswered)
    }
    guard let latest else {
      return machines.first { $0.name == phone }.map { $0.isEnrolled && $0.mayKnow(door) } ?? true
    }
    let entry = entries[latest]
    // The words of LockResult.
    return !entry.isAgent(.turnedAway) && !["revoked", "expired"].contains(entry[.result])
  }

  /// The index at which a walk home that begins with this line was broken off, by a jump or by a walk that leads away
  /// from every door, or `nil` if it was not.
  func brokenOff(_ index: Int) -> Int? {
    let way = entries[index]
    guard way.isMark(.ownerReturned) else { return nil }
    let next = first(in: rest(from: index + 1)) {
      $0.machine == way.machine && ($0.isMark(.moved) || $0.isMark(.ownerLeft) || $0.isMark(.ownerReturned))
    }
    guard let next, entries[next].t < way.wayEnds, let end = place(entries[next], .x, .y) else { return nil }
    return entries[next].isOnWay && doors.contains { isNear(end, $0, at: next) } ? nil : next
  }
}
