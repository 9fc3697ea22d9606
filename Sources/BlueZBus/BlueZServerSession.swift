import BlueZ
import BusValue
import Glibc
import Logging
import SystemBus
import TimeTypes
import Timekeeping

/// The one connection of a `BlueZServer`. It lives on the bus's thread.
actor BlueZServerSession {
  /// How many clients are served at a time, and how many applications and advertisements each may have. bluetoothd has no
  /// such limits; these are beyond what anyone needs.
  private static let clientLimit = 4096
  static let registrationLimit = 512
  /// The most objects of one application: a GATT database has no room for more attributes.
  static let objectLimit = 65_535
  /// How long a client may take to describe its objects (libdbus's own limit for an answer).
  static let fetchLimit = Duration.seconds(25)

  struct Client {
    var watch: Bus.NameWatch
    /// The objects of its applications.
    var applications: [Registration: ManagedObjects] = [:]
    var advertisements: Set<Registration> = []
    /// Advertisements whose object was told of its release. The call does not say which adapter's registration has
    /// ended, so all registrations of that object are in here.
    var released: Set<Registration> = []
    var monitors: Set<Registration> = []
    /// Its battery providers.
    var batteries: Set<Registration> = []
    /// Registrations whose objects are being fetched, each with the alarm that ends the wait.
    var fetching: [Registration: Fetch] = [:]
    /// The match rules that are active.
    var matches: Set<MatchRule> = []
  }

  struct Fetch {
    var number: UInt64
    var call: IncomingCall
    /// The answer to the call if the registration is withdrawn.
    var error: BlueZError
    var alarm: (any Alarm)?
  }

  private struct OpenCall {
    let call: IncomingCall
    let request: Request
  }

  nonisolated let bus: Bus
  private nonisolated let sharesThread: Bool
  private let logger: Logger
  private nonisolated let turns: BlueZServer.Turns?
  private let onEvent: @Sendable (BlueZServerEvent) -> Void
  private var mirror: ObjectMirror
  var clients: [String: Client] = [:]
  private var openCalls: [CallIdentifier: OpenCall] = [:]
  private var lastCall: UInt64 = 0
  var lastFetch: UInt64 = 0
  let time: (any TimeSource)?
  private var isClosed = false
  private var backlog = Backlog<Work>()
  private var awaitsPause = false

  /// Handles something that came from a client.
  typealias Work = @Sendable (isolated BlueZServerSession) -> Void

  nonisolated var unownedExecutor: UnownedSerialExecutor { bus.unownedExecutor }

  /// - Parameter sharesThread: the bus's thread is shared, and used as `BlueZServer` says.
  init(
    bus: Bus, sharesThread: Bool, logger: Logger, objects: ManagedObjects, isExperimental: Bool,
    time: (any TimeSource)?,
    turns: BlueZServer.Turns?, onEvent: @escaping @Sendable (BlueZServerEvent) -> Void
  ) {
    self.time = time
    self.bus = bus
    self.sharesThread = sharesThread
    self.turns = turns
    self.logger = logger
    mirror = ObjectMirror(objects, isExperimental: isExperimental)
    self.onEvent = onEvent
  }

  nonisolated func start() throws(BusError) {
    try bus.start(
      BusHandlers(
        onCall: { _, call in self.inTurn(of: call.sender) { $0.receive(call) } },
        onSignal: { _, signal in self.inTurn(of: signal.sender) { $0.receive(signal) } },
        onClose: { _, _ in self.assumeIsolated { $0.busEnded() } }))
  }

  /// Handles something that came from a client. Called on the bus's thread.
  nonisolated func inTurn(of client: String, _ work: @escaping Work) {
    guard let turns else { return assumeIsolated { $0.handle(work, of: client) } }
    turns(client) { self.assumeIsolated(work) }
  }

  private func handle(_ work: @escaping Work, of client: String) {
    for due in backlog.take(work, of: client) { due(self) }
    awaitPause()
  }

  private func awaitPause() {
    guard !awaitsPause, backlog.needsPause, !isClosed else { return }
    awaitsPause = true
    bus.assumeIsolated { bus in
      bus.performInPause { _ in
        self.assumeIsolated { session in
          session.awaitsPause = false
          for due in session.backlog.pause() { due(session) }
          session.awaitPause()
        }
      }
    }
  }

  nonisolated func send(_ message: DaemonMessage, to client: String) { perform { $0.take(message, to: client) } }

  nonisolated func broadcast(_ signal: Signal) { perform { $0.take(signal) } }

  nonisolated func apply(_ signal: Signal) { perform { $0.mirror.apply(signal) } }

  nonisolated func close() {
    perform { $0.isClosed = true }
    bus.closeAndWait()
  }

  /// Runs work on the bus's thread. On a shared thread this is never called while a message is being handled, so the
  /// work can run at once.
  private nonisolated func perform(_ work: @escaping @Sendable (isolated BlueZServerSession) -> Void) {
    if sharesThread {
      bus.performSoon { _ in self.assumeIsolated(work) }
    } else {
      bus.enqueue { _ in self.assumeIsolated(work) }
    }
  }

  func deliver(_ event: BlueZServerEvent) {
    if !isClosed { onEvent(event) }
  }

  private func busEnded() {
    deliver(.busLost)
    isClosed = true
    clients = [:]
    openCalls = [:]
    backlog = Backlog()
  }

  // MARK: Messages from the server

  private func take(_ signal: Signal) {
    let before = signal.object.flatMap { mirror.objects[$0] }
    mirror.apply(signal)
    if case .interfacesRemoved(let adapter, let interfaces) = signal, interfaces.contains(InterfaceName.gattManager) {
      forgetRegistrations(with: adapter)
    }
    let outgoing = ObjectCoding.outgoing(
      signal, before: before, after: signal.object.flatMap { mirror.objects[$0] })
    bus.assumeIsolated { bus in
      do throws(BusError) {
        try bus.emit(outgoing)
      } catch {
        self.assumeIsolated { $0.logger.error("a signal was not sent", metadata: ["error": "\(error)"]) }
      }
    }
  }

  /// What was registered with an adapter is removed with it. Registrations with other adapters stay.
  private func forgetRegistrations(with adapter: ObjectPath) {
    for name in clients.keys {
      guard var client = clients[name] else { continue }
      client.applications = client.applications.filter { $0.key.adapter != adapter }
      client.advertisements = client.advertisements.filter { $0.adapter != adapter }
      client.released = client.released.filter { $0.adapter != adapter }
      client.monitors = client.monitors.filter { $0.adapter != adapter }
      client.batteries = client.batteries.filter { $0.adapter != adapter }
      clients[name] = client
    }
  }

  private func take(_ message: DaemonMessage, to client: String) {
    switch message {
    case .reply(let identifier, let result): reply(identifier, result)
    case .callback(let identifier, let path, let callback): call(client, identifier, path, callback)
    case .signal(let signal): take(signal)
    // D-Bus itself announces these.
    case .appeared, .vanished: break
    }
  }

  func reply(_ identifier: CallIdentifier, _ result: Result<Reply, BlueZError>) {
    // The descriptor belongs to this function from here on. The message holds a duplicate.
    defer { if case .success(.channel(let descriptor, _)) = result { Glibc.close(descriptor) } }
    guard let open = openCalls.removeValue(forKey: identifier) else { return }
    var succeeded = false
    if case .success = result { succeeded = true }
    settle(open, succeeded: succeeded)
    let values = result.map { ReplyCoding.values($0) }.mapError { BusError($0, answering: open.call) }
    // A socket in the result has to stay open until the message has a duplicate of it.
    withExtendedLifetime(result) { bus.assumeIsolated { $0.reply(to: open.call, with: values) } }
    if succeeded, case .registerBatteryProvider(let root) = open.request {
      fetchBatteries(Registration(kind: .batteries, adapter: open.call.path, path: root), of: open.call.sender)
    }
  }

  /// Updates the client's registrations after the server's answer to a registration or a withdrawal.
  private func settle(_ open: OpenCall, succeeded: Bool) {
    guard let registration = Registration(open.request, with: open.call.path) else { return }
    let client = open.call.sender
    switch open.request {
    case .registerApplication where !succeeded, .unregisterApplication where succeeded:
      clients[client]?.applications[registration] = nil
    case .registerAdvertisement where succeeded:
      clients[client]?.advertisements.insert(registration)
      clients[client]?.released.remove(registration)
    case .unregisterAdvertisement where succeeded:
      clients[client]?.advertisements.remove(registration)
      clients[client]?.released.remove(registration)
    case .registerMonitor where !succeeded, .unregisterMonitor where succeeded:
      clients[client]?.monitors.remove(registration)
    case .registerBatteryProvider where succeeded: clients[client]?.batteries.insert(registration)
    case .unregisterBatteryProvider where succeeded: clients[client]?.batteries.remove(registration)
    default: break
    }
  }

  private func call(_ client: String, _ identifier: CallbackIdentifier, _ path: ObjectPath, _ callback: Callback) {
    guard let known = clients[client] else { return }
    if case .release(InterfaceName.advertisement) = callback {
      clients[client]?.released.formUnion(known.advertisements.filter { $0.path == path })
    }
    let isDescriptor = known.applications.values.contains { $0[path]?[InterfaceName.gattDescriptor] != nil }
    let coded = CallbackCoding.call(callback, onDescriptor: isDescriptor)
    let givesDescriptor = coded.member.hasPrefix("Acquire")
    let call = MethodCall(
      to: client, path: path, interface: coded.interface, member: coded.member, arguments: coded.arguments,
      acceptsFileDescriptors: givesDescriptor)
    bus.assumeIsolated { bus in
      bus.call(call) { result in
        self.inTurn(of: client) { session in
          // A client that has left was already reported by `clientVanished`, and its answer is ignored.
          guard session.clients[client] != nil else {
            for value in (try? result.get()) ?? [] { value.closeDescriptors() }
            return
          }
          let answer: Result<CallbackReply, BlueZError>
          switch result {
          case .success(let values):
            answer = CallbackCoding.reply(values, to: callback)
            values.closeDescriptors(but: answer)
          case .failure(let error):
            if error.name == BusError.Name.disconnected { return }
            answer = .failure(BlueZError(error))
          }
          session.deliver(.message(from: client, .answer(identifier, answer)))
        }
      }
    }
  }

  // MARK: Calls from clients

  private func receive(_ call: IncomingCall) {
    do throws(BusError) {
      let interface = try mirror.interface(of: call)
      if let values = try mirror.answer(call, interface) {
        return bus.assumeIsolated { $0.reply(to: call, with: .success(values)) }
      }
      if Interfaces1.unserved.contains(interface) { throw BusError(.notSupported) }
      try admit(call.sender)
      switch try RequestCoding.incoming(call, interface: interface) {
      case .request(let request):
        if case .registerBatteryProvider = request { try admitBatteries(of: call.sender) }
        if withdraws(request, call) {
          bus.assumeIsolated { $0.reply(to: call, with: .success([])) }
        } else {
          deliver(call, request)
        }
      case .application(let root): try fetchApplication(call, root)
      case .advertisement(let path): try fetchAdvertisement(call, path)
      case .monitors(let root): try fetchMonitors(call, root)
      }
    } catch {
      bus.assumeIsolated { $0.reply(to: call, with: .failure(error)) }
    }
  }

  func deliver(_ call: IncomingCall, _ request: Request) {
    lastCall += 1
    let identifier = CallIdentifier(lastCall)
    openCalls[identifier] = OpenCall(call: call, request: request)
    deliver(.message(from: call.sender, .call(identifier, path: call.path, request)))
  }

  /// Watches a client from its first call on.
  private func admit(_ name: String) throws(BusError) {
    guard clients[name] == nil else { return }
    guard clients.count < Self.clientLimit else {
      throw BusError(name: BusError.Name.limitsExceeded, message: "too many clients")
    }
    let watch = bus.assumeIsolated { bus in
      bus.watchOwner(of: name) { bus, owner in
        guard owner == nil else { return }
        self.inTurn(of: name) { $0.clientVanished(name) }
      }
    }
    clients[name] = Client(watch: watch)
  }

  private func clientVanished(_ name: String) {
    guard let client = clients.removeValue(forKey: name) else { return }
    for fetch in client.fetching.values { fetch.alarm?.set(nil) }
    openCalls = openCalls.filter { $0.value.call.sender != name }
    bus.assumeIsolated { bus in
      bus.unwatch(client.watch)
      bus.discardCalls(from: name)
      for rule in client.matches { bus.removeMatch(rule) }
    }
    deliver(.clientVanished(name))
  }

  /// Handles a signal. It is used only if it changes something that the sender has registered: a characteristic's
  /// value, an application's services, an advertisement's content, the list of monitors, or a battery.
  private func receive(_ signal: IncomingSignal) {
    guard let client = clients[signal.sender], let change = ObjectCoding.signal(signal) else { return }
    func hasBatteries(at root: ObjectPath) -> Bool { client.batteries.contains { $0.path == root } }
    func hasMonitors(at root: ObjectPath) -> Bool { client.monitors.contains { $0.path == root } }
    switch change {
    case .propertiesChanged(let path, InterfaceName.gattCharacteristic, let changed, let gone):
      guard client.applications.values.contains(where: { $0[path]?[InterfaceName.gattCharacteristic] != nil }) else {
        return
      }
      let name = GattCharacteristic1.name(\.value)
      if let value = changed[name]?.rawBytes {
        deliver(.message(from: signal.sender, .valueChanged(path: path, value: value)))
      }
      // bluetoothd takes a value that is no longer valid for an empty one (src/gatt-database.c, property_changed_cb).
      if gone.contains(name) { deliver(.message(from: signal.sender, .valueChanged(path: path, value: []))) }
    case .propertiesChanged(let path, InterfaceName.advertisement, let changed, let gone):
      guard client.advertisements.contains(where: { $0.path == path }) else { return }
      deliver(.message(from: signal.sender, .advertisementChanged(path: path, changed, gone: gone)))
    case .propertiesChanged(let path, InterfaceName.batteryProvider, let changed, let gone):
      guard !client.batteries.isEmpty else { return }
      deliver(.message(from: signal.sender, .batteryChanged(path: path, changed, gone: gone)))
    case .interfacesAdded(let path, let interfaces):
      if let properties = interfaces[InterfaceName.batteryProvider], hasBatteries(at: signal.path) {
        deliver(.message(from: signal.sender, .batteryAdded(root: signal.path, path: path, properties)))
      }
      guard let properties = interfaces[InterfaceName.advertisementMonitor], path.isWithin(signal.path),
        hasMonitors(at: signal.path)
      else { return }
      deliver(.message(from: signal.sender, .monitorAdded(root: signal.path, path: path, properties)))
    case .interfacesRemoved(let path, let interfaces):
      if interfaces.contains(InterfaceName.batteryProvider), hasBatteries(at: signal.path) {
        deliver(.message(from: signal.sender, .batteryRemoved(root: signal.path, path: path)))
      }
      if interfaces.contains(InterfaceName.advertisementMonitor), hasMonitors(at: signal.path) {
        deliver(.message(from: signal.sender, .monitorRemoved(root: signal.path, path: path)))
      }
      let applications = client.applications.filter { registration, objects in
        registration.path == signal.path && objects[path]?[InterfaceName.gattService] != nil
          && interfaces.contains { objects[path]?[$0] != nil }
      }
      guard !applications.isEmpty else { return }
      deliver(.message(from: signal.sender, .serviceRemoved(root: signal.path, path: path)))
    default: break
    }
  }
}

extension Signal {
  /// The object that gets or loses interfaces.
  fileprivate var object: ObjectPath? {
    switch self {
    case .interfacesAdded(let path, _), .interfacesRemoved(let path, _): path
    case .propertiesChanged, .disconnected: nil
    }
  }
}
