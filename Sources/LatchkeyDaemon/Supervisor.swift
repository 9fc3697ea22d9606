import BluetoothSystem

/// Starts, freezes, thaws and ends apps, verifies that a process is an app, and reports the end of processes.
package protocol Supervisor: Sendable {
  /// Starts an app. `news` will report its end.
  /// - Returns: the process, or `nil` if `news` will report it, or why it could not be started.
  func launch(_ app: InstalledApp, _ options: LaunchOptions) throws -> ProcessIdentity?
  /// Watches a process that was not started by this supervisor. If it has already ended, that is reported at once.
  func adopt(_ bundleIdentifier: String, _ process: ProcessIdentity)
  /// Stops the app's process until `resume`.
  func suspend(_ bundleIdentifier: String, _ process: ProcessIdentity)
  /// Lets a suspended process run on.
  func resume(_ bundleIdentifier: String, _ process: ProcessIdentity)
  /// Kills the process. `news` reports its end.
  func kill(_ bundleIdentifier: String, _ process: ProcessIdentity)
  /// Verifies that a process is the app that it claims to be. `answer` is called once, with `nil` if it is, otherwise
  /// with the reason why it is not, or why that can't be said.
  func verify(_ claim: AppClaim, answer: @escaping @Sendable (ClaimRefusal?) -> Void)
  /// What happened to apps, in order. An app's launch comes before its end.
  var news: AsyncStream<SupervisorNews> { get }
}

/// A process that claims to be an app.
package struct AppClaim: Sendable, Hashable {
  package var bundleIdentifier: String
  package var process: ProcessIdentity
  /// The user it runs as, according to the bus.
  package var userIdentifier: UInt32
}

/// Why a process is not accepted as the app that it claims to be.
package enum ClaimRefusal: Sendable, Hashable {
  case notThatApp(String)
  /// It could not be verified just now. The process may ask again.
  case unavailable(String)

  package var reason: String {
    switch self {
    case .notThatApp(let reason), .unavailable(let reason): reason
    }
  }
}

/// What has happened to an app's process.
package enum SupervisorNews: Sendable, Hashable {
  case launched(String, ProcessIdentity)
  case launchFailed(String, reason: String)
  case ended(ProcessEnd)
}

/// The end of a process; reported once.
package struct ProcessEnd: Sendable, Hashable {
  package var bundleIdentifier: String
  package var process: ProcessIdentity
  /// `exit 0`, `signal 9`, or `gone` if it is unknown.
  package var how: String
}
