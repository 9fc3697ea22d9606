import AppLink
import BluetoothTypes
import FoundationEssentials

/// Shortens a queue that has grown long. The app is still told nothing untrue: it hears less of what has happened, but
/// it learns the present state.
extension BluetoothSystem {
  mutating func tidy(_ name: String) {
    guard var app = apps[name] else { return }
    let before = app.queue.count
    app.queue = app.queue.tidied(values: configuration.eventQueueLimit / 2)
    // Next time is when as many events again have been queued, which keeps the cost per event small.
    app.tidyAt = app.queue.count * 2
    apps[name] = app
    noteLost(name, "outdated", count: before - app.queue.count)
    guard app.queue.count > configuration.eventQueueLimit * 8 else { return }
    // The remaining events are about too many different things for any queue. The removed ones count as delivered, so
    // the app's next process finds their results restored. The present process has to be ended.
    let gone = app.queue.prefix(app.queue.count / 2)
    apps[name]?.queue.removeFirst(gone.count)
    for waiting in gone { noteDelivered(waiting.body, waiting.manager) }
    noteLost(name, "too many", count: gone.count)
    if !app.isEnding { end(name, because: "its events piled up") }
  }

  /// Journals lost events, at ever longer intervals.
  mutating func noteLost(_ name: String, _ kind: String, count: Int = 1) {
    guard count > 0, var app = apps[name] else { return }
    let before = app.lostEvents
    app.lostEvents += count
    apps[name] = app
    guard before == 0 || before.leadingZeroBitCount != app.lostEvents.leadingZeroBitCount else { return }
    journal(.eventDropped, [.app: name, .kind: kind, .times: String(app.lostEvents)])
  }
}

/// What a state event is about. Of two events about the same subject, the later one gives the present state.
private enum Subject: Hashable {
  case link(ManagerKey, PeerIdentifier)
  case subscription(ManagerKey, PeerIdentifier, LocalAttributeIdentifier)
  case watchedLink(ManagerKey, PeerIdentifier)
}

/// What an event is about if only the last such event matters.
private enum Matter: Hashable {
  case state(ManagerKey)
  case name(ManagerKey, PeerIdentifier)
  case mtu(ManagerKey, PeerIdentifier)
  case services(ManagerKey, PeerIdentifier, [AttributeHandle])
  case sighting(ManagerKey, PeerIdentifier)
  case credit(ManagerKey)
}

/// The positions of a subject's events, and whether each says on or off.
private struct Course {
  var places: [(index: Int, isOn: Bool)] = []
  var isPlain = true
}

extension [App.Waiting] {
  /// - Parameter values: how many of the newest arrived values are kept.
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
    /// For each subject, its first link event that is kept. Values of earlier links are dropped.
    var firstKept: [Subject: Int] = [:]
    for (subject, course) in courses where course.isPlain && course.places.count > 2 {
      guard let first = course.places.first, let last = course.places.last else { continue }
      // If the last event says the same as the first, it alone is enough. Otherwise the one before it is kept as
      // well, so that both are news.
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
    case .connectionEvent(let snapshot, let isConnected):
      (.watchedLink(manager, snapshot.identifier), isConnected)
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
    case .mtuChanged(let peer, _): .mtu(manager, peer)
    case .servicesModified(let peer, let handles): .services(manager, peer, handles)
    case .discovered(let snapshot, _, _): .sighting(manager, snapshot.identifier)
    case .updateCredit: .credit(manager)
    default: nil
    }
  }
}
