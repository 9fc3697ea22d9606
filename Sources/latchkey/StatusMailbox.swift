import AppLinkBus
import Glibc
import Synchronization

/// The latest news of latchkeyd's status, for a thread that waits with poll(2). An older status that was not taken is
/// dropped, so a slow reader of the output costs no memory. The news that latchkeyd was away is kept, because the next
/// latchkeyd begins to number its alerts again.
final class StatusMailbox: Sendable {
  /// Is readable while there is news.
  var descriptor: Int32 { signal.reading }
  private let signal: SignalPipe
  /// At most three: that latchkeyd was away, the latest status since then, and that nothing more comes.
  private let waiting = Mutex<[StatusFollower.News]>([])

  init() throws { signal = try SignalPipe() }

  func put(_ news: StatusFollower.News) {
    waiting.withLock { waiting in
      switch news {
      case .away: waiting = []
      case .status: if case .status? = waiting.last { waiting.removeLast() }
      case .ended: break
      }
      waiting.append(news)
    }
    signal.write(0)
  }

  /// The oldest news.
  func take() -> StatusFollower.News? {
    signal.drain()
    let (news, isMore) = waiting.withLock { waiting in
      (waiting.isEmpty ? nil : waiting.removeFirst(), !waiting.isEmpty)
    }
    if isMore { signal.write(0) }
    return news
  }

  /// Waits for news.
  /// - Returns: `false` if the reader of the standard output has gone.
  func wait() -> Bool {
    // Without events of its own, an output is reported only when its reader has gone.
    var waiting = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
    ]
    while poll(&waiting, nfds_t(waiting.count), -1) < 0, errno == EINTR {}
    return waiting[1].revents & Int16(POLLERR | POLLHUP) == 0
  }
}

/// A pipe of this process to itself, to wake a thread that waits with poll(2). Neither end blocks.
final class SignalPipe: Sendable {
  let reading: Int32
  let writing: Int32

  init() throws {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw POSIXFailure(number: errno) }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    close(reading)
    close(writing)
  }

  /// A full pipe wakes its reader as well, so nothing is lost that matters.
  func write(_ byte: UInt8) {
    var byte = byte
    _ = Glibc.write(writing, &byte, 1)
  }

  /// Everything that was written.
  @discardableResult
  func drain() -> [UInt8] {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 256)
    while true {
      let count = read(reading, &buffer, buffer.count)
      guard count > 0 else { return all }
      all += buffer[..<count]
    }
  }
}

/// Why the system refused something.
struct POSIXFailure: Error, CustomStringConvertible {
  let number: Int32
  var description: String { String(cString: strerror(number)) }
}
