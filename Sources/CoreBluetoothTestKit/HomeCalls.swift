import CoreBluetooth

/// What an app's delegates were told.
extension SimulatedHome {
  /// What the app's delegates were told, over all its runs, in order. (Of more than 200,000 calls, the oldest are forgotten.)
  public func calls(to bundleIdentifier: String) -> [SimulatedDelegateCall] {
    engine.run { $0.history(bundleIdentifier)?.calls ?? [] }
  }

  /// Lets time pass until the app's delegate is told something, but not more than `duration`. A call counts if it came
  /// since time last passed, such as one that the test has just caused by `open(_:)` or `kill(_:)`. Earlier calls don't
  /// count.
  ///
  /// - Parameters:
  ///   - method: As in ``SimulatedDelegateCall/method``: `didConnect`.
  ///   - bundleIdentifier: An app that is installed.
  ///   - attribute: The UUID of the service, characteristic or descriptor that the call is about. `nil` for any call.
  ///   - duration: How long to wait at most.
  /// - Returns: the call, or `nil` if it has not come.
  @discardableResult
  public func nextCall(
    _ method: String, to bundleIdentifier: String, about attribute: String? = nil, within duration: Duration
  ) async -> SimulatedDelegateCall? {
    guard let history = engine.run({ $0.history(bundleIdentifier) }) else { return nil }
    let uuid = attribute.map { CBUUID(string: $0) }
    let count = history.seenCount
    @Sendable func call() -> SimulatedDelegateCall? {
      history.first(after: count) { $0.method == method && (uuid == nil || $0.attribute == uuid) }
    }
    await advance(by: duration) { call() != nil }
    return call()
  }

  /// The calls as text, for people: a line for each, with its time, the app's run, the manager, and what it was told.
  public func transcript(of bundleIdentifier: String) -> String {
    calls(to: bundleIdentifier).map { "\($0.time) run \($0.launch) manager \($0.manager): \($0)" }.joined(
      separator: "\n")
  }
}
