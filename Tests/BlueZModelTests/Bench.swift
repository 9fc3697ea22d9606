import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Radio
import Testing
import TimeTypes

/// Two machines, a door and a phone, and clients of their bluetoothds. Time moves only when a test says so.
struct Bench {
  var world: SimulatedWorld
  var now = Instant.zero
  private var calls: UInt64 = 0
  var replies: [CallIdentifier: Result<Reply, BlueZError>] = [:]
  var signals: [(at: Instant, machine: String, signal: Signal)] = []
  /// `signals` is how many signals were told before the call.
  var callbacks:
    [(
      at: Instant, machine: String, client: ClientIdentifier, path: ObjectPath, callback: Callback, signals: Int
    )] = []
  var unanswered: [(machine: String, client: ClientIdentifier, identifier: CallbackIdentifier, Callback)] = []
  var events: [(at: Instant, event: WorldEvent)] = []
  var refusals: [String] = []
  var channels: [BlueZModel.ChannelEffect] = []
  var channelsOf: [String: [BlueZModel.ChannelEffect]] = [:]
  /// The answers of applications and agents. `nil` leaves the call open.
  var answers: @Sendable (Callback) -> Result<CallbackReply, BlueZError>? = { callback in
    switch callback {
    case .readValue: .success(.bytes([7, 7]))
    default: .success(.none)
    }
  }

  static let door = "door"
  static let phone = "phone"
  static let system = ClientIdentifier(":1.5")
  static let service = BluetoothUUID("5f1a0001-3c0c-4d6a-9a42-1c6f3d8e7b10")!
  static let offer = BluetoothUUID("5f1a0002-3c0c-4d6a-9a42-1c6f3d8e7b10")!
  static let command = BluetoothUUID("5f1a0003-3c0c-4d6a-9a42-1c6f3d8e7b10")!
  static let adapter = WellKnown.firstAdapter
  static let offerPath = ObjectPath(unchecked: "/app/service0/offer")
  static let commandPath = ObjectPath(unchecked: "/app/service0/command")

  /// - Parameters:
  ///   - isExperimental: the phone's bluetoothd runs with `--experimental`.
  ///   - isDualMode: the phone's controller has classic Bluetooth as well.
  init(seed: UInt64 = 1, doorIsPrivate: Bool = false, isExperimental: Bool = false, isDualMode: Bool = false) {
    world = SimulatedWorld(seed: seed)
    add(SimulatedMachine(name: Self.door, isPrivate: doorIsPrivate))
    var phone = SimulatedMachine(name: Self.phone, position: Position(x: 2, y: 0))
    phone.isExperimental = isExperimental
    phone.isDualMode = isDualMode
    add(phone)
  }

  mutating func add(_ machine: SimulatedMachine) { take(world.addMachine(machine, at: now)) }

  // MARK: Doing

  @discardableResult
  mutating func call(
    _ machine: String, _ path: ObjectPath, _ request: Request, from client: ClientIdentifier = Bench.system
  ) -> CallIdentifier {
    calls += 1
    let call = CallIdentifier(calls)
    send(machine, .call(call, path: path, request), from: client)
    return call
  }

  mutating func send(_ machine: String, _ message: ClientMessage, from client: ClientIdentifier = Bench.system) {
    take(world.handle(.message(machine: machine, from: client, message), at: now))
  }

  mutating func pass(_ input: ChannelInput, through channel: ChannelIdentifier, of machine: String) {
    take(world.handle(.channel(machine: machine, channel, input), at: now))
  }

  mutating func vanish(_ machine: String, _ client: ClientIdentifier = Bench.system) {
    take(world.handle(.clientVanished(machine: machine, client), at: now))
  }

  mutating func command(_ command: WorldCommand) { take(world.handle(.command(command), at: now)) }

  mutating func run(_ duration: Duration) { run(until: now + duration) { _ in false } }

  /// Continues from event to event until `isDone`, or until the time is up.
  @discardableResult
  mutating func run(within duration: Duration, until isDone: (Bench) -> Bool) -> Bool {
    run(until: now + duration, isDone)
  }

