import AppLink
import ChildProcesses

/// A machine that faults happen to: a simulated one, a virtual one, or a real one. All calls block until what
/// they ask for was done, and are made from one thread.
package protocol Machine: AnyObject {
  var name: String { get }
  var isUp: Bool { get }

  /// Starts what a boot starts: the bus, Bluetooth, latchkeyd. Apps are latchkeyd's business.
  func boot() throws
  /// Ends every process of the machine; a clean shutdown asks them first.
  func shutDown(clean: Bool) throws
  /// SIGKILL for latchkeyd. Where it stays down its init is kept from starting it until `startDaemon`.
  func killDaemon(staysDown: Bool) throws
  func startDaemon() throws
  /// The app's process, which must be running.
  func process(of app: InstalledApp) throws -> Int32
  /// SIGKILL for the app's process.
  func kill(_ app: InstalledApp) throws
  /// Stops the app's process, which lives on and does nothing, or lets it go on.
  func hold(_ app: InstalledApp, isHung: Bool) throws
  /// What the user asks for through the `latchkey` command.
  func control(_ request: ControlRequest) throws
  /// The same, without waiting for more than that latchkeyd has heard it: what it leads to takes the world's time.
  func say(_ request: ControlRequest) throws
  /// Whether and how `perform` does this.
  func ability(_ fault: MachineFault) -> Ability
  /// Throws where `ability` says that it can't.
  func perform(_ fault: MachineFault) throws
  /// What power that is gone from one moment to the next comes to here.
  var powerCut: Ability { get }
  /// The hand's side of the lock that runs on this machine.
  func lockHardware() throws -> LockHardware
  /// Processes that ended though nobody ended them, since the last call; what init restarts was restarted.
  func tend() throws -> [UnexpectedEnd]
}

/// A process that ended though no fault was to end it.
package struct UnexpectedEnd: Sendable, Equatable {
  package var process: String
  package var pid: Int32
  package var end: ProcessEnd
  /// Why the world can't go on without it; `nil` where somebody has started it again.
  package var fatal: String?
}
