import AppLink
import BusValue
import Logging
import SystemBus

/// The one connection of an `AppLinkServer`. It lives on the bus's thread.
actor AppLinkServerSession {
  /// How many apps can be attached at a time.
  private static let connectionLimit = 256
  /// How many connections may wait to be verified as apps, in all and per user. The limit per user keeps a caller that
  /// is not an app from keeping apps out.
  private static let claimLimit = 1024
  private static let userClaimLimit = 16

  private nonisolated let bus: Bus
  private let logger: Logger
  private let onEvent: @Sendable (AppLinkServerEvent) -> Void
  private var connections: [AppConnection: ServedConnection] = [:]
  /// What each connection has sent that is not handled yet. An entry outlives the attachment, because requests in the
  /// system's queue take room until they are handled.
  private var undone: [AppConnection: UndoneCalls] = [:]
  private var controls = WaitingControls()
  private var watchers = StatusWatchers()
  private var askers = AskingClients()
  private var isClosed = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { bus.unownedExecutor }

  init(bus: Bus, logger: Logger, onEvent: @escaping @Sendable (AppLinkServerEvent) -> Void) {
    self.bus = bus
    self.logger = logger
    self.onEvent = onEvent
  }

  nonisolated func start() throws(BusError) {
    try bus.start(
      BusHandlers(
        onCall: { _, call in self.assumeIsolated { $0.receive(call) } },
        onClose: { _, _ in self.assumeIsolated { $0.busEnded() } }))
  }

  nonisolated func close() {
    bus.enqueue { _ in self.assumeIsolated { $0.isClosed = true } }
    bus.closeAndWait()
  }

  nonisolated func send(_ event: Event, to connection: AppConnection) {
    bus.enqueue { _ in self.assumeIsolated { $0.take(event, connection) } }
  }

  nonisolated func reply(to call: IncomingCall, _ result: Result<[Value], BusError>) {
    bus.enqueue { $0.reply(to: call, with: result) }
  }

  nonisolated func reply(to token: AttachToken, _ result: Result<AttachReply, AppLinkError>) {
    bus.enqueue { _ in self.assumeIsolated { $0.finishAttach(token, result) } }
  }

  nonisolated func cutOff(_ connection: AppConnection) {
    bus.enqueue { _ in self.assumeIsolated { $0.detached(connection) } }
  }

  nonisolated func handled(_ connection: AppConnection) {
    bus.enqueue { _ in self.assumeIsolated { $0.finishOldest(of: connection) } }
  }

  nonisolated func reply(to token: ControlToken, _ result: Result<[Value], BusError>) {
    bus.enqueue { _ in
      self.assumeIsolated { session in
        session.controls.answered(token.user)
        let watch = session.askers.answered(token)
        session.bus.assumeIsolated { bus in
          if let watch { bus.unwatch(watch) }
          bus.reply(to: token.call, with: result)
        }
      }
    }
  }

  nonisolated func watch(_ token: ControlToken, _ credentials: Credentials) {
    bus.enqueue { _ in self.assumeIsolated { $0.startWatching(token, credentials) } }
  }

  nonisolated func statusChanged(_ number: UInt64) {
    bus.enqueue { _ in self.assumeIsolated { $0.tellWatchers(number) } }
  }

  private func deliver(_ event: AppLinkServerEvent) {
    if !isClosed { onEvent(event) }
  }

  private func busEnded() {
    logger.error("the bus has ended")
    deliver(.busLost)
    isClosed = true
    connections = [:]
    watchers = StatusWatchers()
    askers = AskingClients()
  }

  private func take(_ event: Event, _ connection: AppConnection) {
    guard connections[connection]?.isAttached == true else { return }
    let message = EventCoding.message(event)
    let signal = OutgoingSignal(
      path: AppLinkName.path, interface: AppLinkName.appInterface, member: message.name,
      arguments: message.arguments, destination: connection.name)
    // A socket in the event has to stay open until the message has a duplicate of it.
    withExtendedLifetime(event) {
      bus.assumeIsolated { bus in
        do throws(BusError) {
          try bus.emit(signal)
        } catch {
          self.assumeIsolated { $0.logger.error("an event was not sent", metadata: ["error": "\(error)"]) }
        }
      }
    }
  }

  // MARK: Calls

  private func receive(_ call: IncomingCall) {
    do throws(BusError) {
      guard call.path == AppLinkName.path || call.interface == BusName.introspectable else {
        throw .unknownObject(call)
      }
      switch call.interface {
      case BusName.introspectable: try introspect(call)
      case AppLinkName.appInterface: try receiveFromApp(call)
      case AppLinkName.controlInterface: try receiveFromUser(call)
      default: throw .unknownMethod(call)
      }
    } catch {
      logger.notice(
        "a call is refused", metadata: ["sender": "\(call.sender)", "method": "\(call.member)", "error": "\(error)"])
      bus.assumeIsolated { $0.reply(to: call, with: .failure(error)) }
    }
  }

  private func introspect(_ call: IncomingCall) throws(BusError) {
    guard call.member == "Introspect", call.signature.isEmpty else { throw .unknownMethod(call) }
    let text: String
    if call.path == AppLinkName.path {
      text = AppLinkInterfaces.document
    } else {
      let children = Introspection.children(of: call.path, among: [AppLinkName.path])
      guard !children.isEmpty else { throw .unknownObject(call) }
      text = Introspection.document(interfaces: [.introspectable], children: children)
    }
    bus.assumeIsolated { $0.reply(to: call, with: .success([.string(text)])) }
  }

  private static func checkSignature(_ call: IncomingCall, _ interface: InterfaceDescription) throws(BusError) {
    guard let method = interface.methods.first(where: { $0.name == call.member }) else { throw .unknownMethod(call) }
    guard call.signature == method.signature else {
      throw malformed("\(call.member) takes (\(method.signature)), and not (\(call.signature))")
    }
  }

  private func receiveFromApp(_ call: IncomingCall) throws(BusError) {
    try Self.checkSignature(call, AppLinkInterfaces.app)
    let connection = AppConnection(name: call.sender)
    let reader = ArgumentReader(call.arguments)
    if call.member == AttachCoding.shape.name {
      return try attach(call, connection, try AttachCoding.attachment(reader))
    }
    guard connections[connection]?.isAttached == true else {
      if connections[connection]?.keep(call) == true { return }
      throw Self.notAttached
    }
    if let query = try QueryCoding.query(call.member, reader) {
      try admit(call, from: connection, isReplied: false)
      return deliver(.query(connection, query, QueryToken(call: call)))
    }
    guard let request = try RequestCoding.request(call.member, reader) else { throw .unknownMethod(call) }
    try admit(call, from: connection)
    deliver(.request(connection, request))
  }

  private static let notAttached = BusError(
    AppLinkError(.notAttached, "an app attaches first, and waits until it is accepted"))

  /// Admits a call or cuts the connection off. If only one request of many were refused, the app and the system would
  /// disagree about what holds. So the app has to attach again, and repeat what it wants.
  ///
  /// - Parameter isReplied: whether the call gets its reply when it has been handled. A query has an answer of its
  ///   own.
  private func admit(
    _ call: IncomingCall, from connection: AppConnection, isReplied: Bool = true
  ) throws(BusError) {
    let count = undone[connection]?.calls.count ?? 0
    let bytes = undone[connection]?.bytes ?? 0
    guard count < Flow.connectionLimit, bytes < Flow.connectionByteLimit else {
      detached(connection)
      throw BusError(
        AppLinkError(
          .limitReached,
          "\(count) requests of this connection wait already, with \(bytes) bytes (at most "
            + "\(Flow.connectionLimit), with \(Flow.connectionByteLimit)), and it is detached: ask for replies, wait for "
            + "them, and attach again"))
    }
    let size = call.byteCount
    undone[connection, default: UndoneCalls()].calls.append((isReplied ? call : nil, size))
    undone[connection]?.bytes += size
  }

  private func finishOldest(of connection: AppConnection) {
    guard let (call, bytes) = undone[connection]?.calls.popFirst() else { return }
    undone[connection]?.bytes -= bytes
    if undone[connection]?.calls.isEmpty == true { undone[connection] = nil }
    if let call { bus.assumeIsolated { $0.reply(to: call, with: .success([])) } }
  }

  private func receiveFromUser(_ call: IncomingCall) throws(BusError) {
    try Self.checkSignature(call, AppLinkInterfaces.control)
    guard let request = try ControlCoding.request(call.member, ArgumentReader(call.arguments)) else {
      throw .unknownMethod(call)
    }
    do { try controls.arrived() } catch { throw BusError(error) }
    // This comes before the system's answer, so that a change after that answer is reported.
    if request.returnsStatus { watchers.asked(call.sender) }
    withCredentials(of: call) { session, credentials in
      do throws(AppLinkError) {
        try session.controls.accept(credentials.userIdentifier)
      } catch {
        return session.bus.assumeIsolated { $0.reply(to: call, with: .failure(BusError(error))) }
      }
      let token = ControlToken(
        call: call, user: credentials.userIdentifier, wantsStatus: request.returnsStatus)
      if request == .withdrawActions { session.withdrawRequests(of: call.sender) }
      if request.isOfApp { session.asks(token) }
      session.deliver(.control(request, credentials, token))
    } otherwise: { session in
      session.controls.forget()
    }
  }

  /// Asks the bus for the caller's user. A caller that has left in the meantime is forgotten.
  private func withCredentials(
    of call: IncomingCall, _ next: @escaping @Sendable (isolated AppLinkServerSession, Credentials) -> Void,
    otherwise: @escaping @Sendable (isolated AppLinkServerSession) -> Void = { _ in }
  ) {
    bus.assumeIsolated { bus in
      bus.credentials(of: call.sender) { result in
        self.assumeIsolated { session in
          switch result {
          case .success(let found):
            next(
              session,
              Credentials(processIdentifier: found.processIdentifier, userIdentifier: found.userIdentifier))
          case .failure(let error):
            otherwise(session)
            session.bus.assumeIsolated { $0.reply(to: call, with: .failure(error)) }
          }
        }
      }
    }
  }

  // MARK: What clients give up

  private func asks(_ token: ControlToken) {
    let name = token.call.sender
    guard !askers.add(token) else { return }
    let watch = bus.assumeIsolated { bus in
      bus.watchOwner(of: name) { _, owner in
        if owner == nil { self.assumeIsolated { $0.withdrawRequests(of: name) } }
      }
    }
    askers.add(token, watch)
  }

  private func withdrawRequests(of name: String) {
    for token in askers.requests(of: name) { deliver(.withdrawn(token)) }
  }

  // MARK: Watching the status

  /// The client is registered before the system is asked for the status, so that no change falls between the two.
  private func startWatching(_ token: ControlToken, _ credentials: Credentials) {
    let name = token.call.sender
    if !watchers.contains(name) {
      do { try watchers.checkRoom(for: token.user) } catch { return reply(to: token, .failure(BusError(error))) }
      let watch = bus.assumeIsolated { bus in
        bus.watchOwner(of: name) { _, owner in
          guard owner == nil else { return }
          self.assumeIsolated { $0.stopWatching(name) }
        }
      }
      watchers.add(name, of: token.user, watch)
      if watchers.count == 1 { deliver(.statusWatched(true)) }
    }
    deliver(.control(.status, credentials, token))
  }

  private func stopWatching(_ name: String) {
    guard let watch = watchers.remove(name) else { return }
    bus.assumeIsolated { $0.unwatch(watch) }
    if watchers.count == 0 { deliver(.statusWatched(false)) }
  }

  private func tellWatchers(_ number: UInt64) {
    let message = ControlCoding.statusChanged(number)
    for name in watchers.takeUntold() {
      let signal = OutgoingSignal(
        path: AppLinkName.path, interface: AppLinkName.controlInterface, member: message.name,
        arguments: message.arguments, destination: name)
      // A signal to a client that has just left is dropped by the bus.
      bus.assumeIsolated { try? $0.emit(signal) }
    }
  }

  // MARK: Attaching and detaching

  private func attach(_ call: IncomingCall, _ connection: AppConnection, _ attachment: Attachment) throws(BusError) {
    guard connections[connection] == nil else {
      throw BusError(AppLinkError(.alreadyAttached, "this connection is attached already"))
    }
    let claims = connections.values.count { !$0.isAttached }
    guard connections.count - claims < Self.connectionLimit else {
      throw BusError(AppLinkError(.limitReached, "\(Self.connectionLimit) apps are attached"))
    }
    guard claims < Self.claimLimit else {
      throw BusError(AppLinkError(.limitReached, "\(claims) processes wait to be attached; try again"))
    }
    let watch = bus.assumeIsolated { bus in
      bus.watchOwner(of: connection.name) { _, owner in
        guard owner == nil else { return }
        self.assumeIsolated { session in
          session.detached(connection)
          session.bus.assumeIsolated { $0.discardCalls(from: connection.name) }
        }
      }
    }
    connections[connection] = ServedConnection(watch: watch)
    withCredentials(of: call) { session, credentials in
      guard session.connections[connection] != nil else { return }
      let claims = session.connections.values.count { !$0.isAttached && $0.user == credentials.userIdentifier }
      guard claims < Self.userClaimLimit else {
        let error = AppLinkError(.limitReached, "\(claims) processes of this user wait to be attached; try again")
        session.bus.assumeIsolated { $0.reply(to: call, with: .failure(BusError(error))) }
        session.forget(connection)
        return
      }
      session.connections[connection]?.user = credentials.userIdentifier
      session.connections[connection]?.isKnown = true
      session.deliver(.attach(connection, credentials, attachment, AttachToken(connection: connection, call: call)))
    } otherwise: { session in
      // The bus does not know the connection. Its process may try again.
      session.forget(connection)
    }
  }

  @discardableResult
  private func forget(_ connection: AppConnection) -> ServedConnection? {
    guard let gone = connections.removeValue(forKey: connection) else { return nil }
    bus.assumeIsolated { bus in
      bus.unwatch(gone.watch)
      for call in gone.early { bus.reply(to: call, with: .failure(Self.notAttached)) }
    }
    return gone
  }

  private func finishAttach(_ token: AttachToken, _ result: Result<AttachReply, AppLinkError>) {
    switch result {
    case .success(let reply):
      let early = connections[token.connection]?.early ?? []
      connections[token.connection]?.isAttached = true
      connections[token.connection]?.early = []
      bus.assumeIsolated { $0.reply(to: token.call, with: .success(AttachCoding.values(reply))) }
      for call in early { receive(call) }
    case .failure(let error):
      bus.assumeIsolated { $0.reply(to: token.call, with: .failure(BusError(error))) }
      forget(token.connection)
    }
  }

  private func detached(_ connection: AppConnection) {
    if forget(connection)?.isKnown == true { deliver(.detached(connection)) }
  }
}
