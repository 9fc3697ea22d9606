import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// An owner who signs, and a guest, at a lock on the bench.
struct GuestParty {
  static let monday: Int64 = 1_795_996_800  // 2026-11-30 00:00 UTC
  var bench: Bench
  let owner = OwnerKey(key: Curve25519.Signing.PrivateKey())
  let guestKey = Bench.PrivateKey()
  let guest = CentralIdentifier(high: 0, low: 7)
  var operation: UInt64 = 100

  init(introduces: Bool = true) throws {
    bench = try Bench()
    bench.finishesTurns = true
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(guest))
    guard introduces else { return }
    #expect(try tell(.introduce(signingKey: owner.publicKey, name: Array("Alice".utf8))) == .done)
  }

  func grant(
    _ schedule: GrantSchedule = .always, uses: UInt16 = 0, permissions: Grant.Permissions = [.unlock, .lock],
    lock: LockIdentity? = nil
  ) throws -> Grant {
    try owner.sign(
      Grant(
        lock: lock ?? bench.configuration.identity, identifier: [UInt8](repeating: 9, count: 16),
        phone: Array(guestKey.publicKey.rawRepresentation), issuer: owner.publicKey, schedule: schedule, uses: uses,
        permissions: permissions, name: Array("Ben".utf8)))
  }

  func list(_ version: UInt64, _ entries: [RevocationList.Entry], by key: OwnerKey? = nil) throws -> RevocationList {
    let key = key ?? owner
    return try key.sign(
      RevocationList(
        lock: bench.configuration.identity, issuer: key.publicKey, version: version, entries: entries))
  }

  /// An owner's phone tells the lock something.
  mutating func tell(_ request: LockRequest, by phone: Int = 0) throws -> LockReplyStatus? {
    bench.milliseconds += 1
    bench.happens(.offerRead(phone == 0 ? Bench.alice : Bench.bob))
    var conversation = try bench.conversation(by: phone)
    return try bench.ask(request.encoded, in: &conversation, over: phone == 0 ? Bench.alice : Bench.bob)?.status
  }

  /// The guest's conversation after a command that moves nothing.
  mutating func conversation(with grant: [UInt8]) throws -> Conversation<SwiftCryptography> {
    bench.happens(.offerRead(guest))
    var session = try bench.session(guest, key: guestKey)
    let command = try session.seal(LockCommand(.status, operation: 77), grant: grant, using: &bench.cryptography)
    bench.happens(.commandWritten(guest, command))
    let answer = try #require(bench.answers[guest.low]?.last)
    _ = try session.open(answer)
    return try #require(session.conversation)
  }

  /// The guest's phone announces itself. Returns the lock's answer.
  mutating func announce(with grant: [UInt8]) throws -> LockResult? {
    bench.happens(.offerRead(guest))
    var session = try bench.session(guest, key: guestKey)
    bench.happens(
      .commandWritten(
        guest, try session.seal(LockCommand(.status, operation: 0), grant: grant, using: &bench.cryptography)))
    guard let answer = bench.answers[guest.low]?.last else { return nil }
    return try session.open(answer).result
  }

  /// The guest writes a command, and hears no answer yet.
  mutating func write(_ kind: LockCommand.Kind, with grant: [UInt8]) throws {
    operation += 1
    bench.happens(.offerRead(guest))
    var session = try bench.session(guest, key: guestKey)
    bench.happens(
      .commandWritten(
        guest, try session.seal(LockCommand(kind, operation: operation), grant: grant, using: &bench.cryptography)))
  }

  /// The guest comes with a grant. Returns the lock's answer, or `nil` if the command was refused without one.
  mutating func come(_ kind: LockCommand.Kind = .unlock, with grant: [UInt8]) throws -> LockResult? {
    operation += 1
    bench.pass(310)
    bench.happens(.offerRead(guest))
    let before = bench.answers[guest.low]?.count ?? 0
    var session = try bench.session(guest, key: guestKey)
    bench.happens(
      .commandWritten(
        guest, try session.seal(LockCommand(kind, operation: operation), grant: grant, using: &bench.cryptography)))
    bench.pass(1)
    guard let answer = bench.answers[guest.low]?.dropFirst(before).first else { return nil }
    return try session.open(answer).result
  }
}
