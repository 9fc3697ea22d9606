import BlueZ
import Dispatch
import Glibc
import Synchronization

/// The simulator's end of an L2CAP channel's socket. It loses nothing: packets that the other end has no room for wait
/// here, and nothing is read that the channel can't send. The channel's credits limit how much waits.
final class CreditSocket: Sendable {
  /// The longest packet of a channel, in bytes. A longer one is cut to this length, which is still too long for any
  /// channel.
  private static let packetLimit = 65_536
  /// How much an app that does not read may leave in the socket, in bytes.
  private static let bufferBytes: Int32 = 16_384

  private struct State {
    let descriptor: Int32
    var isReading = false
    var isWriting = false
    /// The app closed its end before it had read everything (ECONNRESET). What it sent before can still be read here,
    /// but libdispatch no longer reports it.
    var isReset = false
    var waiting: [[UInt8]] = []
    var isEnding = false
    var isClosed = false
  }

  private let state: Mutex<State>
  /// Sources may be used from any thread. They are resumed and suspended under the lock.
  private nonisolated(unsafe) let readable: any DispatchSourceRead
  private nonisolated(unsafe) let writable: any DispatchSourceWrite
  private let onInput: @Sendable (ChannelInput) -> Void
  private let queue: DispatchQueue

  private init(owning descriptor: Int32, onInput: @escaping @Sendable (ChannelInput) -> Void) {
    self.onInput = onInput
    queue = DispatchQueue(label: "channel \(descriptor)")
    readable = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    writable = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
    state = Mutex(State(descriptor: descriptor))
    let group = DispatchGroup()
    for source in [readable, writable] as [any DispatchSourceProtocol] {
      group.enter()
      source.setCancelHandler { group.leave() }
    }
    group.notify(queue: queue) { Glibc.close(descriptor) }
    readable.setEventHandler { [weak self] in self?.read() }
    writable.setEventHandler { [weak self] in self?.write() }
  }

  deinit { close() }

  /// Makes a new pair: this end, and the descriptor of the other, which belongs to the caller.
  static func pair(onInput: @escaping @Sendable (ChannelInput) -> Void) -> (CreditSocket, other: Int32)? {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return nil }
    var bytes = bufferBytes
    for end in ends { setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size)) }
    return (CreditSocket(owning: ends[0], onInput: onInput), ends[1])
  }

  /// Reports one packet, or the end.
  func readOne() {
    state.withLock { state in
      guard !state.isClosed, !state.isReading else { return }
      state.isReading = true
      readable.resume()
      if state.isReset { queue.async { [weak self] in self?.read() } }
    }
  }

  private func read() {
    let input: ChannelInput? = state.withLock { state in
      guard !state.isClosed, state.isReading else { return nil }
      var buffer = [UInt8](repeating: 0, count: Self.packetLimit)
      var count = recv(state.descriptor, &buffer, buffer.count, 0)
      // The app closed before it had read everything. The kernel reports this error once, before it gives what the app
      // had sent.
      if count < 0, errno == ECONNRESET {
        state.isReset = true
        count = recv(state.descriptor, &buffer, buffer.count, 0)
      }
      if count < 0, errno == EAGAIN || errno == EINTR { return nil }
      state.isReading = false
      readable.suspend()
      return count <= 0 ? .closed : .data(Array(buffer.prefix(count)))
    }
    if let input { onInput(input) }
  }

  func send(_ packet: [UInt8]) {
    let isTaken = state.withLock { state in
      guard !state.isClosed, !state.isEnding else { return false }
      if state.waiting.isEmpty, Self.put(packet, into: state.descriptor) { return true }
      state.waiting.append(packet)
      guard !state.isWriting else { return false }
      state.isWriting = true
      writable.resume()
      return false
    }
    if isTaken { onInput(.taken) }
  }

  private func write() {
    let (taken, isOver) = state.withLock { state -> (Int, Bool) in
      guard !state.isClosed, state.isWriting else { return (0, false) }
      var taken = 0
      while let packet = state.waiting.first, Self.put(packet, into: state.descriptor) {
        state.waiting.removeFirst()
        taken += 1
      }
      guard state.waiting.isEmpty else { return (taken, false) }
      state.isWriting = false
      writable.suspend()
      return (taken, state.isEnding)
    }
    for _ in 0..<taken { onInput(.taken) }
    if isOver { close() }
  }

  /// Returns `false` if there is no room. If the other end is gone, the packet counts as sent.
  private static func put(_ packet: [UInt8], into descriptor: Int32) -> Bool {
    let count = Glibc.send(descriptor, packet, packet.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    return count >= 0 || (errno != EAGAIN && errno != EINTR)
  }

  /// Closes when everything sent before has been taken.
  func end() {
    let isIdle = state.withLock { state in
      state.isEnding = true
      return state.waiting.isEmpty
    }
    if isIdle { close() }
  }

  func close() {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.isClosed = true
      // A suspended source can't be released.
      if !state.isReading { readable.resume() }
      if !state.isWriting { writable.resume() }
      readable.cancel()
      writable.cancel()
    }
  }
}
