import AppLink
import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import FoundationEssentials
import Radio
import TimeTypes

@testable import BluetoothSystem

/// Two machines, each a bluetoothd over the simulated radio, a system and an app, in one process on one clock.
struct House {
  static let bundle = "org.example.app"

  struct Machine {
    var system: BluetoothSystem
    var stored = StoredState()
    var app: ScriptedApp
    var client: ClientIdentifier
    var lives: UInt64 = 1
    var lastLink: UInt64 = 0
    var lastProcess: Int32 = 100
    var launches: [LaunchReason] = []
  }

  private enum Work {
    case system(String, BluetoothSystem.Event)
    case world(SimulatedWorld.Event)
  }

  var world: SimulatedWorld
  var machines: [String: Machine] = [:]
  var now = Instant.zero
  var refusals: [String] = []
  /// A digest of everything that both systems and the world sent; empty unless it is recorded.
  private(set) var digest = EffectDigest()
  private let isRecorded: Bool
  private var open: [Work] = []

  private static let declaration = AppDeclaration(
    bundleIdentifier: bundle, backgroundModes: ["bluetooth-central", "bluetooth-peripheral"])

  init(seed: UInt64, isRecorded: Bool = false) {
    self.isRecorded = isRecorded
    world = SimulatedWorld(seed: seed)
    for (name, part) in [("phone", ScriptedApp.Part.phone), ("door", .door)] {
      machines[name] = Machine(
        system: BluetoothSystem(apps: [Self.declaration], stored: StoredState(), seed: seed), app: ScriptedApp(part),
        client: ClientIdentifier(":\(name).1"))
      take(world.addMachine(SimulatedMachine(name: name, isPrivate: true), at: now))
    }
    for name in ["door", "phone"] {
      open.append(.system(name, .started))
      open.append(.system(name, .control(.openApp(bundleIdentifier: Self.bundle), AnswerToken(0))))
    }
    run()
  }

  // MARK: Actions of a test

  mutating func pass(_ duration: Duration) {
    let end = now + duration
    while true {
      var next = world.nextDeadline
      for machine in machines.values {
        if let deadline = machine.system.nextDeadline { next = next.map { min($0, deadline) } ?? deadline }
      }
      guard let next, next <= end else { break }
      now = max(now, next)
      if let due = world.nextDeadline, due <= now { open.append(.world(.timePassed)) }
      for name in machines.keys.sorted() {
        if let due = machines[name]?.system.nextDeadline, due <= now { open.append(.system(name, .timePassed)) }
      }
      run()
    }
    now = end
    open.append(.world(.timePassed))
    run()
  }

  mutating func command(_ command: WorldCommand) {
    open.append(.world(.command(command)))
    run()
  }

  mutating func control(_ machine: String, _ request: ControlRequest) {
    open.append(.system(machine, .control(request, AnswerToken(0))))
    run()
  }

  mutating func killApp(_ name: String) {
    endProcess(name)
    run()
  }

  /// latchkeyd is killed by SIGKILL and starts again with what is on disk.
  mutating func killSystem(_ name: String) {
    guard var machine = machines[name] else { return }
    open.append(.world(.clientVanished(machine: name, machine.client)))
    machine.lives += 1
    machine.client = ClientIdentifier(":\(name).\(machine.lives)")
    machine.system = BluetoothSystem(apps: [Self.declaration], stored: machine.stored, seed: machine.lives)
    machine.app.link = nil
    machines[name] = machine
    open.removeAll { if case .system(name, _) = $0 { true } else { false } }
    open.append(.system(name, .started))
    if world.isRunning(name) { open.append(.system(name, .daemon(.appeared(world.managedObjects(of: name))))) }
    run()
    attachApp(name)
    run()
  }

  /// The whole machine reboots: bonds and stores are on disk, processes are gone.
  mutating func reboot(_ name: String) {
    command(.shutDown(machine: name))
    if let process = machines[name]?.app.process {
      machines[name]?.app.die()
      open.append(.system(name, .appEnded(Self.bundle, process, how: "gone")))
    }
    killSystem(name)
    command(.boot(machine: name))
  }

  // MARK: The loop

