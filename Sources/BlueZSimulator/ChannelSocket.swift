import BlueZ
import Dispatch
import Glibc
import Synchronization

/// bluetoothd's end of a socket that AcquireNotify or AcquireWrite made. It carries packets, each of which stays
/// whole.
final class ChannelSocket: Sendable {
  /// The longest value of an attribute.
  private static let packetLimit = 512

  private struct State {
    var descriptor: Int32
    var source: (any DispatchSourceRead)?
    var isClosed = false
  }

  private let state: Mutex<State>

  init(owning descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    state = Mutex(State(descriptor: descriptor))
  }

  deinit { close() }

  /// Makes a new pair: this end, and the descriptor of the other, which belongs to the caller.
  static func pair() -> (ChannelSocket, other: Int32)? {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return nil }
    return (ChannelSocket(owning: ends[0]), ends[1])
  }

  /// Reports every packet, and the end.
  func listen(_ onInput: @escaping @Sendable (ChannelInput) -> Void) {
    state.withLock { state in
      let descriptor = state.descriptor
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
      source.setEventHandler { [weak self] in
        while let input = Self.read(descriptor) {
          onInput(input)
          if input == .closed {
            self?.cancel()
            return
          }
        }
      }
      source.setCancelHandler { Glibc.close(descriptor) }
      state.source = source
      source.resume()
    }
  }

  /// `nil` if there is nothing at the moment.
  private static func read(_ descriptor: Int32) -> ChannelInput? {
    var buffer = [UInt8](repeating: 0, count: packetLimit)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count < 0 { return errno == EAGAIN || errno == EINTR ? nil : .closed }
    return count == 0 ? .closed : .data(Array(buffer.prefix(count)))
  }

  /// A packet that the other end has no room for is lost, as a notification would be.
  func send(_ bytes: [UInt8]) {
    state.withLock { state in
      guard !state.isClosed else { return }
      _ = Glibc.send(state.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
  }

  func close() { cancel() }

  private func cancel() {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.isClosed = true
      if let source = state.source { source.cancel() } else { Glibc.close(state.descriptor) }
      state.source = nil
    }
  }
}
