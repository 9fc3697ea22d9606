import BluetoothTypes
import Dispatch
import Foundation
import Glibc

/// This app's end of an L2CAP channel: a socket that carries packets. The channel's two streams share it. It is closed
/// when both streams are closed, or when nothing refers to them any more.
final class ChannelSocket: ChannelEnd, @unchecked Sendable {
  private let descriptor: ChannelDescriptor
  private let lock = NSLock()
  private let readable: any DispatchSourceRead
  private let writable: any DispatchSourceWrite
  private var isWatchingInput = false
  private var isWatchingOutput = false
  private var openStreams: Set<ChannelDirection> = [.input, .output]
  private var isCancelled = false

  init(_ descriptor: ChannelDescriptor) {
    self.descriptor = descriptor
    let queue = DispatchQueue(label: "org.latchkey.channel")
    readable = DispatchSource.makeReadSource(fileDescriptor: descriptor.number, queue: queue)
    writable = DispatchSource.makeWriteSource(fileDescriptor: descriptor.number, queue: queue)
    // Until a source's cancellation is complete, libdispatch may still use the descriptor.
    readable.setCancelHandler { withExtendedLifetime(descriptor) {} }
    writable.setCancelHandler { withExtendedLifetime(descriptor) {} }
  }

  /// The handlers are called on a queue of the socket's own.
  func begin(onInput: @escaping @Sendable () -> Void, onOutput: @escaping @Sendable () -> Void) {
    readable.setEventHandler { [weak self] in if self?.rest(.input) == true { onInput() } }
    writable.setEventHandler { [weak self] in if self?.rest(.output) == true { onOutput() } }
  }

  deinit { cancel() }

  func watchInput() {
    lock.withLock {
      guard !isWatchingInput, !isCancelled else { return }
      isWatchingInput = true
      readable.resume()
    }
  }

  func watchOutput() {
    lock.withLock {
      guard !isWatchingOutput, !isCancelled else { return }
      isWatchingOutput = true
      writable.resume()
    }
  }

  private func rest(_ side: ChannelDirection) -> Bool {
    lock.withLock {
      guard !isCancelled else { return false }
      switch side {
      case .input:
        guard isWatchingInput else { return false }
        isWatchingInput = false
        readable.suspend()
      case .output:
        guard isWatchingOutput else { return false }
        isWatchingOutput = false
        writable.suspend()
      }
      return true
    }
  }

  func receive(into buffer: inout [UInt8]) -> ChannelOutcome {
    var count = recv(descriptor.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    // The peer closed before it had read everything. The kernel says so once, ahead of the packets that came before.
    if count < 0, errno == ECONNRESET { count = recv(descriptor.number, &buffer, buffer.count, Int32(MSG_DONTWAIT)) }
    if count > 0 { return .bytes(count) }
    return count == 0 ? .end : Self.outcome(of: errno)
  }

  func send(_ bytes: UnsafeBufferPointer<UInt8>) -> ChannelOutcome {
    let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    let count = Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, flags)
    return count >= 0 ? .bytes(count) : Self.outcome(of: errno)
  }

  private static func outcome(of error: Int32) -> ChannelOutcome {
    switch error {
    case EAGAIN, EINTR: .later
    // The link is gone, or the peer has closed the channel.
    case EPIPE, ECONNRESET, ENOTCONN, ETIMEDOUT: .end
    default: .failure(error)
    }
  }

  var hasRoom: Bool { poll(for: Int16(POLLOUT), milliseconds: 0) }

  func waitForRoom() -> (any ChannelHold)? {
    _ = poll(for: Int16(POLLOUT), milliseconds: -1)
    return nil
  }

  private func poll(for events: Int16, milliseconds: Int32) -> Bool {
    var descriptors = pollfd(fd: descriptor.number, events: events, revents: 0)
    return Glibc.poll(&descriptors, 1, milliseconds) > 0 && descriptors.revents & events != 0
  }

  func end() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

  func holdTime() -> (any ChannelHold)? { nil }
  func waitBegins() -> (any ChannelWait)? { nil }

  func close(_ side: ChannelDirection) {
    let isOver = lock.withLock {
      openStreams.remove(side)
      return openStreams.isEmpty
    }
    if isOver {
      // The peer hears of the end now, even if something still refers to the descriptor.
      end()
      cancel()
    }
  }

  private func cancel() {
    lock.withLock {
      guard !isCancelled else { return }
      isCancelled = true
      // A suspended source can't be released.
      if !isWatchingInput { readable.resume() }
      if !isWatchingOutput { writable.resume() }
      readable.cancel()
      writable.cancel()
    }
  }
}
