import Foundation
import Journal
import JournalEvents
import Worlds

// In a story with several locks, each promise about a door is judged for each lock, from the records that concern
// that lock.
extension Evidence {
  /// The records without those that concern only other locks: the steps on them, their own lines and links, and what
  /// agents record about them.
  func about(_ door: String) -> Evidence {
    let others = Set(doors).subtracting([door])
    let peripherals = peripherals(of: door)
    return without(door: door) { entry in
      concerns(entry, only: others, not: door) || isAboutOther(entry, than: peripherals)
    }
  }

  /// The records without links to devices that are neither a phone with the agent nor a door. A phone may have a watch,
  /// and a door's machine may be a sensor.
  func aboutDoors() -> Evidence {
    let doors = Set(doors)
    return doors.isEmpty ? self : without(door: door) { isLinkOfOthers($0, doors) }
  }

  private func without(door: String?, _ isOther: (JournalEntry) -> Bool) -> Evidence {
    var (kept, bounds): ([JournalEntry], (lower: Int, upper: Int)) = ([], (0, 0))
    for (index, entry) in entries.enumerated() {
      if index == window.lowerBound { bounds.lower = kept.count }
      if index == window.upperBound { bounds.upper = kept.count }
      if !isOther(entry) { kept.append(entry) }
    }
    if window.lowerBound == entries.count { bounds.lower = kept.count }
    if window.upperBound == entries.count { bounds.upper = kept.count }
    return Evidence(
      kept, window: bounds.lower..<bounds.upper, machines: machines, isCutOff: isCutOff, door: door,
      endsAt: endsAt)
  }

  /// Whether this is a link whose two ends are known, and are not one of these doors and a phone with the agent.
  private func isLinkOfOthers(_ entry: JournalEntry, _ doors: Set<String>) -> Bool {
    guard entry.isLink(.linkUp) || entry.isLink(.linkDown), let central = entry[.central],
      let peripheral = entry[.peripheral]
    else { return false }
    func isPhone(_ name: String) -> Bool { machines.contains { $0.name == name && $0.apps.contains(.agent) } }
    return !((doors.contains(peripheral) && isPhone(central)) || (doors.contains(central) && isPhone(peripheral)))
  }

  /// A device as the system of a phone identifies it.
  private struct Peripheral: Hashable {
    var phone: String
    var identifier: String
  }

  /// The devices that phones took for this door's lock and did not find to be another lock.
  private func peripherals(of door: String) -> Set<Peripheral> {
    var (met, wrong): (Set<Peripheral>, Set<Peripheral>) = ([], [])
    for entry in entries where entry.process == Recorded.agent && entry[.door] == door {
      guard let identifier = entry[.peripheral] else { continue }
      let peripheral = Peripheral(phone: entry.machine, identifier: identifier)
      if entry.isAgent(.otherLock) { wrong.insert(peripheral) } else { met.insert(peripheral) }
    }
    return met.subtracting(wrong)
  }

  /// Whether this is a system's line about a request for another lock. If the phone has not met this lock, all its
  /// requests are for others.
  private func isAboutOther(_ entry: JournalEntry, than peripherals: Set<Peripheral>) -> Bool {
    guard entry.isDaemon(.requestCompleted), entry.concerns(Recorded.agentIdentifier),
      let identifier = entry[.peripheral]
    else { return false }
    return !peripherals.contains(Peripheral(phone: entry.machine, identifier: identifier))
  }

  private func concerns(_ entry: JournalEntry, only others: Set<String>, not door: String) -> Bool {
    if entry.isLink(.linkUp) || entry.isLink(.linkDown) { return isLinkOfOthers(entry, [door]) }
    if entry.process == Recorded.lock { return entry.machine != door }
    // The agent records `otherLock` for the door that it looked for, but the line is about the lock that it found,
    // which may be this one.
    if entry.isAgent(.otherLock) { return false }
    if entry.process == Recorded.agent { return entry[.door].map(others.contains) ?? false }
    if entry.isMark(.userUnlocked) || entry.isMark(.userAsked) || entry.isMark(.userAnswered) {
      return entry[.door].map(others.contains) ?? false
    }
    // A machine may have a lock and be somebody's phone.
    let isPhone = machines.first { $0.name == entry.machine }?.apps.contains(.agent) ?? false
    return others.contains(entry.machine) && !isPhone
  }

  /// The refusals by which a phone with several doors learned that this is not the lock that it looked for. It can't
  /// find out in another way. Each such discovery explains the refusals on the same link, at most `searchAttempts` of
  /// them.
  var refusalsOfSearches: Set<Int> {
    guard let door else { return [] }
    var explained: Set<Int> = []
    for (index, finding) in entries.enumerated() where finding.isAgent(.otherLock) && finding[.door] != door {
      func isLink(_ event: Recorded.Radio, _ entry: JournalEntry) -> Bool {
        entry.isLink(event) && entry[.central] == finding.machine && entry[.peripheral] == door
      }
      guard let up = entries[..<index].lastIndex(where: { isLink(.linkUp, $0) }),
        !entries[up..<index].contains(where: { isLink(.linkDown, $0) })
      else { continue }
      let refusals = (up..<index).filter {
        entries[$0].isLock(.commandRefused)
          && ["authenticationFailed", "notEnrolled"].contains(entries[$0][.reason]) && !explained.contains($0)
      }
      explained.formUnion(refusals.suffix(Self.searchAttempts))
    }
    return explained
  }

  /// How often a phone asks a device that refuses it (`LockSearch.maximumRefusals`).
  private static let searchAttempts = 3

  /// Whether an owner's departure was from this door.
  func isFromHere(_ absence: Absence) -> Bool {
    guard let door, let from = positions(of: absence.phone, at: absence.departure) else { return true }
    return from.contains { isNear($0, door, at: absence.departure) }
  }

  /// The door to which an owner has come instead of this one, or `nil`: the nearest to the end of the walk of those
  /// doors that the phone may open.
  func elsewhere(_ absence: Absence) -> String? {
    guard let door, let arrival = absence.arrival, let place = place(entries[arrival], .x, .y) else { return nil }
    let doors = machines.filter { $0.apps.contains(.lock) }
      .map { (name: $0.name, distance: distance(place, to: $0.name, at: arrival) ?? .infinity) }
    // A neighbour's door may be nearer.
    let phone = machines.first { $0.name == absence.phone }
    let own = doors.filter {
      ($0.name == door || phone?.mayKnow($0.name) ?? true) && isNear(place, $0.name, at: arrival)
    }
    let nearest = (own.isEmpty ? doors : own).min { $0.distance < $1.distance }
    // An owner may also walk to another door, and not to their own door beside it.
    if let nearest, nearest.name == door, nearest.distance > Self.besideDoor,
      let other = doors.min(by: { $0.distance < $1.distance }), other.distance < nearest.distance
    {
      return other.name
    }
    return nearest.flatMap { $0.name == door ? nil : $0.name }
  }

  /// How far from the door a signal can be as strong as at the door, in metres, if only distance weakens it.
  private static let besideDoor = 8.0

  /// Whether an owner's walk ends at the home of this door.
  func endsHere(_ entry: JournalEntry, at index: Int) -> Bool {
    guard let door, let place = place(entry, .x, .y) else { return true }
    return isNear(place, door, at: index)
  }
}
