import Foundation
import TimeTypes

/// Finds the phone's lock among all devices that look like one, for a phone that has not met its lock yet.
///
/// Every device that advertises the lock service is asked for a link, several at a time. So a device that is out of
/// reach, or is not a lock, does not keep the others from being reached, even while the phone's process sleeps and
/// only the system waits. Linked devices are tested one by one. Only a device with the lock's key can prove to be the
/// lock. A device that does not do so within the time a pairing takes, that refuses, or that lacks the service makes
/// room for the next one, and gets another turn after ever longer pauses. Once the lock has proven itself, the search
/// is over, and the phone stays with it.
///
/// A phone with several doors looks for several locks, over one link to each device. A device is tested for one door at a time,
/// and what has proven to be another door's lock is left out: each test with another lock's keys is a wrong command, and a lock
/// makes a phone wait after three.
struct LockSearch {
  /// How the search for one door's lock stands. The searches of the phone's other doors use this.
  struct Standing: Equatable {
    /// The device that has proven to be the lock.
    var lock: UUID?
    var tested: UUID?
    var isSearching = false
  }

  enum Effect: Equatable {
    case scan
    case stopScan
    case connect(UUID)
    /// Ends the link, or the request for one.
    case cancel(UUID)
    /// Linked: offer it our key.
    case test(UUID)
    /// The test is over: the device is not our lock, or does not say so.
    case endTest(UUID)
    /// The test is over because the link was lost. It says nothing about the device.
    case leaveTest(UUID)
  }

  private enum Phase: Equatable {
    /// A link is requested.
    case requested(since: Instant)
    /// There is a link, and others are tested first.
    case linked
    case testing(until: Instant)
    /// Not requested now.
    case resting(until: Instant)

    var isTesting: Bool { if case .testing = self { true } else { false } }
    var isResting: Bool { if case .resting = self { true } else { false } }
  }

  private struct Candidate {
    var phase: Phase
    /// In dBm, as last heard.
    var signal: Int
    var failures = 0
    var refusals = 0
  }

  /// How many links are requested at a time. A controller's accept list has room for at least as many.
  static let maximumRequests = 6
  /// How many peripherals are remembered.
  static let maximumCandidates = 32
  /// How long a lock has to prove itself, including a pairing in which two people may compare numbers.
  static let testLimit: Duration = .seconds(60)
  /// The same limit while other devices or doors wait.
  static let sharedTestLimit: Duration = .seconds(30)
  /// After this time, a request makes room for a waiting one.
  static let requestLimit: Duration = .seconds(30)
  /// How often the only candidate may refuse us: a refusal may be about an earlier offer.
  static let maximumRefusals = 3

  private var candidates: [UUID: Candidate] = [:]
  /// How the searches of the phone's other doors stand.
  private var others: [Standing] = []
  private(set) var isSearching = false
  private var isScanning = false
  private var effects: [Effect] = []

  /// The device being tested.
  var tested: UUID? {
    candidates.first { $0.value.phase.isTesting }?.key
  }

