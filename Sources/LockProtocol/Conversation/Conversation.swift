/// What phone and lock say to each other after the answer, within the session that the answer ended: transport messages of
/// the same handshake, in fragments. A conversation is bound to the command's session, so both sides know who speaks, and
/// nothing of it can be repeated in another one.
package struct Conversation<Cryptography: NoiseCryptography> {
  /// Tells a fragment of this conversation from those of others on the same characteristic: the first byte of the
  /// handshake's hash. It protects nothing: what belongs to another conversation does not decrypt.
  package let tag: UInt8
  private var outgoing: CipherState<Cryptography>
  private var incoming: CipherState<Cryptography>
  private var reader = FragmentReader()

  init(_ transport: NoiseTransport<Cryptography>, role: HandshakeRole, handshakeHash: [UInt8]) {
    tag = handshakeHash.first ?? 0
    outgoing = role == .initiator ? transport.fromInitiator : transport.toInitiator
    incoming = role == .initiator ? transport.toInitiator : transport.fromInitiator
  }

  /// From now on longer messages of the other side are dropped: a board has no room for them.
  package mutating func limitMessages(to byteCount: Int) { reader = FragmentReader(limit: byteCount) }

  /// How many bytes of a message have come whose last fragment has not.
  package var begunByteCount: Int { reader.begunByteCount }

  /// Drops the message that has begun.
  package mutating func dropBegun() { reader.drop() }

  /// Whether the fragment that was taken last made the message too long.
  package var wasTooLong: Bool { reader.wasTooLong }

  /// The longest text that can be sealed, in bytes.
  package static var maximumByteCount: Int { Fragments.maximumMessageByteCount - NoiseSize.tagByteCount }

  /// Seals a message, to be sent in fragments with this conversation's tag.
  package mutating func seal(_ text: [UInt8]) throws(LockSessionError) -> [UInt8] {
    guard text.count <= Self.maximumByteCount else { throw .wrongLength }
    do { return try outgoing.encrypt(text) } catch { throw .authenticationFailed }
  }

  /// Takes a fragment with this conversation's tag. Returns the message if this was its last fragment, and the message is
  /// the other side's next one. Anything else is dropped, and the conversation is as before.
  package mutating func take(_ fragment: [UInt8]) -> [UInt8]? {
    guard fragment.first == tag, let message = reader.take(fragment) else { return nil }
    do { return try incoming.decrypt(message) } catch { return nil }
  }
}
