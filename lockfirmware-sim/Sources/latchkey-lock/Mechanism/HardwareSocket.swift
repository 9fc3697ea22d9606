import Dispatch
import Foundation
import Glibc
import Logging
import Timekeeping

/// Exchanges lines over a Unix socket that only the lock's user can reach. Through it, the world acts on a simulated
/// lock.
final class HardwareSocket: @unchecked Sendable {
  // Everything here happens on the main queue.
  private let listener: Int32
  private let answer: @Sendable (String) -> String
  private let logger: Logger
  private var source: (any DispatchSourceRead)?
  private var connections: [Int32: Connection] = [:]

  private struct Connection {
    var source: any DispatchSourceRead
    var received: [UInt8] = []
  }

  private static let maximumConnectionCount = 16
  private static let maximumLineByteCount = 1024

  init(directory: String, logger: Logger, answer: @escaping @Sendable (String) -> String) throws {
    self.answer = answer
    self.logger = logger
    let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw Self.error(directory) }
    defer { close(folder) }
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
    guard listener >= 0 else { throw Self.error(directory) }
    // The address names the socket through the folder's descriptor, because it has room for 107 bytes and a path may be
    // longer.
    let path = "/proc/self/fd/\(folder)/hardware.sock"
    unlink(path)
    // The mask keeps the socket from having more permissions for a moment than it has in the end.
    let mask = umask(0o177)
    defer { umask(mask) }
    guard withUnixAddress(path, { bind(listener, $0, $1) }) == 0, listen(listener, 8) == 0 else {
      let error = Self.error(directory + "/hardware.sock")
      close(listener)
      throw error
    }
  }

  /// Starts answering.
  func start() {
    let source = DispatchSource.makeReadSource(fileDescriptor: listener, queue: .main)
    source.setEventHandler { [weak self] in self?.acceptConnections() }
    source.resume()
    self.source = source
  }

  private func acceptConnections() {
    while true {
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { return }
      _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
      _ = fcntl(connection, F_SETFL, O_NONBLOCK)
      guard connections.count < Self.maximumConnectionCount else {
        close(connection)
        logger.warning("a connection to hardware.sock was closed: there are \(connections.count) already")
        continue
      }
      let source = DispatchSource.makeReadSource(fileDescriptor: connection, queue: .main)
      source.setEventHandler { [weak self] in self?.receive(connection) }
      source.setCancelHandler { close(connection) }
      connections[connection] = Connection(source: source)
      source.resume()
    }
  }

  private func receive(_ connection: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(connection, &buffer, buffer.count)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0, var entry = connections[connection] else { return end(connection) }
    entry.received += buffer[..<count]
    while let newline = entry.received.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: entry.received[..<newline], as: UTF8.self)
      entry.received.removeFirst(newline + 1)
      guard send(answer(line), to: connection) else { return end(connection) }
    }
    guard entry.received.count <= Self.maximumLineByteCount else {
      _ = send(#"{"error":"a line has at most \#(Self.maximumLineByteCount) bytes"}"#, to: connection)
      return end(connection)
    }
    connections[connection] = entry
  }

  /// An answer fits into the socket's buffer unless the reader does not read. Such a reader has had its chance.
  private func send(_ line: String, to connection: Int32) -> Bool {
    let bytes = Array(line.utf8) + [UInt8(ascii: "\n")]
    return Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }

  private func end(_ connection: Int32) {
    connections.removeValue(forKey: connection)?.source.cancel()
  }

  private static func error(_ path: String) -> MechanismError {
    MechanismError(description: "\(path): \(String(cString: strerror(errno)))")
  }
}
