/// Counts the failures of centrals, and decides which must wait. A central over which an enrolled phone has proven
/// itself never waits, so neither strangers nor another program on the phone can keep an owner out by failing on
/// purpose. The radio limits what such a central can cost: it writes one command at a time.
struct FailureBudget: Sendable {
  private struct Entry: Sendable {
    var central: CentralIdentifier
    var count: Int
    var latest: Int64
    var blockedUntil: Int64
  }

  private var entries: [Entry] = []
  /// The centrals over which phones have proven themselves, in that order. Only the latest few of each phone are kept,
  /// and a limited number of guests' phones in all (`limitGuests`), so no phone crowds out the others.
  private(set) var trusted: [TrustedCentral] = []
  /// The centrals of guests' phones that have proven their keys, but may not do what they asked for. They wait like
  /// strangers, although they are none. There is one central for each phone, the oldest first. The list is empty after
  /// a restart.
  private(set) var turnedAway: [TrustedCentral] = []
  /// The most centrals whose failures, or whose refused guests, are remembered.
  private let centralLimit: Int
  private let turnedAwayLimit: Int
  private var windowStart: Int64 = 0
  private var failuresInWindow = 0

  /// - Parameter trusted: what the last run kept, without phones that are no longer enrolled.
  init(trusted: [TrustedCentral] = [], within capacity: LockCapacity = .machine) {
    centralLimit = capacity.centralsWithFailures
    turnedAwayLimit = capacity.strangersLinks
    for proven in trusted { _ = succeed(proven.central, phone: proven.phone) }
  }

  private func isTrusted(_ central: CentralIdentifier) -> Bool { trusted.contains { $0.central == central } }

  /// Until when this central must wait; `nil` if it need not.
  func blockedUntil(_ central: CentralIdentifier, at now: Int64) -> Int64? {
    if isTrusted(central) { return nil }
    if let entry = entries.first(where: { $0.central == central }), entry.blockedUntil > now {
      return entry.blockedUntil
    }
    let windowEnd = windowStart + LockLimit.windowMilliseconds
    return failuresInWindow >= LockLimit.failuresPerWindow && windowEnd > now ? windowEnd : nil
  }

  /// Whether all strangers together have failed as often as they may for now.
  func isWindowFull(at now: Int64) -> Bool {
    failuresInWindow >= LockLimit.failuresPerWindow && windowStart + LockLimit.windowMilliseconds > now
  }

  /// Counts a write that no phone with a right to anything would make.
  mutating func fail(_ central: CentralIdentifier, at now: Int64) {
    if isTrusted(central) { return }
    if now >= windowStart + LockLimit.windowMilliseconds {
      windowStart = now
      failuresInWindow = 0
    }
    failuresInWindow += 1
    count(central, at: now, longestWait: LockLimit.longestWaitMilliseconds)
  }

  /// Counts an authentic command whose grant does not count yet. It is no attack, so it is not among the strangers'
  /// failures, and its sender never waits for long: the time of the grant may come.
  mutating func delay(_ central: CentralIdentifier, at now: Int64) {
    count(central, at: now, longestWait: LockLimit.earlyWaitMilliseconds)
  }

  private mutating func count(_ central: CentralIdentifier, at now: Int64, longestWait: Int64) {
    var entry = Entry(central: central, count: 0, latest: now, blockedUntil: now)
    if let index = entries.firstIndex(where: { $0.central == central }) {
      entry = entries.remove(at: index)
    } else if entries.count >= centralLimit {
      // They are sorted by their latest failure.
      entries.removeFirst()
    }
    // One failure every ten minutes is forgiven: an unlucky phone may be that slow, but an attacker is not.
    if now - entry.latest > 2 * LockLimit.longestWaitMilliseconds { entry.count = 0 }
    entry.count += 1
    entry.latest = now
    if entry.count >= LockLimit.freeFailures {
      let doublings = min(entry.count - LockLimit.freeFailures, 20)
      entry.blockedUntil = now + min(1000 << Int64(doublings), longestWait)
    }
    entries.append(entry)
  }

  /// The phone behind this central is not allowed what it asks for, so its failures count like a stranger's.
  /// - Returns: whether the list of trusted centrals has changed.
  mutating func distrust(_ central: CentralIdentifier) -> Bool {
    turnedAway.removeAll { $0.central == central }
    guard isTrusted(central) else { return false }
    trusted.removeAll { $0.central == central }
    return true
  }

  /// A guest's phone has proven its key over this central and was refused, though nobody has revoked it.
  mutating func turnAway(_ central: CentralIdentifier, phone: [UInt8]) {
    turnedAway.removeAll { $0.central == central || $0.phone == phone }
    if turnedAway.count >= turnedAwayLimit { turnedAway.removeFirst() }
    turnedAway.append(TrustedCentral(central: central, phone: phone))
  }

  /// As `distrust(_:)`, for every central of these phones, which were revoked.
  mutating func distrust(phones: [[UInt8]]) -> Bool {
    turnedAway.removeAll { phones.contains($0.phone) }
    guard trusted.contains(where: { phones.contains($0.phone) }) else { return false }
    trusted.removeAll { phones.contains($0.phone) }
    return true
  }

  /// Limits the number of guests' centrals. The oldest makes room, and is a stranger until its phone has proven itself
  /// again.
  /// - Parameter owners: the phones that are not guests'.
  /// - Returns: whether the list of trusted centrals has changed.
  mutating func limitGuests(to limit: Int, besides owners: [[UInt8]]) -> Bool {
    let surplus = trusted.count { !owners.contains($0.phone) } - limit
    guard surplus > 0 else { return false }
    for _ in 0..<surplus {
      if let oldest = trusted.firstIndex(where: { !owners.contains($0.phone) }) { trusted.remove(at: oldest) }
    }
    return true
  }

  /// - Returns: whether the list of trusted centrals has changed.
  mutating func succeed(_ central: CentralIdentifier, phone: [UInt8]) -> Bool {
    entries.removeAll { $0.central == central }
    turnedAway.removeAll { $0.central == central }
    let proven = TrustedCentral(central: central, phone: phone)
    if trusted.contains(proven) { return false }
    trusted.removeAll { $0.central == central }
    if trusted.count(where: { $0.phone == phone }) >= LockLimit.linksOfOnePhone,
      let oldest = trusted.firstIndex(where: { $0.phone == phone })
    {
      trusted.remove(at: oldest)
    }
    trusted.append(proven)
    return true
  }
}
