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
      removeAllBonds()
    case .forgetBonds(let machine):
      guard world.isRunning(machine) else { return }
      noteLostBonds(of: machine)
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
  func psm(of target: Target) -> UInt16? {
    cast.actors.first { $0.target == target }.flatMap { app($0.name)?.psm }
  }

  private func place(of machine: String) -> Int { cast.machines.firstIndex(of: machine) ?? 0 }

  mutating func command(_ command: WorldCommand) { open.append(.world(.command(command))) }

  mutating func call(_ caller: Caller, _ make: (inout ModelApp, Int) -> [Request]) {
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

  // MARK: Deaths of systems

  /// latchkeyd dies and starts again with what is on disk.
  mutating func crash(_ name: String) {
    guard var machine = machines[name] else { return }
    open.removeAll { if case .system(name, _) = $0 { true } else { false } }
    open.append(.world(.clientVanished(machine: name, machine.client)))
    machine.lives += 1
    machine.client = ClientIdentifier(":\(name).\(machine.lives)")
    systems[name] = BluetoothSystem(
      apps: machine.apps.values.map(\.actor.declaration), stored: machine.stored, seed: seed &+ machine.lives)
    for app in machine.apps.values { reference.systemDied(of: app.actor.name, isRunning: app.process != nil) }
    let reads = machine.apps.values.reduce(into: Set<Target>()) { $0.formUnion($1.reads) }
    for bundle in machine.apps.keys { machine.apps[bundle]?.systemDied(during: reads) }
    machine.fuse = nil
    machine.attaching = [:]
    machine.queries = [:]
    machine.told = []
    machine.owners = [:]
    for bundle in machine.apps.keys { machine.apps[bundle]?.link = nil }
    machines[name] = machine
    open.append(.system(name, .started))
    if world.isRunning(name) { open.append(.system(name, .daemon(.appeared(world.managedObjects(of: name))))) }
    for bundle in machine.apps.keys.sorted() { attach(name, bundle) }
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
}

extension ModelApp {
  mutating func forgetWishes() {
    disk.wishes = [:]
    disk.kept = [:]
    disk.subscriptions = [:]
    disk.scans = [:]
  }
}
