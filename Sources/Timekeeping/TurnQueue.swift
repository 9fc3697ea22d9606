import TimeTypes

/// What others said to a process and it has not handled yet, in a world whose time a conductor moves.
///
/// Processes run in parallel within one moment. If a process that several others talk to handled what it is told at once, it
/// would take either first, and a run could not be repeated. So it collects what it is told, and handles it when every process
/// of the world rests. Then one thing of each group is handled, and everything that follows from it comes to rest before the
/// next.
package struct TurnQueue<Element> {
  /// Where something came from. What one source says stays in its order; the order of sources that spoke at the same time is
  /// that of their names, and not the order of arrival, which is chance.
  package struct Source: Hashable, Comparable {
    /// One thing of each group is handled in a turn: for the simulator a machine, for latchkeyd an app.
    package var group: String
    /// What of a group comes first, whoever said it.
    package var rank: Int
    package var name: String

    package init(group: String, rank: Int = 0, name: String) {
      self.group = group
      self.rank = rank
      self.name = name
    }

    /// Unique names and numbers count up, so a longer one is a later one.
    package static func < (left: Self, right: Self) -> Bool {
      (left.group, left.rank, left.name.utf8.count, left.name)
        < (right.group, right.rank, right.name.utf8.count, right.name)
    }
  }

  /// What came together is handled in about so many turns. Then a turn has more than one thing of a group.
  static var turnsOfOneQueue: Int { 64 }
  /// After so many turns at one moment, what comes is handled at once. Somebody talks without end, and the conductor shall
  /// see who that is: a process that never rests, and not this one, which sets one alarm after the other.
  package static var turnsAtOneMoment: Int { 500 }

  /// What came since the last turn.
  private var arrived: [(source: Source, element: Element)] = []
  /// For each group, in the order in which it is handled.
  private var ready: [String: ArraySlice<Element>] = [:]
  private var moment = Instant.zero
  private var turnCount = 0

  package init() {}

  package var isEmpty: Bool { arrived.isEmpty && ready.isEmpty }

  /// Whether what comes now has to wait.
  package func takesTurns(at instant: Instant) -> Bool { !isEmpty || !hasEnough(at: instant) }

  private func hasEnough(at instant: Instant) -> Bool { instant == moment && turnCount >= Self.turnsAtOneMoment }

  package mutating func add(_ element: Element, from source: Source) { arrived.append((source, element)) }

  /// Removes and returns what is handled now: one element of each group, or several if very many wait. Called when nothing
  /// moves any more.
  package mutating func nextTurn(at instant: Instant) -> [Element] {
    turnCount = instant == moment ? turnCount + 1 : 1
    moment = instant
    sortArrived()
    var turn: [Element] = []
    for group in ready.keys.sorted() {
      guard let waiting = ready[group] else { continue }
      let count = hasEnough(at: instant) ? waiting.count : max(1, waiting.count / Self.turnsOfOneQueue)
      turn += waiting.prefix(count)
      let rest = waiting.dropFirst(count)
      ready[group] = rest.isEmpty ? nil : rest
    }
    return turn
  }

  private mutating func sortArrived() {
    let sorted = arrived.enumerated().sorted { left, right in
      (left.element.source, left.offset) < (right.element.source, right.offset)
    }
    for (_, (source, element)) in sorted { ready[source.group, default: []].append(element) }
    arrived = []
  }
}
