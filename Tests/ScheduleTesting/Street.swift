import AppLink
import BlueZ
import BlueZModel
import BluetoothSystem
import BluetoothTypes
import Radio
import TimeTypes

/// Several machines in one process and on one clock: each a bluetoothd over the simulated radio, a system, and apps.
/// Schedules are carried out on it. It is a value: a copy goes on independently.
package struct Street: Sendable {
  struct Machine: Sendable {
    var stored = StoredState()
    var apps: [String: ModelApp] = [:]
    var client: ClientIdentifier
    var lives: UInt64 = 1
    var lastLink: UInt64 = 0
    var lastProcess: Int32 = 100
    /// How many effects the system has left to live, if that is decided.
    var fuse: Int?
    /// Attachments whose reply the app waits for.
    var attaching: [AnswerToken: String] = [:]
    /// Queries whose reply the app waits for.
    var queries: [AnswerToken: StreetQuery] = [:]
    var lastQuery: UInt64 = 0
    /// Peers that this life of the system has told an app of.
    var told: Set<PeerIdentifier> = []
    /// Which life of the system has started an app.
    var launchedBy: [String: UInt64] = [:]
    /// The app of each link, also when its process has ended and the system has not heard of that.
    var owners: [AppLinkIdentifier: String] = [:]
  }

  enum Work: Sendable {
    case system(String, BluetoothSystem.Event)
    case world(SimulatedWorld.Event)
  }

  package let cast: Cast
  var world: SimulatedWorld
  var machines: [String: Machine] = [:]
  /// Apart from the machines, because they are large and machines are often copied.
  var systems: [String: BluetoothSystem] = [:]
  /// When the next thing happens by itself in each system.
  private var deadlines: [String: Instant] = [:]
  var reference: Reference
  var now = Instant.zero
  var open: [Work] = []
  /// A fault that is put into the systems on purpose.
  var sabotage: Sabotage?
  private(set) var troubles: [String] = []
  var lostBonds = LostBonds()
  /// Ends of L2CAP channels at apps, or on their way to them.
  var sockets: [SocketKey: Socket] = [:]
  /// Whether each bluetoothd is later than 5.82, and says when a link ends because its peer lacks the key.
  let saysWhyLinksEnd: Bool
  /// How many events machines and the world have taken. As long as it is the same, nothing has happened.
  private(set) var turns = 0
  /// How often apps were told of each kind of event, and started for each reason.
  package private(set) var tally: [String: Int] = [:]
  /// Receives a line for each thing that happens, for people.
  package var trace: (@Sendable (String) -> Void)?
  let seed: UInt64

  /// The apps of a seed's street: half of the locks run always, half of them only when they have something to do.
  package static func cast(seed: UInt64) -> Cast { .street(keepAliveLock: seed.isMultiple(of: 2)) }

  package init(seed: UInt64, cast: Cast, sabotage: Fault? = nil) {
    self.cast = cast
    self.seed = seed
    saysWhyLinksEnd = (seed / 2).isMultiple(of: 2)
    self.sabotage = sabotage.map { Sabotage($0) }
    world = SimulatedWorld(seed: seed)
    reference = Reference(cast)
    let machineNames = cast.machines
    for (place, name) in machineNames.enumerated() {
      let actors = cast.actors.filter { $0.machine == name }
      systems[name] = BluetoothSystem(apps: actors.map(\.declaration), stored: StoredState(), seed: seed)
      machines[name] = Machine(client: ClientIdentifier(":\(name).1"))
      for actor in actors { machines[name]?.apps[actor.bundle] = ModelApp(actor, targets: cast.targets(of: actor)) }
      take(
        world.addMachine(
          SimulatedMachine(name: name, position: Position(x: Double(place), y: 0), isPrivate: name == "phone"), at: now)
      )
      open.append(.system(name, .started))
    }
    run()
  }

  // MARK: Time

  package mutating func pass(_ duration: Duration) {
    let end = now + duration
    while let next = nextDeadline, next <= end {
      now = max(now, next)
      if let due = world.nextDeadline, due <= now { open.append(.world(.timePassed)) }
      for name in machines.keys.sorted() {
        if let due = deadlines[name], due <= now { open.append(.system(name, .timePassed)) }
      }
      run()
    }
    now = end
    open.append(.world(.timePassed))
    run()
  }

  private var nextDeadline: Instant? {
    var next = world.nextDeadline
    for deadline in deadlines.values { next = next.map { min($0, deadline) } ?? deadline }
    return next
  }

  // MARK: The loop

  mutating func run() {
    var steps = 0
    while hasWork() {
      steps += 1
      guard steps < 200_000 else {
        trouble("the street does not come to rest")
        open = []
        return
      }
      turns += 1
      switch open.removeFirst() {
      case .world(let event): take(world.handle(event, at: now))
      case .system(let name, let event): turn(of: name, event)
      }
    }
  }

  /// Whether there is something left to do now.
  private mutating func hasWork() -> Bool {
    endChannels()
    return !open.isEmpty
  }

  private mutating func turn(of name: String, _ event: BluetoothSystem.Event) {
    if let trace, case .request(_, let request) = event { trace("\(now) \(name) is asked: \(request)") }
    // A copy makes every change of the original dear.
    let before = machines[name]?.fuse == nil ? nil : reference
    switch event {
    case .request(let link, let request):
      if let app = machines[name]?.owners[link] { reference.asked(request, by: app, at: now) }
    case .control(let request, _): userAsks(request, on: name)
    case .memoryPressure: memoryIsShort(on: name)
    default: break
    }
    if case .appEnded(let bundle, _, _) = event, let app = machines[name]?.apps[bundle] {
      reference.processEnded(app.actor.name)
      reference.endIsKnown(of: app.actor.name)
    }
    // The system handles it in its place: to take one out of the dictionary costs as much as many an event.
    guard let place = systems.index(forKey: name) else { return }
    var effects = systems.values[place].handle(sabotage?.change(event) ?? event, at: now)
    deadlines[name] = systems.values[place].nextDeadline
    if sabotage != nil { effects = sabotage?.change(effects, at: now) ?? [] }
    // All of a turn's changes are stored in one transaction.
    let stores = effects.prefix { if case .store = $0 { true } else { false } }
    if !stores.isEmpty {
      guard !isOver(name) else {
        // Nobody was promised what is not on disk.
        switch event {
        case .request, .control: if let before { reference = before }
        default: break
        }
        return crash(name)
      }
      for case .store(let change) in stores { machines[name]?.stored.apply(change) }
    }
    if case .control(.quitApp(let bundle), _) = event {
      // A person who quits an app does not expect it to go on by itself later.
      machines[name]?.apps[bundle]?.forgetWishes()
    }
    for effect in effects.dropFirst(stores.count) {
      guard !isOver(name) else { return crash(name) }
      take(effect, of: name)
    }
    reference.memoryIsShort(of: [])
  }

  /// Whether the system's end has come.
  private mutating func isOver(_ name: String) -> Bool {
    guard let left = machines[name]?.fuse else { return false }
    machines[name]?.fuse = left - 1
    return left <= 0
  }

  private mutating func take(_ outputs: [SimulatedWorld.Output]) {
    for output in outputs {
      if let trace {
        switch output {
        case .event(let event): trace("\(now) \(event)")
        case .send(let name, _, let message): trace("\(now) \(name) hears: \(message)")
        case .broadcast(let name, let signal): trace("\(now) \(name) hears: \(signal)")
        default: break
        }
      }
      switch output {
      case .send(let name, let client, let message):
        if machines[name]?.client == client { open.append(.system(name, .daemon(message))) }
      case .broadcast(let name, let signal): open.append(.system(name, .daemon(.signal(signal))))
      case .started(let name, let objects): open.append(.system(name, .daemon(.appeared(objects))))
      case .stopped(let name): open.append(.system(name, .daemon(.vanished)))
      case .event(.linkUp(let central, let peripheral, _)): reference.linkUp(central, peripheral)
      case .event(.bluetoothdStarted(let machine)): reference.bluetoothdStarted(machine)
      case .event(.linkDown(let central, let peripheral, _, _)): reference.linkDown(central, peripheral)
      case .event(.diagnostic(let name, let text)): linkWasRefused(text, on: name)
      case .refused(let reason): trouble(reason)
      case .channel(let name, let effect): take(effect, of: name)
      case .unannounced, .shutDown, .event: break
      }
    }
  }

  private mutating func take(_ effect: BluetoothSystem.Effect, of name: String) {
    trace?("\(now) \(name): \(effect)")
    switch effect {
    case .store(let change): machines[name]?.stored.apply(change)
    case .bluez(let message):
      guard let client = machines[name]?.client else { return }
      open.append(.world(.message(machine: name, from: client, message)))
    case .event(let event, let link): tell(event, link, of: name)
    case .attachReply(let token, let result): attached(name, token, result)
    case .launch(let bundle, let options): launch(name, bundle, options)
    case .adopt(let bundle, let process):
      if machines[name]?.apps[bundle]?.process != process {
        open.append(.system(name, .appEnded(bundle, process, how: "gone")))
      }
    case .suspend(let bundle, let process):
      if machines[name]?.apps[bundle]?.process == process { machines[name]?.apps[bundle]?.isSuspended = true }
    case .resume(let bundle, let process):
      guard machines[name]?.apps[bundle]?.process == process else { return }
      machines[name]?.apps[bundle]?.isSuspended = false
      attach(name, bundle)
    case .kill(let bundle, let process):
      guard let app = machines[name]?.apps[bundle], app.process == process else { return }
      reference.killed(app.actor.name)
      endProcess(name, bundle)
    case .record(let event, let fields):
      if event == .deadlineOverdue { trouble("\(name): a deadline was left: \(fields)") }
      if event == .requestExpired, let bundle = fields[.app], let app = machines[name]?.apps[bundle], app.link != nil {
        trouble("\(app.actor.name): a request that it answered at once has expired")
      }
    case .queryReply(let token, let result): retrieved(name, token, result)
    case .controlReply, .controlText: break
    }
  }

  // MARK: Apps

  private mutating func tell(_ event: AppLink.Event, _ link: AppLinkIdentifier, of name: String) {
    guard let bundle = machines[name]?.bundle(of: link), var app = machines[name]?.apps[bundle] else { return }
    if let left = app.diesAfter {
      guard left > 0 else { return endProcess(name, bundle) }
      app.diesAfter = left - 1
    }
    // A fault that leaves events out, or tells them twice, is not to be noticed by their numbers.
    var numbered = event
    if sabotage != nil { numbered.sequence = EventSequence(app.lastEvent + 1) }
    if let manager = event.manager.map({ Int($0.rawValue) }) {
      let peer = event.body.peer
      let isFirst = app.managers[manager]?.hasBeenTold == false
      var target = peer.flatMap { app.target($0) }
      if target == nil, let peer { target = machines[name]?.target(peer) }
      if let peer { machines[name]?.told.insert(peer) }
      let caller = Caller(app.actor.name, manager)
      let mayLackBond = mayLackBond(caller, target, event.body)
      reference.told(numbered, caller, isFirst: isFirst, target: target, mayLackBond: mayLackBond, at: now)
    }
    if case .valueUpdated(let peer, _, let value) = event.body, let target = app.target(peer),
      UInt32(bytes: value) > newestValue(of: target)
    {
      trouble("\(app.actor.name) is told of a value that \(target) has not pushed")
    }
    tally[event.body.kind.rawValue, default: 0] += 1
    let requests = app.receive(numbered)
    machines[name]?.apps[bundle] = app
    for request in requests {
      var request = request
      if case .handled = request { request = .handled(through: event.sequence) }
      open.append(.system(name, .request(link, request)))
    }
  }

  func newestValue(of target: Target) -> UInt32 {
    cast.actors.first { $0.target == target }.flatMap { app($0.name) }?.disk.newestValue ?? 0
  }

  private mutating func attached(_ name: String, _ token: AnswerToken, _ result: Result<AttachReply, AppLinkError>) {
    guard let bundle = machines[name]?.attaching.removeValue(forKey: token), var app = machines[name]?.apps[bundle],
      let link = app.link, link.rawValue == token.rawValue
    else { return }
    switch result {
    case .success(let reply):
      let requests = app.attached(reply)
      machines[name]?.apps[bundle] = app
      for request in requests { open.append(.system(name, .request(link, request))) }
    case .failure(let error): trouble("\(app.actor.name) is refused: \(error)")
    }
  }

  private mutating func launch(_ name: String, _ bundle: String, _ options: LaunchOptions) {
    guard var machine = machines[name], let app = machine.apps[bundle] else { return }
    if let process = app.process {
      guard machine.launchedBy[bundle] != machine.lives else { return trouble("\(app.actor.name) is launched twice") }
      // A unit that runs is not started again, as with systemd: the system that started it died before it knew.
      open.append(.system(name, .appLaunched(bundle, process)))
      return
    }
    machine.launchedBy[bundle] = machine.lives
    reference.launched(app.actor.name, options)
    tally["launch for \(options.reason.rawValue)", default: 0] += 1
    machine.lastProcess += 1
    let process = ProcessIdentity(processIdentifier: machine.lastProcess)
    machine.apps[bundle]?.process = process
    machines[name] = machine
    open.append(.system(name, .appLaunched(bundle, process)))
    attach(name, bundle)
  }

  mutating func attach(_ name: String, _ bundle: String) {
    guard var machine = machines[name], let app = machine.apps[bundle], let process = app.process, !app.isSuspended,
      app.link == nil
    else { return }
    machine.lastLink += 1
    let link = AppLinkIdentifier(machine.lastLink)
    let token = AnswerToken(machine.lastLink)
    machine.apps[bundle]?.link = link
    machine.owners[link] = app.actor.name
    machine.attaching[token] = bundle
    machines[name] = machine
    open.append(
      .system(
        name, .attach(link, process, Attachment(bundleIdentifier: bundle, lastEvent: app.lastHeard), token)))
  }

  mutating func endProcess(_ name: String, _ bundle: String) {
    guard let app = machines[name]?.apps[bundle], let process = app.process else { return }
    // The system may die before it hears of it.
    reference.processEnded(app.actor.name)
    if let link = app.link { open.append(.system(name, .detached(link))) }
    open.append(.system(name, .appEnded(bundle, process, how: "signal 9")))
    machines[name]?.apps[bundle]?.die()
  }

  mutating func trouble(_ text: String) {
    if troubles.count < 20 { troubles.append(text) }
  }

  // MARK: Observations

  func app(_ name: String) -> ModelApp? {
    cast[name].flatMap { machines[$0.machine]?.apps[$0.bundle] }
  }

  /// Every promise that was broken so far, in words.
  package var complaints: [String] {
    troubles + reference.complaints
      + machines.keys.sorted().flatMap { name in
        (machines[name]?.apps ?? [:]).sorted { $0.key < $1.key }.flatMap(\.value.complaints)
      }
  }
}

extension Street.Machine {
  func bundle(of link: AppLinkIdentifier) -> String? { apps.first { $0.value.link == link }?.key }
  /// Any app of the machine that has met this peer knows who it is.
  func target(_ peer: PeerIdentifier) -> Target? { apps.values.lazy.compactMap { $0.target(peer) }.first }
}

extension AppLink.Event.Body {
  /// The peer that the event is about.
  var peer: PeerIdentifier? {
    switch self {
    case .connected(let snapshot), .discovered(let snapshot, _, _): snapshot.identifier
    case .disconnected(let peer, _, _, _), .failedToConnect(let peer, _), .valueUpdated(let peer, _, _): peer
    default: nil
    }
  }
}
