import AppLink
import BlueZModel
import BluetoothSystem
import BluetoothTypes
import TimeTypes

/// What happens on a street, step by step.
extension Street {
  package mutating func carryOut(_ step: Step) {
    switch step {
    case .scan(let caller, let allowsDuplicates): call(caller) { $0.scan($1, allowsDuplicates: allowsDuplicates) }
    case .stopScan(let caller): call(caller) { $0.stopScan($1) }
    case .connect(let caller, let target): call(caller) { $0.connect($1, target) }
    case .keep(let caller, let target): call(caller) { $0.connect($1, target, isKept: true) }
    case .delay(let caller, let target): call(caller) { $0.connect($1, target, delay: .seconds(5)) }
    case .cancel(let caller, let target): call(caller) { $0.cancel($1, target) }
    case .subscribe(let caller, let target): call(caller) { $0.subscribe($1, target, true) }
    case .unsubscribe(let caller, let target): call(caller) { $0.subscribe($1, target, false) }
    case .read(let caller, let target): call(caller) { $0.read($1, target) }
    case .write(let caller, let target): call(caller) { $0.write($1, target) }
    case .stream(let caller, let target): call(caller) { $0.stream($1, target) }
    case .readSignal(let caller, let target): call(caller) { $0.readSignal($1, target) }
    case .makeManager(let caller): call(caller) { $0.makeManager($1) }
    case .dropManager(let caller): call(caller) { $0.dropManager($1) }
    case .publish(let app): call(Caller(app, 1)) { app, _ in app.setPublishing(true) }
    case .unpublish(let app): call(Caller(app, 1)) { app, _ in app.setPublishing(false) }
    case .push(let app): call(Caller(app, 1)) { app, _ in app.push() ?? [] }
    case .flood(let app): call(Caller(app, 1)) { app, _ in app.flood() }
    case .listen(let app): call(Caller(app, 1)) { app, _ in app.listen() }
    case .stopListening(let app): call(Caller(app, 1)) { app, _ in app.stopListening() }
    case .openChannel(let caller, let target):
      if let psm = psm(of: target) { call(caller) { $0.openChannel($1, target, psm: psm) } }
    case .watch(let caller): call(caller) { $0.watch($1) }
    case .stopWatching(let caller): call(caller) { $0.stopWatching($1) }
    case .retrieve(let caller): retrieve(caller)
    case .open(let app), .leave(let app), .quit(let app), .reclaim(let app): userActs(step, app)
    case .bluetooth(let machine, let isOn): setBluetooth(machine, isOn)
    case .killApp(let app): if let actor = cast[app] { endProcess(actor.machine, actor.bundle) }
    case .killAppAfter(let app, let events):
      guard let actor = cast[app], self.app(app)?.process != nil else { return }
      machines[actor.machine]?.apps[actor.bundle]?.diesAfter = events
    case .killSystem(let machine): crash(machine)
    case .killSystemAfter(let machine, let effects): machines[machine]?.fuse = effects
    case .restartBluetoothd(let machine, let killed): command(.restartBluetoothd(machine: machine, killed: killed))
    case .stopBluetoothd(let machine):
      if world.isRunning(machine) { command(.stopBluetoothd(machine: machine, killed: false)) }
    case .startBluetoothd(let machine): if !world.isRunning(machine) { command(.startBluetoothd(machine: machine)) }
    case .reboot(let machine): reboot(machine, .shutDown(machine: machine))
    case .cutPower(let machine): reboot(machine, .cutPower(machine: machine))
    case .unpair:
      guard cast.machines.allSatisfy(world.isRunning) else { return }
      for machine in cast.machines { command(.plug(machine: machine, isOn: true)) }
      // A pairing under way may leave a bond on one side a moment later.
      for _ in 0..<10 where !forgetPairings() { pass(.milliseconds(100)) }
    case .forgetBonds(let machine):
      guard world.isRunning(machine) else { return }
      hasOneSidedBonds = true
      reference.mayLackBonds = true
      for name in machines.keys {
        for bundle in machines[name]?.apps.keys.sorted() ?? [] { machines[name]?.apps[bundle]?.mayLackBonds = true }
      }
      command(.plug(machine: machine, isOn: true))
      command(.forgetPairings(machine: machine))
    case .wake(let machine): open.append(.system(machine, .resumedFromSleep))
    case .press(let machine): open.append(.system(machine, .memoryPressure))
    case .plug(let machine, let isOn): command(.plug(machine: machine, isOn: isOn))
    case .block(let machine, let isOn): command(.block(machine: machine, isOn: isOn))
    case .power(let machine, let isOn): command(.power(machine: machine, isOn: isOn))
    case .away(let machine): command(.move(machine: machine, x: 5000, y: Double(place(of: machine)) * 5000))
    case .near(let machine): command(.move(machine: machine, x: Double(place(of: machine)), y: 0))
    case .pass(let milliseconds): pass(.milliseconds(Int64(milliseconds)))
    }
    run()
  }

