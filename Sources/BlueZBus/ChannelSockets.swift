import BlueZ
import BluetoothTypes
import BusValue
import Glibc
import Synchronization
import Threads

/// L2CAP channels over LE of a real controller. bluetoothd has no method for them, so these are the kernel's own sockets
/// (net/bluetooth/l2cap_sock.c). They need no capability. They do need the address family AF_BLUETOOTH, which exists only
/// in the first network namespace.
///
/// **Not tried yet** against a kernel with Bluetooth: the order of the calls and the addresses are tested, the kernel's part
/// is read in its source.
final class ChannelSockets: Sendable {
  typealias Completion = @Sendable (Result<Reply, BlueZError>) -> Void

  /// include/net/bluetooth/bluetooth.h
  enum Option {
    static let level: Int32 = 274
    static let security: Int32 = 4
    static let sendMTU: Int32 = 12
    static let receiveMTU: Int32 = 13
    static let mode: Int32 = 15
    static let leFlowControl: UInt8 = 0x03
    static let low: UInt8 = 1
    static let medium: UInt8 = 2
  }

  /// How many attempts to open a channel, and how many accepts, may be under way. Each has a thread.
  static let threadLimit = 64
  /// L2CAP_CONN_TIMEOUT
  private static let openMilliseconds: Int32 = 40_000

  private struct Listener: Sendable {
    let descriptor: Int32
    /// Readable when the wait for a channel is to end, which is when the other end is closed.
    let cancel: Int32
    let canceller: Int32
    var isAccepting = false
  }

  private struct State: Sendable {
    var listeners: [UInt16: Listener] = [:]
    var threads = 0
  }

  private let calls: SocketCalls
  private let state = Mutex(State())

  init(calls: SocketCalls = .system) { self.calls = calls }

  deinit { stopListening() }

  /// - Parameters:
  ///   - address: the device's address, if it is known. Otherwise the device's path tells it.
  ///   - completion: called once, on any thread. The path of a device that opened a channel is made of its address.
  func handle(
    _ request: Request, _ path: ObjectPath, address: DeviceAddress?, adapterAddress: DeviceAddress?,
    completion: @escaping Completion
  ) {
    guard let adapterAddress else { return completion(.failure(.unknownObject(path))) }
    switch request {
    case .openChannel(let psm):
      guard let address = address ?? path.deviceAddress(kind: .public) else {
        return completion(.failure(.unknownObject(path)))
      }
      run(completion) { [calls] in
        Self.open(calls, from: adapterAddress, to: ChannelAddress(address: address, psm: psm), device: path)
      }
    case .listenForChannels(let psm, let requiresEncryption):
      completion(listen(ChannelAddress(address: adapterAddress, psm: psm), requiresEncryption))
    case .acceptChannel(let psm): accept(psm, adapter: path, completion)
    case .stopListening(let psm):
      completion(stop(psm) ? .success(.none) : .failure(.doesNotExist))
    default: completion(.failure(.notSupported))
    }
  }

  /// Does the work on a thread of its own.
  private func run(_ completion: @escaping Completion, _ work: @escaping @Sendable () -> Result<Reply, BlueZError>) {
    let isAdmitted = state.withLock { state in
      guard state.threads < Self.threadLimit else { return false }
      state.threads += 1
      return true
    }
    guard isAdmitted else { return completion(.failure(.failed("too many channels are being opened"))) }
    do {
      try DetachedThread.start { [self] in
        let result = work()
        state.withLock { $0.threads -= 1 }
        completion(result)
      }
    } catch {
      state.withLock { $0.threads -= 1 }
      completion(.failure(Self.failure("start a thread", -error.number)))
    }
  }

  // MARK: Opening

  static func open(
    _ calls: SocketCalls, from adapter: DeviceAddress, to target: ChannelAddress, device: ObjectPath
  ) -> Result<Reply, BlueZError> {
    let descriptor = calls.socket()
    guard descriptor >= 0 else { return .failure(failure("make a socket", descriptor)) }
    // Released with every early return.
    let channel = ChannelDescriptor(owning: descriptor, release: calls.close)
    let bound = calls.bind(descriptor, ChannelAddress(address: adapter, psm: 0).bytes)
    guard bound >= 0 else { return .failure(failure("bind a socket", bound)) }
    // The kernel raises the security by itself if the peer asks for more.
    if let error = prepare(calls, descriptor, security: Option.low) { return .failure(error) }
    var result = calls.connect(descriptor, target.bytes)
    if result == -EINPROGRESS || result == -EAGAIN {
      let ready = calls.wait(descriptor, Int16(POLLOUT), -1, openMilliseconds)
      result = ready < 0 ? ready : ready == 0 ? -ETIMEDOUT : -calls.option(descriptor, SOL_SOCKET, SO_ERROR)
    }
    guard result >= 0 else { return .failure(failure("open a channel", result)) }
    return .success(.creditChannel(channel, mtu: mtu(calls, descriptor), device: device))
  }

  /// Sets what has to be set before the socket is connected or listens.
  private static func prepare(_ calls: SocketCalls, _ descriptor: Int32, security: UInt8) -> BlueZError? {
    let secured = calls.setOption(descriptor, Option.level, Option.security, [security, 0])
    guard secured >= 0 else { return failure("set a socket's security", secured) }
    // Kernels that can't be told the mode choose this one for LE (ENOPROTOOPT without the module's `enable_ecred`).
    let mode = calls.setOption(descriptor, Option.level, Option.mode, [Option.leFlowControl])
    guard mode >= 0 || mode == -ENOPROTOOPT else { return failure("set a socket's mode", mode) }
    let mtu = [UInt8(ChannelLimits.mtu & 0xFF), UInt8(ChannelLimits.mtu >> 8)]
    let limited = calls.setOption(descriptor, Option.level, Option.receiveMTU, mtu)
    return limited >= 0 ? nil : failure("set a socket's limit", limited)
  }

