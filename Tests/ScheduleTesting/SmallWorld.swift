/// All of a small world: one app, one peripheral, and every order of a dozen events. Orders that lead to the same state
/// are carried on only once. The states that can be reached by one event more are found level by level, so that each is
/// found by the shortest order, and states are not kept: a state is made again from the last common one on the way.
package struct SmallWorld: Sendable {
  /// What can happen.
  package static let events: [Step] = [
    .connect(ann, .lock), .cancel(ann, .lock), .subscribe(ann, .lock), .push("lock"), .leave("ann"), .open("ann"),
    .killApp("ann"), .killSystem(machine: "phone"), .restartBluetoothd(machine: "phone", killed: true),
    .away(machine: "phone"), .near(machine: "phone"), .pass(milliseconds: 12_000),
  ]
  private static let ann = Caller("ann", 1)
  private static let beginning: [Step] = [
    .open("lock"), .publish("lock"), .open("ann"), .connect(ann, .lock), .subscribe(ann, .lock),
    .pass(milliseconds: 5000),
  ]

  /// How many different states were found, and checked.
  package var states: Int { seen.count }
  /// How many events were carried out.
  package private(set) var steps = 0
  /// The number of states that were first found by an order of so many events.
  package private(set) var levels: [Int] = []
  /// The first orders after which a promise was broken, as schedules to replay.
  package private(set) var broken: [(schedule: Schedule, complaint: String)] = []

  /// While progress is told of it: the last of these.
  package private(set) var justBroken: (schedule: Schedule, complaint: String)?

  private var seen: Set<Fingerprint> = []
  private var reader = StateReader()
  private let progress: (@Sendable (SmallWorld) -> Void)?

  /// An order of events, by their numbers.
  private typealias Order = [UInt8]

  /// What a street's state comes down to after these events.
  package static func fingerprint(after steps: [Step]) -> Fingerprint {
    var street = Street(seed: 1, cast: .pair)
    for step in beginning + steps { street.carryOut(step) }
    var reader = StateReader()
    return Fingerprint(of: street, by: &reader)
  }

  /// Carries out every order of at most so many events.
  package init(events count: Int, fault: Fault? = nil, progress: (@Sendable (SmallWorld) -> Void)? = nil) {
    self.progress = progress
    var street = Street(seed: 1, cast: .pair, sabotage: fault)
    for step in Self.beginning { street.carryOut(step) }
    var found: [Order] = []
    if isNew(street, by: []) { found = [[]] }
    for level in 0...count {
      levels.append(found.count)
      guard level < count else { return }
      found = next(found, from: street)
    }
  }

  /// The orders of one event more that lead to new states.
  private mutating func next(_ orders: [Order], from beginning: Street) -> [Order] {
    var found: [Order] = []
    // The streets on the way to the order that is being carried on. Orders are sorted, so that neighbours share most.
    var way: [(event: UInt8, street: Street)] = []
    for order in orders {
      var shared = 0
      while shared < way.count, shared < order.count, way[shared].event == order[shared] { shared += 1 }
      way.removeSubrange(shared...)
      for event in order[shared...] {
        way.append((event, carryOut(event, on: way.last?.street ?? beginning)))
      }
      let street = way.last?.street ?? beginning
      for event in Self.events.indices.map(UInt8.init) {
        let end = carryOut(event, on: street)
        if end.turns > street.turns, isNew(end, by: order + [event]) { found.append(order + [event]) }
      }
    }
    return found
  }

  private mutating func carryOut(_ event: UInt8, on street: Street) -> Street {
    steps += 1
    // A street is a value: what is tried on a copy has not happened.
    var next = street
    next.carryOut(Self.events[Int(event)])
    return next
  }

  /// Whether this state is new, and the promises are kept in it.
  private mutating func isNew(_ street: Street, by order: Order) -> Bool {
    guard seen.insert(Fingerprint(of: street, by: &reader)).inserted else { return false }
    if states.isMultiple(of: 1000) { progress?(self) }
    var end = street
    guard let complaint = end.settleAndCheck().first else { return true }
    if broken.count < 20 {
      let steps = Self.beginning + order.map { Self.events[Int($0)] }
      broken.append((Schedule(seed: 1, steps: steps), complaint))
      justBroken = broken.last
      progress?(self)
      justBroken = nil
    }
    return false
  }
}
