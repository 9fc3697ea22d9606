import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// Another phone brings an owner's introduction.
@Suite("Introductions that other phones bring") struct SealedIntroductionTests {
  private let bobsKey = OwnerKey(key: Curve25519.Signing.PrivateKey())

  /// What the phone with this key writes for the bench's lock, or for another.
  private func introduction(
    _ party: GuestParty, of key: OwnerKey? = nil, name: [UInt8] = Array("Bob".utf8),
    from phone: Bench.PrivateKey? = nil, lock: LockIdentity? = nil, lockKey: Bench.PrivateKey? = nil
  ) throws -> [UInt8] {
    var cryptography = SwiftCryptography()
    return try SealedIntroduction(
      signingKey: (key ?? bobsKey).publicKey, name: name, to: lock ?? party.bench.configuration.identity,
      lockKey: (lockKey ?? party.bench.lockKey).publicKey, from: phone ?? party.bench.keys[1], using: &cryptography
    ).encoded
  }

  @Test("L3 L5: an owner who has not been at the lock is believed, once their introduction was brought, with a record")
  func brought() throws {
    var party = try GuestParty()
    let list = try party.list(1, [.grant(party.grant().identifier)], by: bobsKey).encoded
    #expect(try party.tell(.deliver(list)) == .notBelieved)
    let introduction = try introduction(party)
    // By a guest.
    var conversation = try party.conversation(with: party.grant().encoded)
    let reply = try party.bench.ask(
      LockRequest.bringIntroduction(introduction).encoded, in: &conversation, over: party.guest)
    #expect(reply?.status == .done && reply?.kind == .bringIntroduction)
    let record = try #require(party.bench.log.last)
    #expect(record.change == .ownerIntroduced && record.phone == Array(party.bench.keys[1].publicKey.rawRepresentation))
    #expect(party.bench.access.owners.last?.name == Array("Bob".utf8))
    #expect(try party.tell(.deliver(list)) == .done)
    #expect(try party.come(with: party.grant().encoded) == .revoked)
    // The same again is done, and leaves nothing.
    let count = party.bench.log.count
    #expect(try party.tell(.bringIntroduction(introduction)) == .done)
    #expect(party.bench.log.count == count)
  }

  @Test("attack 18: an old introduction takes the place of no other: an owner changes their key in their own session")
  func old() throws {
    var party = try GuestParty()
    let old = try introduction(party)
    let new = OwnerKey(key: Curve25519.Signing.PrivateKey())
    party.bench.happens(.linkUp(Bench.bob))
    #expect(try party.tell(.introduce(signingKey: new.publicKey, name: []), by: 1) == .done)
    let access = party.bench.access
    #expect(try party.tell(.bringIntroduction(old)) == .notBelieved)
    #expect(party.bench.access == access)
  }

  @Test("attacks 11, 20, 30: an introduction that is forged, changed, for another lock, or of no owner is not believed")
  func forged() throws {
    var party = try GuestParty()
    let (log, access) = (party.bench.log, party.bench.access)
    let other = try #require(LockIdentity([UInt8](repeating: 4, count: 16)))
    var wrong = [
      try introduction(party, lock: other), try introduction(party, lockKey: Bench.PrivateKey()),
      try introduction(party, from: Bench.PrivateKey()), try introduction(party, from: party.guestKey),
      // Alice's signing key under Bob's name.
      try introduction(party, of: party.owner),
    ]
    // A stranger writes it, in Bob's name.
    wrong.append(
      Array(party.bench.keys[1].publicKey.rawRepresentation)
        + (try introduction(party, from: Bench.PrivateKey())).dropFirst(32))
    let right = try introduction(party)
    for place in stride(from: 0, to: right.count, by: 3) {
      var changed = right
      changed[place] ^= 1
      wrong.append(changed)
    }
    for introduction in wrong { #expect(try party.tell(.bringIntroduction(introduction)) == .notBelieved) }
    #expect(try party.tell(.bringIntroduction(Array(right.dropLast(4)))) == .malformed)
    #expect(try party.tell(.bringIntroduction(try introduction(party, name: [0xFF]))) == .malformed)
    #expect(party.bench.log == log && party.bench.access == access)
  }

  @Test("L5: a revoked owner's introduction is not believed") func revoked() throws {
    var party = try GuestParty()
    let introduction = try introduction(party)
    let bob = Array(party.bench.keys[1].publicKey.rawRepresentation.prefix(RevocationList.entryByteCount))
    #expect(try party.tell(.deliver(party.list(1, [.phone(bob)]).encoded)) == .done)
    #expect(try party.tell(.bringIntroduction(introduction)) == .notBelieved)
    #expect(party.bench.access.owners.count == 1)
  }
}