  private mutating func run() {
    var steps = 0
    while !open.isEmpty {
      steps += 1
      precondition(steps < 1_000_000, "the house does not come to rest")
      switch open.removeFirst() {
      case .world(let event): take(world.handle(event, at: now))
      case .system(let name, let event):
        guard let effects = machines[name]?.system.handle(event, at: now) else { continue }
        for effect in effects { take(effect, of: name) }
      }
    }
  }

  private mutating func take(_ outputs: [SimulatedWorld.Output]) {
    for output in outputs {
      if isRecorded { digest.add(output) }
      switch output {
      case .send(let name, let client, let message):
        if machines[name]?.client == client { open.append(.system(name, .daemon(message))) }
      case .broadcast(let name, let signal): open.append(.system(name, .daemon(.signal(signal))))
      case .started(let name, let objects): open.append(.system(name, .daemon(.appeared(objects))))
      case .stopped(let name): open.append(.system(name, .daemon(.vanished)))
      case .refused(let reason): refusals.append(reason)
      case .unannounced, .shutDown, .event, .channel: break
      }
    }
  }

  private mutating func take(_ effect: BluetoothSystem.Effect, of name: String) {
    guard let machine = machines[name] else { return }
    if isRecorded { digest.add(effect) }
    switch effect {
    case .store(let change): machines[name]?.stored.apply(change)
    case .bluez(let message): open.append(.world(.message(machine: name, from: machine.client, message)))
    case .event(let event, let link):
      guard machine.app.link == link else { return }
      let requests = machines[name]?.app.receive(event) ?? []
      for request in requests { open.append(.system(name, .request(link, request))) }
    case .attachReply(_, .success):
      guard let link = machine.app.link else { return }
      for request in machine.app.attached() { open.append(.system(name, .request(link, request))) }
    case .attachReply(_, .failure(let error)): refusals.append(error.description)
    case .launch(_, let options): launch(name, options)
    case .adopt(_, let process):
      if machine.app.process != process { open.append(.system(name, .appEnded(Self.bundle, process, how: "gone"))) }
    case .suspend: machines[name]?.app.isSuspended = true
    case .resume:
      machines[name]?.app.isSuspended = false
      if machine.app.link == nil { attachApp(name) }
    case .kill: endProcess(name)
    case .queryReply, .controlReply, .controlText, .record: break
    }
  }

  private mutating func launch(_ name: String, _ options: LaunchOptions) {
    guard var machine = machines[name], machine.app.process == nil else {
      refusals.append("\(name): launched twice")
      return
    }
    machine.lastProcess += 1
    let process = ProcessIdentity(processIdentifier: machine.lastProcess)
    machine.app.process = process
    machine.launches.append(options.reason)
    machines[name] = machine
    open.append(.system(name, .appLaunched(Self.bundle, process)))
    attachApp(name)
  }

  private mutating func attachApp(_ name: String) {
    guard var machine = machines[name], let process = machine.app.process, !machine.app.isSuspended,
      machine.app.link == nil
    else { return }
    machine.lastLink += 1
    let link = AppLinkIdentifier(machine.lastLink)
    machine.app.link = link
    machines[name] = machine
    let last = machine.app.hasHeard ? EventSequence(machine.app.lastEvent) : nil
    open.append(
      .system(
        name, .attach(link, process, Attachment(bundleIdentifier: Self.bundle, lastEvent: last), AnswerToken(0))))
  }

  private mutating func endProcess(_ name: String) {
    guard let app = machines[name]?.app, let process = app.process else { return }
    if let link = app.link { open.append(.system(name, .detached(link))) }
    open.append(.system(name, .appEnded(Self.bundle, process, how: "signal 9")))
    machines[name]?.app.die()
  }

  // MARK: Observations of a test

  var complaints: [String] { machines.values.flatMap(\.app.complaints) + refusals }
  var unlocks: Int { machines["door"]?.app.unlocks ?? 0 }
  var phone: Machine? { machines["phone"] }
  /// Whether the phone's bluetoothd shows the door's service, which the door always publishes.
  var isServiceShown: Bool {
    world.managedObjects(of: "phone").values.contains { interfaces in
      interfaces[InterfaceName.gattService]?["UUID"]?.stringValue == ScriptedApp.service.description
    }
  }
  var isConnected: Bool { phone?.app.view.peripherals.first?.state == .connected }
}
