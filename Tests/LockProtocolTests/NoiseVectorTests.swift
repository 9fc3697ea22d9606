import Crypto
import Foundation
import LockCryptography
import LockProtocol
import Testing

@Suite("Noise handshakes") struct NoiseVectorTests {
  /// One published test vector (from cacophony, for revision 34).
  struct Vector: Decodable, Sendable, CustomTestStringConvertible {
    struct Message: Decodable, Sendable {
      var payload: String
      var ciphertext: String
    }
    var protocolName: String
    var initPrologue: String
    var initPsks: [String]?
    var initStatic: String?
    var initEphemeral: String
    var initRemoteStatic: String?
    var respPrologue: String
    var respPsks: [String]?
    var respStatic: String?
    var respEphemeral: String
    var respRemoteStatic: String?
    var handshakeHash: String
    var messages: [Message]

    var testDescription: String { protocolName }

    var pattern: HandshakePattern? {
      [.kk, .kx, .xx, .nnpsk0, .xxpsk3, .kxpsk2]
        .first { String(decoding: $0.protocolName, as: UTF8.self) == protocolName }
    }
  }

  struct VectorFile: Decodable { var vectors: [Vector] }

  static let vectors: [Vector] = {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    guard let url = Bundle.module.url(forResource: "Vectors/noise-vectors", withExtension: "json"),
      let data = try? Data(contentsOf: url), let file = try? decoder.decode(VectorFile.self, from: data)
    else { return [] }
    return file.vectors
  }()

  @Test("There is a vector for each pattern that we use") func vectorsAreThere() {
    #expect(Self.vectors.count == 6)
  }

  @Test("L4: every message is bit for bit what the published vector says", arguments: vectors)
  func vector(_ vector: Vector) throws {
    let pattern = try #require(vector.pattern)
    // The vectors name keys from their holder's point of view: `init_remote_static` is what the initiator knows.
    var initiator = try HandshakeState<SwiftCryptography>(
      pattern, role: .initiator, prologue: try bytes(vector.initPrologue),
      staticKey: try vector.initStatic.map(privateKey),
      remoteStaticKey: try vector.initRemoteStatic.map(publicKey),
      secret: try vector.initPsks?.first.map(bytes))
    var responder = try HandshakeState<SwiftCryptography>(
      pattern, role: .responder, prologue: try bytes(vector.respPrologue),
      staticKey: try vector.respStatic.map(privateKey),
      remoteStaticKey: try vector.respRemoteStatic.map(publicKey),
      secret: try vector.respPsks?.first.map(bytes))
    let initiatorKey = try privateKey(vector.initEphemeral)
    let responderKey = try privateKey(vector.respEphemeral)
    var initiatorCryptography = SwiftCryptography { initiatorKey }
    var responderCryptography = SwiftCryptography { responderKey }
    var transports: (NoiseTransport<SwiftCryptography>, NoiseTransport<SwiftCryptography>)?

    for (index, message) in vector.messages.enumerated() {
      let payload = try bytes(message.payload)
      let expected = try bytes(message.ciphertext)
      let fromInitiator = index % 2 == 0
      if var (first, second) = transports {
        let sent: [UInt8]
        let received: [UInt8]
        if fromInitiator {
          sent = try first.fromInitiator.encrypt(payload)
          received = try second.fromInitiator.decrypt(sent)
        } else {
          sent = try second.toInitiator.encrypt(payload)
          received = try first.toInitiator.decrypt(sent)
        }
        transports = (first, second)
        #expect(sent == expected)
        #expect(received == payload)
        continue
      }
      if fromInitiator {
        let sent = try initiator.writeMessage(payload, using: &initiatorCryptography)
        #expect(sent == expected)
        #expect(try responder.readMessage(sent) == payload)
      } else {
        let sent = try responder.writeMessage(payload, using: &responderCryptography)
        #expect(sent == expected)
        #expect(try initiator.readMessage(sent) == payload)
      }
      if initiator.isComplete {
        #expect(initiator.handshakeHash == (try bytes(vector.handshakeHash)))
        #expect(responder.handshakeHash == initiator.handshakeHash)
        transports = (try initiator.split(), try responder.split())
      }
    }
    #expect(transports != nil)
  }

  @Test("A handshake refuses to write out of turn, and is over after a refused message") func turns() throws {
    var cryptography = SwiftCryptography()
    var initiator = try HandshakeState<SwiftCryptography>(.xx, role: .initiator, prologue: [], staticKey: .init())
    var responder = try HandshakeState<SwiftCryptography>(.xx, role: .responder, prologue: [], staticKey: .init())
    #expect(throws: NoiseError.outOfTurn) { try responder.writeMessage([], using: &cryptography) }
    #expect(throws: NoiseError.outOfTurn) { try initiator.split() }
    let first = try initiator.writeMessage([], using: &cryptography)
    _ = try responder.readMessage(first)
    var second = try responder.writeMessage([], using: &cryptography)
    second[40] ^= 1
    #expect(throws: NoiseError.authenticationFailed) { try initiator.readMessage(second) }
    second[40] ^= 1
    #expect(throws: NoiseError.outOfTurn) { try initiator.readMessage(second) }
  }

  @Test("A handshake needs the keys of its pattern") func missingKeys() {
    #expect(throws: NoiseError.missingKey) {
      try HandshakeState<SwiftCryptography>(.kx, role: .responder, prologue: [], staticKey: .init())
    }
    #expect(throws: NoiseError.missingKey) {
      try HandshakeState<SwiftCryptography>(.nnpsk0, role: .initiator, prologue: [], secret: [1, 2, 3])
    }
  }

  @Test(
    "L4: a public key of low order is refused",
    arguments: [[UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31)])
  func lowOrder(_ point: [UInt8]) throws {
    var responder = try HandshakeState<SwiftCryptography>(.xx, role: .responder, prologue: [], staticKey: .init())
    var cryptography = SwiftCryptography()
    _ = try responder.readMessage(point)
    #expect(throws: NoiseError.badKey) { try responder.writeMessage([], using: &cryptography) }
  }
}

func bytes(_ hexadecimal: String) throws -> [UInt8] { try #require(Hex.bytes(hexadecimal)) }

func privateKey(_ hexadecimal: String) throws -> Curve25519.KeyAgreement.PrivateKey {
  try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes(hexadecimal))
}

func publicKey(_ hexadecimal: String) throws -> Curve25519.KeyAgreement.PublicKey {
  try Curve25519.KeyAgreement.PublicKey(rawRepresentation: bytes(hexadecimal))
}
