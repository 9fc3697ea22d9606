import AppLink
import BlueZModel
import BluetoothSystem
import Foundation
import TimeTypes
import Timekeeping

/// The loop below `SimulatedHome`. It carries messages between the radio's world, each machine's system and its apps,
/// and moves the clock when all of them are idle. Everything happens on one thread.
final class HomeEngine: @unchecked Sendable {
  private let thread = DispatchQueue(label: "org.latchkey.simulated-home")
  private let threadKey = DispatchSpecificKey<Bool>()
  private let configuration: BluetoothSystem.Configuration
  let clock: ManualClock
  private let seed: UInt64

  var world: SimulatedWorld
  var machines: [String: Machine] = [:]
  var work: [Work] = []
  /// The L2CAP channels that are open.
  var channels: [ChannelKey: ChannelPipe] = [:]
  private var isWorking = false
  var waiter: CheckedContinuation<Void, Never>?
  private var counter: UInt64 = 0
  var lastInstant = Instant.zero
  var roundsAtInstant = 0
  private var queryReplies: [AnswerToken: Result<QueryReply, AppLinkError>] = [:]
  private var attaching: [AnswerToken: SimulatedApp] = [:]
  private(set) var launchCounts: [String: Int] = [:]
  /// Apps that run again after a suspension, and whose alarms have been waiting.
  private var resumed: [SimulatedApp] = []
  var isLooking = false
  var holds = 0
  let patience: HomePatience
  /// How much the apps have done so far, how much that was at the last look, and how many looks in a row found it the
  /// same.
  private(set) var progress = 0
  var progressAtLook = 0
  var stillLooks = 0
  private var notes: [HomeNote] = []
  private(set) var latestLinkUp: Instant?
  /// By the machine.
  var manners: [String: HomeManners] = [:]

  /// A class, so that the system is changed in place. With a structure there would be a second copy of the system, and
  /// each change of a table would copy the table.
  final class Machine {
    var system: BluetoothSystem
    var stored = StoredState()
    var client: ClientIdentifier
    var apps: [String: Installation] = [:]
    var isOn = true
    var declarations: [AppDeclaration] { apps.keys.sorted().compactMap { apps[$0]?.declaration } }

    init(system: BluetoothSystem, client: ClientIdentifier) { (self.system, self.client) = (system, client) }
  }

  struct Installation {
    var declaration: AppDeclaration
    var launch: @Sendable (SimulatedLaunch) -> AnyObject
    let history = AppHistory()
    var process: SimulatedApp?
  }

  enum Work {
    case system(String, BluetoothSystem.Event)
    case world(SimulatedWorld.Event)
  }

  init(
    seed: UInt64, configuration: BluetoothSystem.Configuration, clock: ManualClock, patience: HomePatience
  ) {
    self.patience = patience
    self.seed = seed
    self.configuration = configuration
    self.clock = clock
    world = SimulatedWorld(seed: seed)
    thread.setSpecific(key: threadKey, value: true)
  }

  var isOnThread: Bool { DispatchQueue.getSpecific(key: threadKey) == true }

  /// Does something on the engine's thread and carries out all consequences.
  func run<Value>(_ body: (HomeEngine) -> Value) -> Value {
    func work() -> Value {
      let value = body(self)
      settle()
      return value
    }
    return isOnThread ? work() : thread.sync(execute: work)
  }

  func enqueue(_ body: @escaping @Sendable (HomeEngine) -> Void) {
    thread.async { [self] in
      progress += 1
      body(self)
      settle()
      wakeIfQuiet()
    }
  }

  /// Reads the engine's state on its thread, without carrying out any work.
  func look(_ body: @escaping @Sendable (HomeEngine) -> Void) { thread.async { [self] in body(self) } }

  // MARK: Machines

  /// Ends the test if there is no such machine, with a message that names those that there are. A wrong name is a
  /// mistake of the test.
  func checkMachine(_ name: String) {
    precondition(
      machines[name] != nil,
      "there is no machine \"\(name)\" in this home: \(machines.keys.sorted().joined(separator: ", "))")
  }