  private static func mtu(_ calls: SocketCalls, _ descriptor: Int32) -> UInt16 {
    let value = calls.option(descriptor, Option.level, Option.sendMTU)
    return UInt16(exactly: value).map { max($0, ChannelLimits.minimumMTU) } ?? ChannelLimits.minimumMTU
  }

  // MARK: Listening

  private func listen(_ local: ChannelAddress, _ requiresEncryption: Bool) -> Result<Reply, BlueZError> {
    if local.psm != 0, state.withLock({ $0.listeners[local.psm] }) != nil { return .success(.psm(local.psm)) }
    let descriptor = calls.socket()
    guard descriptor >= 0 else { return .failure(Self.failure("make a socket", descriptor)) }
    func end(_ what: String, _ error: Int32) -> Result<Reply, BlueZError> {
      calls.close(descriptor)
      return .failure(Self.failure(what, error))
    }
    let bound = calls.bind(descriptor, local.bytes)
    guard bound >= 0 else { return end("bind a socket", bound) }
    if let error = Self.prepare(calls, descriptor, security: requiresEncryption ? Option.medium : Option.low) {
      calls.close(descriptor)
      return .failure(error)
    }
    let listening = calls.listen(descriptor)
    guard listening >= 0 else { return end("listen", listening) }
    guard let psm = ChannelAddress(calls.localAddress(descriptor))?.psm, psm != 0 else {
      return end("learn the PSM", -EINVAL)
    }
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return end("make a socket", -errno) }
    let listener = Listener(descriptor: descriptor, cancel: ends[0], canceller: ends[1])
    state.withLock { $0.listeners[psm] = listener }
    return .success(.psm(psm))
  }

  private func accept(_ psm: UInt16, adapter: ObjectPath, _ completion: @escaping Completion) {
    let listener: Result<Listener, BlueZError> = state.withLock { state in
      guard let listener = state.listeners[psm] else { return .failure(.doesNotExist) }
      guard !listener.isAccepting else { return .failure(.inProgress) }
      state.listeners[psm]?.isAccepting = true
      return .success(listener)
    }
    switch listener {
    case .failure(let error): completion(.failure(error))
    case .success(let listener):
      let finish: Completion = { [self] result in
        finishAccept(psm, listener)
        completion(result)
      }
      run(finish) { [calls] in Self.accept(calls, listener.descriptor, cancel: listener.cancel, adapter: adapter) }
    }
  }

  static func accept(
    _ calls: SocketCalls, _ descriptor: Int32, cancel: Int32, adapter: ObjectPath
  ) -> Result<Reply, BlueZError> {
    while true {
      let ready = calls.wait(descriptor, Int16(POLLIN), cancel, -1)
      if ready == -EINTR { continue }
      guard ready > 0 else { return .failure(ready == 0 ? .canceled : failure("wait for a channel", ready)) }
      let (accepted, peer) = calls.accept(descriptor)
      // The peer has left again.
      if accepted == -EAGAIN || accepted == -ECONNABORTED || accepted == -EINTR { continue }
      guard accepted >= 0 else { return .failure(failure("accept a channel", accepted)) }
      let channel = ChannelDescriptor(owning: accepted, release: calls.close)
      guard let address = ChannelAddress(peer)?.address else { continue }
      let device = adapter.appending("dev_" + address.pathComponent)
      return .success(.creditChannel(channel, mtu: mtu(calls, accepted), device: device))
    }
  }

  /// Closes the listener if it was ended while this thread waited at it.
  private func finishAccept(_ psm: UInt16, _ listener: Listener) {
    let isOver = state.withLock { state in
      guard let current = state.listeners[psm], current.descriptor == listener.descriptor else { return true }
      state.listeners[psm]?.isAccepting = false
      return false
    }
    if isOver { close(listener) }
  }

  private func stop(_ psm: UInt16) -> Bool {
    guard let listener = state.withLock({ $0.listeners.removeValue(forKey: psm) }) else { return false }
    Glibc.close(listener.canceller)
    if !listener.isAccepting { close(listener) }
    return true
  }

  /// bluetoothd or the client has gone. Open channels are their apps' own and stay.
  func stopListening() {
    for psm in state.withLock({ Array($0.listeners.keys) }) { _ = stop(psm) }
  }

  private func close(_ listener: Listener) {
    calls.close(listener.descriptor)
    Glibc.close(listener.cancel)
  }

  private static func failure(_ what: String, _ error: Int32) -> BlueZError {
    let reason = String(cString: strerror(-error))
    switch -error {
    case EAFNOSUPPORT, EPERM: return .failed("no Bluetooth sockets here (\(reason)): L2CAP channels are not possible")
    case ECONNREFUSED: return .rejected
    case EACCES, EKEYREJECTED, EBADE: return .notPermitted("Not paired")
    case EHOSTDOWN, ENOTCONN, EHOSTUNREACH: return .notConnected
    default: return .failed("\(what): \(reason)")
    }
  }
}

extension Request {
  /// Whether bluetoothd has no method for it, so the simulator's extra interface or the kernel is asked.
  var isOfController: Bool {
    switch self {
    case .readConnectionRSSI, .openChannel, .listenForChannels, .acceptChannel, .stopListening: true
    default: false
    }
  }

  var returnsDescriptor: Bool {
    switch self {
    case .acquireNotify, .acquireWrite, .openChannel, .acceptChannel: true
    default: false
    }
  }
}