  /// The PSM of the channel that a target's app publishes.
  private func psm(of target: Target) -> UInt16? {
    cast.actors.first { $0.target == target }.flatMap { app($0.name)?.psm }
  }

  private func place(of machine: String) -> Int { cast.machines.firstIndex(of: machine) ?? 0 }

  private mutating func command(_ command: WorldCommand) { open.append(.world(.command(command))) }

  private mutating func call(_ caller: Caller, _ make: (inout ModelApp, Int) -> [Request]) {
    guard let actor = cast[caller.app], caller.manager >= 1, caller.manager <= actor.managers.count,
      var app = machines[actor.machine]?.apps[actor.bundle], let link = app.link
    else { return }
    let requests = make(&app, caller.manager)
    machines[actor.machine]?.apps[actor.bundle] = app
    for request in requests { open.append(.system(actor.machine, .request(link, request))) }
  }

  // MARK: The user

  private mutating func userActs(_ step: Step, _ name: String) {
    guard let actor = cast[name] else { return }
    let bundle = actor.bundle
    switch step {
    case .open: control(actor.machine, .openApp(bundleIdentifier: bundle))
    case .leave: control(actor.machine, .leaveApp(bundleIdentifier: bundle))
    case .quit: control(actor.machine, .quitApp(bundleIdentifier: bundle))
    case .reclaim: control(actor.machine, .reclaimApp(bundleIdentifier: bundle))
    default: break
    }
  }

  /// What a user's word changes in what apps were promised, at the moment when the system hears it.
  mutating func userAsks(_ request: ControlRequest, on machine: String) {
    func app(_ bundle: String) -> ModelApp? { machines[machine]?.apps[bundle] }
    switch request {
    case .openApp(let bundle):
      guard let app = app(bundle) else { return }
      reference.userOpens(app.actor.name, isRunning: app.process != nil)
    case .quitApp(let bundle):
      guard let app = app(bundle) else { return }
      reference.userEnds(app.actor.name, isRunning: app.process != nil, forGood: true)
    case .reclaimApp(let bundle):
      guard let app = app(bundle) else { return }
      reference.userEnds(app.actor.name, isRunning: app.process != nil, forGood: false)
    case .setBluetooth(on: false):
      for app in machines[machine]?.apps.values.filter({ $0.process == nil }) ?? [] {
        reference.bluetoothIsOff(for: app.actor.name)
      }
    default: break
    }
  }

  /// Of the apps that are suspended now, and that are not to run always, the system may end one.
  mutating func memoryIsShort(on machine: String) {
    let apps =
      machines[machine]?.apps.values.filter { $0.process != nil && $0.isSuspended && !$0.actor.keepAlive } ?? []
    reference.memoryIsShort(of: Set(apps.map(\.actor.name)))
  }

  private mutating func setBluetooth(_ name: String, _ isOn: Bool) {
    control(name, .setBluetooth(on: isOn))
  }

  private mutating func control(_ machine: String, _ request: ControlRequest) {
    open.append(.system(machine, .control(request, AnswerToken(0))))
  }

  // MARK: L2CAP channels

