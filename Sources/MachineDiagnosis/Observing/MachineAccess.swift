import BusValue
import SystemBus

/// Everything that the doctor reads of a machine goes through here; nothing is changed. Each answer is bounded in size
/// and in time.
package struct MachineAccess: Sendable {
  /// A file or folder.
  package struct Information: Sendable, Equatable {
    /// The permissions, without the kind.
    package var mode: UInt32
    package var owner: UInt32
  }

  package struct FileSystem: Sendable, Equatable {
    package var isReadOnly: Bool
    package var freeBytes: Int
  }

  package struct Outcome: Sendable, Equatable {
    package var status: Int32
    package var output: String
    package var errors: String
  }

  package var isRoot: Bool
  package var unixSeconds: Double
  /// At most this many bytes from the beginning of a file.
  package var read: @Sendable (_ path: String, _ limit: Int) throws(AccessProblem) -> [UInt8]
  /// The names in a folder.
  package var names: @Sendable (_ folder: String) throws(AccessProblem) -> [String]
  package var information: @Sendable (_ path: String) throws(AccessProblem) -> Information
  package var fileSystem: @Sendable (_ path: String) throws(AccessProblem) -> FileSystem
  /// Where a symbolic link leads.
  package var target: @Sendable (_ link: String) throws(AccessProblem) -> String
  /// Runs a program to its end.
  package var run: @Sendable (_ executable: String, _ arguments: [String]) throws(AccessProblem) -> Outcome
  /// Connects to the bus at an address, or to latchkeyd's bus if it is `nil`.
  package var connect: @Sendable (_ address: String?) throws(BusError) -> any BusQuestions
  /// CLOCK_BOOTTIME and CLOCK_MONOTONIC in seconds; the first is `nil` if there is no such clock.
  package var uptime: @Sendable () -> (boot: Double?, awake: Double)
  /// The kernel's release.
  package var kernel: String
}

/// Something could not be read.
package struct AccessProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// It does not exist.
  package var isMissing: Bool
  package let description: String

  package init(_ description: String, isMissing: Bool = false) {
    self.description = description
    self.isMissing = isMissing
  }
}

/// Asks the clients of a bus.
package protocol BusQuestions: Sendable {
  var isSystemBus: Bool { get }
  /// Calls a method, and waits for its answer, for a few seconds at most.
  func ask(_ call: MethodCall) throws(BusError) -> [Value]
  func credentials(of name: String) throws(BusError) -> BusCredentials
}