  func checkApp(_ bundleIdentifier: String) {
    let installed = machines.values.flatMap(\.apps.keys).sorted()
    precondition(
      installed.contains(bundleIdentifier),
      "there is no app \"\(bundleIdentifier)\" in this home: \(installed.joined(separator: ", "))")
  }

  func addMachine(_ machine: SimulatedMachine) {
    precondition(machines[machine.name] == nil, "there is a machine \"\(machine.name)\" already")
    let outputs = world.addMachine(machine, at: clock.now)
    machines[machine.name] = Machine(system: makeSystem([], StoredState()), client: nextClient())
    work.append(.system(machine.name, .started))
    take(outputs)
  }

  func install(
    _ declaration: AppDeclaration, on name: String, _ launch: @escaping @Sendable (SimulatedLaunch) -> AnyObject
  ) {
    checkMachine(name)
    precondition(
      machineName(of: declaration.bundleIdentifier) == nil,
      "the app \"\(declaration.bundleIdentifier)\" is installed already; give the second one another identifier")
    machines[name]?.apps[declaration.bundleIdentifier] = Installation(declaration: declaration, launch: launch)
    restartSystem(name)
  }

  private func makeSystem(_ apps: [AppDeclaration], _ stored: StoredState) -> BluetoothSystem {
    counter += 1
    return BluetoothSystem(configuration: configuration, apps: apps, stored: stored, seed: seed &* 1_000_003 &+ counter)
  }

  func nextClient() -> ClientIdentifier {
    counter += 1
    return ClientIdentifier(":1.\(counter)")
  }

  func restartSystem(_ name: String) {
    guard let machine = machines[name] else { return }
    note(name, .text("system.restarted"))
    let processes = machine.apps.values.compactMap(\.process)
    for process in processes { process.detach() }
    work.removeAll { if case .system(name, _) = $0 { true } else { false } }
    work.append(.world(.clientVanished(machine: name, machine.client)))
    machines[name]?.system = makeSystem(machine.declarations, machine.stored)
    machines[name]?.client = nextClient()
    work.append(.system(name, .started))
    if world.isRunning(name) { work.append(.system(name, .daemon(.appeared(world.managedObjects(of: name))))) }
    for process in processes.sorted(by: { $0.bundleIdentifier < $1.bundleIdentifier }) { attach(process) }
  }

  func turnOff(_ name: String) {
    checkMachine(name)
    guard machines[name]?.isOn == true else { return }
    // The machine is marked as off first, so that its system hears nothing more. Otherwise it would start the apps
    // again that end here.
    machines[name]?.isOn = false
    for bundleIdentifier in (machines[name]?.apps ?? [:]).keys.sorted() { endProcess(bundleIdentifier) }
    settle()
    command(.shutDown(machine: name))
    settle()
  }

  func turnOn(_ name: String) {
    checkMachine(name)
    guard machines[name]?.isOn == false else { return }
    machines[name]?.isOn = true
    restartSystem(name)
    settle()
    command(.boot(machine: name))
  }

  func command(_ command: WorldCommand) {
    checkMachine(command.machine)
    work.append(.world(.command(command)))
  }

  func control(_ request: ControlRequest, machine name: String) {
    checkMachine(name)
    work.append(.system(name, .control(request, nextToken())))
  }

  func control(_ request: ControlRequest, app bundleIdentifier: String) {
    checkApp(bundleIdentifier)
    guard let name = machineName(of: bundleIdentifier) else { return }
    control(request, machine: name)
  }

  // MARK: Apps

  func endTime(of bundleIdentifier: String) {
    guard let name = machineName(of: bundleIdentifier) else { return }
    work.append(.system(name, .timeEnded(bundleIdentifier)))
  }

  func process(_ bundleIdentifier: String) -> SimulatedApp? {
    machineName(of: bundleIdentifier).flatMap { machines[$0]?.apps[bundleIdentifier]?.process }
  }

