import CSystemd
import Glibc
import TimeTypes
import Timekeeping

/// The conductor's ends of the processes' clocks.
struct ConductorSockets: ~Copyable {
  struct Connection {
    let socket: Int32
    let pid: pid_t
    /// The machine that the process belongs to; empty for one that belongs to none.
    let machine: String
    /// How many connections were made before it.
    let number: UInt64
    /// Nanoseconds; `SharedClock.Layout.noDeadline` for none.
    var deadline = SharedClock.Layout.noDeadline
  }

  /// More connections than a world needs. Further ones are refused.
  static let connectionLimit = 512

  private let listener: Int32
  private(set) var connections: [Connection] = []
  private var made: UInt64 = 0

  init(directory: String) throws {
    listener = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard listener >= 0 else { throw ConductorError.system("socket") }
    // The address names the socket through the folder's descriptor, because it has room for 107 bytes and a path may be
    // longer.
    let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(folder) }
    let result = withUnixAddress("/proc/self/fd/\(folder)/socket") { bind(listener, $0, $1) }
    guard folder >= 0, result == 0, listen(listener, 128) == 0 else {
      let error = ConductorError.system(directory + "/socket")
      close(listener)
      throw error
    }
  }

  deinit {
    for connection in connections { close(connection.socket) }
    close(listener)
  }

  /// Reads everything that processes have sent.
  ///
  /// - Returns: how many messages that was, including connections made and ended.
  mutating func drain() throws -> Int {
    var descriptors = connections.map { pollfd(fd: $0.socket, events: Int16(POLLIN), revents: 0) }
    descriptors.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
    guard poll(&descriptors, nfds_t(descriptors.count), 0) > 0 else { return 0 }
    var count = 0
    for index in connections.indices.reversed() where descriptors[index].revents != 0 {
      count += 1
      while let message = receive(connections[index].socket) {
        guard case .deadline(let deadline) = message else {
          close(connections[index].socket)
          connections.remove(at: index)
          break
        }
        connections[index].deadline = deadline
      }
    }
    if descriptors.last?.revents != 0 { count += accept() }
    return count
  }

  /// Tells a process that it is due, which uses up its alarm.
  mutating func wake(_ socket: Int32, at now: Instant) {
    guard let index = connections.firstIndex(where: { $0.socket == socket }) else { return }
    connections[index].deadline = SharedClock.Layout.noDeadline
    var message = now.nanoseconds.littleEndian
    // The socket can't be full: a process has at most one of these messages to read. An ended process is noticed when
    // draining.
    send(socket, &message, SharedClock.Layout.messageLength, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
  }

  private enum Message {
    case deadline(Int64)
    /// The process has ended, or sent an invalid message.
    case end
  }

  /// `nil` while it has nothing to say.
  private func receive(_ socket: Int32) -> Message? {
    // One byte more than a message has, so that a longer one is noticed.
    var buffer = [UInt8](repeating: 0, count: SharedClock.Layout.messageLength + 1)
    while true {
      let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return nil }
      guard count == SharedClock.Layout.messageLength else { return .end }
      return .deadline(buffer.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) })
    }
  }

  private mutating func accept() -> Int {
    var count = 0
    while true {
      let socket = latchkey_accept(listener)
      guard socket >= 0 else { return count }
      count += 1
      let pid = latchkey_peer_process(socket)
      guard pid > 0, connections.count < Self.connectionLimit else {
        close(socket)
        continue
      }
      let machine = WorldProcesses.machine(of: pid) ?? ""
      connections.append(Connection(socket: socket, pid: pid, machine: machine, number: made))
      made += 1
    }
  }
}
