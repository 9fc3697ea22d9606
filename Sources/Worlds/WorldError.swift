import Foundation
import Glibc

/// Why a world could not be created or went wrong, and what to do about it.
package struct WorldError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }

  /// A system call that failed, with the kernel's reason.
  static func system(_ what: String, _ number: Int32) -> WorldError {
    WorldError("\(what): \(String(cString: strerror(number)))")
  }
}