  /// What is known of an app over all its runs.
  func history(_ bundleIdentifier: String) -> AppHistory? {
    checkApp(bundleIdentifier)
    return machineName(of: bundleIdentifier).flatMap { machines[$0]?.apps[bundleIdentifier]?.history }
  }

  /// The only installed app, for tests that don't name one. Ends the test if there are several, or none.
  func onlyApp() -> String {
    let installed = machines.values.flatMap(\.apps.keys).filter { !$0.hasPrefix(SimulatedHome.scriptPrefix) }
    precondition(
      installed.count == 1,
      "name the app: this home has \(installed.isEmpty ? "none" : installed.sorted().joined(separator: ", "))")
    return installed[0]
  }

  private func machineName(of bundleIdentifier: String) -> String? {
    machines.first { $0.value.apps[bundleIdentifier] != nil }?.key
  }

  private func nextToken() -> AnswerToken {
    counter += 1
    return AnswerToken(counter)
  }

  private func launch(_ bundleIdentifier: String, on name: String, _ options: LaunchOptions) {
    guard let installation = machines[name]?.apps[bundleIdentifier] else { return }
    counter += 1
    launchCounts[bundleIdentifier, default: 0] += 1
    let watch = AppWatch(installation.history, launch: launchCounts[bundleIdentifier] ?? 1, clock: clock)
    let process = SimulatedApp(
      bundleIdentifier: bundleIdentifier, modes: installation.declaration.backgroundModes, machine: name,
      processIdentifier: Int32(truncatingIfNeeded: counter), history: installation.history, watch: watch, engine: self)
    watch.onChange = { [weak self, weak process] in
      guard let process else { return }
      self?.enqueue { _ in process.stir() }
    }
    machines[name]?.apps[bundleIdentifier]?.process = process
    work.append(.system(name, .appLaunched(bundleIdentifier, identity(of: process))))
    attach(process)
    let launch = SimulatedLaunch(
      centralsToRestore: options.centrals, peripheralsToRestore: options.peripherals,
      clock: SimulatedClock(time: clock) { [weak process] body in process?.ring(body) },
      process: process, engine: self)
    process.launch {
      installation.launch(launch)
    } _: { [weak self] in
      self?.enqueue { _ in process.isLaunching = false }
    }
  }

  private func identity(of process: SimulatedApp) -> ProcessIdentity {
    ProcessIdentity(processIdentifier: process.processIdentifier)
  }

  private func attach(_ process: SimulatedApp) {
    counter += 1
    let link = counter
    guard let attachment = process.attach(over: link) else { return }
    let token = nextToken()
    attaching[token] = process
    work.append(
      .system(process.machine, .attach(AppLinkIdentifier(link), identity(of: process), attachment, token)))
  }

  func endProcess(_ bundleIdentifier: String) {
    guard let process = process(bundleIdentifier) else { return }
    machines[process.machine]?.apps[bundleIdentifier]?.process = nil
    let link = process.link
    endChannels(of: process)
    process.end()
    if let link { work.append(.system(process.machine, .detached(AppLinkIdentifier(link)))) }
    work.append(.system(process.machine, .appEnded(bundleIdentifier, identity(of: process), how: "signal 9")))
  }

  /// The home is gone.
  func endAll() {
    for process in processes { endProcess(process.bundleIdentifier) }
    machines = [:]
    work = []
    channels = [:]
  }

  /// - Parameter link: the link that the app's library knew when it sent the request. One to an earlier system is lost.
  func receive(_ request: AppLink.Request, from process: SimulatedApp, over link: UInt64?) {
    guard process.isAlive, let link, link == process.link else { return }
    process.stir()
    if case .handled(let sequence) = request { process.lastHandled = max(process.lastHandled, sequence.rawValue) }
    work.append(.system(process.machine, .request(AppLinkIdentifier(link), request)))
  }

  func answer(_ query: Query, of process: SimulatedApp) -> Result<QueryReply, AppLinkError> {
    guard process.isAlive, let link = process.link else {
      return .failure(AppLinkError(.unavailable, "the system is away"))
    }
    let token = nextToken()
    work.append(.system(process.machine, .query(AppLinkIdentifier(link), query, token)))
    settle()
    return queryReplies.removeValue(forKey: token) ?? .failure(AppLinkError(.unavailable, "no answer"))
  }

