import CSystemd
import Glibc
import Synchronization
import Threads
import Timekeeping
import Worlds

/// A world's clock for one process, the simulator, that leaps over the short waits of a radio: a connection's next event comes at
/// once. So the programs are what takes time, and not the air. Longer waits take as long as they are.
///
/// `SharedClock` describes what it has to do. Unlike `Conductor` it does not wait until a world rests: the simulator's clients
/// live in real time.
final class RacingClock: Sendable {
  /// What is leapt over: any wait for a connection's next event, 4 s at most and usually 30 ms.
  private static let leap = 50_000_000

  private let listener: Int32

  /// - Parameter directory: an empty folder, in which `now` and `socket` are made.
  init(directory: String) throws {
    let file = open("\(directory)/now", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Self.failure("\(directory)/now") }
    defer { close(file) }
    guard ftruncate(file, off_t(SharedClock.Layout.fileLength)) == 0,
      let memory = mmap(nil, SharedClock.Layout.fileLength, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0),
      memory != MAP_FAILED
    else { throw Self.failure("\(directory)/now") }
    memory.storeBytes(
      of: (Conductor.unixSecondsAtZero * 1_000_000_000).littleEndian, toByteOffset: 8, as: Int64.self)
    listener = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = Array("\(directory)/socket".utf8)
    guard path.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw WorldError("\(directory)/socket is too long for a socket's path")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0, listen(listener, 1) == 0 else { throw Self.failure("\(directory)/socket") }
    nonisolated(unsafe) let now = memory.assumingMemoryBound(to: Int64.self)
    try DetachedThread.start { [listener] in Self.race(listener, now) }
  }

  deinit { close(listener) }

  private static func failure(_ what: String) -> WorldError {
    WorldError("\(what): \(String(cString: strerror(errno)))")
  }

  /// Serves one process until it ends.
  private static func race(_ listener: Int32, _ now: UnsafeMutablePointer<Int64>) {
    let process = acceptOne(listener)
    guard process >= 0 else { return }
    defer { close(process) }
    var deadline = SharedClock.Layout.noDeadline
    while true {
      let wait = deadline == SharedClock.Layout.noDeadline ? -1 : milliseconds(until: deadline, now.pointee)
      var poller = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
      let ready = poll(&poller, 1, wait)
      if ready < 0, errno == EINTR { continue }
      if ready > 0 {
        guard recv(process, &deadline, SharedClock.Layout.messageLength, 0) == SharedClock.Layout.messageLength else {
          return
        }
        continue
      }
      // Only this thread writes it, and a reader takes all eight bytes at once.
      now.pointee = max(now.pointee, deadline)
      deadline = SharedClock.Layout.noDeadline
      var message = now.pointee
      send(process, &message, SharedClock.Layout.messageLength, Int32(MSG_NOSIGNAL))
    }
  }

  private static func acceptOne(_ listener: Int32) -> Int32 {
    while true {
      let socket = latchkey_accept(listener)
      if socket >= 0 || errno != EINTR { return socket }
    }
  }

  private static func milliseconds(until deadline: Int64, _ now: Int64) -> Int32 {
    let wait = deadline - now
    return wait <= Int64(leap) ? 0 : Int32(clamping: wait / 1_000_000)
  }
}
