import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// Commands that share one turn of the bolt, of which the first one is refused before it begins.
@Suite("Commands that wait together") struct JoinedCommandTests {
  /// An owner is locking the door, and a guest's unlock waits; then the guest is revoked.
  private func party() throws -> GuestParty {
    var party = try GuestParty()
    party.bench.finishesTurns = false
    party.bench.happens(.linkUp(Bench.bob))
    party.bench.happens(.offerRead(Bench.alice))
    try party.bench.command(.unlock, 600)
    party.bench.finishTurn()
    party.bench.happens(.offerRead(Bench.alice))
    try party.bench.command(.lock, 601)
    #expect(party.bench.turning == .locked)
    let grant = try party.grant()
    try party.write(.unlock, with: grant.encoded)
    #expect(try party.tell(.deliver(party.list(1, [.grant(grant.identifier)]).encoded), by: 1) == .done)
    return party
  }

  @Test("L5: an owner's unlock that waits with a refused guest's opens all the same, and the guest is refused")
  func owner() throws {
    var party = try party()
    party.bench.happens(.offerRead(Bench.bob))
    let session = try party.bench.command(.unlock, 700, by: 1)
    party.bench.finishTurn()
    #expect(party.bench.turning == .unlocked)
    let guest = Array(party.guestKey.publicKey.rawRepresentation)
    #expect(party.bench.log.last { $0.phone == guest }?.result == .revoked)
    party.bench.finishTurn()
    #expect(try party.bench.answer(session, by: 1).result == .done)
    let movement = try #require(party.bench.log.last { $0.kind == .movement })
    #expect(movement.operation == 700 && movement.target == .unlocked)
  }

  @Test("L5: another guest's unlock that waits with it is judged, and counted, as that guest's own")
  func otherGuest() throws {
    var party = try party()
    let carolKey = Bench.PrivateKey()
    let carol = CentralIdentifier(high: 0, low: 8)
    var grant = try party.grant(uses: 1)
    grant.identifier = [UInt8](repeating: 8, count: 16)
    grant.phone = Array(carolKey.publicKey.rawRepresentation)
    grant = try party.owner.sign(grant)
    party.bench.happens(.linkUp(carol))
    var session = try party.bench.session(carol, key: carolKey)
    let write = try session.seal(
      LockCommand(.unlock, operation: 800), grant: grant.encoded, using: &party.bench.cryptography)
    party.bench.happens(.commandWritten(carol, write))
    party.bench.finishTurn()
    #expect(party.bench.turning == .unlocked)
    party.bench.finishTurn()
    #expect(try session.open(try #require(party.bench.answers[carol.low]?.last)).result == .done)
    #expect(party.bench.access.uses == [AccessState.Use(grant: grant.identifier, count: 1)])
  }

  @Test("L6 L7: an owner's unlock that waits with a refused guest's opens nothing if the lock stood still meanwhile")
  func late() throws {
    var party = try party()
    party.bench.happens(.offerRead(Bench.bob))
    let session = try party.bench.command(.unlock, 700, by: 1)
    party.bench.milliseconds += 3_600_000
    party.bench.finishTurn()
    #expect(party.bench.turning == nil)
    #expect(try party.bench.answer(session, by: 1).result == .failed)
    #expect(!party.bench.turns.dropFirst().contains { $0.target == .unlocked })
  }
}
