import Glibc

/// The system calls that L2CAP sockets need. Each returns a negative errno on failure.
struct SocketCalls: Sendable {
  var socket: @Sendable () -> Int32
  var bind: @Sendable (Int32, [UInt8]) -> Int32
  var listen: @Sendable (Int32) -> Int32
  var connect: @Sendable (Int32, [UInt8]) -> Int32
  /// The peer's address comes with the descriptor.
  var accept: @Sendable (Int32) -> (descriptor: Int32, peer: [UInt8])
  var localAddress: @Sendable (Int32) -> [UInt8]
  var setOption: @Sendable (Int32, _ level: Int32, _ name: Int32, [UInt8]) -> Int32
  /// A number of two bytes, or `SO_ERROR`.
  var option: @Sendable (Int32, _ level: Int32, _ name: Int32) -> Int32
  /// Waits until the socket is ready. Returns 0 when it is not, because of the time or because `cancel` is readable.
  var wait: @Sendable (Int32, _ events: Int16, _ cancel: Int32, _ timeoutMilliseconds: Int32) -> Int32
  var close: @Sendable (Int32) -> Void
}

extension SocketCalls {
  private static let family: Int32 = 31
  private static let addressByteCount = 14

  static let system = SocketCalls(
    socket: {
      let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
      return checked(Glibc.socket(family, kind, 0))
    },
    bind: { descriptor, address in
      withAddress(address) { checked(Glibc.bind(descriptor, $0, socklen_t(address.count))) }
    },
    listen: { checked(Glibc.listen($0, 8)) },
    connect: { descriptor, address in
      withAddress(address) { checked(Glibc.connect(descriptor, $0, socklen_t(address.count))) }
    },
    accept: { descriptor in
      let accepted = received { checked(Glibc.accept(descriptor, $0, $1)) }
      if accepted.descriptor >= 0 {
        _ = fcntl(accepted.descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(accepted.descriptor, F_SETFL, O_NONBLOCK)
      }
      return accepted
    },
    localAddress: { descriptor in received { checked(getsockname(descriptor, $0, $1)) }.peer },
    setOption: { descriptor, level, name, value in
      checked(setsockopt(descriptor, level, name, value, socklen_t(value.count)))
    },
    option: { descriptor, level, name in
      var value: Int32 = 0
      var length = socklen_t(MemoryLayout<Int32>.size)
      let result = checked(getsockopt(descriptor, level, name, &value, &length))
      return result < 0 ? result : value
    },
    wait: { descriptor, events, cancel, timeout in
      var descriptors = [pollfd(fd: descriptor, events: events, revents: 0), pollfd(fd: cancel, events: 1, revents: 0)]
      let result = checked(poll(&descriptors, 2, timeout))
      return result < 0 ? result : (descriptors[1].revents == 0 && descriptors[0].revents != 0 ? 1 : 0)
    },
    close: { Glibc.close($0) })

  private static func checked(_ result: Int32) -> Int32 { result < 0 ? -errno : result }

  private static func withAddress(_ bytes: [UInt8], _ body: (UnsafePointer<sockaddr>) -> Int32) -> Int32 {
    bytes.withUnsafeBytes { raw in
      guard let base = raw.baseAddress else { return -EINVAL }
      return body(base.assumingMemoryBound(to: sockaddr.self))
    }
  }

  private static func received(
    _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> (descriptor: Int32, peer: [UInt8]) {
    var bytes = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_storage>.size)
    var length = socklen_t(bytes.count)
    let result = bytes.withUnsafeMutableBytes { raw -> Int32 in
      guard let base = raw.baseAddress else { return -EINVAL }
      return body(base.assumingMemoryBound(to: sockaddr.self), &length)
    }
    return (result, result < 0 ? [] : Array(bytes.prefix(Int(length))))
  }
}
