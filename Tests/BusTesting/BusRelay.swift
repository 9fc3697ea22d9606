import Foundation
import Glibc
import Synchronization
import SystemBus
import Threads

/// A socket between one client and a bus. It passes on everything that the client says, and of what the bus says only the
/// authentication, until the test lets the rest through. What has reached the other side by then needed no answer.
package final class BusRelay: Sendable {
  package let address: BusAddress
  private let folder: String
  private let listener: Int32
  private let isOpen = Mutex(false)
  private let opened = Condition()

  /// What waits for `letThrough`.
  private final class Condition: @unchecked Sendable {
    let lock = NSCondition()
  }

  package init(to bus: BusAddress) throws {
    var template = Array("/tmp/latchkey-relay-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw PrivateBus.Failure(description: "mkdtemp: errno \(errno)") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    address = BusAddress("unix:path=\(folder)/bus")
    listener = try Self.socket("\(folder)/bus") { bind($0, $1, $2) }
    guard listen(listener, 1) == 0 else { throw PrivateBus.Failure(description: "listen: errno \(errno)") }
    let path = String(bus.text.split(separator: ",")[0].dropFirst("unix:path=".count))
    let listener = listener
    try DetachedThread.start { [weak self] in
      let client = accept(listener, nil, nil)
      guard client >= 0, let server = try? Self.socket(path, { connect($0, $1, $2) }) else { return }
      try? DetachedThread.start { Self.copy(from: client, to: server) { _ in } }
      var hasBegun = false
      Self.copy(from: server, to: client) { bytes in
        guard !hasBegun else { return }
        // Messages begin behind the last line of the authentication.
        let agreement = Array("AGREE_UNIX_FD\r\n".utf8)
        guard let end = bytes.firstRange(of: agreement)?.upperBound else { return }
        hasBegun = true
        Self.write(Array(bytes[..<end]), to: client)
        bytes.removeSubrange(..<end)
        self?.wait()
      }
    }
  }

  deinit {
    letThrough()
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// From now on the client hears everything.
  package func letThrough() {
    opened.lock.lock()
    isOpen.withLock { $0 = true }
    opened.lock.broadcast()
    opened.lock.unlock()
  }

  private func wait() {
    opened.lock.lock()
    while !isOpen.withLock({ $0 }) { opened.lock.wait() }
    opened.lock.unlock()
  }

  /// Until one side ends.
  private static func copy(from source: Int32, to target: Int32, _ change: (inout [UInt8]) -> Void) {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(source, &buffer, buffer.count)
      guard count > 0 else { break }
      var bytes = Array(buffer[..<count])
      change(&bytes)
      guard write(bytes, to: target) else { break }
    }
    shutdown(source, Int32(SHUT_RDWR))
    shutdown(target, Int32(SHUT_RDWR))
  }

  @discardableResult
  private static func write(_ bytes: [UInt8], to target: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  private static func socket(
    _ path: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws -> Int32 {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    let result = withUnsafePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard descriptor >= 0, result == 0 else { throw PrivateBus.Failure(description: "\(path): errno \(errno)") }
    return descriptor
  }
}
