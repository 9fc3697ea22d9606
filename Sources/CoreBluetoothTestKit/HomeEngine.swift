import AppLink
import BlueZModel
import BluetoothSystem
import Foundation
import JournalEvents
import TimeTypes
import Timekeeping

/// The loop below `SimulatedHome`. It carries messages between the radio's world, each machine's system and its apps,
/// and moves the clock when all of them are idle. Everything happens on one thread.
final class HomeEngine: @unchecked Sendable {
  private let thread = DispatchQueue(label: "org.latchkey.simulated-home")
  private let onThread = DispatchSpecificKey<Bool>()
  private let configuration: BluetoothSystem.Configuration
  private let clock: ManualClock
  private let seed: UInt64

  private var world: SimulatedWorld
  private var machines: [String: Machine] = [:]
  private var work: [Work] = []
  private var isWorking = false
  private var waiter: CheckedContinuation<Void, Never>?
  private var counter: UInt64 = 0
  private var lastInstant = Instant.zero
  private var roundsAtInstant = 0
  private var queryReplies: [AnswerToken: Result<QueryReply, AppLinkError>] = [:]
  private var attaching: [AnswerToken: SimulatedApp] = [:]
  private(set) var launchCounts: [String: Int] = [:]
  private(set) var journal: [String] = []

  private struct Machine {
    var system: BluetoothSystem
    var stored = StoredState()
    var client: ClientIdentifier
    var apps: [String: Installation] = [:]
    var declarations: [AppDeclaration] { apps.keys.sorted().compactMap { apps[$0]?.declaration } }
  }

  private struct Installation {
    var declaration: AppDeclaration
    var launch: @Sendable (SimulatedLaunch) -> AnyObject
    var process: SimulatedApp?
  }

  private enum Work {
    case system(String, BluetoothSystem.Event)
    case world(SimulatedWorld.Event)
  }

  init(seed: UInt64, configuration: BluetoothSystem.Configuration, clock: ManualClock) {
    self.seed = seed
    self.configuration = configuration
    self.clock = clock
    world = SimulatedWorld(seed: seed)
    thread.setSpecific(key: onThread, value: true)
  }

  /// Does something on the engine's thread and carries out all consequences.
  func run<Value>(_ body: (HomeEngine) -> Value) -> Value {
    func work() -> Value {
      let value = body(self)
      settle()
      return value
    }
    return DispatchQueue.getSpecific(key: onThread) == true ? work() : thread.sync(execute: work)
  }

  func enqueue(_ body: @escaping @Sendable (HomeEngine) -> Void) {
    thread.async { [self] in
      body(self)
      settle()
      wakeIfQuiet()
    }
  }

  // MARK: Machines

  func addMachine(_ machine: SimulatedMachine) {
    let outputs = world.addMachine(machine, at: clock.now)
    machines[machine.name] = Machine(system: makeSystem([], StoredState()), client: nextClient())
    work.append(.system(machine.name, .started))
    take(outputs)
  }

  func install(
    _ declaration: AppDeclaration, on name: String, _ launch: @escaping @Sendable (SimulatedLaunch) -> AnyObject
  ) {
    precondition(machines[name] != nil, "there is no machine \(name)")
    machines[name]?.apps[declaration.bundleIdentifier] = Installation(declaration: declaration, launch: launch)
    restartSystem(name)
  }

  private func makeSystem(_ apps: [AppDeclaration], _ stored: StoredState) -> BluetoothSystem {
    counter += 1
    return BluetoothSystem(configuration: configuration, apps: apps, stored: stored, seed: seed &* 1_000_003 &+ counter)
  }

  private func nextClient() -> ClientIdentifier {
    counter += 1
    return ClientIdentifier(":1.\(counter)")
  }

