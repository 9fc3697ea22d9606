import Crypto
import LockCryptography
import Testing

@testable import LockProtocol

@Suite("Answers that are authentic and can't be understood") struct UnreadableAnswerTests {
  @Test(
    "L4: they are told from forged ones, which leave the session as it was, and from answers to another command",
    arguments: [
      [UInt8](repeating: 9, count: 20), [UInt8](repeating: 0, count: 20),
      [2, 0, 77] + [UInt8](repeating: 0, count: 17),
    ])
  func unreadable(_ text: [UInt8]) throws {
    var pair = try Pair()
    var handshake = try HandshakeState<SwiftCryptography>(
      .kx, role: .initiator, prologue: LockService.prologue(pair.identity), staticKey: pair.lockKey)
    var phone = try pair.phoneSession(try handshake.writeMessage([], using: &pair.cryptography))
    _ = try handshake.readMessage(phone.seal(LockCommand(.unlock, operation: 42), using: &pair.cryptography))
    var transport = try handshake.split()
    let answer = try transport.fromInitiator.encrypt(text)
    var forged = answer
    forged[3] ^= 1
    #expect(throws: LockSessionError.authenticationFailed) { try phone.open(forged) }
    #expect(throws: LockSessionError.malformed) { try phone.open(answer) }
  }
}
