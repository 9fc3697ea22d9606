import Glibc

/// Identifies the boot of the machine.
package enum BootIdentifier {
  /// The variable by which a simulated world tells the processes of a machine which of its boots this is. It counts only
  /// in a world, whose clock does not begin anew when a machine boots.
  package static let variable = "LATCHKEY_BOOT"

  /// A UUID: in a simulated world the machine's, otherwise the kernel's own, drawn at random at each boot.
  package static func ofThisBoot() throws -> String {
    if let clock = getenv(ProcessClock.variable), clock.pointee != 0, let boot = getenv(variable), boot.pointee != 0 {
      return String(cString: boot)
    }
    let path = "/proc/sys/kernel/random/boot_id"
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw ClockError("\(path): \(String(cString: strerror(errno)))") }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(file, &bytes, bytes.count)
    guard count >= 36 else { throw ClockError("\(path) makes no sense") }
    return String(decoding: bytes.prefix(36), as: UTF8.self)
  }
}
