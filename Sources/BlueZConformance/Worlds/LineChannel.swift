import CSystemd
import Foundation
import Glibc
import Synchronization
import Timekeeping

/// Lines that come and go, on a pair of pipes or on a socket.
final class LineChannel: Sendable {
  private struct State {
    var lines: [String] = []
    var hasEnded = false
  }

  private let title: String
  private let output: FileHandle
  private let state = Mutex(State())
  private let notifier = Notifier()

  /// - Parameters:
  ///   - input: where lines come from; it is read on a thread of its own, to its end.
  ///   - output: where lines go.
  init(_ title: String, input: FileHandle, output: FileHandle) {
    signal(SIGPIPE, SIG_IGN)
    self.title = title
    self.output = output
    Thread.detachNewThread { [weak self] in
      var rest = Data()
      while case let data = input.availableData, !data.isEmpty {
        rest += data
        while let end = rest.firstIndex(of: 0x0A) {
          let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
          rest = Data(rest[(end + 1)...])
          self?.take(line)
        }
      }
      self?.finish()
    }
  }

  /// Connects to a Unix socket, of which the path has at most 107 bytes.
  convenience init(socket path: String) throws {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0, withUnixAddress(path, { connect(descriptor, $0, $1) }) == 0 else {
      let reason = String(cString: strerror(errno))
      if descriptor >= 0 { close(descriptor) }
      throw WorldFailure("\(path): \(reason)")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    self.init(path, input: handle, output: handle)
  }

  private func take(_ line: String) {
    state.withLock { $0.lines.append(line) }
    notifier.bump()
  }

  private func finish() {
    state.withLock { $0.hasEnded = true }
    notifier.bump()
  }

  func say(_ line: String) throws {
    do {
      try output.write(contentsOf: Data((line + "\n").utf8))
    } catch {
      throw WorldFailure("\(title) takes no input: \(error)")
    }
  }

  /// The first line that `accepts`; lines before it are passed over.
  ///
  /// - Throws: `WorldFailure` where the lines end first.
  @discardableResult
  func hear<Found: Sendable>(_ what: String, _ accepts: @Sendable (String) -> Found?) async throws -> Found {
    while true {
      let generation = notifier.generation
      let (found, hasEnded) = state.withLock { state -> (Found?, Bool) in
        while !state.lines.isEmpty {
          if let found = accepts(state.lines.removeFirst()) { return (found, false) }
        }
        return (nil, state.hasEnded)
      }
      if let found { return found }
      guard !hasEnded else { throw WorldFailure("\(title) ended before it said \(what)") }
      await notifier.wait(after: generation)
    }
  }

  /// Returns when there are no more lines.
  func waitForEnd() async { _ = try? await hear("its end") { _ in Bool?.none } }
}
