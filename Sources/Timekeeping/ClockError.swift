import Glibc

/// Why there is no time source.
package struct ClockError: Error, Sendable, Hashable, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }

  /// A system call that failed, with the kernel's reason.
  static func system(_ call: String, _ number: Int32 = errno) -> ClockError {
    ClockError("\(call): \(String(cString: strerror(number)))")
  }
}
