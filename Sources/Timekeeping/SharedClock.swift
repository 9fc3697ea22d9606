import CSystemd
import Glibc
import Synchronization
import TimeTypes

/// The time of a simulated world, shared by all its processes and moved by the world's conductor.
///
/// `DIR/now` has the time: an Int64 of nanoseconds since the world began and, at offset 8, an Int64 of Unix
/// nanoseconds at which it began, both little endian. `DIR/socket` (SOCK_SEQPACKET) belongs to the conductor. On it,
/// a process sends the time of its earliest alarm, in 8 bytes, and receives 8 bytes when that is due. When the socket
/// closes, the world is over and the process ends at once.
///
/// Even an alarm set for now or earlier rings only when the conductor says so, at the same virtual time. So a
/// process's behaviour does not depend on which of its threads was faster.
package final class SharedClock: TimeSource, AlarmKeeper {
  /// The sizes and offsets of the protocol.
  package enum Layout {
    package static let fileLength = 16
    package static let calendarLength = 8
    package static let messageLength = 8
    /// The deadline of a process without alarms.
    package static let noDeadline = Int64.max
  }

  private struct State {
    var alarms = AlarmTable()
    /// What the conductor knows about this process. It forgets a deadline when it rings.
    var told = Layout.noDeadline
  }

  private let state = Mutex(State())
  private let socket: Int32
  private let unixNanosecondsAtZero: Int64
  // Read-only memory that lives as long as the process.
  private nonisolated(unsafe) let nowInMemory: UnsafePointer<Atomic<Int64>>
  // The same.
  private nonisolated(unsafe) let aheadInMemory: UnsafePointer<Atomic<Int64>>?

  /// Joins the world whose conductor owns `directory`.
  ///
  /// - Parameter calendar: the file that says by how much this machine's calendar is ahead of the world's. It may change
  ///   at any time. Without it, the machine has the world's calendar.
  /// - Throws: `ClockError` if there is no world, or it is already over.
  package init(directory: String, calendar: String? = nil) throws {
    // By way of the descriptor, because a socket's address has room for 107 bytes and a path may be longer.
    let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw ClockError.system("the world's clock \(directory)") }
    defer { close(folder) }
    let memory = try Self.map(
      openat(folder, "now", O_RDONLY | O_CLOEXEC), length: Layout.fileLength, "the world's clock \(directory)/now")
    nowInMemory = UnsafePointer(memory.assumingMemoryBound(to: Atomic<Int64>.self))
    unixNanosecondsAtZero = Int64(littleEndian: memory.load(fromByteOffset: 8, as: Int64.self))
    aheadInMemory = try calendar.map { path in
      let memory = try Self.map(
        open(path, O_RDONLY | O_CLOEXEC), length: Layout.calendarLength, "the machine's calendar \(path)")
      return UnsafePointer(memory.assumingMemoryBound(to: Atomic<Int64>.self))
    }
    socket = try Self.connect(folder, directory)
    try startThread { [self] in listenForever() }
  }

  package var now: Instant { Instant(nanoseconds: Int64(littleEndian: nowInMemory.pointee.load(ordering: .acquiring))) }

  package var unixSeconds: Double { Double(unixNanosecondsAtZero) / 1e9 + ahead + now.seconds }

  /// The seconds by which this machine's calendar is ahead of the world's.
  private var ahead: Double {
    guard let aheadInMemory else { return 0 }
    return Double(Int64(littleEndian: aheadInMemory.pointee.load(ordering: .acquiring))) / 1e9
  }

  package func makeAlarm(_ handler: @escaping @Sendable () -> Void) -> any Alarm {
    TableAlarm(self, state.withLock { $0.alarms.makeIdentifier() }, handler)
  }

  func setAlarm(_ identifier: UInt64, _ deadline: Instant?, _ handler: @escaping AlarmTable.Handler) {
    state.withLock { state in
      state.alarms.set(identifier, deadline, handler)
      tellConductor(&state)
    }
  }

  private func tellConductor(_ state: inout State) {
    let deadline = state.alarms.earliest?.nanoseconds ?? Layout.noDeadline
    guard deadline != state.told else { return }
    state.told = deadline
    var message = deadline.littleEndian
    while send(socket, &message, Layout.messageLength, Int32(MSG_NOSIGNAL)) < 0 {
      guard errno == EINTR else { Self.worldIsOver() }
    }
  }

  private func listenForever() {
    while true {
      var message: Int64 = 0
      let count = recv(socket, &message, Layout.messageLength, 0)
      if count < 0, errno == EINTR { continue }
      guard count == Layout.messageLength else { Self.worldIsOver() }
      ring(by: max(now, Instant(nanoseconds: Int64(littleEndian: message))))
    }
  }

  private func ring(by now: Instant) {
    let counter = state.withLock { state in
      state.told = Layout.noDeadline
      return state.alarms.counter
    }
    // What a handler sets for now or earlier rings when the conductor says so again, and the conductor counts that.
    while let due = state.withLock({ $0.alarms.takeDue(by: now, setUpTo: counter) }) { due.handler() }
    state.withLock { tellConductor(&$0) }
  }

  /// A process must not outlive its world: time would stand still for it.
  private static func worldIsOver() -> Never { _exit(0) }

  private static func map(_ file: Int32, length: Int, _ name: String) throws -> UnsafeRawPointer {
    guard file >= 0 else { throw ClockError.system(name) }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_size >= length else {
      throw ClockError("\(name) is shorter than \(length) bytes")
    }
    guard let memory = mmap(nil, length, PROT_READ, MAP_SHARED, file, 0), memory != MAP_FAILED else {
      throw ClockError.system(name)
    }
    return UnsafeRawPointer(memory)
  }

  private static func connect(_ folder: Int32, _ directory: String) throws -> Int32 {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw ClockError.system("socket") }
    let result = withUnixAddress("/proc/self/fd/\(folder)/socket") { Glibc.connect(socket, $0, $1) }
    guard result == 0 else {
      let error = ClockError.system("the world's conductor at \(directory)/socket")
      close(socket)
      throw error
    }
    return socket
  }
}

/// Calls `body` with the address of a Unix socket. A path longer than the available 107 bytes is truncated, so
/// callers must pass a short one.
package func withUnixAddress<Result>(
  _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
) rethrows -> Result {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { room in
    room.copyBytes(from: Array(path.utf8).prefix(room.count - 1))
  }
  return try withUnsafePointer(to: &address) { pointer in
    try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
      try body(rebound, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
}
