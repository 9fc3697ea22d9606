import BusValue
import CSystemd
import Glibc

/// One libsystemd connection, with the calls that are open in both directions. It is used by one thread at a time:
/// first the one that creates it, then its `BusThread`.
final class BusConnection: @unchecked Sendable {
  typealias Completion = @Sendable (Result<[Value], BusError>) -> Void
  /// With the unique name of the peer that answered. It is empty if the connection itself gave up.
  typealias SignedCompletion = @Sendable (String, Result<[Value], BusError>) -> Void

  /// What the connection tells its user, on the thread.
  struct Handlers {
    var onCall: (IncomingCall) -> Void
    var onSignal: (IncomingSignal) -> Void
    /// The connection has ended by itself.
    var onClose: (BusError) -> Void
  }

  private final class PendingCall {
    unowned let connection: BusConnection
    let acceptsFileDescriptors: Bool
    let completion: SignedCompletion
    init(_ connection: BusConnection, acceptsFileDescriptors: Bool, completion: @escaping SignedCompletion) {
      self.connection = connection
      self.acceptsFileDescriptors = acceptsFileDescriptors
      self.completion = completion
    }
  }

  private var bus: OpaquePointer?
  private let limits: MessageLimits
  /// The name that this connection requests in `greet`, and owns until `close`.
  private let name: String?
  private var pending: [ObjectIdentifier: PendingCall] = [:]
  private var openCalls = OpenCalls()
  var handlers: Handlers?
  /// How many messages its thread handles in a turn.
  var messagesPerTurn = 1
  /// Whether its thread may handle a message now. The answer changes only through work on that thread.
  var mayHandle: () -> Bool = { true }
  private let address: BusAddress

  /// Connects. Calls may follow at once: they leave right behind the greeting, in order. `greet` waits for its answer.
  /// - Parameter name: requested by `greet`.
  init(address: BusAddress, name: String?, limits: MessageLimits) throws(BusError) {
    self.address = address
    self.limits = limits
    self.name = name
    var bus: OpaquePointer?
    try check(sd_bus_new(&bus), "make a bus connection")
    do {
      try Self.connect(bus, to: address)
    } catch {
      sd_bus_close_unref(bus)
      throw error
    }
    self.bus = bus
  }

  deinit { close() }

  private static func noBus(_ address: BusAddress, _ result: Int32) -> BusError {
    // A client that is not admitted learns that only from the closed connection.
    let isRefused = [ENOTCONN, ECONNRESET, EPIPE, EACCES, EPERM].contains(-result)
    guard !isRefused else {
      return BusError(
        name: BusError.Name.noServer,
        message: "the bus at \(address) does not let user \(geteuid()) in: "
          + "\(String(cString: strerror(-result))); it must know the user (/etc/passwd), and its policy allow it")
    }
    return BusError(
      name: BusError.Name.noServer,
      message: "no bus at \(address): \(String(cString: strerror(-result))); dbus-daemon must run there "
        + "(DBUS_SYSTEM_BUS_ADDRESS says where the bus is)")
  }

  private static func connect(_ bus: OpaquePointer?, to address: BusAddress) throws(BusError) {
    var result = sd_bus_set_address(bus, address.text)
    guard result >= 0 else { throw .invalidArguments("'\(address)' is no D-Bus address") }
    try check(sd_bus_set_bus_client(bus, 1), "set up the bus connection")
    result = sd_bus_start(bus)
    guard result >= 0 else { throw noBus(address, result) }
  }

  /// Waits for the bus's answer to the greeting, and requests the name. Returns this connection's unique name.
  func greet() throws(BusError) -> String {
    var text: UnsafePointer<CChar>?
    let result = sd_bus_get_unique_name(bus, &text)
    guard result >= 0, let text else { throw Self.noBus(address, result < 0 ? result : -ENOTCONN) }
    if let name { try Self.request(name, bus) }
    return String(cString: text)
  }

