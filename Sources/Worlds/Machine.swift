import AppLink
import ChildProcesses

/// A machine of a story: a simulated, virtual or real one. Every call blocks until it is done. All calls are made from
/// one thread.
package protocol Machine: AnyObject {
  var name: String { get }
  var isUp: Bool { get }

  /// Starts what a boot starts: the bus, Bluetooth and latchkeyd. latchkeyd starts apps.
  func boot() throws
  /// Ends every process of the machine; a clean shutdown asks them first.
  func shutDown(clean: Bool) throws
  /// Kills latchkeyd with SIGKILL. With `staysDown`, its init does not restart it until `startDaemon`.
  func killDaemon(staysDown: Bool) throws
  func startDaemon() throws
  /// The app's process, which must be running.
  func process(of app: InstalledApp) throws -> Int32
  /// Kills the app's process with SIGKILL.
  func kill(_ app: InstalledApp) throws
  /// Stops the app's process, which stays alive but does nothing, or lets it continue.
  func hold(_ app: InstalledApp, isHung: Bool) throws
  /// Passes on a user's request, as the `latchkey` command does.
  func control(_ request: ControlRequest) throws
  /// As `control`, but waits only until latchkeyd has received the request, because what follows from it takes the
  /// world's time.
  func say(_ request: ControlRequest) throws
  /// A person types `latchkey` with these words.
  ///
  /// - Parameter input: what they enter when it asks.
  func type(_ words: [String], input: String?) throws -> any TypedCommand
  /// The public key with which the agent of this machine was provisioned, in hexadecimal.
  ///
  /// - Parameter door: the door, if the story has several.
  func phoneKey(at door: String?) throws -> String
  /// Whether and how `perform` can do this.
  func ability(_ fault: MachineFault) -> Ability
  /// Throws if `ability` says that it is unsupported.
  func perform(_ fault: MachineFault) throws
  /// How this machine can lose its power suddenly.
  var powerCut: Ability { get }
  /// The parts of this machine's lock that a hand can reach.
  func lockHardware() throws -> LockHardware
  /// The processes that ended since the last call without a fault that explains it. Those that init restarts are
  /// running again.
  func tend() throws -> [UnexpectedEnd]
}

/// A process that ended although no fault was to end it.
package struct UnexpectedEnd: Sendable, Equatable {
  package var process: String
  package var pid: Int32
  package var end: ProcessEnd
  /// Why the world can't continue without it, or `nil` if it has been started again.
  package var fatal: String?
}
