import BluetoothSystem

/// Starts, freezes, thaws and ends apps, says who is one, and says when one has ended.
public protocol Supervisor: Sendable {
  /// Starts an app; its end will be said.
  /// - Returns: its process; `nil` where `news` will tell which it is, or why there is none.
  func launch(_ app: InstalledApp, _ options: LaunchOptions) throws -> ProcessIdentity?
  /// Watches a process that was not started by this supervisor; where it is gone already, that is said at once.
  func adopt(_ bundleIdentifier: String, _ process: ProcessIdentity)
  func suspend(_ bundleIdentifier: String, _ process: ProcessIdentity)
  func resume(_ bundleIdentifier: String, _ process: ProcessIdentity)
  func kill(_ bundleIdentifier: String, _ process: ProcessIdentity)
  /// Whether a process that says that it is an app is that app. `answer` is called once: with `nil` where it is, else
  /// with the reason why it is not, or can't be said to be.
  func verify(_ claim: AppClaim, answer: @escaping @Sendable (ClaimRefusal?) -> Void)
  /// What became of apps, in the order in which it happened. An app's launch comes before its end.
  var news: AsyncStream<SupervisorNews> { get }
}

/// A process that says that it is an app.
public struct AppClaim: Sendable, Hashable {
  public var bundleIdentifier: String
  public var process: ProcessIdentity
  /// The user it runs as, as the bus tells.
  public var userIdentifier: UInt32
}

/// Why a process is not taken for the app that it says it is.
public enum ClaimRefusal: Sendable, Hashable {
  case notThatApp(String)
  /// Nobody could tell just now; it may ask again.
  case unavailable(String)

  public var reason: String {
    switch self {
    case .notThatApp(let reason), .unavailable(let reason): reason
    }
  }
}

public enum SupervisorNews: Sendable, Hashable {
  case launched(String, ProcessIdentity)
  case launchFailed(String, reason: String)
  case ended(ProcessEnd)
}

/// A process that ended; said once.
public struct ProcessEnd: Sendable, Hashable {
  public var bundleIdentifier: String
  public var process: ProcessIdentity
  /// `exit 0`, `signal 9`, or `gone` where nobody can tell.
  public var how: String
}