  private static func request(_ name: String, _ bus: OpaquePointer?) throws(BusError) {
    // Without flags, sd-bus neither queues for the name nor takes it from its owner.
    let result = sd_bus_request_name(bus, name, 0)
    switch -result {
    case ...0: return
    case EEXIST: throw .nameTaken(name)
    case EACCES, EPERM: throw .nameDenied(name)
    case EINVAL: throw .invalidArguments("'\(name)' is not a bus name")
    default: throw .system(result, "own the bus name \(name)")
    }
  }

  /// Starts receiving. `handlers` must be set before.
  func beginReceiving() throws(BusError) {
    let result = sd_bus_add_filter(
      bus, nil,
      { message, userdata, _ in
        guard let message, let userdata else { return 0 }
        return Unmanaged<BusConnection>.fromOpaque(userdata).takeUnretainedValue().receive(message)
      }, Unmanaged.passUnretained(self).toOpaque())
    try check(result, "receive from the bus")
  }

  // MARK: For the loop

  /// Handles at most one message. Returns whether there may be more to do.
  func process() -> Bool {
    guard let bus else { return false }
    let result = sd_bus_process(bus, nil)
    // A handler may have closed the connection in the meantime.
    guard self.bus != nil else { return true }
    if result > 0 { return true }
    guard result < 0 || sd_bus_is_open(bus) <= 0 else { return false }
    let handlers = handlers
    close()
    handlers?.onClose(result < 0 ? .system(result, "the bus") : .disconnected)
    return true
  }

  /// The connection has ended.
  var isClosed: Bool { bus == nil }

  typealias Wait = (descriptor: Int32, events: Int16, timeoutMilliseconds: Int32)

  static let nothing: Wait = (-1, 0, -1)

  /// What to wait for. Nothing, if the connection has ended.
  var wait: Wait {
    guard let bus else { return Self.nothing }
    let descriptor = sd_bus_get_fd(bus)
    let events = sd_bus_get_events(bus)
    guard descriptor >= 0, events >= 0 else { return (-1, 0, 0) }
    return (descriptor, Int16(truncatingIfNeeded: events), Self.timeoutMilliseconds(bus))
  }

  /// sd-bus returns a time of CLOCK_MONOTONIC in microseconds; poll takes the remaining time in milliseconds, rounded
  /// up.
  private static func timeoutMilliseconds(_ bus: OpaquePointer) -> Int32 {
    var deadline: UInt64 = 0
    guard sd_bus_get_timeout(bus, &deadline) > 0, deadline != .max else { return -1 }
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    let now = UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    return deadline <= now ? 0 : Int32(clamping: (deadline - now + 999) / 1000)
  }

  /// Ends the connection after everything has been sent. Every call that is still open fails.
  func close() {
    guard let bus else { return }
    self.bus = nil
    handlers = nil
    openCalls.removeAll()
    // The bus notices the end of a connection only when it gets round to it; a name is free once the bus has
    // answered.
    if let name, sd_bus_is_open(bus) > 0 { sd_bus_release_name(bus, name) }
    sd_bus_flush_close_unref(bus)
    let unanswered = pending.values
    pending = [:]
    for call in unanswered { call.completion("", .failure(.disconnected)) }
  }

  // MARK: Sending

  /// Makes a call. `completion` is called once. Without a timeout, the call waits until it is answered or the callee
  /// is gone.
  func call(_ call: MethodCall, timeout: Duration?, completion: @escaping Completion) {
    self.call(call, timeout: timeout, signedCompletion: { _, result in completion(result) })
  }

  /// Makes a call, and tells who has answered.
  func call(_ call: MethodCall, timeout: Duration?, signedCompletion completion: @escaping SignedCompletion) {
    guard let bus else { return completion("", .failure(.disconnected)) }
    do throws(BusError) {
      let message = try methodCall(call)
      defer { sd_bus_message_unref(message) }
      let waiting = PendingCall(
        self, acceptsFileDescriptors: call.acceptsFileDescriptors, completion: completion)
      // UInt64.max means no limit. Zero would mean sd-bus's 25 s.
      let microseconds = timeout.map { UInt64(max(1, $0 / .microseconds(1))) } ?? .max
      let result = sd_bus_call_async(
        bus, nil, message,
        { reply, userdata, _ in
          guard let reply, let userdata else { return 0 }
          let waiting = Unmanaged<PendingCall>.fromOpaque(userdata).takeUnretainedValue()
          waiting.connection.finish(waiting, with: reply)
          return 1
        }, Unmanaged.passUnretained(waiting).toOpaque(), microseconds)
      try check(result, "call \(call.interface).\(call.member)")
      pending[ObjectIdentifier(waiting)] = waiting
    } catch {
      completion("", .failure(error))
    }
  }

