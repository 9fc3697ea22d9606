import TimeTypes

/// What machines said to the simulator and it has not handled yet, in a world whose time a conductor moves.
///
/// Processes run in parallel within one moment. If the simulator answered at once, a machine's latchkeyd would find answers
/// of bluetoothd and messages of its apps side by side and take either first, and a run could not be repeated. So the simulator
/// collects what it is told, and handles it when every process of the world rests. Then one thing of each machine is
/// handled, and everything that follows from it comes to rest before the next.
struct TurnQueue<Element> {
  /// Where something came from. What one source says stays in its order; the order of sources that spoke at the same time is
  /// that of their names, and not the order of arrival, which is chance.
  struct Source: Hashable, Comparable {
    var machine: String
    var name: String

    /// Unique names and numbers count up, so a longer one is a later one.
    static func < (left: Self, right: Self) -> Bool {
      (left.machine, left.name.utf8.count, left.name) < (right.machine, right.name.utf8.count, right.name)
    }
  }

  /// What came together is handled in about so many turns. Then a turn has more than one thing of a machine.
  static var turnsOfOneQueue: Int { 64 }
  /// After so many turns at one moment, what comes is handled at once. Somebody talks without end, and the conductor shall
  /// see who that is: a process that never rests, and not the simulator that sets one alarm after the other.
  static var turnsAtOneMoment: Int { 500 }

  /// What came since the last turn.
  private var arrived: [(source: Source, element: Element)] = []
  /// For each machine, in the order in which it is handled.
  private var ready: [String: ArraySlice<Element>] = [:]
  private var moment = Instant.zero
  private var turnCount = 0

  var isEmpty: Bool { arrived.isEmpty && ready.isEmpty }

  /// Whether what comes now has to wait.
  func takesTurns(at instant: Instant) -> Bool { !isEmpty || !hasEnough(at: instant) }

  private func hasEnough(at instant: Instant) -> Bool { instant == moment && turnCount >= Self.turnsAtOneMoment }

  mutating func add(_ element: Element, from source: Source) { arrived.append((source, element)) }

  /// Removes and returns what is handled now: one element of each machine, or several if very many wait. Called when nothing
  /// moves any more.
  mutating func nextTurn(at instant: Instant) -> [Element] {
    turnCount = instant == moment ? turnCount + 1 : 1
    moment = instant
    sortArrived()
    var turn: [Element] = []
    for machine in ready.keys.sorted() {
      guard let waiting = ready[machine] else { continue }
      let count = hasEnough(at: instant) ? waiting.count : max(1, waiting.count / Self.turnsOfOneQueue)
      turn += waiting.prefix(count)
      let rest = waiting.dropFirst(count)
      ready[machine] = rest.isEmpty ? nil : rest
    }
    return turn
  }

  private mutating func sortArrived() {
    let sorted = arrived.enumerated().sorted { left, right in
      (left.element.source, left.offset) < (right.element.source, right.offset)
    }
    for (_, (source, element)) in sorted { ready[source.machine, default: []].append(element) }
    arrived = []
  }
}