  @discardableResult
  private mutating func run(until end: Instant, _ isDone: (Bench) -> Bool) -> Bool {
    if isDone(self) { return true }
    while let next = world.nextDeadline, next <= end {
      now = max(now, next)
      take(world.handle(.timePassed, at: now))
      if isDone(self) { return true }
    }
    now = end
    return false
  }

  /// Waits for a call's answer.
  mutating func answer(
    _ call: CallIdentifier, within duration: Duration = .seconds(60)
  ) -> Result<Reply, BlueZError>? {
    run(within: duration) { $0.replies[call] != nil }
    return replies[call]
  }

  mutating func ask(
    _ machine: String, _ path: ObjectPath, _ request: Request, from client: ClientIdentifier = Bench.system
  ) -> Result<Reply, BlueZError>? {
    answer(call(machine, path, request, from: client))
  }

  private mutating func take(_ outputs: [SimulatedWorld.Output]) {
    for output in outputs {
      switch output {
      case .send(_, _, .reply(let call, let result)): replies[call] = result
      case .send(let machine, let client, .callback(let identifier, let path, let callback)):
        callbacks.append((now, machine, client, path, callback, signals.count))
        if let answer = answers(callback) {
          take(
            world.handle(.message(machine: machine, from: client, .answer(identifier, answer)), at: now))
        } else {
          unanswered.append((machine, client, identifier, callback))
        }
      case .send: break
      case .broadcast(let machine, let signal): signals.append((now, machine, signal))
      case .event(let event): events.append((now, event))
      case .refused(let reason): refusals.append(reason)
      case .channel(let machine, let effect):
        channels.append(effect)
        channelsOf[machine, default: []].append(effect)
      case .unannounced, .started, .stopped, .shutDown: break
      }
    }
  }

  // MARK: Scenes

  static let lockObjects: ManagedObjects = lockObjects(encrypted: true)