  /// Makes a call, and blocks this thread until the answer arrives. Other messages wait in the connection.
  func callAndWait(_ call: MethodCall) throws(BusError) -> [Value] {
    let message = try methodCall(call)
    defer { sd_bus_message_unref(message) }
    var error = sd_bus_error()
    defer { sd_bus_error_free(&error) }
    var reply: OpaquePointer?
    let result = sd_bus_call(bus, message, .max, &error, &reply)
    if let name = error.name {
      throw BusError(name: String(cString: name), message: error.message.map { String(cString: $0) } ?? "")
    }
    try check(result, "call \(call.interface).\(call.member)")
    guard let reply else { throw .disconnected }
    defer { sd_bus_message_unref(reply) }
    return try MessageDecoder.decode(reply, limits: limits, acceptsFileDescriptors: call.acceptsFileDescriptors)
  }

  /// Makes a call without asking for a reply.
  func callWithoutReply(_ call: MethodCall) throws(BusError) {
    let message = try methodCall(call)
    defer { sd_bus_message_unref(message) }
    try check(sd_bus_message_set_expect_reply(message, 0), "call")
    try check(sd_bus_send(bus, message, nil), "call \(call.interface).\(call.member)")
  }

  func emit(_ signal: OutgoingSignal) throws(BusError) {
    guard let bus else { throw .disconnected }
    var message: OpaquePointer?
    try check(
      sd_bus_message_new_signal(bus, &message, signal.path.text, signal.interface, signal.member), "make a signal")
    guard let message else { throw .disconnected }
    defer { sd_bus_message_unref(message) }
    if let destination = signal.destination {
      try check(sd_bus_message_set_destination(message, destination), "address a signal")
    }
    try MessageEncoder.append(signal.arguments, to: message)
    try check(sd_bus_send(bus, message, nil), "send the signal \(signal.member)")
  }

  /// Answers a call. Has no effect if the call wants no reply or already has one.
  func reply(to call: IncomingCall, with result: Result<[Value], BusError>) {
    guard let bus, let token = call.token, let message = openCalls.remove(token) else { return }
    defer { sd_bus_message_unref(message) }
    switch result {
    case .success(let values):
      do throws(BusError) {
        try send(values, inReplyTo: message, bus)
      } catch {
        sendError(error, inReplyTo: message, bus)
      }
    case .failure(let error): sendError(error, inReplyTo: message, bus)
    }
  }

  /// Forgets the open calls of a peer that has left.
  func discardCalls(from sender: String) { openCalls.removeAll(from: sender) }

  private func methodCall(_ call: MethodCall) throws(BusError) -> OpaquePointer {
    guard let bus else { throw .disconnected }
    var message: OpaquePointer?
    let result = sd_bus_message_new_method_call(
      bus, &message, call.destination, call.path.text, call.interface, call.member)
    guard result >= 0, let message else {
      throw .invalidArguments("\(call.destination) \(call.path) \(call.interface).\(call.member) can't be called")
    }
    do {
      // The other side must be running already: activating it would bypass its supervisor.
      try check(sd_bus_message_set_auto_start(message, 0), "call")
      try MessageEncoder.append(call.arguments, to: message)
    } catch {
      sd_bus_message_unref(message)
      throw error
    }
    return message
  }

  private func send(_ values: [Value], inReplyTo call: OpaquePointer, _ bus: OpaquePointer) throws(BusError) {
    var message: OpaquePointer?
    try check(sd_bus_message_new_method_return(call, &message), "make a reply")
    guard let message else { throw .disconnected }
    defer { sd_bus_message_unref(message) }
    try MessageEncoder.append(values, to: message)
    try check(sd_bus_send(bus, message, nil), "send a reply")
  }

