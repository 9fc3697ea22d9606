import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// What an owner tells a lock of themselves.
@Suite("Owners introduce themselves") struct IntroductionTests {
  /// Verifications with this key accept a signature that anybody can write: R is the key itself, S is 0.
  private static let neutral = [1] + [UInt8](repeating: 0, count: 31)

  @Test("L5: a signing key with which everybody could sign is refused, and changes nothing") func lowOrder() throws {
    var party = try GuestParty(introduces: false)
    let (log, access) = (party.bench.log, party.bench.access)
    #expect(try party.tell(.introduce(signingKey: Self.neutral, name: Array("Alice".utf8))) == .notBelieved)
    #expect(party.bench.log == log && party.bench.access == access)
  }

  @Test("L5: nor does what is signed with one count that a lock of an earlier version has stored") func stored() throws
  {
    var party = try GuestParty()
    party.bench.access.owners[0].signingKey = Self.neutral
    party.bench.restart()
    party.bench.happens(.linkUp(Bench.alice))
    party.bench.happens(.linkUp(party.guest))
    var grant = try party.grant()
    grant.issuer = Self.neutral
    grant.signature = Self.neutral + [UInt8](repeating: 0, count: 32)
    #expect(grant.isSigned(using: SwiftCryptography.self), "or this test shows nothing")
    #expect(try party.come(with: grant.encoded) == nil)
    var list = try party.list(1, [.grant(grant.identifier)])
    list.issuer = Self.neutral
    list.signature = grant.signature
    #expect(try party.tell(.deliver(list.encoded)) == .notBelieved)
    #expect(party.bench.turns.isEmpty)
  }

  @Test("L5: a name that is not UTF-8 is refused, an owner's and a guest's, and changes nothing") func names() throws {
    var party = try GuestParty()
    let (log, access) = (party.bench.log, party.bench.access)
    let key = Array(Curve25519.Signing.PrivateKey().publicKey.rawRepresentation)
    #expect(try party.tell(.introduce(signingKey: key, name: [0x41, 0xFF])) == .malformed)
    #expect(party.bench.log == log && party.bench.access == access)
    var grant = try party.grant()
    grant.name = [0x42, 0xC3]
    grant = try party.owner.sign(grant)
    #expect(try party.come(with: grant.encoded) == nil)
    #expect(party.bench.log == log && party.bench.access == access)
    #expect(try party.come(with: party.grant().encoded) == .done)
  }
}
