import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Radio
import TimeTypes

@testable import BlueZModel
@testable import BluetoothSystem

/// Machines with several apps each, whose bluetoothds share the simulated radio. A test plays the apps by hand, which
/// handle at once whatever they are told, and looks at what is on the air.
struct Air {
  static let central = ManagerIdentifier(1)
  static let peripheral = ManagerIdentifier(2)

  struct App {
    var link: AppLinkIdentifier?
    var process: ProcessIdentity?
    var events: [AppLink.Event.Body] = []
  }

  struct Machine {
    var system: BluetoothSystem
    let client: ClientIdentifier
    var apps: [String: App] = [:]
    var stored = StoredState()
    /// When its own discovery was started and stopped.
    var discoveries: [Turn] = []
  }

  /// A discovery was started or stopped.
  struct Turn {
    let time: Instant
    let isOn: Bool
  }

  /// What a controller sends, decoded.
  struct Advertisement {
    let data: AdvertisementData
    let interval: Duration
  }

  private enum Work {
    case system(String, BluetoothSystem.Event)
    case world(SimulatedWorld.Event)
  }

  var world: SimulatedWorld
  var now = Instant.zero
  private(set) var machines: [String: Machine] = [:]
  private var waiting: [Work] = []
  private var lastLink: UInt64 = 0
  private var lastProcess: Int32 = 100

  init(seed: UInt64 = 1) { world = SimulatedWorld(seed: seed) }

  mutating func add(
    _ machine: String, apps: [AppDeclaration], configuration: BluetoothSystem.Configuration = .init()
  ) {
    machines[machine] = Machine(
      system: BluetoothSystem(configuration: configuration, apps: apps, stored: StoredState(), seed: 1),
      client: ClientIdentifier(":\(machine).1"))
    for app in apps { machines[machine]?.apps[app.bundleIdentifier] = App() }
    take(world.addMachine(SimulatedMachine(name: machine), at: now))
    waiting.append(.system(machine, .started))
    run()
  }

  static func app(_ name: String, modes: [String] = [], keepAlive: Bool = false) -> AppDeclaration {
    AppDeclaration(bundleIdentifier: name, backgroundModes: modes.map { "bluetooth-" + $0 }, keepAlive: keepAlive)
  }

  // MARK: What a test does

  mutating func control(_ machine: String, _ request: ControlRequest) {
    waiting.append(.system(machine, .control(request, AnswerToken(0))))
    run()
  }

  mutating func tell(_ machine: String, _ event: BluetoothSystem.Event) {
    waiting.append(.system(machine, event))
    run()
  }

  mutating func open(_ app: String, on machine: String) { control(machine, .openApp(bundleIdentifier: app)) }
  mutating func leave(_ app: String, on machine: String) { control(machine, .leaveApp(bundleIdentifier: app)) }

  mutating func say(_ request: AppLink.Request, _ app: String, on machine: String) {
    guard let link = machines[machine]?.apps[app]?.link else { return }
    waiting.append(.system(machine, .request(link, request)))
    run()
  }

  /// Opens an app that advertises.
  mutating func advertise(_ request: AdvertisementRequest, _ app: String, on machine: String) {
    open(app, on: machine)
    createManager(.peripheral, app, on: machine)
    say(.peripheral(Self.peripheral, .startAdvertising(request)), app, on: machine)
  }

  /// Opens an app that scans.
  mutating func scan(_ services: [BluetoothUUID]?, allowDuplicates: Bool = false, _ app: String, on machine: String) {
    open(app, on: machine)
    createManager(.central, app, on: machine)
    say(
      .central(Self.central, .scan(ScanRequest(services: services, allowDuplicates: allowDuplicates))), app, on: machine
    )
  }

  mutating func createManager(_ role: Role, _ app: String, on machine: String) {
    let number = role == .central ? Self.central : Self.peripheral
    say(.createManager(number, ManagerCreation(role: role, restoreIdentifier: role.rawValue)), app, on: machine)
  }

  /// The app's process is killed from outside.
  mutating func kill(_ app: String, on machine: String) {
    end(app, machine)
    run()
  }

