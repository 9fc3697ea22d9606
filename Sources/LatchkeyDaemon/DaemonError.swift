/// What keeps latchkeyd from working, and what to do about it.
package struct DaemonError: Error, Sendable, Hashable, CustomStringConvertible {
  package let description: String
  /// Only a person can fix it. Starting latchkeyd again would not help.
  package let needsPerson: Bool
  package init(_ description: String, needsPerson: Bool = false) {
    self.description = description
    self.needsPerson = needsPerson
  }

  /// latchkeyd's exit status: 78 (EX_CONFIG of sysexits.h) if a person is needed, in which case its unit does not
  /// restart it; otherwise 1.
  package var exitStatus: Int32 { needsPerson ? 78 : 1 }
}
