/// All of a small world: one app, one peripheral, and every order of a dozen events.
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

  /// How many different orders were carried out.
  package private(set) var orders = 0
  /// How many were left out, because their last event changed nothing: they are the same as the shorter order.
  package private(set) var idle = 0
  /// The first orders after which a promise was broken, as schedules to replay.
  package private(set) var broken: [(schedule: Schedule, complaint: String)] = []

  private let fault: Fault?
  private let progress: (@Sendable (SmallWorld) -> Void)?

  /// Carries out every order of at most so many events.
  package init(events count: Int, fault: Fault? = nil, progress: (@Sendable (SmallWorld) -> Void)? = nil) {
    (self.fault, self.progress) = (fault, progress)
    var street = Street(seed: 1, cast: .pair, sabotage: fault)
    for step in Self.beginning { street.carryOut(step) }
    explore(street, [], count)
  }

  private mutating func explore(_ street: Street, _ steps: [Step], _ left: Int) {
    orders += 1
    if orders.isMultiple(of: 1000) { progress?(self) }
    // The street is a value: what is tried on a copy has not happened.
    var end = street
    if let complaint = end.settleAndCheck().first {
      if broken.count < 20 { broken.append((Schedule(seed: 1, steps: Self.beginning + steps), complaint)) }
      return
    }
    guard left > 0 else { return }
    for step in Self.events {
      var next = street
      let before = next.turns
      next.carryOut(step)
      guard next.turns > before else {
        idle += 1
        continue
      }
      explore(next, steps + [step], left - 1)
    }
  }
}
