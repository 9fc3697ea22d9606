import AppLink
import BluetoothSystem
import BluetoothTypes
import TimeTypes

/// The end of a schedule.
extension Street {
  /// Everything that a schedule may have broken works again, and all peripherals are there. Then everybody must have
  /// what they were promised. Returns what they have not.
  package mutating func settleAndCheck() -> [String] {
    for name in machines.keys.sorted() {
      machines[name]?.fuse = nil
      for bundle in machines[name]?.apps.keys.sorted() ?? [] { machines[name]?.apps[bundle]?.diesAfter = nil }
      carryOut(.startBluetoothd(machine: name))
      carryOut(.plug(machine: name, on: true))
      carryOut(.block(machine: name, on: false))
      carryOut(.near(machine: name))
      carryOut(.bluetooth(machine: name, on: true))
      carryOut(.power(machine: name, on: true))
    }
    pass(.seconds(5))
    for actor in cast.actors where actor.target != nil {
      carryOut(.open(actor.name))
      pass(until: { $0.app(actor.name)?.link != nil }, atMost: .seconds(120))
      carryOut(.publish(actor.name))
    }
    makeAllManagers()
    var missing = untoldLostBonds()
    if !lostBonds.pairs.isEmpty { carryOut(.unpair) }
    pass(until: { street in street.missingPromises { $0.mayWork(.central) }.isEmpty }, atMost: .seconds(400))
    missing += missingPromises { $0.mayWork(.central) }
    for actor in cast.actors where actor.isCentral { carryOut(.open(actor.name)) }
    makeAllManagers()
    pass(until: { street in street.missingPromises { _ in true }.isEmpty }, atMost: .seconds(120))
    missing += missingPromises { _ in true }
    pass(.seconds(60))
    missing += exchangeValues()
    missing += unevenChannels()
    missing += openChannels()
    missing += unevenChannels()
    missing += unknownIdentifiers()
    missing += missedLinks()
    missing += letGo()
    missing += channelsWithoutLink()
    return missing + complaints
  }

  /// An app that its user opened has made only some of its managers, and is told nothing of the others.
  private mutating func makeAllManagers() {
    for actor in cast.actors where actor.isCentral {
      for index in actor.managers.indices { carryOut(.makeManager(Caller(actor.name, index + 1))) }
    }
  }

  /// Passes no more time than it takes until something is so.
  mutating func pass(until isSo: (Street) -> Bool, atMost limit: Duration) {
    let end = now + limit
    while now < end, !isSo(self) { pass(.seconds(5)) }
  }

  /// Apps with what they were promised and do not have.
  private func missingPromises(of isEntitled: (Actor) -> Bool) -> [String] {
    var missing: [String] = []
    for actor in cast.actors where actor.isCentral && isEntitled(actor) && !reference.quit.contains(actor.name) {
      for (index, plan) in actor.managers.enumerated() where plan.role == .central {
        // An app that its user opened is told nothing of a manager that it has not made.
        guard let app = app(actor.name), app.process == nil || app.managers[index + 1] != nil else { continue }
        let caller = Caller(actor.name, index + 1)
        let book = reference.book(caller)
        for peer in book.held.subtracting(book.connected).sorted() {
          let target = machines[actor.machine]?.target(peer)
          missing.append("\(caller): the connection to \(target?.rawValue ?? "?") has not come")
        }
        guard book.scan != nil else { continue }
        let found = Set(book.found.compactMap { machines[actor.machine]?.target($0) })
        for target in cast.targets(of: actor) where !found.contains(target) {
          // What is connected does not advertise.
          guard !isLinked(actor.machine, cast.machine(of: target)) else { continue }
          missing.append("\(caller): the scan has not found \(target)")
        }
      }
    }
    return missing
  }

  func isLinked(_ first: String, _ second: String) -> Bool {
    world.survey.links.contains { [$0.central, $0.peripheral].sorted() == [first, second].sorted() }
  }

  /// Each subscription delivers a new value once, and each service takes a write.
  private mutating func exchangeValues() -> [String] {
    var missing: [String] = []
    forEachConnected { app, number, target in app.disk.identifiers[target].map { app.explore($0, number) } ?? [] }
    pass(.seconds(30))
    let writesBefore = cast.actors.map { app($0.name)?.disk.writesDone ?? 0 }.reduce(0, +)
    var writes = 0
    forEachConnected { app, number, target in
      let requests = app.write(number, target)
      writes += requests.count
      return requests
    }
    pass(.seconds(15))
    for actor in cast.actors where actor.target != nil { carryOut(.push(actor.name)) }
    pass(.seconds(5))
    let writesDone = cast.actors.map { app($0.name)?.disk.writesDone ?? 0 }.reduce(0, +) - writesBefore
    if writesDone != writes { missing.append("\(writesDone) of \(writes) writes were done") }
    for actor in cast.actors {
      guard let app = app(actor.name) else { continue }
      for (number, manager) in app.managers.sorted(by: { $0.key < $1.key }) {
        if !manager.outstanding.isEmpty { missing.append("\(actor.name).\(number): an operation never ended") }
        for target in (app.disk.subscriptions[number] ?? []).sorted() {
          guard let peer = app.disk.identifiers[target], manager.state(of: peer) == .connected else { continue }
          if app.attribute(target, target.offerUUID, number)?.1.isNotifying != true {
            missing.append("\(actor.name).\(number): no subscription to \(target)")
          } else if newestValue(of: target) > 0, app.disk.lastValues[number]?[target] != newestValue(of: target) {
            missing.append("\(actor.name).\(number): the new value of \(target) has not come")
          }
        }
      }
    }
    return missing
  }

  /// Whoever watches links knows which there are.
  private func missedLinks() -> [String] {
    cast.actors.flatMap { actor -> [String] in
      guard let app = app(actor.name), app.process != nil, !app.isSuspended else { return [] }
      return app.managers.sorted { $0.key < $1.key }.flatMap { number, manager in
        (manager.watched ?? [:]).sorted { $0.key < $1.key }.compactMap { peer, isThere -> String? in
          guard let target = machines[actor.machine]?.target(peer),
            isLinked(actor.machine, cast.machine(of: target)) != isThere
          else { return nil }
          return "\(actor.name).\(number): told last that the link to \(target) is \(isThere ? "there" : "gone")"
        }
      }
    }
  }

  mutating func forEachConnected(_ make: (inout ModelApp, Int, Target) -> [Request]) {
    for actor in cast.actors where actor.isCentral {
      for (index, plan) in actor.managers.enumerated() where plan.role == .central {
        for target in cast.targets(of: actor) {
          call(Caller(actor.name, index + 1)) { app, number in
            guard let peer = app.disk.identifiers[target], app.managers[number]?.state(of: peer) == .connected else {
              return []
            }
            return make(&app, number, target)
          }
          run()
        }
      }
    }
  }

  /// When nobody wants anything any more, nothing is left.
  private mutating func letGo() -> [String] {
    for actor in cast.actors where actor.isCentral {
      for (index, plan) in actor.managers.enumerated() where plan.role == .central {
        let caller = Caller(actor.name, index + 1)
        for target in cast.targets(of: actor) { carryOut(.cancel(caller, target)) }
        carryOut(.stopScan(caller))
      }
    }
    pass(until: { $0.world.survey.links.isEmpty }, atMost: .seconds(120))
    return world.survey.links.map { "the link from \($0.central) to \($0.peripheral) stays, though nobody wants it" }
  }
}
