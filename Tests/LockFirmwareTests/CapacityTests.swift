import Crypto
import Foundation
import LockCryptography
import LockFirmware
import LockProtocol
import ProcessTesting
import Testing

/// A lock that holds little: what is more is refused, said, and changes nothing.
@Suite("How much a lock holds") struct CapacityTests {
  private func party(_ change: (inout LockCapacity) -> Void) throws -> GuestParty {
    var party = try GuestParty()
    party.bench.configuration.capacity = .board
    change(&party.bench.configuration.capacity)
    party.bench.restart()
    party.bench.happens(.linkUp(Bench.alice))
    party.bench.happens(.linkUp(party.guest))
    return party
  }

  /// The grant of another guest.
  private func grant(_ number: UInt8, _ key: Bench.PrivateKey, uses: UInt16 = 0, of party: GuestParty) throws -> [UInt8]
  {
    var grant = try party.grant(uses: uses)
    grant.identifier = [UInt8](repeating: number, count: 16)
    grant.phone = Array(key.publicKey.rawRepresentation)
    return try party.owner.sign(grant).encoded
  }

  private func noRoomNotes(_ bench: Bench) -> Int {
    bench.notes.count { if case .noRoom = $0 { true } else { false } }
  }

  @Test("L5: a board counts the uses of 32 grants, refuses another, and says how many it counts") func counted() throws
  {
    #expect(LockCapacity.board.countedGrants == 32 && LockCapacity.board.links == 8)
    var party = try party { _ in }
    for number in 0..<32 as Range<UInt8> {
      party.bench.access.uses.append(AccessState.Use(grant: [UInt8](repeating: 100 + number, count: 16), count: 1))
    }
    party.bench.restart()
    party.bench.happens(.linkUp(party.guest))
    let before = party.bench.access
    #expect(try party.come(with: party.grant(uses: 1).encoded) == .tooManyGrants)
    #expect(party.bench.log.last?.result == .tooManyGrants && party.bench.turns.isEmpty)
    #expect(party.bench.access.uses == before.uses)
    party.bench.happens(.linkUp(Bench.alice))
    var conversation = try party.bench.conversation()
    let reply = try #require(try party.bench.ask(LockRequest.room.encoded, in: &conversation))
    #expect(try LockRoom(decoding: reply.body) == LockRoom(countedGrants: 32, freeGrants: 0))
    // One that is revoked makes room.
    let list = try party.list(1, [.grant([UInt8](repeating: 101, count: 16))])
    #expect(try party.tell(.deliver(list.encoded)) == .done)
    party.bench.milliseconds += 1
    party.bench.happens(.offerRead(Bench.alice))
    conversation = try party.bench.conversation()
    let later = try #require(try party.bench.ask(LockRequest.room.encoded, in: &conversation))
    #expect(try LockRoom(decoding: later.body).freeGrants == 1)
    #expect(try party.come(with: party.grant(uses: 1).encoded) == .done)
  }

  @Test("L5: a guest is not told how much room the lock has") func roomForOwners() throws {
    var party = try party { _ in }
    var conversation = try party.conversation(with: party.grant().encoded)
    #expect(try party.bench.ask(LockRequest.room.encoded, in: &conversation, over: party.guest)?.status == .notEntitled)
  }

  @Test(
    "attack 25: as many links as a lock holds: a stranger's makes room, a phone's does not, and the journal says so")
  func links() throws {
    var party = try party {
      $0.links = 3
      $0.strangersLinks = 2
    }
    let strangers = (0..<6 as Range<UInt64>).map { CentralIdentifier(high: 9, low: $0) }
    party.bench.happens(.linkUp(Bench.alice))
    try party.bench.command(.status, 0)
    for stranger in strangers { party.bench.happens(.linkUp(stranger)) }
    #expect(party.bench.offers[4] != nil && party.bench.offers[5] != nil)
    // The oldest was dropped, and alice's was not.
    party.bench.happens(.commandWritten(strangers[3], [1]))
    #expect(party.bench.refusals.last == .noOffer)
    party.bench.happens(.linkUp(Bench.bob))
    try party.bench.command(.status, 0, by: 1)
    #expect(try party.come(.status, with: party.grant().encoded) != nil)
    party.bench.offers[0] = nil
    party.bench.happens(.linkUp(strangers[0]))
    party.bench.happens(.offerRead(strangers[0]))
    #expect(party.bench.offers[0] == nil)
    #expect(party.bench.notes.contains(.linkRefused(strangers[0])))
    #expect(try party.tell(.state) == .done)
    #expect(try party.tell(.state, by: 1) == .done)
  }