  /// The latest time at which `passed` must be called, or `nil` if nothing is due.
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
    // A resting device needs a free place to be requested again.
    let place = busyCount < Self.maximumRequests ? Instant.zero : requests.min()
    let turn = rests.min().flatMap { rest in place.map { max(rest, $0) } }
    return (tests + [turn].compactMap(\.self)).min()
  }

  private func isTaken(_ identifier: UUID) -> Bool { others.contains { $0.lock == identifier } }
  private func isTestedForAnother(_ identifier: UUID) -> Bool { others.contains { $0.tested == identifier } }

  func knows(_ identifier: UUID) -> Bool { candidates[identifier] != nil }

  private var busyCount: Int {
    candidates.values.count { !$0.phase.isResting }
  }

  // MARK: Events

  /// The radio works, for the first time or again. Peripherals that the system kept for an earlier process become
  /// candidates.
  mutating func begin(_ kept: [(identifier: UUID, isLinked: Bool)], at now: Instant) -> [Effect] {
    isSearching = true
    // Scans and links end with the radio.
    isScanning = false
    candidates = candidates.mapValues { candidate in
      var candidate = candidate
      if case .resting = candidate.phase { return candidate }
      candidate.phase = .resting(until: now)
      return candidate
    }
    for (identifier, isLinked) in kept {
      if busyCount >= Self.maximumRequests || isTaken(identifier) {
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

  /// The lock has proven itself, so all other devices are released.
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
    guard isSearching, !isTaken(identifier) else { return [] }
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

  /// A device's link is lost, or could not be made.
  mutating func lost(_ identifier: UUID, at now: Instant) -> [Effect] {
    guard isSearching, let candidate = candidates[identifier] else { return [] }
    if case .resting = candidate.phase { return settle(at: now) }
    if case .testing = candidate.phase { effects.append(.leaveTest(identifier)) }
    // The device is requested again at once if no other waits, because it may be the lock at the edge of its range.
    if waiting(at: now).isEmpty {
      candidates[identifier]?.phase = .requested(since: now)
      effects.append(.connect(identifier))
    } else {
      rest(identifier, at: now)
    }
    return settle(at: now)
  }

  /// A device refused what we wrote.
  mutating func refused(_ identifier: UUID, at now: Instant) -> [Effect] {
    guard isSearching, candidates[identifier] != nil else { return [] }
    candidates[identifier]?.refusals += 1
    let isPatient = !isShared(identifier) && (candidates[identifier]?.refusals ?? 0) < Self.maximumRefusals
    return isPatient ? settle(at: now) : failed(identifier, at: now)
  }

  /// A device is not a lock, or not ours.
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

  /// The searches for the phone's other locks have come further.
  mutating func see(_ others: [Standing], at now: Instant) -> [Effect] {
    self.others = others
    guard isSearching else { return [] }
    for (identifier, candidate) in sorted where isTaken(identifier) {
      candidates[identifier] = nil
      if candidate.phase.isTesting { effects.append(.leaveTest(identifier)) }
      if !candidate.phase.isResting { effects.append(.cancel(identifier)) }
    }
    return settle(at: now)
  }

  mutating func passed(at now: Instant) -> [Effect] {
    guard isSearching else { return [] }
    return settle(at: now)
  }

  // MARK: Consequences

  private var sorted: [(key: UUID, value: Candidate)] {
    candidates.sorted {
      $0.value.signal == $1.value.signal ? $0.key < $1.key : $0.value.signal > $1.value.signal
    }
  }

  /// Devices that could be requested and are not, those with the fewest turns first.
  private func waiting(at now: Instant) -> [UUID] {
    resting.filter { if case .resting(let until) = $0.value.phase { until <= now } else { false } }.map(\.key)
  }

  private var resting: [(key: UUID, value: Candidate)] {
    let resting = sorted.filter(\.value.phase.isResting)
    // Devices with the same number of turns are ordered by their signal.
    return resting.enumerated().sorted {
      ($0.element.value.failures, $0.offset) < ($1.element.value.failures, $1.offset)
    }.map(\.element)
  }

  /// Other devices wait for a test, or other doors for a test of this one.
  private func isShared(_ identifier: UUID) -> Bool {
    candidates.keys.contains { $0 != identifier } || others.contains { $0.isSearching }
  }

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
    let next = sorted.first { $0.value.phase == .linked && !isTestedForAnother($0.key) }?.key
    guard tested == nil, let next else { return }
    let limit = isShared(next) ? Self.sharedTestLimit : Self.testLimit
    candidates[next]?.phase = .testing(until: now + limit)
    effects.append(.test(next))
  }

  /// Of many resting devices, the one with the most turns is forgotten.
  private mutating func makeRoom() {
    guard candidates.count >= Self.maximumCandidates else { return }
    if let last = resting.last { candidates[last.key] = nil }
  }
}
