import BluetoothTypes
import Dispatch
import Foundation
import Glibc

/// This app's end of an L2CAP channel: a socket that carries packets. Its two streams share it. It closes when both are
/// closed, or when nobody refers to them any more.
final class ChannelSocket: @unchecked Sendable {
  /// The longest packet that may be sent, in bytes.
  let mtu: Int
  private let descriptor: ChannelDescriptor
  private let lock = NSLock()
  private let readable: any DispatchSourceRead
  private let writable: any DispatchSourceWrite
  private var isWatchingInput = false
  private var isWatchingOutput = false
  private var openStreams: Set<Side> = [.input, .output]
  private var isCancelled = false

  enum Side { case input, output }

  /// What a system call gave.
  enum Outcome: Sendable {
    case bytes(Int)
    /// Nothing now.
    case later
    /// The channel has ended, in order or by a lost link.
    case end
    case failure(Int32)
  }

  /// - Parameters:
  ///   - onInput: something can be read, or the channel has ended. Called on a queue of the socket's own, once for each
  ///     `watchInput`.
  ///   - onOutput: the same for writing.
  init(
    _ descriptor: ChannelDescriptor, mtu: UInt16, onInput: @escaping @Sendable () -> Void,
    onOutput: @escaping @Sendable () -> Void
  ) {
    self.descriptor = descriptor
    self.mtu = max(1, Int(mtu))
    let queue = DispatchQueue(label: "org.latchkey.channel")
    readable = DispatchSource.makeReadSource(fileDescriptor: descriptor.number, queue: queue)
    writable = DispatchSource.makeWriteSource(fileDescriptor: descriptor.number, queue: queue)
    // Until a source's cancellation is complete, libdispatch may still use the descriptor.
    readable.setCancelHandler { withExtendedLifetime(descriptor) {} }
    writable.setCancelHandler { withExtendedLifetime(descriptor) {} }
    readable.setEventHandler { [weak self] in if self?.rest(.input) == true { onInput() } }
    writable.setEventHandler { [weak self] in if self?.rest(.output) == true { onOutput() } }
  }

  deinit { cancel() }

  /// Calls `onInput` once when something can be read.
  func watchInput() {
    lock.withLock {
      guard !isWatchingInput, !isCancelled else { return }
      isWatchingInput = true
      readable.resume()
    }
  }

  /// Calls `onOutput` once when something can be written.
  func watchOutput() {
    lock.withLock {
      guard !isWatchingOutput, !isCancelled else { return }
      isWatchingOutput = true
      writable.resume()
    }
  }

  private func rest(_ side: Side) -> Bool {
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

  /// Receives one packet.
  func receive(into buffer: inout [UInt8]) -> Outcome {
    let count = recv(descriptor.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    if count > 0 { return .bytes(count) }
    return count == 0 ? .end : Self.outcome(of: errno)
  }

  /// Sends one packet.
  func send(_ bytes: UnsafeBufferPointer<UInt8>) -> Outcome {
    let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    let count = Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, flags)
    return count >= 0 ? .bytes(count) : Self.outcome(of: errno)
  }

  private static func outcome(of error: Int32) -> Outcome {
    switch error {
    case EAGAIN, EINTR: .later
    // The link is gone, or the peer has closed the channel.
    case EPIPE, ECONNRESET, ENOTCONN, ETIMEDOUT: .end
    default: .failure(error)
    }
  }

  /// Whether a packet can be written now.
  var hasRoom: Bool { poll(for: Int16(POLLOUT), milliseconds: 0) }

  /// Waits until a packet can be written, or the channel has ended.
  func waitForRoom() { _ = poll(for: Int16(POLLOUT), milliseconds: -1) }

  private func poll(for events: Int16, milliseconds: Int32) -> Bool {
    var descriptors = pollfd(fd: descriptor.number, events: events, revents: 0)
    return Glibc.poll(&descriptors, 1, milliseconds) > 0 && descriptors.revents & events != 0
  }

  /// No more is sent or received. Both streams find the end.
  func end() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

  /// One of the streams is closed.
  func close(_ side: Side) {
    let isOver = lock.withLock {
      openStreams.remove(side)
      return openStreams.isEmpty
    }
    if isOver {
      // The peer learns it now, even while the descriptor is still referred to.
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
