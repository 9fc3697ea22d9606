import Glibc
import Synchronization

/// What a program says on its standard output and on its error output: whole texts, at once, into pipes and files too.
///
/// Whoever reads may go away at any time, and a disk may be full: neither is a crash. What comes after is left unsaid,
/// and at its end the program says so by its status: 141 (128 + SIGPIPE), silently, where the reader has gone, and 74
/// (EX_IOERR of sysexits.h), with the reason, where the system refused the text.
public enum Console {
  /// Why nothing can be said any more.
  public enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
    case readerIsGone
    /// errno(3) of what the system refused.
    case refused(Int32)

    public var description: String {
      switch self {
      case .readerIsGone: "nobody reads the output any more"
      case .refused(let number): "the output can't be written: \(String(cString: strerror(number)))"
      }
    }

    public var exitStatus: Int32 {
      switch self {
      case .readerIsGone: 128 + SIGPIPE
      case .refused: 74
      }
    }
  }

  private static let broken = Mutex<Failure?>(nil)

  /// Call first thing. A descriptor of the three that is closed would be given to the next file that is opened, and what
  /// is said would be written into that.
  public static func begin() {
    signal(SIGPIPE, SIG_IGN)
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free one, which is this.
      _ = open("/dev/null", O_RDWR)
      if descriptor == STDOUT_FILENO { broken.withLock { $0 = .refused(EBADF) } }
    }
  }

  /// What keeps the standard output from being written; `nil` while all is well.
  public static var failure: Failure? { broken.withLock { $0 } }

  /// Says it on the standard output. Blocks while a reader takes its time.
  ///
  /// - Returns: whether it was said, all of it.
  @discardableResult
  public static func say(_ text: String, terminator: String = "\n") -> Bool {
    write(Array((text + terminator).utf8))
  }

  /// The same for bytes, as they are.
  @discardableResult
  public static func write(_ bytes: [UInt8]) -> Bool {
    broken.withLock { broken in
      if broken == nil { broken = put(bytes, STDOUT_FILENO) }
      return broken == nil
    }
  }

  /// Says it on the error output. Where that is gone too, there is nobody to tell.
  public static func complain(_ text: String, terminator: String = "\n") {
    _ = put(Array((text + terminator).utf8), STDERR_FILENO)
  }

  /// The program's last call: ends it where something was left unsaid, and returns where all was said.
  public static func end(program: String) {
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
        // Somebody else made the descriptor one that doesn't block.
        var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&poller, 1, -1)
      case EPIPE: return .readerIsGone
      default: return .refused(errno)
      }
    }
    return nil
  }
}
