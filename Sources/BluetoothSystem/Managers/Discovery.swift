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
  /// The discovery has to end and begin anew. A device that is in range is announced once in each of the kernel's rounds
  /// of 10.24 s, and at once by a new discovery.
  private var isOutdated = false
  /// When it was last ended for that.
  private var begunAnewAt: Instant?
  /// The least time between two such ends. While a discovery begins nothing is heard, and an app may begin its scans without pause.
  private static let leastRun: Duration = .seconds(1)

  /// When to discover, while something is looked for.
  enum Pace: Sendable, Hashable {
    case continuous
    case background(BackgroundScan)
  }

  /// Until when a search has every advertisement reported, so that a peripheral that was here a moment ago is reported
  /// at once.
  private(set) var eagerUntil: Instant?
  /// How long a search stays eager: longer than two of the kernel's rounds of 10.24 s. A peripheral that was not heard
  /// in one of these rounds is new to the controller, which then reports it at once anyway.
  private static let eagerness: Duration = .seconds(30)

  private var pace = Pace.continuous
  /// When the present pace began, or when a scan last began or found something. Each interval begins with its window.
  private var paceBegan = Instant.zero

  var isRunning: Bool { registration.isDone }

  mutating func setPace(_ pace: Pace, at now: Instant) {
    guard pace != self.pace else { return }
    (self.pace, paceBegan) = (pace, now)
  }

  /// Another peripheral has to be found, or it has to be found again.
  mutating func searchBegins(at now: Instant) { eagerUntil = now + Self.eagerness }

  /// Whether every advertisement is to be reported, and not only each peripheral once in a round. Where many devices
  /// advertise, each report costs work, so a search that finds nothing for `eagerness` stops asking for it.
  func isEager(at now: Instant) -> Bool { eagerUntil.map { now < $0 } ?? false }

  /// No peripheral has to be found.
  mutating func searchEnds() { eagerUntil = nil }

  /// A scan began, or found something. Where something is, more may be, so the intervals are short again.
  mutating func shortenIntervals(at now: Instant) {
    guard case .background(let scan) = pace else { return }
    paceBegan = scan.beginning(of: paceBegan, at: now)
  }

  /// Whether this is a time to discover.
  func isDue(at now: Instant) -> Bool {
    guard case .background(let scan) = pace else { return true }
    return scan.isInWindow(now - paceBegan)
  }

  /// When the discovery is next to be started or stopped. `nil` if time changes nothing.
  func turn(after now: Instant) -> Instant? {
    guard case .background(let scan) = pace else { return nil }
    return paceBegan + scan.turn(after: now - paceBegan)
  }

  /// What to ask of bluetoothd now.
  /// - Parameter wanted: the filter to discover with, or `nil` if no discovery is wanted.
  mutating func steps(wanted: DiscoveryFilter?, at now: Instant) -> [Step] {
    guard !isStopping else { return [] }
    // If each peripheral is to be reported only once from now on, those that the present discovery has heard count as
    // reported. A new discovery reports them again.
    let hearsLess = filter?.duplicateData == true && wanted?.duplicateData == false
    let isTooSoon = isRunning && wanted != nil && begunAnewAt.map { now - $0 < Self.leastRun } ?? false
    let beginsAnew = isOutdated && !isTooSoon || hearsLess
    if !isTooSoon { isOutdated = false }
    guard let wanted, !beginsAnew || !isRunning else {
      guard isRunning else { return [] }
      isStopping = true
      if wanted != nil { begunAnewAt = now }
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

  /// Devices that were found already are to be found again.
  mutating func beginAnew() { isOutdated = true }

  /// When a discovery that is to begin anew may do so; `nil` if none is to.
  var anewDue: Instant? { isOutdated && isRunning ? begunAnewAt.map { $0 + Self.leastRun } : nil }

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