  static func lockObjects(encrypted: Bool, handle: UInt16? = nil) -> ManagedObjects {
    let service = ObjectPath(unchecked: "/app/service0")
    var properties: Properties = ["UUID": .string(Self.service.description), "Primary": .bool(true)]
    if let handle { properties["Handle"] = .uint16(handle) }
    return [
      service: [InterfaceName.gattService: properties],
      offerPath: [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(offer.description), "Service": .path(service),
          "Flags": .strings(encrypted ? ["encrypt-read", "encrypt-notify"] : ["read", "notify"]),
        ]
      ],
      commandPath: [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(command.description), "Service": .path(service),
          "Flags": .strings(encrypted ? ["encrypt-write"] : ["write", "write-without-response"]),
        ]
      ],
    ]
  }

  mutating func serveLock(
    encrypted: Bool = true, handle: UInt16? = nil, isDiscoverable: Bool = true,
    from client: ClientIdentifier = Bench.system
  ) {
    call(
      Self.door, Self.adapter,
      .registerApplication(
        root: ObjectPath(unchecked: "/app"), objects: Self.lockObjects(encrypted: encrypted, handle: handle)),
      from: client)
    call(
      Self.door, Self.adapter,
      .registerAdvertisement(
        path: ObjectPath(unchecked: "/advertisement"),
        properties: [
          "Type": .string("peripheral"), "ServiceUUIDs": .strings([Self.service.description]),
          "LocalName": .string("Front door"), "MinInterval": .uint32(100), "MaxInterval": .uint32(100),
          "Discoverable": .bool(isDiscoverable),
        ]), from: client)
  }

  mutating func registerAgents(_ capability: AgentCapability = .noInputNoOutput) {
    for machine in [Self.door, Self.phone] { registerAgent(machine, capability) }
  }

  mutating func registerDoorAgent() { registerAgent(Self.door, .noInputNoOutput) }

  mutating func registerAgent(_ machine: String, _ capability: AgentCapability) {
    let path = ObjectPath(unchecked: "/agent")
    call(machine, WellKnown.managerPath, .registerAgent(path: path, capability: capability))
    call(machine, WellKnown.managerPath, .requestDefaultAgent(path: path))
  }

  mutating func registerProfile(from client: ClientIdentifier = Bench.system) {
    call(
      Self.phone, Self.adapter,
      .registerApplication(
        root: ObjectPath(unchecked: "/profile"),
        objects: [
          ObjectPath(unchecked: "/profile/lock"): [
            InterfaceName.gattProfile: ["UUIDs": .strings([Self.service.description])]
          ]
        ]), from: client)
  }

  /// Discovers the lock as the phone; returns its path.
  mutating func discover() -> ObjectPath? {
    call(Self.phone, Self.adapter, .startDiscovery)
    run(within: .seconds(10)) { $0.lockPath != nil }
    call(Self.phone, Self.adapter, .stopDiscovery)
    return lockPath
  }

  /// The phone finds the lock, connects, and knows its services.
  mutating func meet() -> ObjectPath {
    guard let path = discover() else { return Self.adapter }
    call(Self.phone, path, .connect)
    run(within: .seconds(20)) { $0.isResolved(path) }
    return path
  }

  /// Everything that a phone and a lock have done when they know each other: bonded, connected, profile registered.
  mutating func settle(notifying: Bool = false) -> ObjectPath {
    serveLock()
    registerAgents()
    let path = meet()
    if let offer = characteristic(Self.offer) {
      _ = ask(Self.phone, offer, .readValue(offset: 0))
      if notifying { _ = ask(Self.phone, offer, .startNotify) }
    }
    run(.seconds(1))
    registerProfile()
    return path
  }

  mutating func leave() {
    command(.move(machine: Self.phone, x: 5000, y: 0))
    run(within: .seconds(30)) { !$0.isConnected }
  }

  mutating func comeHome() { command(.move(machine: Self.phone, x: 2, y: 0)) }

  @discardableResult
  mutating func comeHomeAndConnect(within duration: Duration = .seconds(60)) -> Bool {
    comeHome()
    return run(within: duration) { $0.isConnected }
  }

  // MARK: Observing

  var phoneObjects: ManagedObjects { world.managedObjects(of: Self.phone) }

  var lockPath: ObjectPath? {
    phoneObjects.first { path, interfaces in
      interfaces[InterfaceName.device]?["UUIDs"]?.stringsValue?.contains(Self.service.description) == true
    }?.key
  }

  func characteristic(_ uuid: BluetoothUUID) -> ObjectPath? {
    phoneObjects.first { $0.value[InterfaceName.gattCharacteristic]?["UUID"]?.stringValue == uuid.description }?.key
  }

  func device(_ path: ObjectPath, _ name: String) -> Value? { phoneObjects[path]?[InterfaceName.device]?[name] }

  func isResolved(_ path: ObjectPath) -> Bool { device(path, "ServicesResolved") == .bool(true) }

  var isConnected: Bool {
    phoneObjects.values.contains { $0[InterfaceName.device]?["Connected"] == .bool(true) }
  }

  func isBonded(_ path: ObjectPath) -> Bool { device(path, "Bonded") == .bool(true) }

  /// Changes of one property on the phone, in order.
  func changes(_ interface: String, _ name: String, of path: ObjectPath? = nil) -> [(at: Instant, value: Value)] {
    signals.compactMap { entry in
      guard entry.machine == Self.phone,
        case .propertiesChanged(let object, interface, let changed, _) = entry.signal, path == nil || object == path,
        let value = changed[name]
      else { return nil }
      return (entry.at, value)
    }
  }
}

extension Result where Success == Reply, Failure == BlueZError {
  var error: BlueZError? { if case .failure(let error) = self { error } else { nil } }
  var isSuccess: Bool { error == nil }
  var bytes: [UInt8]? { if case .success(.bytes(let bytes)) = self { bytes } else { nil } }
}

extension Bench: CustomTestStringConvertible {
  // A whole world would not help in the text of a failure.
  var testDescription: String { "the bench at \(now)" }
}
