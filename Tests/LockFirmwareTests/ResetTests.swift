import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// What phones want while a factory reset is being recorded, and after it.
@Suite("A factory reset, and what comes meanwhile") struct ResetTests {
  private static let carol = CentralIdentifier(high: 0, low: 3)

  /// A lock that an owner has told something, with a reset whose record is being stored.
  private func resetting(_ change: (inout LockConfiguration) -> Void = { _ in }) throws -> (
    bench: Bench, conversation: Conversation<SwiftCryptography>
  ) {
    var bench = try Bench(phoneCount: 2, change)
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.bob))
    bench.move(door: .open)
    var conversation = try bench.conversation()
    let owner = LockRequest.introduce(signingKey: OwnerKey(key: .init()).publicKey, name: Array("Alice".utf8))
    #expect(try bench.ask(owner.encoded, in: &conversation)?.status == .done)
    bench.storesAtOnce = false
    bench.happens(.resetButton(isPressed: true))
    bench.pass(11)
    #expect(bench.unstored.last?.detail == LockAlarm.lockFactoryReset.rawValue)
    return (bench, conversation)
  }

  @Test(
    "L6: what an owner tells while a reset is being recorded is refused, and brings nothing back if it can't be stored")
  func told() throws {
    var (bench, conversation) = try resetting()
    let reset = try #require(bench.unstored.last?.index)
    let reply = try bench.ask(LockRequest.setClock(GuestParty.monday).encoded, in: &conversation)
    bench.unstored.removeAll { $0.index > reset }
    bench.store()
    bench.happens(.recordFailed(reset + 1))
    #expect(bench.access == AccessState() && bench.firmware.access == AccessState())
    #expect(reply?.status == .failed)
  }

  @Test("L6: a phone that is enrolled while a reset is being recorded is told no, and not that it is enrolled")
  func enrolled() throws {
    let code = EnrolmentCode.draw().secret(using: SwiftCryptography.self)
    var (bench, _) = try resetting { $0.enrolmentSecret = code }
    bench.happens(.enrolmentButton)
    var cryptography = SwiftCryptography()
    var session = try EnrolmentOfPhone<SwiftCryptography>(secret: code, staticKey: .init(), using: &cryptography)
    func write(_ message: [UInt8]) {
      for fragment in Fragments.cut(message, tag: session.tag, valueByteCount: 512) {
        bench.happens(.enrolmentWritten(Self.carol, fragment))
      }
    }
    write(session.start)
    if let reply = bench.enrolmentMessages[Self.carol.low]?.first?.message {
      write(try session.answer(reply, name: [], using: &cryptography))
    }
    bench.store()
    #expect(bench.firmware.access.phones.isEmpty && (bench.enrolmentMessages[Self.carol.low]?.count ?? 0) < 2)
    #expect(!bench.notes.contains { if case .phoneEnrolled = $0 { true } else { false } })
  }

  @Test("L6: an unlock that is recorded after a reset opens nothing: its phone is forgotten before the bolt turns")
  func unlock() throws {
    var (bench, _) = try resetting()
    bench.happens(.offerRead(Bench.bob))
    let session = try bench.command(.unlock, 5, by: 1)
    bench.store()
    #expect(bench.turns.isEmpty)
    #expect(try bench.answer(session, by: 1).result == .revoked)
  }

  @Test("L6: a command that waits for the bolt during a reset is answered, and its link gets offers again")
  func waiting() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkUp(Bench.bob))
    bench.happens(.resetButton(isPressed: true))
    bench.milliseconds += 7_000
    bench.happens(.offerRead(Bench.alice))
    try bench.command(.lock, 2)
    #expect(bench.turning == .locked)
    bench.move(door: .open)
    let session = try bench.command(.unlock, 3, by: 1)
    bench.milliseconds += 3_001
    bench.happens(.timePassed)
    #expect(bench.log.last?.isFactoryReset == true && bench.answers[2] == nil)
    bench.finishTurn()
    #expect(bench.turns.count == 2)
    #expect(try bench.answer(session, by: 1).result == .revoked)
    bench.offers[Bench.bob.low] = nil
    bench.happens(.offerRead(Bench.bob))
    #expect(bench.offers[Bench.bob.low] != nil)
  }
}
