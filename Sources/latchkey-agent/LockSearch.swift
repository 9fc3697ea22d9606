import Foundation
import TimeTypes

/// Finds the phone's lock among all that look like one, for a phone that has not met its lock yet.
///
/// Whatever advertises the lock service is asked for a link, several at a time: one that is out of reach, or never was a
/// lock, keeps none of the others from being reached, also while the phone's process sleeps and the system alone waits.
/// Linked ones are tried one by one. Only who has the lock's key can prove to be it; who does not within the time that a
/// pairing takes, who refuses, and who lacks the service makes room for the next, and gets another turn ever later.
/// Once the lock has proven itself the search is over, and the phone stays with it.
struct LockSearch {
  enum Effect: Equatable {
    case scan
    case stopScan
    case connect(UUID)
    /// Ends the link, or the request for one.
    case cancel(UUID)
    /// Linked: offer it our key.
    case test(UUID)
    /// The test is over, for the worse.
    case endTest(UUID)
  }

  private enum Phase: Equatable {
    /// A link is asked for.
    case requested(since: Instant)
    /// There is a link, and others are tried first.
    case linked
    case testing(until: Instant)
    /// Not asked for now.
    case resting(until: Instant)
  }

  private struct Candidate {
    var phase: Phase
    /// In dBm, as last heard.
    var signal: Int
    var failures = 0
    var refusals = 0
  }

  /// Links asked for at a time. A controller's accept list has room for at least as many.
  static let maximumRequests = 6
  /// Peripherals remembered.
  static let maximumCandidates = 32
  /// Within which a lock proves itself: first a pairing, over which two people may compare numbers.
  static let testLimit: Duration = .seconds(60)
  /// The same where others wait.
  static let sharedTestLimit: Duration = .seconds(30)
  /// After which a request makes room for one that waits.
  static let requestLimit: Duration = .seconds(30)
  /// How often a candidate may refuse us where no other is there: a refusal may be meant for an offer of before.
  static let maximumRefusals = 3

  private var candidates: [UUID: Candidate] = [:]
  private(set) var isSearching = false
  private var isScanning = false
  private var effects: [Effect] = []

  /// Whose turn it is to prove itself.
  var tested: UUID? {
    candidates.first { if case .testing = $0.value.phase { true } else { false } }?.key
  }

  /// When `passed` must be called at the latest; `nil` if nothing is due.
  var nextDeadline: Instant? {
    guard isSearching else { return nil }
    var tests: [Instant] = []
    var requests: [Instant] = []
    var rests: [Instant] = []
    for candidate in candidates.values {
      switch candidate.phase {
      case .requested(let since): requests.append(since + Self.requestLimit)
      case .linked: break
      case .testing(let until): tests.append(until)
      case .resting(let until): rests.append(until)
      }
    }
    // Whoever rests needs a place.
    let place = busyCount < Self.maximumRequests ? Instant.zero : requests.min()
    let turn = rests.min().flatMap { rest in place.map { max(rest, $0) } }
    return (tests + [turn].compactMap(\.self)).min()
  }

  func knows(_ identifier: UUID) -> Bool { candidates[identifier] != nil }

  private var busyCount: Int {
    candidates.values.count { if case .resting = $0.phase { false } else { true } }
  }

  // MARK: What happens

  /// The radio works, for the first time or again. What the system kept for an earlier process is among the candidates.
  mutating func begin(_ kept: [(identifier: UUID, isLinked: Bool)], at now: Instant) -> [Effect] {
    isSearching = true
    // A scan ends with the radio, and so do links.
    isScanning = false
    candidates = candidates.mapValues { candidate in
      var candidate = candidate
      if case .resting = candidate.phase { return candidate }
      candidate.phase = .resting(until: now)
      return candidate
    }
    for (identifier, isLinked) in kept {
      if busyCount >= Self.maximumRequests {
        effects.append(.cancel(identifier))
        continue
      }
      var candidate = candidates[identifier] ?? Candidate(phase: .linked, signal: -127)
      candidate.phase = isLinked ? .linked : .requested(since: now)
      candidates[identifier] = candidate
      if !isLinked { effects.append(.connect(identifier)) }
    }
    return settle(at: now)
  }

  /// The lock has proven itself: everybody else is let go.
  mutating func end(with lock: UUID?) -> [Effect] {
    guard isSearching else { return [] }
    isSearching = false
    for (identifier, candidate) in sorted where identifier != lock {
      if case .resting = candidate.phase { continue }
      effects.append(.cancel(identifier))
    }
    candidates = [:]
    if isScanning { effects.append(.stopScan) }
    isScanning = false
    defer { effects = [] }
    return effects
  }

  mutating func found(_ identifier: UUID, signal: Int, at now: Instant) -> [Effect] {
    guard isSearching else { return [] }
    if candidates[identifier] == nil {
      makeRoom()
      candidates[identifier] = Candidate(phase: .resting(until: now), signal: signal)
    }
    candidates[identifier]?.signal = signal
    return settle(at: now)
  }

