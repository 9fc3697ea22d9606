import CSystemd
import ChildProcesses
import Foundation
import Glibc
import Synchronization
import Timekeeping

/// Lines sent to and received from a child process or a socket.
final class LineChannel: Sendable {
  private struct State {
    var lines: [String] = []
    var hasEnded = false
  }

  private let title: String
  private let output: @Sendable (Data) throws -> Void
  private let state = Mutex(State())
  private let notifier = Notifier()

  /// - Parameter output: sends a line, which has no line end yet. Received lines are passed to `take` and `finish`.
  init(_ title: String, output: @escaping @Sendable (Data) throws -> Void) {
    self.title = title
    self.output = output
  }

  /// Connects to a Unix socket. Its path has at most 107 bytes.
  convenience init(socket path: String) throws {
    signal(SIGPIPE, SIG_IGN)
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0, withUnixAddress(path, { connect(descriptor, $0, $1) }) == 0 else {
      let reason = String(cString: strerror(errno))
      if descriptor >= 0 { close(descriptor) }
      throw WorldFailure("\(path): \(reason)")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    self.init(path) { try handle.write(contentsOf: $0 + [0x0A]) }
    // Reading has a descriptor of its own, which is closed when nothing more comes.
    try LineReader.start(
      fcntl(descriptor, F_DUPFD_CLOEXEC, 3), onLine: { [weak self] in self?.take($0) },
      onEnd: { [weak self] in self?.finish() })
  }

  func take(_ line: Data) {
    state.withLock { $0.lines.append(String(decoding: line, as: UTF8.self)) }
    notifier.bump()
  }

  func finish() {
    state.withLock { $0.hasEnded = true }
    notifier.bump()
  }

  func say(_ line: String) throws {
    do {
      try output(Data(line.utf8))
    } catch {
      throw WorldFailure("\(title) takes no input: \(error)")
    }
  }

  /// The first line that `accepts` accepts. Earlier lines are skipped.
  ///
  /// - Throws: `WorldFailure` if the lines end first.
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
