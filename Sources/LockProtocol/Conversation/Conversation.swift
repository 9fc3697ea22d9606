/// What phone and lock say to each other after the lock's answer, in the session of the command: transport messages of
/// the same handshake, in fragments. Because a conversation is bound to that session, both sides know who speaks, and
/// no message can be repeated in another conversation.
package struct Conversation<Cryptography: NoiseCryptography> {
  /// The first byte of the handshake's hash. It tells this conversation's fragments from those of others on the same
  /// characteristic. It protects nothing, but a message of another conversation does not decrypt.
  package let tag: UInt8
  private var outgoing: CipherState<Cryptography>
  private var incoming: CipherState<Cryptography>
  private var reader = FragmentReader()

  init(_ transport: NoiseTransport<Cryptography>, role: HandshakeRole, handshakeHash: [UInt8]) {
    tag = handshakeHash.first ?? 0
    outgoing = role == .initiator ? transport.fromInitiator : transport.toInitiator
    incoming = role == .initiator ? transport.toInitiator : transport.fromInitiator
  }

  /// Limits the other side's messages from now on. Longer ones are dropped, because a board has no room for them.
  package mutating func limitMessages(to byteCount: Int) { reader = FragmentReader(limit: byteCount) }

  /// How many bytes of an incomplete message have arrived.
  package var begunByteCount: Int { reader.begunByteCount }

  /// Drops an incomplete message.
  package mutating func dropBegun() { reader.drop() }

  /// Whether the latest fragment made its message too long.
  package var wasTooLong: Bool { reader.wasTooLong }

  /// The longest text that can be sealed, in bytes.
  package static var maximumByteCount: Int { Fragments.maximumMessageByteCount - NoiseSize.tagByteCount }

  /// Seals a message, to be sent in fragments with this conversation's tag.
  package mutating func seal(_ text: [UInt8]) throws(LockSessionError) -> [UInt8] {
    guard text.count <= Self.maximumByteCount else { throw .wrongLength }
    do { return try outgoing.encrypt(text) } catch { throw .authenticationFailed }
  }

  /// Takes a fragment with this conversation's tag. Returns the message if this was its last fragment and it is the
  /// other side's next message. Anything else is dropped and changes nothing.
  package mutating func take(_ fragment: [UInt8]) -> [UInt8]? {
    guard fragment.first == tag, let message = reader.take(fragment) else { return nil }
    do { return try incoming.decrypt(message) } catch { return nil }
  }
}
