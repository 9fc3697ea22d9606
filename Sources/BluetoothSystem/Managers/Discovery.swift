import BlueZ
import TimeTypes

/// The one discovery session that serves every scan and the search for wanted peripherals.
struct Discovery: Sendable {
  enum Step: Sendable, Hashable {
    case setFilter(DiscoveryFilter)
    case start
    case stop
  }

  private(set) var registration = Registration()
  private var filter: DiscoveryFilter?
  private var isStopping = false
  /// A filter is on its way to bluetoothd. Only one is sent at a time.
  private var isFilterAsked = false

  var isRunning: Bool { registration.isDone }

  /// What to ask of bluetoothd now.
  /// - Parameter wanted: the filter to discover with, or `nil` if no discovery is wanted.
  mutating func steps(wanted: DiscoveryFilter?, at now: Instant) -> [Step] {
    guard !isStopping else { return [] }
    guard let wanted else {
      guard isRunning else { return [] }
      isStopping = true
      return [.stop]
    }
    guard registration.mayAsk(at: now) else { return [] }
    if isRunning, filter == wanted || isFilterAsked { return [] }
    filter = wanted
    isFilterAsked = true
    guard !isRunning else { return [.setFilter(wanted)] }
    registration.ask()
    return [.setFilter(wanted), .start]
  }

  mutating func filterWasSet() { isFilterAsked = false }

  /// Returns whether this answer was awaited.
  mutating func started(_ result: Result<Reply, BlueZError>, at now: Instant) -> Bool {
    guard registration.isAsked else { return false }
    switch result {
    case .success: registration.succeed()
    // Our own discovery is already running.
    case .failure(let error) where error.kind == .inProgress: registration.succeed()
    case .failure: registration.fail(at: now)
    }
    return true
  }

  mutating func stopped() {
    isStopping = false
    registration.withdraw()
    filter = nil
  }

  /// bluetoothd says that no discovery is running.
  mutating func hasEnded() { if isRunning { registration.withdraw() } }
}
