import Foundation
import Glibc

/// Why a world could not be made or went wrong, and what to do about it.
package struct WorldError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }

  /// A system call that failed, with the kernel's reason.
  static func system(_ what: String, _ number: Int32) -> WorldError {
    WorldError("\(what): \(String(cString: strerror(number)))")
  }
}

/// The last lines of a process's log, to go behind an error.
func logTail(_ path: String) -> String {
  let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  let lines = text.split(separator: "\n").suffix(5)
  return lines.isEmpty ? "" : "; its log ends:\n  " + lines.joined(separator: "\n  ")
}
