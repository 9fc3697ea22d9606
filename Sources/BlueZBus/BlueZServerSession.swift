import BlueZ
import BusValue
import Glibc
import Logging
import SystemBus
import TimeTypes
import Timekeeping

/// `BlueZServer`'s one connection; it lives on the bus's thread.
actor BlueZServerSession {
  /// How many clients are served at a time, and how many applications and advertisements one may have.
  private static let clientLimit = 256
  private static let registrationLimit = 32
  /// More attributes no database has.
  private static let objectLimit = 65_535
  /// What a client has to tell of its objects in (libdbus's own limit for an answer).
  private static let fetchLimit = Duration.seconds(25)

  private struct Client {
    var watch: Bus.NameWatch
    /// The objects of its applications, by root.
    var applications: [ObjectPath: ManagedObjects] = [:]
    /// Its advertisements.
    var advertisements: Set<ObjectPath> = []
    /// Applications and advertisements whose objects are being fetched, and what rings when that has taken too long.
    var fetching: [ObjectPath: Fetch] = [:]
    /// Its changes of values are listened to.
    var isMatched = false
  }

  private struct Fetch {
    var number: UInt64
    var call: IncomingCall
    /// What the call is answered with where nothing comes of it.
    var error: BlueZError
    var alarm: (any Alarm)?
  }

  private struct OpenCall {
    let call: IncomingCall
    let request: Request
  }

  private nonisolated let bus: Bus
  private let logger: Logger
  private let onEvent: @Sendable (BlueZServerEvent) -> Void
  private var mirror: ObjectMirror
  private var clients: [String: Client] = [:]
  private var openCalls: [CallIdentifier: OpenCall] = [:]
  private var lastCall: UInt64 = 0
  private var lastFetch: UInt64 = 0
  private let time: (any TimeSource)?
  private var isClosed = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { bus.unownedExecutor }

  init(
    bus: Bus, logger: Logger, objects: ManagedObjects, time: (any TimeSource)?,
    onEvent: @escaping @Sendable (BlueZServerEvent) -> Void
  ) {
    self.time = time
    self.bus = bus
    self.logger = logger
    mirror = ObjectMirror(objects)
    self.onEvent = onEvent
  }

  nonisolated func start() throws(BusError) {
    try bus.start(
      BusHandlers(
        onCall: { _, call in self.assumeIsolated { $0.receive(call) } },
        onSignal: { _, signal in self.assumeIsolated { $0.receive(signal) } },
        onClose: { _, _ in self.assumeIsolated { $0.busEnded() } }))
  }

  nonisolated func send(_ message: DaemonMessage, to client: String) {
    bus.enqueue { _ in self.assumeIsolated { $0.take(message, to: client) } }
  }

  nonisolated func broadcast(_ signal: Signal) {
    bus.enqueue { _ in self.assumeIsolated { $0.take(signal) } }
  }

  nonisolated func close() {
    bus.enqueue { _ in self.assumeIsolated { $0.isClosed = true } }
    bus.closeAndWait()
  }

  nonisolated func closeAndWait() async {
    close()
    // What is enqueued after the end is still done.
    await withCheckedContinuation { continuation in bus.enqueue { _ in continuation.resume() } }
  }

  private func deliver(_ event: BlueZServerEvent) {
    if !isClosed { onEvent(event) }
  }

  private func busEnded() {
    deliver(.busLost)
    isClosed = true
    clients = [:]
    openCalls = [:]
  }

  // MARK: What the server says

  private func take(_ signal: Signal) {
    mirror.apply(signal)
    if case .interfacesRemoved(_, let interfaces) = signal, interfaces.contains(InterfaceName.gattManager) {
      // What was registered with an adapter goes with it.
      for client in clients.keys {
        clients[client]?.applications = [:]
        clients[client]?.advertisements = []
      }
    }
    let outgoing = ObjectCoding.outgoing(signal)
    bus.assumeIsolated { bus in
      do throws(BusError) {
        try bus.emit(outgoing)
      } catch {
        self.assumeIsolated { $0.logger.error("a signal was not sent", metadata: ["error": "\(error)"]) }
      }
    }
  }

  private func take(_ message: DaemonMessage, to client: String) {
    switch message {
    case .reply(let identifier, let result): reply(identifier, result)
    case .callback(let identifier, let path, let callback): call(client, identifier, path, callback)
    case .signal(let signal): take(signal)
    // D-Bus itself says these.
    case .appeared, .vanished: break
    }
  }

  private func reply(_ identifier: CallIdentifier, _ result: Result<Reply, BlueZError>) {
    // The descriptor was the caller's from here on; the message holds a duplicate.
    defer { if case .success(.channel(let descriptor, _)) = result { Glibc.close(descriptor) } }
    guard let open = openCalls.removeValue(forKey: identifier) else { return }
    var succeeded = false
    if case .success = result { succeeded = true }
    settle(open, succeeded: succeeded)
    let values = result.map { ReplyCoding.values($0) }.mapError { BusError($0) }
    bus.assumeIsolated { $0.reply(to: open.call, with: values) }
  }

  /// A registration that failed, and one that was undone, is none.
  private func settle(_ open: OpenCall, succeeded: Bool) {
    switch open.request {
    case .registerApplication(let root, _) where !succeeded:
      clients[open.call.sender]?.applications[root] = nil
    case .unregisterApplication(let root) where succeeded:
      clients[open.call.sender]?.applications[root] = nil
    case .registerAdvertisement(let path, _) where succeeded: clients[open.call.sender]?.advertisements.insert(path)
    case .unregisterAdvertisement(let path) where succeeded: clients[open.call.sender]?.advertisements.remove(path)
    default: break
    }
  }

  private func call(_ client: String, _ identifier: CallbackIdentifier, _ path: ObjectPath, _ callback: Callback) {
    guard let known = clients[client] else { return }
    let isDescriptor = known.applications.values.contains { $0[path]?[InterfaceName.gattDescriptor] != nil }
    let coded = CallbackCoding.call(callback, onDescriptor: isDescriptor)
    let givesDescriptor = coded.member.hasPrefix("Acquire")
    let call = MethodCall(
      to: client, path: path, interface: coded.interface, member: coded.member, arguments: coded.arguments,
      acceptsFileDescriptors: givesDescriptor)
    bus.assumeIsolated { bus in
      bus.call(call) { result in
        self.assumeIsolated { session in
          // A client that is gone has said so by `clientVanished`, and answers nothing.
          guard session.clients[client] != nil else { return }
          let answer: Result<CallbackReply, BlueZError>
          switch result {
          case .success(let values): answer = CallbackCoding.reply(values, to: callback)
          case .failure(let error):
            if error.name == BusError.Name.disconnected { return }
            answer = .failure(BlueZError(error))
          }
          session.deliver(.message(from: client, .answer(identifier, answer)))
        }
      }
    }
  }

  // MARK: What clients say

  private func receive(_ call: IncomingCall) {
    do throws(BusError) {
      let interface = try mirror.interface(of: call)
      if let values = try mirror.answer(call, interface) {
        return bus.assumeIsolated { $0.reply(to: call, with: .success(values)) }
      }
      if Interfaces1.unserved.contains(interface) {
        guard Interfaces1.idle.contains(call.member) else { throw BusError(.notSupported) }
        return bus.assumeIsolated { $0.reply(to: call, with: .success([])) }
      }
      try admit(call.sender)
      switch try RequestCoding.incoming(call, interface: interface) {
      case .request(let request):
        if withdraws(request, call.sender) {
          bus.assumeIsolated { $0.reply(to: call, with: .success([])) }
        } else {
          deliver(call, request)
        }
      case .application(let root): try fetchApplication(call, root)
      case .advertisement(let path): try fetchAdvertisement(call, path)
      }
    } catch {
      bus.assumeIsolated { $0.reply(to: call, with: .failure(error)) }
    }
  }

  private func deliver(_ call: IncomingCall, _ request: Request) {
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
        self.assumeIsolated { $0.clientVanished(name) }
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
      if client.isMatched { bus.removeMatch(Self.changes(of: name)) }
    }
    deliver(.clientVanished(name))
  }

  private static func changes(of client: String) -> MatchRule {
    MatchRule(sender: client, interface: BusName.properties, member: "PropertiesChanged")
  }

  // MARK: What clients export

  /// Whether this ends a registration whose objects are being fetched: bluetoothd has it from the call on.
  private func withdraws(_ request: Request, _ client: String) -> Bool {
    switch request {
    case .unregisterApplication(let path), .unregisterAdvertisement(let path):
      withdrawFetch(of: path, client)
    default: false
    }
  }

  private func fetchApplication(_ call: IncomingCall, _ root: ObjectPath) throws(BusError) {
    let client = call.sender
    guard let known = clients[client], known.applications[root] == nil, known.fetching[root] == nil else {
      throw BusError(.alreadyExists)
    }
    guard known.applications.count < Self.registrationLimit else {
      throw BusError(name: BusError.Name.limitsExceeded, message: "too many applications")
    }
    listen(to: client)
    let fetch = MethodCall(to: client, path: root, interface: BusName.objectManager, member: "GetManagedObjects")
    // BlueZ's own words for it (src/gatt-database.c).
    fetchObjects(call, root, fetch, else: .failed("No object received")) { session, values in
      guard let objects = ObjectCoding.objects(values.first), objects.keys.allSatisfy({ $0.isWithin(root) }) else {
        return session.refuse(call, .failed("No object received"))
      }
      guard objects.count <= Self.objectLimit else {
        return session.refuse(call, .failed("Failed to create entry in database"))
      }
      session.clients[client]?.applications[root] = objects
      session.deliver(call, .registerApplication(root: root, objects: objects))
    }
  }

  private func fetchAdvertisement(_ call: IncomingCall, _ path: ObjectPath) throws(BusError) {
    let client = call.sender
    guard let known = clients[client], known.fetching[path] == nil else { throw BusError(.alreadyExists) }
    listen(to: client)
    let fetch = MethodCall(
      to: client, path: path, interface: BusName.properties, member: "GetAll",
      arguments: [.string(InterfaceName.advertisement)])
    fetchObjects(call, path, fetch, else: .failed("Failed to parse advertisement.")) { session, values in
      guard let properties = values.first?.propertiesValue else {
        return session.refuse(call, .failed("Failed to parse advertisement."))
      }
      session.deliver(call, .registerAdvertisement(path: path, properties: properties))
    }
  }

  /// From now on what changes of the client's objects is heard.
  private func listen(to client: String) {
    guard clients[client]?.isMatched == false else { return }
    clients[client]?.isMatched = true
    bus.assumeIsolated { $0.addMatch(Self.changes(of: client)) }
  }

  /// Asks a client for what it registers. A client that withdraws it meanwhile, does not know of it, or takes too long
  /// has its registration refused.
  private func fetchObjects(
    _ call: IncomingCall, _ path: ObjectPath, _ fetch: MethodCall, else error: BlueZError,
    _ then: @escaping @Sendable (isolated BlueZServerSession, [Value]) -> Void
  ) {
    let client = call.sender
    lastFetch += 1
    let number = lastFetch
    let alarm = time.map { time in
      let alarm = time.makeAlarm { [weak self, bus] in
        bus.enqueue { [weak self] _ in
          self?.assumeIsolated { session in
            guard session.clients[client]?.fetching[path]?.number == number else { return }
            session.clients[client]?.fetching[path] = nil
            session.refuse(call, error)
          }
        }
      }
      alarm.set(time.now + Self.fetchLimit)
      return alarm
    }
    clients[client]?.fetching[path] = Fetch(number: number, call: call, error: error, alarm: alarm)
    bus.assumeIsolated { bus in
      bus.call(fetch) { result in
        self.assumeIsolated { session in
          guard session.clients[client] != nil else { return }
          guard session.clients[client]?.fetching[path]?.number == number else { return }
          session.endFetch(of: path, client)
          guard case .success(let values) = result else { return session.refuse(call, error) }
          then(session, values)
        }
      }
    }
  }

  @discardableResult
  private func endFetch(of path: ObjectPath, _ client: String) -> Fetch? {
    let fetch = clients[client]?.fetching.removeValue(forKey: path)
    fetch?.alarm?.set(nil)
    return fetch
  }

  /// Whether there was something to withdraw.
  private func withdrawFetch(of path: ObjectPath, _ client: String) -> Bool {
    guard let fetch = endFetch(of: path, client) else { return false }
    refuse(fetch.call, fetch.error)
    return true
  }

  private func refuse(_ call: IncomingCall, _ error: BlueZError) {
    bus.assumeIsolated { $0.reply(to: call, with: .failure(BusError(error))) }
  }

  /// Of signals, only changes of what the sender has registered mean anything: a characteristic's value, and what an
  /// advertisement says.
  private func receive(_ signal: IncomingSignal) {
    guard let client = clients[signal.sender],
      case .propertiesChanged(let path, let interface, let changed, let gone)? = ObjectCoding.signal(signal)
    else { return }
    switch interface {
    case InterfaceName.gattCharacteristic:
      guard let value = changed["Value"]?.bytesValue,
        client.applications.values.contains(where: { $0[path]?[InterfaceName.gattCharacteristic] != nil })
      else { return }
      deliver(.message(from: signal.sender, .valueChanged(path: path, value: value)))
    case InterfaceName.advertisement where client.advertisements.contains(path):
      deliver(.message(from: signal.sender, .advertisementChanged(path: path, changed, gone: gone)))
    default: break
    }
  }
}
