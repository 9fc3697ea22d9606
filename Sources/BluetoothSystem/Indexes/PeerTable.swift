import AppLink
import HashTreeCollections
import TimeTypes

/// Something that may have to be looked at when a time has come.
protocol Scheduled {
  var deadline: Instant? { get }
}

/// A peer and its deadline, in the order of the deadlines.
struct DuePeer: Sendable, Comparable {
  let deadline: Instant
  let peer: PeerIdentifier

  static func < (left: Self, right: Self) -> Bool {
    left.deadline == right.deadline ? left.peer < right.peer : left.deadline < right.deadline
  }
}

/// Values by peer. Some values have deadlines. The table finds what is due and what has changed without looking at the
/// other values.
struct PeerTable<Value: Scheduled & Sendable>: Sendable, Sequence {
  // A tree: while a turn may have to be undone, a change copies a few nodes and not the whole table.
  private var all: TreeDictionary<PeerIdentifier, Value> = [:]
  private var deadlines = ChunkedSortedSet<DuePeer>()
  /// Deadlines up to this time have been noticed.
  private var noticedUntil = Instant.zero
  private var touched: Set<PeerIdentifier> = []

  var keys: some Collection<PeerIdentifier> { all.keys }
  var values: some Collection<Value> { all.values }
  func makeIterator() -> TreeDictionary<PeerIdentifier, Value>.Iterator { all.makeIterator() }

  subscript(peer: PeerIdentifier) -> Value? {
    get { all[peer] }
    _modify {
      let (wasThere, deadline) = (all[peer] != nil, all[peer]?.deadline)
      defer { note(peer, wasThere: wasThere, deadline) }
      yield &all[peer]
    }
  }

  subscript(peer: PeerIdentifier, default value: @autoclosure () -> Value) -> Value {
    get { all[peer] ?? value() }
    _modify {
      if all[peer] == nil { self[peer] = value() }
      let deadline = all[peer]?.deadline
      defer { note(peer, wasThere: true, deadline) }
      yield &all[peer, default: value()]
    }
  }

  private mutating func note(_ peer: PeerIdentifier, wasThere: Bool, _ before: Instant?) {
    let value = all[peer]
    if wasThere || value != nil { touched.insert(peer) }
    guard value?.deadline != before else { return }
    if let before { deadlines.remove(DuePeer(deadline: before, peer: peer)) }
    if let deadline = value?.deadline { deadlines.insert(DuePeer(deadline: deadline, peer: peer)) }
  }

  @discardableResult mutating func removeValue(forKey peer: PeerIdentifier) -> Value? {
    defer { self[peer] = nil }
    return all[peer]
  }

  /// The earliest of all deadlines, even if it is overdue.
  var deadline: Instant? { deadlines.first?.deadline }
  /// The earliest deadline that is still to come.
  func deadline(after now: Instant) -> Instant? { deadlines.first(beyond: { $0.deadline > now })?.deadline }
  /// The peers whose deadlines have come, sorted.
  func due(at now: Instant) -> [PeerIdentifier] {
    guard let deadline, deadline <= now else { return [] }
    return deadlines.elements(from: { _ in true }, while: { $0.deadline <= now }).map(\.peer).sorted()
  }

  /// Peers whose deadlines have come since the last call count as changed.
  mutating func passTime(at now: Instant) {
    defer { noticedUntil = Swift.max(noticedUntil, now) }
    guard let next = deadline(after: noticedUntil), next <= now else { return }
    let (from, through) = (noticedUntil, now)
    for due in deadlines.elements(from: { $0.deadline > from }, while: { $0.deadline <= through }) {
      touched.insert(due.peer)
    }
  }

  /// Moves the peers whose values have changed since the last call into the set.
  mutating func moveTouched(to set: inout Set<PeerIdentifier>) {
    guard !touched.isEmpty else { return }
    set.formUnion(touched)
    touched.removeAll()
  }
}

extension ConnectionAttempt: Scheduled {}
extension OperationQueue: Scheduled {}
extension LinkCapacity: Scheduled {}
extension LinkHealth: Scheduled {}
extension DatabaseHealing: Scheduled { var deadline: Instant? { dropAt } }
extension SubscriptionRenewal: Scheduled { var deadline: Instant? { endsAt } }