  mutating func linked(_ identifier: UUID, at now: Instant) -> [Effect] {
    guard isSearching, let candidate = candidates[identifier] else { return [] }
    if case .testing = candidate.phase { return settle(at: now) }
    candidates[identifier]?.phase = .linked
    return settle(at: now)
  }

  /// Its link is lost, or could not be made.
  mutating func lost(_ identifier: UUID, at now: Instant) -> [Effect] {
    guard isSearching, let candidate = candidates[identifier] else { return [] }
    if case .resting = candidate.phase { return settle(at: now) }
    if case .testing = candidate.phase { effects.append(.endTest(identifier)) }
    // Asked for anew at once where nobody waits: it may be the lock, at the edge of its range.
    if waiting(at: now).isEmpty {
      candidates[identifier]?.phase = .requested(since: now)
      effects.append(.connect(identifier))
    } else {
      rest(identifier, at: now)
    }
    return settle(at: now)
  }

  /// It refused what we wrote.
  mutating func refused(_ identifier: UUID, at now: Instant) -> [Effect] {
    guard isSearching, candidates[identifier] != nil else { return [] }
    candidates[identifier]?.refusals += 1
    let isPatient = !isAnotherThere(than: identifier) && (candidates[identifier]?.refusals ?? 0) < Self.maximumRefusals
    return isPatient ? settle(at: now) : failed(identifier, at: now)
  }

  /// It is no lock, or not ours.
  mutating func failed(_ identifier: UUID, at now: Instant) -> [Effect] {
    guard isSearching, let candidate = candidates[identifier] else { return [] }
    switch candidate.phase {
    case .resting: return settle(at: now)
    case .testing: effects.append(.endTest(identifier))
    case .requested, .linked: break
    }
    effects.append(.cancel(identifier))
    rest(identifier, at: now)
    return settle(at: now)
  }

  mutating func passed(at now: Instant) -> [Effect] {
    guard isSearching else { return [] }
    return settle(at: now)
  }

  // MARK: What follows

  private var sorted: [(key: UUID, value: Candidate)] {
    candidates.sorted {
      $0.value.signal == $1.value.signal ? $0.key < $1.key : $0.value.signal > $1.value.signal
    }
  }

  /// Devices that could be asked for and are not; those with the fewest turns come first.
  private func waiting(at now: Instant) -> [UUID] {
    resting.filter { if case .resting(let until) = $0.value.phase { until <= now } else { false } }.map(\.key)
  }

  private var resting: [(key: UUID, value: Candidate)] {
    let resting = sorted.filter { if case .resting = $0.value.phase { true } else { false } }
    // By the signal among those of the same number, as they stand.
    return resting.enumerated().sorted {
      ($0.element.value.failures, $0.offset) < ($1.element.value.failures, $1.offset)
    }.map(\.element)
  }

  private func isAnotherThere(than identifier: UUID) -> Bool { candidates.keys.contains { $0 != identifier } }

  private mutating func rest(_ identifier: UUID, at now: Instant) {
    let failures = candidates[identifier]?.failures ?? 0
    // 10, 20, 40 … s, at most 11 min.
    candidates[identifier]?.phase = .resting(until: now + .seconds(10 << min(failures, 6)))
    candidates[identifier]?.failures = failures + 1
    candidates[identifier]?.refusals = 0
  }

  private mutating func settle(at now: Instant) -> [Effect] {
    if !isScanning {
      isScanning = true
      effects.append(.scan)
    }
    endTests(at: now)
    askForLinks(at: now)
    testNext(at: now)
    defer { effects = [] }
    return effects
  }

  private mutating func endTests(at now: Instant) {
    for (identifier, candidate) in sorted {
      guard case .testing(let until) = candidate.phase, until <= now else { continue }
      effects += [.endTest(identifier), .cancel(identifier)]
      rest(identifier, at: now)
    }
  }

  private mutating func askForLinks(at now: Instant) {
    for identifier in waiting(at: now) {
      if busyCount >= Self.maximumRequests {
        let stale = sorted.last { _, candidate in
          if case .requested(let since) = candidate.phase { since + Self.requestLimit <= now } else { false }
        }
        guard let stale else { return }
        effects.append(.cancel(stale.key))
        rest(stale.key, at: now)
      }
      candidates[identifier]?.phase = .requested(since: now)
      effects.append(.connect(identifier))
    }
  }

  private mutating func testNext(at now: Instant) {
    guard tested == nil, let next = sorted.first(where: { $0.value.phase == .linked })?.key else { return }
    let limit = isAnotherThere(than: next) ? Self.sharedTestLimit : Self.testLimit
    candidates[next]?.phase = .testing(until: now + limit)
    effects.append(.test(next))
  }

  /// Of the many that rest, the one with the most turns is forgotten.
  private mutating func makeRoom() {
    guard candidates.count >= Self.maximumCandidates else { return }
    if let last = resting.last { candidates[last.key] = nil }
  }
}