  // MARK: The loop

  func settle() {
    guard !isWorking else { return }
    drain()
    while !resumed.isEmpty {
      resumed.removeFirst().hearWaiting()
      drain()
    }
  }

  private func drain() {
    isWorking = true
    defer { isWorking = false }
    while !work.isEmpty {
      switch work.removeFirst() {
      case .world(let event):
        take(world.handle(event, at: clock.now))
        tellRefusals()
      case .system(let name, let event):
        guard let machine = machines[name], machine.isOn else { continue }
        let effects = machine.system.handle(event, at: clock.now, unixSeconds: clock.unixSeconds)
        for effect in effects { carryOut(effect, on: name) }
      }
    }
  }

  private func take(_ outputs: [SimulatedWorld.Output]) {
    for output in outputs {
      switch output {
      case .send(let name, let client, let message):
        if machines[name]?.client == client { work.append(.system(name, .daemon(message))) }
      case .broadcast(let name, let signal): work.append(.system(name, .daemon(.signal(signal))))
      case .started(let name, let objects): work.append(.system(name, .daemon(.appeared(objects))))
      case .stopped(let name): work.append(.system(name, .daemon(.vanished)))
      case .channel(let name, let effect): carryOut(effect, of: name)
      case .unannounced: break
      case .shutDown(let name): note(name, .text("machine.shutDown"))
      case .event(let event):
        if case .linkUp = event { latestLinkUp = clock.now }
        note("world", .world(event))
      case .refused(let reason): note("world", .text("refused: \(reason)"))
      }
    }
  }

  private func carryOut(_ effect: BluetoothSystem.Effect, on name: String) {
    switch effect {
    case .store(let change): machines[name]?.stored.apply(change)
    case .bluez(let message):
      guard let client = machines[name]?.client else { return }
      let message = manners[name]?.announced.added(to: message) ?? message
      work.append(.world(.message(machine: name, from: client, message)))
    case .event(let event, let link):
      guard let process = process(link, on: name) else { return }
      give(event, to: process)
      process.events.append(event)
      process.tellEvents(at: clock.now)
    case .attachReply(let token, let result):
      guard let process = attaching.removeValue(forKey: token), process.isAlive else { return }
      switch result {
      case .success(let reply): process.tellAttached(reply)
      case .failure(let error): process.tell { $0.linkWasRefused(error) }
      }
    case .queryReply(let token, let result): queryReplies[token] = result
    case .controlReply(_, .failure(let error)): note(name, .text("control refused: \(error)"))
    case .controlReply(_, .success), .controlText: break
    case .launch(let bundleIdentifier, let options): launch(bundleIdentifier, on: name, options)
    case .adopt(let bundleIdentifier, let identity):
      if machines[name]?.apps[bundleIdentifier]?.process?.processIdentifier != identity.processIdentifier {
        work.append(.system(name, .appEnded(bundleIdentifier, identity, how: "gone")))
      }
    case .suspend(let bundleIdentifier, _): process(bundleIdentifier)?.isSuspended = true
    case .resume(let bundleIdentifier, _):
      guard let process = process(bundleIdentifier) else { return }
      process.isSuspended = false
      process.tellEvents(at: clock.now)
      resumed.append(process)
    case .kill(let bundleIdentifier, _): endProcess(bundleIdentifier)
    case .record(let event, let fields): note(name, .record(event, fields))
    }
  }

  private func process(_ link: AppLinkIdentifier, on name: String) -> SimulatedApp? {
    machines[name]?.apps.values.lazy.compactMap(\.process).first { $0.link == link.rawValue }
  }

  private func note(_ machine: String, _ event: HomeNote.Event) {
    notes.append(HomeNote(time: clock.now, machine: machine, event: event))
  }

  var journal: [String] { notes.map(\.text) }
}
