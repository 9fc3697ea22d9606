import LockProtocol

// How often grants have unlocked. If a count were forgotten, its guest would get all uses back.

extension AccessState {
  /// Whether the count of this grant may have been forgotten. Such a grant counts as over.
  func mayBeForgotten(_ grant: Grant) -> Bool {
    guard let forgottenUntil, grant.schedule.until <= forgottenUntil else { return false }
    return !uses.contains { $0.grant == grant.identifier }
  }

  /// Whether another use of this grant can be counted.
  /// - Parameter now: the earliest time that it may be now, in seconds since 1970-01-01 UTC, or `nil` if that is
  ///   unknown.
  func hasRoom(for grant: Grant, at now: Int64?, limit: Int) -> Bool {
    uses.count < limit || uses.contains { $0.grant == grant.identifier } || dispensable(at: now) != nil
  }

  /// - Returns: whether it is counted.
  mutating func count(_ grant: Grant, at now: Int64?, limit: Int) -> Bool {
    guard hasRoom(for: grant, at: now, limit: limit) else { return false }
    let before = useCount(of: grant.identifier)
    uses.removeAll { $0.grant == grant.identifier }
    if uses.count >= limit, let index = dispensable(at: now) {
      let forgotten = uses.remove(at: index)
      if isOver(forgotten, at: now) { forgottenUntil = max(forgottenUntil ?? .min, forgotten.until) }
    }
    uses.append(
      Use(grant: grant.identifier, count: before == .max ? .max : before + 1, until: grant.schedule.until))
    return true
  }

  /// How many more grants can be counted.
  func freeUses(at now: Int64?, limit: Int) -> Int {
    max(0, limit - uses.count) + uses.count { isOver($0, at: now) || isRevoked($0) }
  }

  /// Takes a use back. Does nothing if the count has changed since that use was counted.
  /// - Returns: whether the use was taken back.
  mutating func takeBack(_ use: Use) -> Bool {
    unmovedUse = nil
    guard use.count > 0, let index = uses.firstIndex(of: use) else { return false }
    uses[index].count -= 1
    if uses[index].count == 0 { uses.remove(at: index) }
    return true
  }

  /// The index of a count that is no longer needed: the first grant that is over, or else a revoked one.
  private func dispensable(at now: Int64?) -> Int? {
    let over = uses.indices.filter { isOver(uses[$0], at: now) }
    return over.min { uses[$0].until < uses[$1].until } ?? uses.firstIndex(where: isRevoked)
  }

  private func isOver(_ use: Use, at now: Int64?) -> Bool { now.map { use.until <= $0 } ?? false }

  private func isRevoked(_ use: Use) -> Bool { lists.contains { $0.revokes(grant: use.grant) } }
}

/// A counted use whose turn of the bolt has not reached an end yet. Until it does, further tries with the grant cost no
/// other use.
struct PaidUse: Sendable {
  let use: AccessState.Use
  /// Whether the door has moved since, or may have.
  var hasDoorMoved = false
}

extension LockFirmware {
  /// Why the grant may not be used once more, or `nil` if it may.
  func refusalOfUse(of grant: Grant) -> LockResult? {
    guard grant.uses > 0, !isPaid(grant) else { return nil }
    if access.useCount(of: grant.identifier) >= grant.uses { return .usedUp }
    if access.mayBeForgotten(grant) { return .expired }
    let limit = configuration.capacity.countedGrants
    return access.hasRoom(for: grant, at: trustedTime?.earliest, limit: limit) ? nil : .tooManyGrants
  }

  /// Counts a use of a counted grant. The use is stored before the record, so before the bolt turns. If it can't be
  /// stored, the bolt stays.
  /// - Returns: whether the bolt may turn for it.
  mutating func countUse(_ movement: Movement) -> Bool {
    guard let grant = movement.countedGrant, !isPaid(grant) else { return true }
    guard access.count(grant, at: trustedTime?.earliest, limit: configuration.capacity.countedGrants),
      let use = access.uses.last
    else { return false }
    paidUses.append(PaidUse(use: use))
    access.unmovedUse = nextRecordIndex
    storeAccess()
    return true
  }

  /// The last run ended between a use and the record of its movement. No record, no movement: the guest keeps the use. If the log is
  /// shorter than it was then, nobody knows, and the use counts.
  /// - Parameter last: the index of the log's newest record, 0 if there is none.
  mutating func takeBackUnmovedUse(after last: UInt64) {
    guard let record = access.unmovedUse else { return }
    access.unmovedUse = nil
    if record == last + 1, let use = access.uses.last { _ = access.takeBack(use) }
    storeAccess()
  }

  mutating func replyRoom(_ asked: Asked) {
    guard isOwner(asked.phone) else { return reply(asked, .notEntitled) }
    let limit = configuration.capacity.countedGrants
    let room = LockRoom(
      countedGrants: UInt16(clamping: limit),
      freeGrants: UInt16(clamping: access.freeUses(at: trustedTime?.earliest, limit: limit)))
    reply(asked, .done, room.encoded)
  }

  private func isPaid(_ grant: Grant) -> Bool { paidUses.contains { $0.use.grant == grant.identifier } }

  /// Takes a use back after a turn has failed, if the bolt rests where it was locked: nobody came in. A bolt that got
  /// stuck on its way may have let somebody in. So may one whose turn is unknown after a restart.
  mutating func returnUse(of movement: Movement) {
    guard position == .locked, let grant = movement.countedGrant,
      let index = paidUses.firstIndex(where: { $0.use.grant == grant.identifier && !$0.hasDoorMoved })
    else { return }
    if access.takeBack(paidUses.remove(at: index).use) { storeAccess() }
  }

  /// A bolt that stuck on its way has come to an end. If it is locked and the door was shut all the time, as a sensor
  /// shows, nobody came in.
  mutating func settleUses() {
    guard !paidUses.isEmpty, !isMechanismFailed, position != .between, movement?.target != .unlocked else { return }
    let settled = paidUses
    paidUses = []
    guard position == .locked, hasDoorMoved else { return }
    var isChanged = false
    for paid in settled where !paid.hasDoorMoved { isChanged = access.takeBack(paid.use) || isChanged }
    if isChanged { storeAccess() }
  }

  /// The door has moved, or its position is not known for a while.
  mutating func doorMayHaveOpened() {
    for index in paidUses.indices { paidUses[index].hasDoorMoved = true }
  }
}

extension Movement {
  /// The grant that pays for this movement with a use, or `nil` if none does.
  var countedGrant: Grant? { target == .unlocked ? grant.flatMap { $0.uses > 0 ? $0 : nil } : nil }
}