  /// Apps open channels and send nothing over them. A channel ends with its link.
  mutating func take(_ effect: BlueZModel.ChannelEffect, of name: String) {
    // If the system has died since its call, nobody gets the answer.
    guard case .openCredit(_, let client, let call, let mtu, let device) = effect, machines[name]?.client == client
    else { return }
    let channel = ChannelDescriptor(owning: -1) { _ in }
    open.append(
      .system(name, .daemon(.reply(call, .success(.creditChannel(channel, mtu: mtu, device: device))))))
  }

  // MARK: A whole machine

  private mutating func reboot(_ name: String, _ end: WorldCommand) {
    command(end)
    run()
    for bundle in machines[name]?.apps.keys.sorted() ?? [] {
      guard let app = machines[name]?.apps[bundle], app.process != nil else { continue }
      machines[name]?.apps[bundle]?.die()
      reference.processEnded(app.actor.name)
    }
    crash(name)
    run()
    command(.boot(machine: name))
  }

  // MARK: The end of a schedule

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
    if hasOneSidedBonds {
      hasOneSidedBonds = false
      carryOut(.unpair)
    }
    for actor in cast.actors where actor.target != nil {
      carryOut(.open(actor.name))
      pass(until: { $0.app(actor.name)?.link != nil }, atMost: .seconds(120))
      carryOut(.publish(actor.name))
    }
    makeAllManagers()
    pass(until: { street in street.missingPromises { $0.mayWork(.central) }.isEmpty }, atMost: .seconds(400))
    var missing = missingPromises { $0.mayWork(.central) }
    for actor in cast.actors where actor.isCentral { carryOut(.open(actor.name)) }
    makeAllManagers()
    pass(until: { street in street.missingPromises { _ in true }.isEmpty }, atMost: .seconds(120))
    missing += missingPromises { _ in true }
    pass(.seconds(60))
    missing += exchangeValues()
    missing += openChannels()
    missing += missedLinks()
    missing += letGo()
    return missing + complaints
  }

  /// An app that its user opened has made only some of its managers, and is told nothing of the others.
  private mutating func makeAllManagers() {
    for actor in cast.actors where actor.isCentral {
      for index in actor.managers.indices { carryOut(.makeManager(Caller(actor.name, index + 1))) }
    }
  }

  /// Passes no more time than it takes until something is so.
  private mutating func pass(until isSo: (Street) -> Bool, atMost limit: Duration) {
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

  private func isLinked(_ first: String, _ second: String) -> Bool {
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

  /// Each channel that is published can be opened, and both sides hear of it.
  private mutating func openChannels() -> [String] {
    let before = channels
    var psms: [Target: UInt16] = [:]
    for target in Target.allCases { psms[target] = psm(of: target) }
    var wanted = 0
    forEachConnected { app, number, target in
      guard let psm = psms[target] else { return [] }
      let requests = app.openChannel(number, target, psm: psm)
      wanted += requests.count
      return requests
    }
    let untold = cast.actors.filter { actor in
      guard let app = app(actor.name), let number = app.publisher, let manager = app.managers[number] else {
        return false
      }
      return manager.channel != nil && manager.channel?.psm == nil
    }
    guard untold.isEmpty else { return untold.map { "\($0.name) was never told its PSM" } }
    guard wanted > 0 else { return [] }
    pass(.seconds(30))
    let (opened, taken) = (channels.opened - before.opened, channels.taken - before.taken)
    guard (opened, taken) != (wanted, wanted) else { return [] }
    return ["of \(wanted) L2CAP channels \(opened) were opened, and \(taken) heard of by the other side"]
  }

  private var channels: (opened: Int, taken: Int) {
    cast.actors.compactMap { app($0.name)?.disk }
      .reduce((0, 0)) { ($0.0 + $1.channelsOpened, $0.1 + $1.channelsTaken) }
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

  private mutating func forEachConnected(_ make: (inout ModelApp, Int, Target) -> [Request]) {
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

extension ModelApp {
  mutating func forgetWishes() {
    disk.wishes = [:]
    disk.kept = [:]
    disk.subscriptions = [:]
    disk.scans = [:]
  }
}