  mutating func pass(_ duration: Duration) {
    let end = now + duration
    while true {
      var next = world.nextDeadline
      for machine in machines.values {
        if let deadline = machine.system.nextDeadline { next = next.map { min($0, deadline) } ?? deadline }
      }
      guard let next, next <= end else { break }
      now = max(now, next)
      if let due = world.nextDeadline, due <= now { waiting.append(.world(.timePassed)) }
      for name in machines.keys.sorted() {
        if let due = machines[name]?.system.nextDeadline, due <= now { waiting.append(.system(name, .timePassed)) }
      }
      run()
    }
    now = end
  }

  mutating func command(_ command: WorldCommand) {
    waiting.append(.world(.command(command)))
    run()
  }

  // MARK: What a test sees

  /// What a machine sends, decoded.
  func onAir(_ machine: String) -> [Advertisement] {
    world.advertisements(of: machine).map { parameters in
      var data = AdvertisementData()
      _ = AdvertisementCodec.read(parameters.data, into: &data)
      _ = AdvertisementCodec.read(parameters.scanResponse, into: &data)
      return Advertisement(data: data, interval: parameters.interval)
    }
  }

  func state(_ app: String, on machine: String) -> AppState? { machines[machine]?.system.apps[app]?.state }

  /// What an app was told of by its scan.
  func discovered(_ app: String, on machine: String) -> [AdvertisementData] {
    (machines[machine]?.apps[app]?.events ?? []).compactMap {
      if case .discovered(_, let data, _) = $0 { data } else { nil }
    }
  }

  // MARK: The loop

  private mutating func run() {
    while !waiting.isEmpty {
      switch waiting.removeFirst() {
      case .world(let event): take(world.handle(event, at: now))
      case .system(let name, let event):
        guard let effects = machines[name]?.system.handle(event, at: now) else { continue }
        for effect in effects { take(effect, of: name) }
      }
    }
  }

  private mutating func take(_ outputs: [SimulatedWorld.Output]) {
    for output in outputs {
      switch output {
      case .send(let name, let client, let message):
        if machines[name]?.client == client { waiting.append(.system(name, .daemon(message))) }
      case .broadcast(let name, let signal): waiting.append(.system(name, .daemon(.signal(signal))))
      case .started(let name, let objects): waiting.append(.system(name, .daemon(.appeared(objects))))
      case .stopped(let name): waiting.append(.system(name, .daemon(.vanished)))
      case .unannounced, .refused, .shutDown, .event, .channel: break
      }
    }
  }

  private mutating func take(_ effect: BluetoothSystem.Effect, of name: String) {
    guard let machine = machines[name] else { return }
    switch effect {
    case .store(let change): machines[name]?.stored.apply(change)
    case .bluez(let message):
      if case .call(_, _, .startDiscovery) = message { machines[name]?.discoveries.append(Turn(time: now, isOn: true)) }
      if case .call(_, _, .stopDiscovery) = message { machines[name]?.discoveries.append(Turn(time: now, isOn: false)) }
      waiting.append(.world(.message(machine: name, from: machine.client, message)))
    case .event(let event, let link):
      guard let app = machine.apps.first(where: { $0.value.link == link })?.key else { return }
      machines[name]?.apps[app]?.events.append(event.body)
      waiting.append(.system(name, .request(link, .handled(through: event.sequence))))
    case .launch(let app, _): launch(app, name)
    case .kill(let app, _): end(app, name)
    default: break
    }
  }

  private mutating func launch(_ app: String, _ machine: String) {
    lastLink += 1
    lastProcess += 1
    let process = ProcessIdentity(processIdentifier: lastProcess)
    let link = AppLinkIdentifier(lastLink)
    machines[machine]?.apps[app]?.link = link
    machines[machine]?.apps[app]?.process = process
    waiting.append(.system(machine, .appLaunched(app, process)))
    waiting.append(.system(machine, .attach(link, process, Attachment(bundleIdentifier: app), AnswerToken(0))))
  }

  private mutating func end(_ app: String, _ machine: String) {
    guard let there = machines[machine]?.apps[app], let process = there.process else { return }
    if let link = there.link { waiting.append(.system(machine, .detached(link))) }
    waiting.append(.system(machine, .appEnded(app, process, how: "signal 9")))
    machines[machine]?.apps[app]?.link = nil
    machines[machine]?.apps[app]?.process = nil
  }
}