  @Test("L5: guests take no more links than they may; the one who is too many is told so, and has a place for an owner")
  func guestsLinks() throws {
    var party = try party { $0.guestsLinks = 1 }
    #expect(try party.come(.status, with: party.grant().encoded) != nil)
    let carol = Bench.PrivateKey()
    let central = CentralIdentifier(high: 0, low: 8)
    party.bench.happens(.linkUp(central))
    let before = party.bench.access
    var session = try party.bench.session(central, key: carol)
    party.bench.happens(
      .commandWritten(
        central,
        try session.seal(
          LockCommand(.unlock, operation: 5), grant: grant(8, carol, of: party), using: &party.bench.cryptography)))
    #expect(try session.open(try #require(party.bench.answers[central.low]?.last)).result == .tooManyGuests)
    #expect(party.bench.log.last?.result == .tooManyGuests && party.bench.turns.isEmpty)
    #expect(party.bench.access == before)
    // The first one stays, and an owner comes over the same link.
    #expect(try party.come(with: party.grant().encoded) == .done)
    party.bench.happens(.linkUp(Bench.bob))
    #expect(try party.tell(.state, by: 1) == .done)
    // When the first one has gone, there is room.
    party.bench.happens(.linkDown(party.guest))
    party.bench.pass(20)
    party.bench.happens(.offerRead(central))
    session = try party.bench.session(central, key: carol)
    party.bench.happens(
      .commandWritten(
        central,
        try session.seal(
          LockCommand(.status, operation: 6), grant: grant(8, carol, of: party), using: &party.bench.cryptography)))
    #expect(try session.open(try #require(party.bench.answers[central.low]?.last)).result == .unknownOperation)
  }

  @Test("L5: a list for which there is no room is refused with a word, and the one before it stays")
  func lists() throws {
    var party = try party {
      $0.listEntries = 4
      $0.lists = 1
    }
    let entry = RevocationList.Entry.grant([UInt8](repeating: 1, count: 16))
    #expect(try party.tell(.deliver(party.list(1, [entry]).encoded)) == .done)
    let before = party.bench.access
    #expect(try party.tell(.deliver(party.list(2, Array(repeating: entry, count: 5)).encoded)) == .noRoom)
    #expect(party.bench.access.lists == before.lists && noRoomNotes(party.bench) == 1)
    // Another owner's is one too many.
    let other = OwnerKey(key: Curve25519.Signing.PrivateKey())
    party.bench.happens(.linkUp(Bench.bob))
    #expect(try party.tell(.introduce(signingKey: other.publicKey, name: []), by: 1) == .done)
    #expect(try party.tell(.deliver(party.list(1, [], by: other).encoded), by: 1) == .noRoom)
    // A request that is longer than all that the lock can take is answered, too.
    let long = try party.list(3, Array(repeating: entry, count: 100)).encoded
    #expect(try party.tell(.deliver(long)) == .noRoom)
    #expect(party.bench.access.lists == before.lists)
    #expect(try party.tell(.deliver(party.list(2, Array(repeating: entry, count: 4)).encoded)) == .done)
  }

  @Test("L5: requests of guests that never end make room for an owner's") func unfinished() throws {
    var party = try party { $0.begunByteCount = 900 }
    let conversation = try party.conversation(with: party.grant().encoded)
    for number in 0..<4 as Range<UInt8> {
      let header = number | (number == 0 ? 0x40 : 0)
      party.bench.happens(
        .requestWritten(party.guest, [conversation.tag, header] + [UInt8](repeating: 7, count: 190)))
    }
    let entry = RevocationList.Entry.grant([UInt8](repeating: 1, count: 16))
    let list = try party.list(1, Array(repeating: entry, count: 20)).encoded
    #expect(try party.tell(.deliver(list)) == .done)
    #expect(noRoomNotes(party.bench) == 0)
  }

  @Test("L5: an owner who was revoked makes room for a new one, and what they revoked stays revoked") func owners()
    throws
  {
    var party = try party { $0.owners = 1 }
    let grant = try party.grant()
    #expect(try party.tell(.deliver(party.list(1, [.grant(grant.identifier)]).encoded)) == .done)
    party.bench.happens(.linkUp(Bench.bob))
    let other = OwnerKey(key: Curve25519.Signing.PrivateKey())
    #expect(try party.tell(.introduce(signingKey: other.publicKey, name: []), by: 1) == .noRoom)
    #expect(noRoomNotes(party.bench) == 1)
    // Alice revokes herself: nobody else has a list here.
    let alice = Array(party.bench.keys[0].publicKey.rawRepresentation.prefix(RevocationList.entryByteCount))
    #expect(try party.tell(.deliver(party.list(2, [.grant(grant.identifier), .phone(alice)]).encoded)) == .done)
    #expect(try party.tell(.introduce(signingKey: other.publicKey, name: []), by: 1) == .done)
    #expect(party.bench.access.lists.contains { $0.revokes(grant: grant.identifier) })
  }