  func restartSystem(_ name: String) {
    guard let machine = machines[name] else { return }
    note(name, "system.restarted")
    let processes = machine.apps.values.compactMap(\.process)
    for process in processes {
      process.link = nil
      process.tell { $0.linkDidDetach() }
    }
    work.removeAll { if case .system(name, _) = $0 { true } else { false } }
    work.append(.world(.clientVanished(machine: name, machine.client)))
    machines[name]?.system = makeSystem(machine.declarations, machine.stored)
    machines[name]?.client = nextClient()
    work.append(.system(name, .started))
    if world.isRunning(name) { work.append(.system(name, .daemon(.appeared(world.managedObjects(of: name))))) }
    for process in processes.sorted(by: { $0.bundleIdentifier < $1.bundleIdentifier }) { attach(process) }
  }

  func reboot(_ name: String) {
    for bundleIdentifier in (machines[name]?.apps ?? [:]).keys.sorted() { endProcess(bundleIdentifier) }
    settle()
    command(.shutDown(machine: name))
    settle()
    restartSystem(name)
    settle()
    command(.boot(machine: name))
  }

  func command(_ command: WorldCommand) { work.append(.world(.command(command))) }

  func control(_ request: ControlRequest, _ bundleIdentifier: String) {
    guard let name = machineName(of: bundleIdentifier) else { return }
    work.append(.system(name, .control(request, nextToken())))
  }

  // MARK: Apps

  func process(_ bundleIdentifier: String) -> SimulatedApp? {
    machineName(of: bundleIdentifier).flatMap { machines[$0]?.apps[bundleIdentifier]?.process }
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
    let process = SimulatedApp(
      bundleIdentifier: bundleIdentifier, modes: installation.declaration.backgroundModes, machine: name,
      processIdentifier: Int32(truncatingIfNeeded: counter), engine: self)
    machines[name]?.apps[bundleIdentifier]?.process = process
    launchCounts[bundleIdentifier, default: 0] += 1
    work.append(.system(name, .appLaunched(bundleIdentifier, identity(of: process))))
    attach(process)
    let launch = SimulatedLaunch(
      centralsToRestore: options.centrals, peripheralsToRestore: options.peripherals,
      clock: SimulatedClock(time: clock))
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
    guard let attachment = process.attachment else { return }
    counter += 1
    let link = counter
    process.link = link
    // Once its managers are back, the app reports that it has handled everything up to here.
    process.lastSent = attachment.lastEvent?.rawValue ?? 0
    process.lastHandled = 0
    let token = nextToken()
    attaching[token] = process
    work.append(
      .system(process.machine, .attach(AppLinkIdentifier(link), identity(of: process), attachment, token)))
  }

  func endProcess(_ bundleIdentifier: String) {
    guard let process = process(bundleIdentifier) else { return }
    machines[process.machine]?.apps[bundleIdentifier]?.process = nil
    let link = process.link
    process.end()
    if let link { work.append(.system(process.machine, .detached(AppLinkIdentifier(link)))) }
    work.append(.system(process.machine, .appEnded(bundleIdentifier, identity(of: process), how: "signal 9")))
  }

