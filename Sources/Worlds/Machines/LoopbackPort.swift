import CSystemd
import Glibc

/// TCP ports on this machine only.
enum LoopbackPort {
  /// A free port on 127.0.0.1. It is not reserved, so the caller must listen at once.
  ///
  /// - Throws: `WorldError` if there is none.
  static func free() throws -> UInt16 {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw WorldError.system("socket", errno) }
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
        bind(socket, rebound, length) == 0 ? getsockname(socket, rebound, &length) : -1
      }
    }
    guard result == 0 else { throw WorldError.system("a free port", errno) }
    return UInt16(bigEndian: address.sin_port)
  }
}