  @Test("L6: what a board stores of owners and guests fits into a page, whatever they tell it")
  func page() {
    #expect(LockCapacity.board.accessByteCount <= 4096 - 64 - 128)
    #expect(LockCapacity.machine.accessByteCount < 1 << 20)
  }

  @Test("L6: the protocol's page says how much a lock holds") func documented() throws {
    let text = try String(contentsOfFile: TestPlaces.package + "/docs/lock-protocol.md", encoding: .utf8)
    let (machine, board) = (LockCapacity.machine, LockCapacity.board)
    for (name, value) in [
      ("links that have proven nothing", \LockCapacity.strangersLinks), ("links of guests", \.guestsLinks),
      ("links in all", \.links), ("grants whose uses are counted", \.countedGrants), ("names of guests", \.guests),
      ("owners' phones", \.phones), ("owners with signing keys", \.owners), ("revocation lists", \.lists),
      ("entries of all lists", \.listEntries), ("operations remembered", \.operations),
      ("a sealed request", \.requestByteCount), ("all unfinished requests", \.begunByteCount),
      ("records or names in a reply", \.replyEntries),
    ] as [(String, KeyPath<LockCapacity, Int> & Sendable)] {
      let row = "| \(name) | \(machine[keyPath: value]) | \(board[keyPath: value])"
      #expect(text.contains(row + " |") || text.contains(row + " bytes |"), "\(row)")
    }
  }

  @Test("L6: the door's sensor remembers a number of phones, and forgets first of whom it knows least") func doorWatch()
  {
    var watch = DoorWatch(isOnlyWay: true, door: .closed, limit: 16)
    let owner = [UInt8](repeating: 1, count: 32)
    // The owner goes out: the door opens beside them, and the link is lost.
    watch.moved(to: .open, beside: [owner], at: 1000)
    watch.moved(to: .closed, beside: [owner], at: 2000)
    watch.linkLost(owner, at: 3000)
    #expect(watch.whereabouts(of: owner, at: 3000) == .left)
    for number in 0..<500 as Range<UInt16> {
      let guest = [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 9, count: 30)
      watch.comes(guest, isOnApproach: true, at: 4000)
    }
    #expect(watch.knownCount <= 16)
    #expect(watch.whereabouts(of: owner, at: 5000) == .left)
  }

  @Test("L2: a phone that is inside and had to make room for others is still asked, until the door opens without it")
  func doorWatchInside() {
    var watch = DoorWatch(isOnlyWay: true, door: .closed, limit: 4)
    func phone(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }
    func enters(_ number: UInt8, at now: Int64) {
      watch.comes(phone(number), isOnApproach: true, at: now)
      watch.moved(to: .open, beside: (1...number).map(phone), at: now + 1000)
      watch.moved(to: .closed, beside: (1...number).map(phone), at: now + 2000)
    }
    // Everybody stays in, and later the door has rested.
    for number in 1...6 as ClosedRange<UInt8> { enters(number, at: Int64(number) * 10_000) }
    let rested: Int64 = 60_000 + 2000 + DoorWatch.restMilliseconds + 1
    for number in 1...6 as ClosedRange<UInt8> { watch.linkLost(phone(number), at: rested) }
    #expect(watch.knownCount == 4)
    for number in 1...6 as ClosedRange<UInt8> {
      #expect(watch.whereabouts(of: phone(number), at: rested) == .inside, "\(number)")
    }
    // The strong signal of one that was forgotten is no arrival either.
    watch.comes(phone(1), isOnApproach: true, at: rested)
    #expect(watch.whereabouts(of: phone(1), at: rested) == .inside)
    // Somebody without a phone goes out and comes in: nothing is known of anybody.
    watch.moved(to: .open, beside: [], at: rested + 1000)
    watch.moved(to: .closed, beside: [], at: rested + 2000)
    for number in 1...6 as ClosedRange<UInt8> {
      #expect(watch.whereabouts(of: phone(number), at: rested + 3000) == .unknown)
    }
  }

  @Test("L2: a phone that came home and had to make room before the door opened counts as inside then")
  func doorWatchCame() {
    var watch = DoorWatch(isOnlyWay: true, door: .closed, limit: 2)
    let all = (1...3 as ClosedRange<UInt8>).map { [UInt8](repeating: $0, count: 32) }
    for phone in all { watch.comes(phone, isOnApproach: true, at: 1000) }
    watch.moved(to: .open, beside: [all[0]], at: 2000)
    watch.moved(to: .closed, beside: [all[0]], at: 3000)
    // A radio that fails soon after is no leaving.
    watch.linkLost(all[0], at: 4000)
    #expect(watch.whereabouts(of: all[0], at: 4000) == .inside)
  }
}
