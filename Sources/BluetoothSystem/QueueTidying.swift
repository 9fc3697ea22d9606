import AppLink
import BluetoothTypes
import FoundationEssentials

/// A queue that has grown long, made short again without a lie: an app hears less of what was, and how it is now.
extension BluetoothSystem {
  mutating func tidy(_ name: String) {
    guard var app = apps[name] else { return }
    let before = app.queue.count
    app.queue = app.queue.tidied(values: configuration.eventQueueLimit / 2)
    // The next look comes when as many have come again, so that looking costs each event little.
    app.tidyAt = app.queue.count * 2
    apps[name] = app
    noteLost(name, "outdated", count: before - app.queue.count)
    guard app.queue.count > configuration.eventQueueLimit * 8 else { return }
    // What is left tells of so many different things that no queue is long enough. What goes counts as told, so that the
    // app's next process finds it restored; this one could not be told otherwise.
    let gone = app.queue.prefix(app.queue.count / 2)
    apps[name]?.queue.removeFirst(gone.count)
    for waiting in gone { noteDelivered(waiting.body, waiting.manager) }
    noteLost(name, "too many", count: gone.count)
    if !app.isEnding { end(name, because: "its events piled up") }
  }

  /// The journal is told ever more rarely.
  mutating func noteLost(_ name: String, _ kind: String, count: Int = 1) {
    guard count > 0, var app = apps[name] else { return }
    let before = app.lostEvents
    app.lostEvents += count
    apps[name] = app
    guard before == 0 || before.leadingZeroBitCount != app.lostEvents.leadingZeroBitCount else { return }
    journal(.eventDropped, [.app: name, .kind: kind, .times: String(app.lostEvents)])
  }
}

/// What a state is of: of two events about the same, the later one is how it is.
private enum Subject: Hashable {
  case link(ManagerKey, PeerIdentifier)
  case subscription(ManagerKey, PeerIdentifier, LocalAttributeIdentifier)
}

/// Of which no more than the last has to be told.
private enum Matter: Hashable {
  case state(ManagerKey)
  case name(ManagerKey, PeerIdentifier)
  case services(ManagerKey, PeerIdentifier, [AttributeHandle])
  case sighting(ManagerKey, PeerIdentifier)
  case credit(ManagerKey)
}

/// Where a subject's events are, and whether each says that it is so, or that it is not.
private struct Course {
  var places: [(index: Int, isOn: Bool)] = []
  var isPlain = true
}

extension [App.Waiting] {
  /// - Parameter values: how many values that arrived are kept, the newest ones.
  func tidied(values: Int) -> [App.Waiting] {
    var lastPlace: [Matter: Int] = [:]
    var credit: [ManagerKey: Int] = [:]
    var courses: [Subject: Course] = [:]
    var valueCount = 0
    for (index, waiting) in enumerated() {
      if let matter = waiting.matter { lastPlace[matter] = index }
      if let (subject, isOn) = waiting.subject { courses[subject, default: Course()].places.append((index, isOn)) }
      switch waiting.body {
      case .failedToConnect(let peer, _): courses[.link(waiting.manager, peer), default: Course()].isPlain = false
      case .updateCredit(let count): credit[waiting.manager, default: 0] += count
      case .valueUpdated: valueCount += 1
      default: break
      }
    }
    var dropped: Set<Int> = []
    /// Values of a link that is not told of any more.
    var firstKept: [Subject: Int] = [:]
    for (subject, course) in courses where course.isPlain && course.places.count > 2 {
      guard let first = course.places.first, let last = course.places.last else { continue }
      // Ends as it began: the last says all. Otherwise its contrary goes before, so that both are news.
      let kept = first.isOn == last.isOn ? 1 : 2
      for place in course.places.dropLast(kept) { dropped.insert(place.index) }
      if first.isOn { firstKept[subject] = course.places[course.places.count - kept].index }
    }
    var surplus = valueCount - values
    var result: [App.Waiting] = []
    for (index, waiting) in enumerated() where !dropped.contains(index) {
      if let matter = waiting.matter, lastPlace[matter] != index { continue }
      switch waiting.body {
      case .valueUpdated(let peer, _, _):
        if surplus > 0 {
          surplus -= 1
          continue
        }
        if let first = firstKept[.link(waiting.manager, peer)], index < first { continue }
        result.append(waiting)
      case .updateCredit:
        result.append(
          App.Waiting(manager: waiting.manager, body: .updateCredit(credit[waiting.manager] ?? 0)))
      default: result.append(waiting)
      }
    }
    return result
  }
}

extension App.Waiting {
  fileprivate var subject: (Subject, isOn: Bool)? {
    switch body {
    case .connected(let snapshot): (.link(manager, snapshot.identifier), true)
    case .disconnected(let peer, _, _, _): (.link(manager, peer), false)
    case .subscribed(let central, let characteristic):
      (.subscription(manager, central.identifier, characteristic), true)
    case .unsubscribed(let central, let characteristic):
      (.subscription(manager, central.identifier, characteristic), false)
    default: nil
    }
  }

  fileprivate var matter: Matter? {
    switch body {
    case .stateChanged: .state(manager)
    case .nameChanged(let peer, _): .name(manager, peer)
    case .servicesModified(let peer, let handles): .services(manager, peer, handles)
    case .discovered(let snapshot, _, _): .sighting(manager, snapshot.identifier)
    case .updateCredit: .credit(manager)
    default: nil
    }
  }
}
