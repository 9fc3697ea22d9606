import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// A world of machines: one radio and a bluetoothd for each machine, without any bus. It is a pure state machine, so
/// that whole systems can run in one process. The simulator's process is this plus a bus for every machine.
package struct SimulatedWorld: Sendable {
  package enum Event: Sendable {
    /// A client on a machine's bus says something to bluetoothd.
    case message(machine: String, from: ClientIdentifier, ClientMessage)
    case clientVanished(machine: String, ClientIdentifier)
    /// Data came through a socket of AcquireNotify or AcquireWrite, or its other end was closed.
    case channel(machine: String, ChannelIdentifier, ChannelInput)
    case command(WorldCommand)
    case timePassed
  }

  package enum Output: Sendable, Hashable {
    case send(machine: String, to: ClientIdentifier, DaemonMessage)
    /// Callers without sockets ignore it.
    case channel(machine: String, BlueZModel.ChannelEffect)
    /// To every client on the machine's bus.
    case broadcast(machine: String, Signal)
    /// An object changed without a signal. Only the caller's copy of the objects must change; clients see the change
    /// when they ask.
    case unannounced(machine: String, Signal)
    /// bluetoothd came to the machine's bus with these objects. Clients see `DaemonMessage.appeared`.
    case started(machine: String, ManagedObjects)
    /// bluetoothd left the bus. Clients see `DaemonMessage.vanished`.
    case stopped(machine: String)
    /// The machine shuts down, with its bus and all its processes.
    case shutDown(machine: String)
    case event(WorldEvent)
    /// A command was invalid. It changed nothing.
    case refused(String)
  }

  /// Whether advertisements and scans are among the events. They are many.
  package var recordsAir = false
  private var radio: Radio
  /// How many messages of the attribute protocol all machines have sent so far.
  package var attributeFrameCount: Int { radio.attributeFrameCount }
  private let seed: UInt64
  private var machines: [String: BlueZModel] = [:]
  /// When the next thing happens by itself on each machine. It is looked up more often than it changes.
  private var deadlines: [String: Instant] = [:]
  private var links: [LinkIdentifier: WorldLink] = [:]
  private var outputs: [Output] = []
  /// The other adapters of an adapter's machine, if there are any.
  private var siblings: [String: [String]] = [:]
  private var pending: [Step] = []
  private var machineCount: UInt64 = 0
  private var refusals: [Refusal] = []
  /// Machines on whose links nobody can measure the signal strength (`MachineManners.isMeasured`).
  private var unmeasured: Set<String> = []
  /// Where and when walks end.
  private var walks: [String: (place: Position, ends: Instant)] = [:]

  private struct WorldLink: Sendable {
    var central: String
    var peripheral: String?
  }

  /// An attempt to connect that the other machine refused (`MachineManners`).
  package struct Refusal: Sendable, Hashable {
    package let central: String
    package let peripheral: String
    /// The peripheral's object on the central's bus.
    package let device: ObjectPath
  }

  private enum Step: Sendable {
    case radio(RadioInput)
    case model(String, BlueZModel.Event)
  }

  package init(seed: UInt64, physics: RadioPhysics = RadioPhysics()) {
    self.seed = seed
    radio = Radio(seed: seed, physics: physics)
  }

  /// Adds a machine that is on, with bluetoothd running and the adapter powered. Names are unique.
  package mutating func addMachine(_ machine: SimulatedMachine, at now: Instant) -> [Output] {
    guard machines[machine.name] == nil else { return [.refused("there is a machine \(machine.name) already")] }
    let controller = ControllerIdentifier(machine.name)
    var mixer = Mixer(seed, 0x6D61_6368)
    mixer.absorb(Array(machine.name.utf8))
    // An address made from the machine's name. Its two highest bits are zero.
    let address = machine.address ?? DeviceAddress(bits: mixer.next() >> 16 & 0x3FFF_FFFF_FFFF, kind: .public)
    var configuration = BlueZConfiguration(
      controller: controller, address: address, name: Self.host(machine.name),
      identityKey: IdentityResolvingKey(high: mixer.next(), low: mixer.next()), isPrivate: machine.isPrivate,
      seed: mixer.next())
    configuration.adapterNumber = machine.adapterNumber
    configuration.isExperimental = machine.isExperimental
    configuration.isDualMode = machine.isDualMode
    configuration.connectionInterval = machine.connectionInterval
    configuration.hasDeviceInformation = machine.hasDeviceInformation
    machines[machine.name] = BlueZModel(configuration: configuration, storage: machine.storage)
    if machine.adapterNumber > 0 { rememberSiblings(of: machine.name) }
    pending.append(.radio(.addController(controller, at: machine.position)))
    pending.append(.model(machine.name, .control(.start)))
    return run(at: now)
  }

  /// Takes an event at `now`. Returns what to do, in order.
  package mutating func handle(_ event: Event, at now: Instant) -> [Output] {
    // Everything due by now comes first, each at its own time.
    advance(to: now)
    switch event {
    case .message(let machine, let client, let message):
      pending.append(.model(machine, .message(from: client, message)))
    case .clientVanished(let machine, let client): pending.append(.model(machine, .clientVanished(client)))
    case .channel(let machine, let channel, let input): pending.append(.model(machine, .channel(channel, input)))
    case .command(let command): obey(command, at: now)
    case .timePassed: break
    }
    return run(at: now)
  }

  /// When the next thing happens by itself, or `nil` while nothing can.
  package var nextDeadline: Instant? {
    var earliest = radio.nextDeadline
    for deadline in deadlines.values { earliest = earliest.map { min($0, deadline) } ?? deadline }
    for walk in walks.values { earliest = earliest.map { min($0, walk.ends) } ?? walk.ends }
    return earliest
  }

  package var machineNames: [String] { machines.keys.sorted() }

  /// What a client that asks now would see; empty while bluetoothd is not running.
  package func managedObjects(of machine: String) -> ManagedObjects { machines[machine]?.managedObjects ?? [:] }

  package func isRunning(_ machine: String) -> Bool { machines[machine]?.isRunning ?? false }

  /// What is on a machine's disk.
  package func storage(of machine: String) -> BlueZStorage? { machines[machine]?.storage }

  /// Where machines are, which are shielded, and which are linked.
  package var survey: WorldSurvey {
    WorldSurvey(
      machines: machineNames.map { name in
        let place = radio.place(of: ControllerIdentifier(name))
        return WorldSurvey.Machine(
          name: name, x: place?.position.x ?? 0, y: place?.position.y ?? 0, isShielded: place?.isShielded ?? false,
          isRunning: isRunning(name), address: address(of: name)?.description ?? "")
      },
      links: links.sorted { $0.key < $1.key }.map { identifier, link in
        WorldSurvey.Link(link: identifier.rawValue, central: link.central, peripheral: link.peripheral ?? "")
      })
  }

  /// What the machine's controller advertises, by advertising set.
  package func advertisements(of machine: String) -> [AdvertisingParameters] {
    radio.advertisements(of: ControllerIdentifier(machine))
  }

  package func address(of machine: String) -> DeviceAddress? { machines[machine]?.configuration.address }

  /// Sets which of bluetoothd's known bugs are simulated, for tests.
  package mutating func setQuirks(_ quirks: BlueZConfiguration.Quirks, of machine: String) {
    machines[machine]?.setQuirks(quirks)
    deadlines[machine] = machines[machine]?.nextDeadline
  }

  /// Sets how a test makes a machine behave. Links that exist stay as they are.
  package mutating func setManners(_ manners: MachineManners, of machine: String) {
    machines[machine]?.setManners(manners)
    radio.setManners(manners.radio, of: ControllerIdentifier(machine))
    if manners.isMeasured { unmeasured.remove(machine) } else { unmeasured.insert(machine) }
  }

  /// The attempts to connect that were refused since the last call.
  package mutating func takeRefusals() -> [Refusal] {
    defer { refusals = [] }
    return refusals
  }

  // MARK: The loop

  private mutating func advance(to now: Instant) {
    // Each round handles the earliest deadline. The limit guards against bugs.
    for _ in 0..<10_000_000 {
      guard let next = nextDeadline, next <= now else { return }
      pass(next)
    }
    assertionFailure("the world does not come to rest")
  }

  private mutating func pass(_ instant: Instant) {
    for (name, walk) in walks.sorted(by: { $0.key < $1.key }) where walk.ends <= instant {
      walks[name] = nil
      record(.walkEnded(machine: name, x: walk.place.x, y: walk.place.y))
    }
    if let due = radio.nextDeadline, due <= instant { pending.append(.radio(.timePassed)) }
    for name in machineNames {
      if let due = deadlines[name], due <= instant { pending.append(.model(name, .timePassed)) }
    }
    drain(at: instant)
  }

  private mutating func run(at now: Instant) -> [Output] {
    drain(at: now)
    advance(to: now)
    defer { outputs = [] }
    return outputs
  }

  private mutating func drain(at now: Instant) {
    var index = 0
    while index < pending.count {
      let step = pending[index]
      index += 1
      switch step {
      case .radio(let input):
        for output in radio.handle(input, at: now) { take(output) }
        if radio.takeUnheardEnds() { forgetLinksThatBothLost() }
        for refusal in radio.takeRefusals() { take(refusal) }
      case .model(let name, let event):
        let others = siblings[name] ?? []
        if !others.isEmpty {
          let hasDefaultSibling = others.contains { machines[$0]?.isDefault == true }
          machines[name]?.hasDefaultSibling = hasDefaultSibling
        }
        for effect in handle(event, of: name, at: now) { take(effect, of: name, at: now) }
        if !others.isEmpty { chooseDefault(among: others + [name]) }
      }
    }
    pending = []
  }

  /// The model handles it in its place: to take one out of the dictionary, put it back, and copy it for its deadline costs as
  /// much as many an event.
  private mutating func handle(
    _ event: BlueZModel.Event, of name: String, at now: Instant
  ) -> [BlueZModel.Effect] {
    guard let place = machines.index(forKey: name) else { return [] }
    func handle(by model: inout BlueZModel) -> (effects: [BlueZModel.Effect], deadline: Instant?) {
      (model.handle(event, at: now), model.nextDeadline)
    }
    let handled = handle(by: &machines.values[place])
    deadlines[name] = handled.deadline
    return handled.effects
  }

  /// `phone`, of an adapter `phone/hci1`.
  private static func host(_ name: String) -> String { String(name.prefix { $0 != "/" }) }

  private mutating func rememberSiblings(of name: String) {
    let host = Self.host(name)
    let all = machines.keys.filter { Self.host($0) == host }.sorted()
    for one in all { siblings[one] = all.filter { $0 != one } }
  }

  /// When bluetoothd's default adapter has left, another one is the default. Its name stays.
  private mutating func chooseDefault(among names: [String]) {
    guard !names.contains(where: { machines[$0]?.isDefault == true }),
      let next = names.sorted().first(where: { machines[$0]?.isPresent == true })
    else { return }
    machines[next]?.isDefault = true
  }

  /// A controller that loses its power reports nothing. If both controllers of a link have lost it, neither reports
  /// that the link is gone.
  private mutating func forgetLinksThatBothLost() {
    for (identifier, link) in links.sorted(by: { $0.key < $1.key }) where radio.isOver(identifier) {
      links[identifier] = nil
      record(
        .linkDown(
          central: link.central, peripheral: link.peripheral ?? "", link: identifier.rawValue,
          reason: "\(DisconnectReason.localHostTerminated)"))
    }
  }

  private mutating func take(_ refusal: ConnectionRefusal) {
    let central = refusal.initiator.name
    guard let device = machines[central]?.device(onAir: refusal.address) else { return }
    refusals.append(Refusal(central: central, peripheral: refusal.advertiser.name, device: device))
  }

  private mutating func take(_ output: RadioOutput) {
    let name = output.controller.name
    switch output.event {
    case .connected(let parameters):
      if parameters.role == .central {
        links[parameters.link] = WorldLink(central: name, peripheral: links[parameters.link]?.peripheral)
      } else {
        links[parameters.link] = WorldLink(central: links[parameters.link]?.central ?? "", peripheral: name)
      }
      if let link = links[parameters.link], let peripheral = link.peripheral, !link.central.isEmpty {
        record(.linkUp(central: link.central, peripheral: peripheral, link: parameters.link.rawValue))
      }
    case .disconnected(let link, let reason):
      if let ended = links.removeValue(forKey: link) {
        record(
          .linkDown(
            central: ended.central, peripheral: ended.peripheral ?? "", link: link.rawValue, reason: "\(reason)"))
      }
    case .advertisement, .received, .refused: break
    }
    pending.append(.model(name, .radio(output.event)))
  }

  private mutating func take(_ effect: BlueZModel.Effect, of name: String, at now: Instant) {
    switch effect {
    case .send(let client, let message): outputs.append(.send(machine: name, to: client, message))
    case .channel(let effect): outputs.append(.channel(machine: name, effect))
    case .broadcast(let signal): outputs.append(.broadcast(machine: name, signal))
    case .unannounced(let signal): outputs.append(.unannounced(machine: name, signal))
    case .radio(let input):
      if recordsAir, let event = WorldEvent(input, machine: name) { record(event) }
      pending.append(.radio(input))
    case .readRSSI(let query, let link):
      let peer = links[link].flatMap { $0.central == name ? $0.peripheral : $0.central }
      let strength = radio.rssi(of: link, at: ControllerIdentifier(name), time: now)
      let isRefused = strength != nil && peer.map(unmeasured.contains) == true
      pending.append(.model(name, .rssi(query, isRefused ? nil : strength, isLinked: strength != nil)))
    case .started(let objects):
      outputs.append(.started(machine: name, objects))
      record(.bluetoothdStarted(machine: name))
    case .stopped(let cause):
      outputs.append(.stopped(machine: name))
      record(.bluetoothdStopped(machine: name, cause: cause.rawValue))
    case .powered(let isOn): record(.adapterPowered(machine: name, isOn: isOn))
    case .diagnostic(let diagnostic): record(.diagnostic(machine: name, text: "\(diagnostic)"))
    }
  }

  private mutating func record(_ event: WorldEvent) { outputs.append(.event(event)) }

  // MARK: Commands

  /// Tells the radio of a valid walk, and when it ends.
  private mutating func walk(_ name: String, to place: Position, seconds: Double, at now: Instant) {
    let limit = 36500.0 * 86400
    guard abs(place.x) <= 1e7, abs(place.y) <= 1e7 else {
      outputs.append(.refused("a place is at most 10,000 km from the middle"))
      return
    }
    guard seconds >= 1e-9, seconds <= limit else {
      outputs.append(.refused("a walk takes more than no time, and at most a hundred years"))
      return
    }
    let duration = Duration.nanoseconds(Int64((seconds * 1e9).rounded()))
    let controller = ControllerIdentifier(name)
    if let here = radio.position(of: controller, time: now) { record(.walkBegan(machine: name, x: here.x, y: here.y)) }
    walks[name] = (place, now + duration)
    pending.append(.radio(.walk(controller, to: place, over: duration)))
  }

  private mutating func obey(_ command: WorldCommand, at now: Instant) {
    guard machines[command.machine] != nil else {
      outputs.append(.refused("there is no machine \(command.machine)"))
      return
    }
    let name = command.machine
    let controller = ControllerIdentifier(name)
    switch command {
    case .move(_, let x, let y):
      guard x.isFinite, y.isFinite else {
        outputs.append(.refused("a position has finite coordinates"))
        return
      }
      walks[name] = nil
      pending.append(.radio(.move(controller, to: Position(x: x, y: y))))
    case .walk(_, let x, let y, let seconds): walk(name, to: Position(x: x, y: y), seconds: seconds, at: now)
    case .shield(_, let isOn): pending.append(.radio(.setShielded(controller, isOn)))
    case .plug(_, let isOn): plug(name, isOn)
    case .power(_, let isOn): pending.append(.model(name, .control(.setPowered(isOn))))
    case .forgetPairings: pending.append(.model(name, .control(.forgetPairings)))
    case .block(_, let isOn): pending.append(.model(name, .control(.setBlocked(isOn))))
    case .restartBluetoothd(_, let killed):
      pending.append(.model(name, .control(killed ? .kill : .stop)))
      pending.append(.model(name, .control(.start)))
    case .stopBluetoothd(_, let killed): pending.append(.model(name, .control(killed ? .kill : .stop)))
    case .startBluetoothd: pending.append(.model(name, .control(.start)))
    case .shutDown, .cutPower:
      pending.append(.model(name, .control(command == .cutPower(machine: name) ? .cutPower : .shutDown)))
      outputs.append(.shutDown(machine: name))
    case .boot: pending.append(.model(name, .control(.boot)))
    case .remember(_, let devices):
      if let reason = machines[name]?.remember(devices) { outputs.append(.refused("\(name): \(reason)")) }
      deadlines[name] = machines[name]?.nextDeadline
    case .hear(_, let input):
      guard let event = badInput(input, at: name) else {
        outputs.append(.refused("\(name) has no link to hear that on"))
        return
      }
      pending.append(.model(name, .radio(event)))
    }
  }

  private mutating func plug(_ name: String, _ isOn: Bool) {
    let controller = ControllerIdentifier(name)
    if isOn {
      pending.append(.radio(.setPower(controller, true)))
      pending.append(.model(name, .control(.setPlugged(true))))
    } else {
      pending.append(.radio(.setPower(controller, false)))
      pending.append(.model(name, .control(.setPlugged(false))))
    }
  }

  /// Input that only a broken or hostile device sends.
  private func badInput(_ input: BadInput, at name: String) -> RadioOutput.Event? {
    switch input {
    case .malformedAdvertisement:
      return .advertisement(
        AdvertisementReport(
          address: DeviceAddress(bits: 0xC0BA_D000_0001, kind: .random), data: [0x1E, 0x03, 0x01],
          isConnectable: true, rssi: -60))
    case .notificationForUnknownHandle:
      guard let link = links.filter({ $0.value.central == name || $0.value.peripheral == name }).keys.min() else {
        return nil
      }
      let pdu = ATTPDU.notification(0xFFF0, [0xBA, 0xD0])
      return .received(link, Frame(channel: Channel.attributes, payload: pdu.bytes))
    }
  }
}