  func receive(_ request: AppLink.Request, from process: SimulatedApp) {
    guard process.isAlive, let link = process.link else { return }
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

  private func settle() {
    guard !isWorking else { return }
    isWorking = true
    defer { isWorking = false }
    while !work.isEmpty {
      switch work.removeFirst() {
      case .world(let event): take(world.handle(event, at: clock.now))
      case .system(let name, let event):
        guard var machine = machines[name] else { continue }
        let effects = machine.system.handle(event, at: clock.now, unixSeconds: clock.unixSeconds)
        machines[name] = machine
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
      // Time here would not wait for what goes through a socket, so channels are refused.
      case .channel(let name, .openCredit(let channel, _, let call, _, _)):
        let reason = "CoreBluetoothTestKit carries no L2CAP channels; try them in a story"
        work.append(.system(name, .daemon(.reply(call, .failure(.failed(reason))))))
        work.append(.world(.channel(machine: name, channel, .closed)))
      case .channel: break
      case .shutDown(let name): note(name, "machine.shutDown")
      case .event(let event): note("world", "\(event)")
      case .refused(let reason): note("world", "refused: \(reason)")
      }
    }
  }

  private func carryOut(_ effect: BluetoothSystem.Effect, on name: String) {
    switch effect {
    case .store(let change): machines[name]?.stored.apply(change)
    case .bluez(let message):
      guard let client = machines[name]?.client else { return }
      work.append(.world(.message(machine: name, from: client, message)))
    case .event(let event, let link):
      guard let process = process(link, on: name) else { return }
      process.lastSent = event.sequence.rawValue
      process.tell { $0.linkDidReceive(event) }
    case .attachReply(let token, let result):
      guard let process = attaching.removeValue(forKey: token), process.isAlive else { return }
      switch result {
      case .success(let reply): process.tell { $0.linkDidAttach(reply) }
      case .failure(let error): process.tell { $0.linkWasRefused(error) }
      }
    case .queryReply(let token, let result): queryReplies[token] = result
    case .controlReply(_, .failure(let error)): note(name, "control refused: \(error)")
    case .controlReply(_, .success): break
    case .launch(let bundleIdentifier, let options): launch(bundleIdentifier, on: name, options)
    case .adopt(let bundleIdentifier, let identity):
      if machines[name]?.apps[bundleIdentifier]?.process?.processIdentifier != identity.processIdentifier {
        work.append(.system(name, .appEnded(bundleIdentifier, identity, how: "gone")))
      }
    case .suspend, .resume: break
    case .kill(let bundleIdentifier, _): endProcess(bundleIdentifier)
    case .record(let event, let fields): note(name, event.rawValue, fields.named)
    }
  }

  private func process(_ link: AppLinkIdentifier, on name: String) -> SimulatedApp? {
    machines[name]?.apps.values.lazy.compactMap(\.process).first { $0.link == link.rawValue }
  }

  private func note(_ machine: String, _ event: String, _ fields: [String: String] = [:]) {
    let text = fields.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " ")
    journal.append("\(clock.now) \(machine) \(event) {\(text)}")
  }

  // MARK: Time

  private var isQuiet: Bool { !machines.values.contains { $0.apps.values.contains { $0.process?.isBusy ?? false } } }

  private func wakeIfQuiet() {
    guard isQuiet, let waiter else { return }
    self.waiter = nil
    waiter.resume()
  }

  func advance(by duration: Duration) async {
    let target = clock.now + duration
    while !(await step(to: target)) {}
  }

  /// Moves on until an app has something to handle. Returns whether `target` is reached and all is quiet.
  private func step(to target: Instant) async -> Bool {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      enqueue { engine in
        precondition(engine.waiter == nil, "the home is being moved already")
        engine.waiter = continuation
      }
    }
    return run { engine in
      while engine.isQuiet {
        engine.checkProgress()
        let next = engine.nextDeadline
        guard let next, next <= target else {
          engine.clock.advance(to: target)
          engine.settle()
          return engine.isQuiet
        }
        engine.pass(next)
      }
      return false
    }
  }

  /// Detects a deadline that comes again and again at the same instant, which would mean a broken state machine.
  private func checkProgress() {
    roundsAtInstant = lastInstant == clock.now ? roundsAtInstant + 1 : 0
    lastInstant = clock.now
    precondition(roundsAtInstant < 100_000, "time does not move on from \(clock.now)")
  }

  private var nextDeadline: Instant? {
    ([world.nextDeadline, clock.nextDeadline] + machines.values.map(\.system.nextDeadline)).compactMap(\.self).min()
  }

  private func pass(_ instant: Instant) {
    clock.advance(to: max(instant, clock.now))
    if let due = world.nextDeadline, due <= clock.now { work.append(.world(.timePassed)) }
    for name in machines.keys.sorted() {
      if let due = machines[name]?.system.nextDeadline, due <= clock.now { work.append(.system(name, .timePassed)) }
    }
    settle()
  }
}
