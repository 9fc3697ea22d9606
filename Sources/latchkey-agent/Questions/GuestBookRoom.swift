import LockCryptography
import LockProtocol

/// What there is room for: in the book, and in a revocation list.
extension GuestBook {
  /// How long a grant has been over, by this phone's clock, when its guest makes room for another. No lock that has a
  /// time is so far behind, and a phone's clock that is ahead by less leaves nobody out.
  private static let forgettingDelay: Int64 = 30 * 86_400
  /// The entries of a list that are kept for phones. A lost phone's key can't be kept out in any other way.
  private static let entriesForPhones = 16
  /// How many guests, or entries, there are when this phone's owner is told that there is an end.
  private static let manyGuests = 200
  private static let manyEntries = 100

  /// Makes room for another guest. Those whose grants have been over for longest are left out, of these first those who
  /// were not revoked: they need no entry in a list.
  mutating func makeRoom(at unixSeconds: Int64) throws {
    while placesTaken(at: unixSeconds) >= Self.guestLimit {
      let past = guests.indices.compactMap { index -> (index: Int, until: Int64)? in
        guard let until = Self.grant(guests[index])?.schedule.until else { return nil }
        return until < unixSeconds - Self.forgettingDelay ? (index, until) : nil
      }
      let first = past.min { one, other in
        let (isOne, isOther) = (guests[one.index].isRevoked, guests[other.index].isRevoked)
        return isOne == isOther ? one.until < other.until : isOther
      }
      guard let first else {
        throw NoAnswer(
          "There are \(Self.guestLimit) guests, and there is no room for more in the list. Revoke those who need not come any more "
            + "(latchkey guests revoke); who was invited with --until makes room a month after that.")
      }
      guests.remove(at: first.index)
    }
  }

  /// How many guests take places. Who is revoked, and not over, has a place in the list instead.
  private func placesTaken(at unixSeconds: Int64) -> Int {
    guests.count { guest in !guest.isRevoked || Self.grant(guest).map { $0.isOver(at: unixSeconds) } ?? true }
  }

  /// Those whom a person is shown: everybody who may come, and of the others the latest.
  var shown: [Guest] {
    var surplus = guests.count - Self.guestLimit
    return guests.filter { guest in
      guard guest.isRevoked, surplus > 0 else { return true }
      surplus -= 1
      return false
    }
  }

  /// The guest with this name is revoked: the next list says so. Changes nothing if no list has room for it.
  mutating func revoke(guest name: String, at unixSeconds: Int64) throws {
    guard let index = guests.lastIndex(where: { $0.name == name }), let grant = Self.grant(guests[index]) else {
      throw NoAnswer("There is no guest \"\(name)\": latchkey guests list.")
    }
    var changed = self
    changed.guests[index].isRevoked = true
    let count = changed.entries(at: unixSeconds, isShort: true).count
    let room = RevocationList.maximumCount - Self.entriesForPhones
    guard count <= room || count <= entries(at: unixSeconds, isShort: true).count else {
      throw NoAnswer(
        "Not revoked: \(name) stays welcome. A list has room for \(room) guests who are revoked and not over yet. To keep "
          + "\(name)'s phone out altogether: latchkey guests revoke --key \(Hex.text(grant.phone))")
    }
    self = changed
  }

  /// What an owner should know before there is no room any more; `nil` while there is much.
  func advice(at unixSeconds: Int64) -> String? {
    let places = placesTaken(at: unixSeconds)
    if places >= Self.manyGuests {
      return
        "There are \(places) guests, of \(Self.guestLimit) at most: with --until they make room when they are over."
    }
    let entries = entries(at: unixSeconds, isShort: true).count
    guard entries >= Self.manyEntries else { return nil }
    return
      "\(entries) are revoked for good, of \(RevocationList.maximumCount) at most: who is invited with --until takes no place "
      + "when that is over, and revoking a phone's --key takes one for all its invitations."
  }

  /// The entries of a list: everything that is revoked. This phone's clock may run ahead, and an entry that is left out
  /// is not revoked any more. So grants that seem to be over are included as far as there is room, those that ended
  /// last first. A phone that is revoked needs no entries for its grants.
  /// - Parameter isShort: leave out the grants that seem to be over, because the lock has no room for them.
  func entries(at unixSeconds: Int64, isShort: Bool = false) -> [RevocationList.Entry] {
    let revoked = revokedPhones.compactMap { Hex.bytes($0) }
    let grants = guests.filter(\.isRevoked).compactMap { Self.grant($0) }.filter { !revokes(phone: $0.phone) }
    let phones = revoked.map { RevocationList.Entry.phone($0) }
    let needed = phones + grants.filter { !$0.isOver(at: unixSeconds) }.map { .grant($0.identifier) }
    if isShort { return needed }
    let over = grants.filter { $0.isOver(at: unixSeconds) }.sorted { $0.schedule.until > $1.schedule.until }
    return needed + over.prefix(max(0, RevocationList.maximumCount - needed.count)).map { .grant($0.identifier) }
  }

  /// Whether this owner has revoked the phone with this key.
  func revokes(phone key: [UInt8]) -> Bool {
    revokedPhones.contains(Hex.text(Array(key.prefix(RevocationList.entryByteCount))))
  }
}

extension Grant {
  fileprivate func isOver(at unixSeconds: Int64) -> Bool { schedule.verdict(at: unixSeconds) == .over }
}
