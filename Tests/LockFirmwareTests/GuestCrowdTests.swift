import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// More guests than a lock remembers.
@Suite("A crowd of guests") struct GuestCrowdTests {
  @Test("L5: however many guests come, the lock remembers some of them and every owner") func trusted() throws {
    var party = try GuestParty()
    party.bench.happens(.linkUp(Bench.bob))
    try party.bench.command(.status, 0, by: 1)
    for number in 0..<300 as Range<UInt64> {
      let key = Bench.PrivateKey()
      let central = CentralIdentifier(high: 1, low: 1000 + number)
      var grant = try party.grant()
      grant.phone = Array(key.publicKey.rawRepresentation)
      grant = try party.owner.sign(grant)
      party.bench.happens(.linkUp(central))
      var session = try party.bench.session(central, key: key)
      party.bench.happens(
        .commandWritten(
          central,
          try session.seal(LockCommand(.status, operation: 0), grant: grant.encoded, using: &party.bench.cryptography)))
      #expect(party.bench.trusted.last?.central == central)
      party.bench.happens(.linkDown(central))
    }
    #expect(party.bench.trusted.count <= LockCapacity.machine.trustedCentrals, "\(party.bench.trusted.count)")
    // latchkeyd ends an app that lets in more (`CentralAdmission.limit`).
    #expect(party.bench.firmware.knownCentrals.count <= 256)
    #expect(LockCapacity.machine.trustedCentrals + LockCapacity.machine.strangersLinks <= 256)
    let phones = Set(party.bench.trusted.map(\.phone))
    for key in party.bench.keys { #expect(phones.contains(Array(key.publicKey.rawRepresentation)), "an owner") }
  }
}
