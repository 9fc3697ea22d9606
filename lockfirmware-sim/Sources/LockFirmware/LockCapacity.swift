import LockProtocol

/// How much a lock holds. A board has 32 KiB for all of it. A machine with Linux has room for more than a home needs.
/// If something does not fit, it is refused, the refusal is reported, and what is there stays. Where the oldest entry
/// makes room instead, the property says so.
package struct LockCapacity: Equatable, Sendable {
  /// Simultaneous links in all. A new one takes the place of the oldest that has proven nothing.
  package var links: Int
  /// Of those: links that have proven nothing. The oldest makes room.
  package var strangersLinks: Int
  /// Of those: links of guests. So there is always a place for an owner.
  package var guestsLinks: Int
  /// Grants whose uses are counted.
  package var countedGrants: Int
  /// Guests whose names are remembered. Also limits the centrals of guests that are kept (`guestsCentrals`). The oldest
  /// guest makes room, and is remembered again at the next visit.
  package var guests: Int
  /// Owners who have introduced their signing keys.
  package var owners: Int
  /// Owners' phones, with those of the lock's key file.
  package var phones: Int
  /// Owners' revocation lists, and the entries of all of them together.
  package var lists: Int
  package var listEntries: Int
  /// Operations remembered.
  package var operations: Int
  /// Accepted commands of links that have ended, which their phones may write again. The oldest makes room.
  package var lateCommands: Int
  /// Centrals whose failures are remembered.
  package var centralsWithFailures: Int
  /// Names, or records, in one reply.
  package var replyEntries: Int
  /// The longest request that is put together from fragments, in bytes.
  package var requestByteCount: Int
  /// The bytes of all incomplete requests together. A guest's request makes room for an owner's.
  package var begunByteCount: Int

  /// On Linux.
  package static let machine = LockCapacity(
    links: 256, strangersLinks: 16, guestsLinks: 128, countedGrants: AccessState.useLimit,
    guests: AccessState.guestLimit, owners: AccessState.ownerLimit, phones: LockLimit.phones,
    lists: AccessState.listLimit, listEntries: AccessState.listLimit * RevocationList.maximumCount,
    operations: LockLimit.operations, lateCommands: 128, centralsWithFailures: 32, replyEntries: KeyName.maximumCount,
    requestByteCount: Fragments.maximumMessageByteCount, begunByteCount: 1 << 18)

  /// On a board with an arena of 32 KiB.
  package static let board = LockCapacity(
    links: 8, strangersLinks: 5, guestsLinks: 4, countedGrants: 32, guests: 12, owners: 4, phones: 8, lists: 4,
    listEntries: 32, operations: 16, lateCommands: 1, centralsWithFailures: 8, replyEntries: 8, requestByteCount: 768,
    begunByteCount: 1536)

  /// The most guests' centrals that are trusted. Those of refused guests have places of their own.
  var guestsCentrals: Int { max(1, guests - strangersLinks) }

  /// The most centrals that are kept for the next start. Together with those of refused guests they are named to the
  /// lock's system, and latchkeyd ends an app that names more than 256.
  package var trustedCentrals: Int { phones * LockLimit.linksOfOnePhone + guestsCentrals }

  /// The longest that `AccessState` can be encoded to, in bytes: what a board's page must have room for.
  package var accessByteCount: Int {
    let name = NoiseSize.keyByteCount + 1 + KeyName.nameByteLimit
    let signer = name + NoiseSize.keyByteCount
    let use = Grant.identifierByteCount + 2 + 8
    let list = RevocationList.maximumByteCount - RevocationList.maximumCount * RevocationList.packedEntryByteCount
    return 1 + 9 + 2 + AccessState.bootByteCount + 16 + 7 + 9 + owners * signer + (phones + guests) * name
      + countedGrants * use
      + lists * (2 + list) + listEntries * RevocationList.packedEntryByteCount
  }
}
