import TimeTypes

/// How long to wait after failures in a row: twice as long each time, up to a limit.
struct BackOff: Sendable, Hashable {
  let first: Duration
  /// The largest number of doublings.
  let doublings: Int

  /// The wait after the first failure, the second and so on. Zero counts as one.
  func wait(afterFailures failures: Int) -> Duration { first * (1 << min(max(failures, 1) - 1, doublings)) }

  /// The wait after many failures.
  var longest: Duration { first * (1 << doublings) }

  /// 1, 2, 4 … 64 s.
  static let standard = BackOff(first: .seconds(1), doublings: 6)
  /// 15, 30, 60 … 960 s, for calls that disturb others.
  static let patient = BackOff(first: .seconds(15), doublings: 6)
}

/// Something that bluetoothd should have, and how far that has got.
struct Registration: Sendable, Hashable {
  enum Step: Sendable, Hashable {
    case none
    case asked
    case done
    /// bluetoothd refused. It is asked again at this time.
    case failed(retryAt: Instant)
  }

  private(set) var step = Step.none
  /// Refusals in a row.
  private(set) var failures = 0
  private let backOff: BackOff

  init(backOff: BackOff = .standard) { self.backOff = backOff }

  /// Whether bluetoothd may be asked now. A finished registration may be asked for again, in another form.
  func mayAsk(at now: Instant) -> Bool {
    switch step {
    case .none, .done: true
    case .asked: false
    case .failed(let retryAt): now >= retryAt
    }
  }

  var isAsked: Bool { step == .asked }
  var isDone: Bool { step == .done }
  var isFailed: Bool { if case .failed = step { true } else { false } }

  /// When bluetoothd is to be asked again.
  var deadline: Instant? { if case .failed(let retryAt) = step { retryAt } else { nil } }

  mutating func ask() { step = .asked }

  mutating func succeed() {
    step = .done
    failures = 0
  }

  mutating func fail(at now: Instant) {
    failures += 1
    step = .failed(retryAt: now + backOff.wait(afterFailures: failures))
  }

  /// bluetoothd no longer has it and is not being asked for it.
  mutating func withdraw() { step = .none }
}