  private func sendError(_ error: BusError, inReplyTo call: OpaquePointer, _ bus: OpaquePointer) {
    error.name.withCString { name in
      error.message.withCString { text in
        var raw = sd_bus_error(name: name, message: text, _need_free: 0)
        var message: OpaquePointer?
        // A name that D-Bus does not allow is refused here. The caller still gets an error.
        if sd_bus_message_new_method_error(call, &message, &raw) < 0 {
          sd_bus_reply_method_errno(call, -EINVAL, nil)
        } else {
          sd_bus_send(bus, message, nil)
          sd_bus_message_unref(message)
        }
      }
    }
  }

  // MARK: Receiving

  private func finish(_ call: PendingCall, with reply: OpaquePointer) {
    guard pending.removeValue(forKey: ObjectIdentifier(call)) != nil else { return }
    let sender = sd_bus_message_get_sender(reply).map { String(cString: $0) } ?? ""
    if sd_bus_message_is_method_error(reply, nil) > 0, let error = sd_bus_message_get_error(reply)?.pointee {
      let name = error.name.map { String(cString: $0) } ?? BusError.Name.failed
      let message = error.message.map { String(cString: $0) } ?? ""
      return call.completion(sender, .failure(BusError(name: name, message: message)))
    }
    do throws(BusError) {
      let values = try MessageDecoder.decode(
        reply, limits: limits, acceptsFileDescriptors: call.acceptsFileDescriptors)
      call.completion(sender, .success(values))
    } catch {
      call.completion(sender, .failure(error))
    }
  }

  /// sd-bus's own answers (to Ping and GetMachineId) are kept. Everything else is handled here; returning 1 says so.
  private func receive(_ message: OpaquePointer) -> Int32 {
    let interface = sd_bus_message_get_interface(message).map { String(cString: $0) }
    let member = sd_bus_message_get_member(message).map { String(cString: $0) } ?? ""
    let path = sd_bus_message_get_path(message).flatMap { ObjectPath(String(cString: $0)) }
    let sender = sd_bus_message_get_sender(message).map { String(cString: $0) } ?? ""
    guard let path else { return 1 }
    if sd_bus_message_is_method_call(message, nil, nil) > 0 {
      if interface == BusName.peer { return 0 }
      receiveCall(message, sender: sender, path: path, interface: interface, member: member)
    } else if sd_bus_message_is_signal(message, nil, nil) > 0, let interface {
      // sd-bus's messages to itself. The end of the connection is noticed in `process`.
      if interface == "org.freedesktop.DBus.Local" { return 0 }
      // A sender has no right to send a signal that can't be decoded, so it is ignored.
      guard
        let arguments = try? MessageDecoder.decode(
          message, limits: limits, acceptsFileDescriptors: limits.signalsMayHaveDescriptors)
      else { return 1 }
      handlers?.onSignal(
        IncomingSignal(sender: sender, path: path, interface: interface, member: member, arguments: arguments))
    }
    return 1
  }

  private func receiveCall(
    _ message: OpaquePointer, sender: String, path: ObjectPath, interface: String?, member: String
  ) {
    let token = sd_bus_message_get_expect_reply(message) > 0 ? openCalls.insert(message, from: sender) : nil
    func call(_ arguments: [Value]) -> IncomingCall {
      IncomingCall(
        sender: sender, path: path, interface: interface, member: member, arguments: arguments, token: token)
    }
    guard openCalls.count <= limits.openCalls, openCalls.count(of: sender) <= limits.openCallsOfPeer else {
      let error = BusError(name: BusError.Name.limitsExceeded, message: "too many calls are waiting for an answer")
      return reply(to: call([]), with: .failure(error))
    }
    do throws(BusError) {
      handlers?.onCall(call(try MessageDecoder.decode(message, limits: limits)))
    } catch {
      reply(to: call([]), with: .failure(error))
    }
  }
}

extension BusError {
  static func nameTaken(_ name: String) -> BusError {
    BusError(name: Name.nameTaken, message: "another process on this bus owns the name \(name)")
  }
  static func nameDenied(_ name: String) -> BusError {
    BusError(
      name: Name.accessDenied,
      message: "this bus's policy lets user \(getuid()) not own the name \(name); a policy file has to allow it")
  }
}
