import Foundation
import Glibc

/// Why a child could not be started, or did not do its job.
package struct ChildProcessError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }

  /// A system call that failed, with the kernel's reason.
  package static func system(_ what: String, _ number: Int32) -> ChildProcessError {
    ChildProcessError("\(what): \(String(cString: strerror(number)))")
  }
}

/// The last lines of a process's log, to append to an error.
package func logTail(_ path: String) -> String {
  let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  let lines = text.split(separator: "\n").suffix(5)
  return lines.isEmpty ? "" : "; its log ends:\n  " + lines.joined(separator: "\n  ")
}

/// The file for a child's error output. If it is created, only its owner may read it.
package func openLog(_ path: String) throws(ChildProcessError) -> Int32 {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
  guard descriptor >= 0 else { throw .system(path, errno) }
  return descriptor
}
