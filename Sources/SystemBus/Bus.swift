import BusValue
import Dispatch
import Glibc
import Synchronization

/// What a bus connection tells its user. Each handler is called on the bus's thread, in the order of the messages.
package struct BusHandlers: Sendable {
  /// A peer called a method. It is answered once, now or later, with `Bus.reply`.
  package var onCall: @Sendable (isolated Bus, IncomingCall) -> Void
  /// A signal arrived. The handler must check its sender.
  package var onSignal: @Sendable (isolated Bus, IncomingSignal) -> Void
  /// The connection ended by itself. Nothing comes after it.
  package var onClose: @Sendable (isolated Bus, BusError) -> Void

  package init(
    onCall: @escaping @Sendable (isolated Bus, IncomingCall) -> Void = { bus, call in
      bus.reply(to: call, with: .failure(.unknownObject(call)))
    },
    onSignal: @escaping @Sendable (isolated Bus, IncomingSignal) -> Void = { _, _ in },
    onClose: @escaping @Sendable (isolated Bus, BusError) -> Void = { _, _ in }
  ) {
    self.onCall = onCall
    self.onSignal = onSignal
    self.onClose = onClose
  }
}

/// A connection to a D-Bus message bus.
///
/// The connection lives on a thread, which is this actor's executor: handlers and completions run there. The thread
/// belongs to this connection alone, or several connections share it. Values go in and out; no libsystemd message is
/// visible outside. When the connection ends, open calls fail with `BusError.disconnected` and `BusHandlers.onClose` is
/// called. The process goes on.
package actor Bus {
  private nonisolated let thread: BusThread
  private nonisolated let ownsThread: Bool
  private nonisolated let connection: BusConnection
  private nonisolated let hasStarted = Atomic<Bool>(false)
  /// Empty until the bus has answered the greeting.
  private nonisolated let givenName = Mutex("")
  private var handlers: BusHandlers?
  private var watches: [NameWatch: Watch] = [:]
  private var watchersOfName: [String: [NameWatch]] = [:]
  private var lastWatch: UInt64 = 0
  private var isOpen = true

  /// This connection's name on the bus, such as `:1.7`. Empty before `start` if the connection was made by
  /// `init(connectingTo:)`.
  package nonisolated var uniqueName: String { givenName.withLock { $0 } }
  package nonisolated let address: BusAddress

  /// The bus's thread. Another actor that returns it runs on that thread too, and reaches this actor with
  /// `assumeIsolated`, without waiting.
  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Connects, and owns `name` if one is given. Blocks until the bus has answered. Nothing is received before
  /// `start`, and nothing that arrives earlier is lost.
  ///
  /// Throws `NoServer` with the address if there is no bus, `NameTaken` if the name has another owner, and
  /// `AccessDenied` if the bus's policy does not allow it.
  ///
  /// - Parameters:
  ///   - thread: a running thread that others use as well; `nil` for a thread of its own. Work on a shared thread
  ///     must not wait for something that happens on that thread later.
  ///   - messagesPerTurn: how many messages are handled before enqueued work runs. With 1, the consequences of a
  ///     message are carried out before the next message. With more, the consequences of several messages can be
  ///     carried out together.
  ///   - mayHandle: whether a message may be handled now. It is called on the thread before each message. Messages
  ///     that may not be handled wait on the bus. The answer may change only through work on the thread.
  package init(
    address: BusAddress = .system, name: String? = nil, limits: MessageLimits = MessageLimits(),
    thread: BusThread? = nil, messagesPerTurn: Int = 1, mayHandle: @escaping @Sendable () -> Bool = { true }
  ) throws(BusError) {
    self.address = address
    connection = try BusConnection(address: address, name: name, limits: limits)
    connection.messagesPerTurn = messagesPerTurn
    connection.mayHandle = mayHandle
    let greeted = try connection.greet()
    if let thread { self.thread = thread } else { self.thread = try BusThread() }
    ownsThread = thread == nil
    givenName.withLock { $0 = greeted }
  }

  /// Connects, but leaves waiting for the bus's answer to `start`. Calls that are enqueued before `start` are sent
  /// together with the greeting, so they cost no round trip of their own. `start` then throws what the other
  /// initializer throws.
  package init(connectingTo address: BusAddress, limits: MessageLimits = MessageLimits()) throws(BusError) {
    self.address = address
    connection = try BusConnection(address: address, name: nil, limits: limits)
    thread = try BusThread()
    ownsThread = true
  }

  deinit {
    if ownsThread { return thread.stop() }
    thread.enqueue { [connection] in connection.close() }
  }

  /// Starts the thread. Called once, before any other use but `enqueue`.
  package nonisolated func start(_ handlers: BusHandlers = BusHandlers()) throws(BusError) {
    connection.handlers = BusConnection.Handlers(
      onCall: { [weak self] call in self?.assumeIsolated { $0.handlers?.onCall($0, call) } },
      onSignal: { [weak self] signal in self?.assumeIsolated { $0.receive(signal) } },
      onClose: { [weak self] error in self?.assumeIsolated { $0.connectionEnded(error) } })
    try connection.beginReceiving()
    // Queued before the thread runs, which at once handles what has arrived so far: the name is owned, and a client
    // may already have called.
    enqueue { $0.handlers = handlers }
    let isGreeted = givenName.withLock { !$0.isEmpty }
    let greeted = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<Void, BusError>>(.success(()))
    if !isGreeted {
      // This comes behind everything that is to be sent with the greeting.
      enqueue { bus in
        let result = bus.greet()
        outcome.withLock { $0 = result }
        greeted.signal()
      }
    }
    thread.take(connection)
    if ownsThread { try thread.start() }
    hasStarted.store(true, ordering: .releasing)
    guard !isGreeted else { return }
    greeted.wait()
    try outcome.withLock { $0 }.get()
  }

  private func greet() -> Result<Void, BusError> {
    do throws(BusError) {
      let name = try connection.greet()
      givenName.withLock { $0 = name }
      return .success(())
    } catch {
      leave()
      return .failure(error)
    }
  }

  /// Runs `work` on the bus's thread after everything enqueued before. Work enqueued by one thread runs in its order.
  package nonisolated func enqueue(_ work: @escaping @Sendable (isolated Bus) -> Void) {
    thread.enqueue { self.assumeIsolated { work($0) } }
  }

  /// Runs `work` at once on the bus's own thread; on any other thread, like `enqueue`.
  package nonisolated func performSoon(_ work: @escaping @Sendable (isolated Bus) -> Void) {
    if thread.isCurrent { assumeIsolated { work($0) } } else { enqueue(work) }
  }

  /// Runs `work` as soon as nothing else is to be done on the bus's thread: no message has come, and nothing is enqueued. While
  /// there is no such pause, it runs after some messages.
  package func performInPause(_ work: @escaping @Sendable (isolated Bus) -> Void) {
    thread.putOff { self.assumeIsolated { work($0) } }
  }

  /// Sends what was enqueued before, leaves the bus and drops the handlers. Returns at once. Open calls fail.
  package nonisolated func close() {
    // Without a thread, the connection still belongs to the caller.
    guard hasStarted.load(ordering: .acquiring) else { return connection.close() }
    enqueue { $0.leave() }
  }

  /// Like `close`, but returns when the name it owned since `init` is free for another connection. Can be called on
  /// any thread. The caller must not hold anything that a handler may be waiting for.
  package nonisolated func closeAndWait() {
    guard hasStarted.load(ordering: .acquiring) else { return connection.close() }
    if thread.isCurrent { return assumeIsolated { $0.leave() } }
    let closed = DispatchSemaphore(value: 0)
    enqueue { bus in
      bus.leave()
      closed.signal()
    }
    closed.wait()
  }

  private func leave() {
    isOpen = false
    handlers = nil
    watches = [:]
    watchersOfName = [:]
    connection.close()
  }

  // MARK: Calls and signals

  /// Calls a method. `completion` is called once, on the bus's thread. Without `timeout`, it waits until the call is
  /// answered, the callee leaves the bus, or the connection ends. Replies and signals of one peer come in the order
  /// in which it sent them. (A bus limits the open calls of one connection, to 128 unless configured otherwise, and
  /// fails further calls with `LimitsExceeded`.)
  package func call(
    _ call: MethodCall, timeout: Duration? = nil, completion: @escaping @Sendable (Result<[Value], BusError>) -> Void
  ) {
    connection.call(call, timeout: timeout, completion: completion)
  }

  /// Calls a method of the owner of a name, and reports the unique name of the connection that has answered; see
  /// `call(_:timeout:completion:)`. It is the bus's own name if the bus answers in the owner's place, and empty if
  /// nobody has answered.
  package func callOwner(
    _ call: MethodCall, completion: @escaping @Sendable (String, Result<[Value], BusError>) -> Void
  ) {
    connection.call(call, timeout: nil, signedCompletion: completion)
  }

  /// Calls a method and returns its results; see `call(_:timeout:completion:)`.
  @discardableResult
  package func call(_ call: MethodCall, timeout: Duration? = nil) async throws(BusError) -> [Value] {
    let result = await withCheckedContinuation { continuation in
      connection.call(call, timeout: timeout) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// Calls a method and blocks until it is answered, the callee leaves the bus, or the connection ends. Other
  /// messages wait in the meantime. Can be called on any thread, including the bus's own.
  package nonisolated func callAndWait(_ call: MethodCall) throws(BusError) -> [Value] {
    if thread.isCurrent { return try connection.callAndWait(call) }
    let answered = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<[Value], BusError>>(.failure(.disconnected))
    enqueue { bus in
      bus.call(call) { result in
        outcome.withLock { $0 = result }
        answered.signal()
      }
    }
    answered.wait()
    return try outcome.withLock { $0 }.get()
  }

  /// Calls a method without asking for a reply.
  package func callWithoutReply(_ call: MethodCall) throws(BusError) { try connection.callWithoutReply(call) }

  /// Sends a signal. Throws `BusError` if it can't be encoded or sent.
  package func emit(_ signal: OutgoingSignal) throws(BusError) { try connection.emit(signal) }

  /// Answers a call. A second answer, or one to a call that wants no reply, has no effect.
  package func reply(to call: IncomingCall, with result: Result<[Value], BusError>) {
    connection.reply(to: call, with: result)
  }

  /// Forgets unanswered calls of a peer that has left the bus.
  package func discardCalls(from sender: String) { connection.discardCalls(from: sender) }

  /// Broadcast signals that match the rule are received from the completion on, and only from then on reliably.
  package func addMatch(
    _ rule: MatchRule, completion: @escaping @Sendable (Result<Void, BusError>) -> Void = { _ in }
  ) {
    connection.call(.toBus("AddMatch", [.string(rule.text)]), timeout: nil) { result in
      completion(result.map { _ in })
    }
  }

  /// Reverts one `addMatch` of the same rule.
  package func removeMatch(_ rule: MatchRule) {
    try? connection.callWithoutReply(.toBus("RemoveMatch", [.string(rule.text)]))
  }

  // MARK: Names

  /// Owns a name; throws `NameTaken` and `AccessDenied` as `init` does.
  package func requestName(_ name: String) async throws(BusError) {
    let doNotQueue: UInt32 = 4
    let reply: [Value]
    do {
      reply = try await call(.toBus("RequestName", [.string(name), .uint32(doNotQueue)]))
    } catch {
      throw error.name == BusError.Name.accessDenied ? .nameDenied(name) : error
    }
    // 1: now the owner; 4: was already the owner.
    guard reply == [.uint32(1)] || reply == [.uint32(4)] else { throw .nameTaken(name) }
  }

  /// Gives up a name that this connection owns.
  package func releaseName(_ name: String) async throws(BusError) {
    try await call(.toBus("ReleaseName", [.string(name)]))
  }

  /// The process behind a connection. Throws `NameHasNoOwner` if it has left.
  package func credentials(of name: String) async throws(BusError) -> BusCredentials {
    try await withCheckedContinuation { continuation in
      credentials(of: name) { continuation.resume(returning: $0) }
    }.get()
  }

  /// The process behind a connection. `completion` is called once, on the bus's thread.
  package func credentials(
    of name: String, completion: @escaping @Sendable (Result<BusCredentials, BusError>) -> Void
  ) {
    var call = MethodCall.toBus("GetConnectionCredentials", [.string(name)])
    // dbus-daemon 1.16 (Debian 13) also passes a pidfd to callers that can accept one (D-Bus specification,
    // org.freedesktop.DBus.GetConnectionCredentials, "ProcessFD"). The number is enough here.
    call.acceptsFileDescriptors = true
    connection.call(call, timeout: nil) { result in
      completion(
        result.flatMap { reply in
          let properties = reply.first?.propertiesValue
          for case .fileDescriptor(let descriptor) in properties?.values.map({ $0 }) ?? [] { Glibc.close(descriptor) }
          guard let properties,
            let user = properties["UnixUserID"]?.integerValue.flatMap(UInt32.init(exactly:)),
            let process = properties["ProcessID"]?.integerValue.flatMap(Int32.init(exactly:))
          else {
            return .failure(BusError(name: BusError.Name.failed, message: "the bus doesn't know who \(name) is"))
          }
          return .success(BusCredentials(processIdentifier: process, userIdentifier: user))
        })
    }
  }

  /// Identifies one watch of a name's owner.
  package struct NameWatch: Sendable, Hashable {
    fileprivate let rawValue: UInt64
  }

  private struct Watch {
    let name: String
    let rule: MatchRule
    /// The owner last reported. The inner optional is `nil` for no owner, the outer one before the first report.
    var owner: String??
    let onChange: @Sendable (isolated Bus, String?) -> Void
  }

  /// Reports who owns `name` (well-known or unique): the present owner, then each change, in order with the owner's
  /// own messages; `nil` while there is none. If one owner directly replaces another, two changes are reported.
  @discardableResult
  package func watchOwner(
    of name: String, onChange: @escaping @Sendable (isolated Bus, String?) -> Void
  ) -> NameWatch {
    lastWatch += 1
    let watch = NameWatch(rawValue: lastWatch)
    let rule = MatchRule(
      sender: BusName.bus, interface: BusName.bus, member: "NameOwnerChanged", firstArgument: name)
    watches[watch] = Watch(name: name, rule: rule, onChange: onChange)
    watchersOfName[name, default: []].append(watch)
    addMatch(rule)
    // What the bus says about the name before this reply is older than the reply; what comes after it is newer.
    connection.call(.toBus("GetNameOwner", [.string(name)]), timeout: nil) { [weak self] result in
      let owner = (try? result.get())?.first?.stringValue
      self?.assumeIsolated { bus in
        guard bus.isOpen, bus.watches[watch]?.owner == nil else { return }
        if case .failure(let error) = result, error.name == BusError.Name.disconnected { return }
        bus.watches[watch]?.owner = .some(owner)
        bus.watches[watch]?.onChange(bus, owner)
      }
    }
    return watch
  }

  /// Ends a watch. Its handler is not called any more.
  package func unwatch(_ watch: NameWatch) {
    guard let ended = watches.removeValue(forKey: watch) else { return }
    watchersOfName[ended.name]?.removeAll { $0 == watch }
    if watchersOfName[ended.name]?.isEmpty == true { watchersOfName[ended.name] = nil }
    removeMatch(ended.rule)
  }

  // MARK: Receiving

  private func receive(_ signal: IncomingSignal) {
    if signal.sender == BusName.bus, signal.interface == BusName.bus {
      if signal.member == "NameOwnerChanged" { ownerChanged(signal.arguments) }
      return
    }
    handlers?.onSignal(self, signal)
  }

  private func ownerChanged(_ arguments: [Value]) {
    guard arguments.count == 3, let name = arguments[0].stringValue, let text = arguments[2].stringValue else { return }
    let owner = text.isEmpty ? nil : text
    for watch in watchersOfName[name] ?? [] {
      // Before the first report, GetNameOwner's reply is still on its way, and is more reliable.
      guard let told = watches[watch]?.owner, told != owner else { continue }
      if told != nil, owner != nil { watches[watch]?.onChange(self, nil) }
      watches[watch]?.owner = .some(owner)
      watches[watch]?.onChange(self, owner)
    }
  }

  private func connectionEnded(_ error: BusError) {
    isOpen = false
    let ended = handlers
    handlers = nil
    watches = [:]
    watchersOfName = [:]
    ended?.onClose(self, error)
  }
}
