import Glibc
import Synchronization

/// A program's standard output and error output: whole texts, written at once, even into pipes and files.
///
/// The reader may go away at any time, and a disk may be full. Neither is a crash. Later output is dropped, and at
/// its end the program reports this by its exit status: 141 (128 + SIGPIPE), silently, if the reader has gone, or 74
/// (EX_IOERR of sysexits.h), with the reason, if the system refused the text.
package enum Console {
  /// Why nothing more can be written.
  package enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
    case readerIsGone
    /// The errno(3) of the refused write.
    case refused(Int32)

    package var description: String {
      switch self {
      case .readerIsGone: "the output is closed"
      case .refused(let number): "the output can't be written: \(String(cString: strerror(number)))"
      }
    }

    package var exitStatus: Int32 {
      switch self {
      case .readerIsGone: 128 + SIGPIPE
      case .refused: 74
      }
    }
  }

  private static let broken = Mutex<Failure?>(nil)

  /// Call this first. If one of the three descriptors is closed, it would be given to the next file that is opened,
  /// and output would go into that file.
  package static func begin() {
    signal(SIGPIPE, SIG_IGN)
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free descriptor, which is this one.
      _ = open("/dev/null", O_RDWR)
      if descriptor == STDOUT_FILENO { broken.withLock { $0 = .refused(EBADF) } }
    }
  }

  /// Why the standard output can't be written, or `nil` while all is well.
  package static var failure: Failure? { broken.withLock { $0 } }

  /// Writes to the standard output. Blocks while the reader is slow.
  ///
  /// - Returns: whether all of it was written.
  @discardableResult
  package static func say(_ text: String, terminator: String = "\n") -> Bool {
    write(Array((text + terminator).utf8))
  }

  /// The same for bytes, as they are.
  @discardableResult
  package static func write(_ bytes: [UInt8]) -> Bool {
    broken.withLock { broken in
      if broken == nil { broken = put(bytes, STDOUT_FILENO) }
      return broken == nil
    }
  }

  /// Writes to the error output. If that is gone as well, the text is lost.
  package static func complain(_ text: String, terminator: String = "\n") {
    _ = put(Array((text + terminator).utf8), STDERR_FILENO)
  }

  /// The program's last call: ends the program if output was dropped, otherwise returns.
  package static func end(program: String) {
    guard let failure else { return }
    if case .refused = failure { complain("\(program): \(failure)") }
    exit(failure.exitStatus)
  }

  private static func put(_ bytes: [UInt8], _ descriptor: Int32) -> Failure? {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        written += count
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        // Another process has made the descriptor non-blocking.
        var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&poller, 1, -1)
      case EPIPE: return .readerIsGone
      default: return .refused(errno)
      }
    }
    return nil
  }
}
