import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// An owner's phone was enrolled again with another key, and keeps its signing key.
@Suite("A phone in the place of an earlier one") struct ReplacedPhoneTests {
  private func key(of phone: Int, at party: GuestParty) -> [UInt8] {
    Array(party.bench.keys[phone].publicKey.rawRepresentation)
  }

  private func entry(of phone: Int, at party: GuestParty) -> RevocationList.Entry {
    .phone(Array(key(of: phone, at: party).prefix(RevocationList.entryByteCount)))
  }

  @Test(
    "L5: an owner's own list takes their earlier phone out, and then their signing key and its grants count for the new one"
  )
  func replaced() throws {
    var party = try GuestParty()
    let grant = try party.grant().encoded
    party.bench.happens(.linkUp(Bench.bob))
    let introduction = LockRequest.introduce(signingKey: party.owner.publicKey, name: Array("Alice".utf8))
    // As long as the first phone is an owner's, the key is that one's: nobody makes another's signatures void.
    #expect(try party.tell(introduction, by: 1) == .notBelieved)
    #expect(try party.come(with: grant) == .done)
    let list = try party.list(1, [entry(of: 0, at: party)])
    #expect(try party.tell(.deliver(list.encoded), by: 1) == .done)
    #expect(try party.come(.lock, with: grant) == nil, "nobody whom the lock believes has signed it now")
    #expect(try party.tell(introduction, by: 1) == .done)
    #expect(party.bench.access.owners.map(\.phone) == [key(of: 1, at: party)])
    #expect(party.bench.log.last?.change == .ownerIntroduced && party.bench.log.last?.phone == key(of: 1, at: party))
    #expect(try party.come(.lock, with: grant) == .done)
    // The lists go on where they were, and the earlier phone stays out.
    #expect(try party.tell(.deliver(party.list(1, []).encoded), by: 1) == .older)
    party.bench.restart()
    party.bench.happens(.linkUp(Bench.alice))
    try party.bench.command(.unlock, 900)
    #expect(party.bench.refusals.last == .notEnrolled)
  }

  @Test("L5: what a stranger or a guest tells takes no owner out and no signing key over")
  func strangers() throws {
    var party = try GuestParty()
    let grant = try party.grant().encoded
    let before = party.bench.access.owners
    var conversation = try party.conversation(with: grant)
    let introduction = LockRequest.introduce(signingKey: party.owner.publicKey, name: [])
    #expect(
      try party.bench.ask(introduction.encoded, in: &conversation, over: party.guest)?.status == .notEntitled)
    let own = OwnerKey(key: .init())
    let list = try party.list(9, [entry(of: 0, at: party)], by: own)
    #expect(
      try party.bench.ask(LockRequest.deliver(list.encoded).encoded, in: &conversation, over: party.guest)?.status
        == .notBelieved)
    #expect(party.bench.access.owners == before && party.bench.access.lists.isEmpty)
  }
}
