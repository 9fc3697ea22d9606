import LockProtocol

// How often grants have unlocked. A count that was forgotten would give its guest all uses back.

extension AccessState {
  /// Whether the count of this grant may have been forgotten. Such a grant is over.
  func mayBeForgotten(_ grant: Grant) -> Bool {
    guard let forgottenUntil, grant.schedule.until <= forgottenUntil else { return false }
    return !uses.contains { $0.grant == grant.identifier }
  }

  /// Whether another use of this grant can be counted.
  /// - Parameter now: the earliest that it may be, or `nil` if that is unknown.
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

  /// Takes a use back. If the count is not what it was when that use was counted, nothing is taken back.
  /// - Returns: whether it was.
  mutating func takeBack(_ use: Use) -> Bool {
    guard use.count > 0, let index = uses.firstIndex(of: use) else { return false }
    uses[index].count -= 1
    if uses[index].count == 0 { uses.remove(at: index) }
    return true
  }

  /// The count of a grant that opens nothing any more: the first of those that are over, or else a revoked one.
  private func dispensable(at now: Int64?) -> Int? {
    let over = uses.indices.filter { isOver(uses[$0], at: now) }
    return over.min { uses[$0].until < uses[$1].until } ?? uses.firstIndex(where: isRevoked)
  }

  private func isOver(_ use: Use, at now: Int64?) -> Bool { now.map { use.until <= $0 } ?? false }

  private func isRevoked(_ use: Use) -> Bool { lists.contains { $0.revokes(grant: use.grant) } }
}

/// A use that is counted, and whose bolt has not come to an end since. It pays for what the grant tries until then.
struct PaidUse: Sendable {
  let use: AccessState.Use
  /// Whether the door has moved since, or may have.
  var hasDoorMoved = false
}

extension LockFirmware {
  /// Why the uses of a grant allow no other one; `nil` if they do.
  func refusalOfUse(of grant: Grant) -> LockResult? {
    guard grant.uses > 0, !isPaid(grant) else { return nil }
    if access.useCount(of: grant.identifier) >= grant.uses { return .usedUp }
    if access.mayBeForgotten(grant) { return .expired }
    let limit = configuration.capacity.countedGrants
    return access.hasRoom(for: grant, at: trustedTime?.earliest, limit: limit) ? nil : .tooManyGrants
  }

  /// A counted grant opens: that is stored before the record, so before the bolt turns. If it can't be, the bolt stays.
  /// - Returns: whether the bolt may turn for it.
  mutating func countUse(_ movement: Movement) -> Bool {
    guard let grant = movement.countedGrant, !isPaid(grant) else { return true }
    guard access.count(grant, at: trustedTime?.earliest, limit: configuration.capacity.countedGrants),
      let use = access.uses.last
    else { return false }
    paidUses.append(PaidUse(use: use))
    storeAccess()
    return true
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

  /// A turn has failed, and the bolt rests where it was locked: nobody came in. A bolt that stuck on its way may have let
  /// somebody in, and what is known no more after a restart may, too.
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

  /// The door has moved, or nothing is known of it for a while.
  mutating func doorMayHaveOpened() {
    for index in paidUses.indices { paidUses[index].hasDoorMoved = true }
  }
}

extension Movement {
  /// The grant whose uses it costs.
  var countedGrant: Grant? { target == .unlocked ? grant.flatMap { $0.uses > 0 ? $0 : nil } : nil }
}
