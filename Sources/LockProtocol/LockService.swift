/// The GATT service that a lock publishes. Its UUIDs were drawn at random for Latchkey.
///
/// | characteristic | properties | value |
/// |---|---|---|
/// | Offer | read, notify | the lock's fresh ephemeral key, the first handshake message: 32 bytes |
/// | Command | write with response | the second handshake message, with a `LockCommand` in it |
/// | Quick Command | write without response | the same |
/// | Answer | notify | the first transport message, with a `LockAnswer` in it |
/// | Request | write with response | a fragment of what the phone asks after the answer (`Conversation`) |
/// | Reply | notify | a fragment of the lock's reply |
/// | Enrolment | read; write with response and notify: encrypted link | `EnrolmentStatus`; a fragment of an enrolment |
///
/// A lock of an earlier version has only Offer, Command and Answer, or no Quick Command, or no Enrolment.
package enum LockService {
  /// The primary service.
  package static let serviceUUID = "b126f569-34d9-4140-a7ad-42cd26d0ff85"
  /// The lock's fresh ephemeral key, which is readable. At link-up and after each command it is notified: in fragments
  /// (`OfferFragments`), whole, or as `offerHint`.
  package static let offerUUID = "33818d1d-5751-4a1b-9838-98ab845634f9"
  /// The characteristic for the phone's one write, with a response.
  package static let commandUUID = "91cf470b-0c9c-4243-b5a9-37212bdd4ee8"
  /// As Command, but without a response, and in one packet: bluetoothd sends such a write before everything that it has
  /// queued itself. It needs a characteristic of its own. If one characteristic allows both kinds of write, bluetoothd
  /// does not ask the lock about a write with response, so the lock could not refuse it.
  package static let quickCommandUUID = "ff80a739-4311-4931-84a8-faadf4509150"
  /// The result of the command.
  package static let answerUUID = "d40ff2ee-283e-41ef-92a2-4d0b4638abd6"
  /// The characteristic for what the phone asks after the answer.
  package static let requestUUID = "1dc41928-00ef-428a-9998-5bb18df99102"
  /// The replies.
  package static let replyUUID = "7887665d-c151-49e1-b130-15a2ed43dcf0"

  /// Read: whether the lock enrols phones now (`EnrolmentStatus`). Written and notified: the messages of an enrolment.
  package static let enrolmentUUID = "33550af9-bbd5-46a1-a051-9ae564fb5c3f"

  /// The version that both sides bind into the session. If the versions differ, nothing decrypts. A new kind of command
  /// needs no new version: a lock that does not know it refuses the write and moves nothing, and its phone falls back.
  package static let protocolVersion: UInt8 = 2
  /// The length of an Offer in bytes.
  package static let offerByteCount = NoiseSize.keyByteCount
  /// Notified instead of an offer if the lock can't send each phone its own: several phones are subscribed, the radio
  /// (such as bluetoothd) can't address one of them, and the lock does not know which phone this is. It says that there
  /// is an offer, and each phone then reads its own.
  package static var offerHint: [UInt8] { [0] }
  /// The length of a Command in bytes: an ephemeral key, an encrypted static key, an encrypted `LockCommand`.
  package static let commandByteCount =
    NoiseSize.keyByteCount + NoiseSize.keyByteCount + NoiseSize.tagByteCount + LockCommand.byteCount
    + NoiseSize.tagByteCount
  /// The length of an Answer in bytes: an encrypted `LockAnswer`.
  package static let answerByteCount = LockAnswer.byteCount + NoiseSize.tagByteCount

  /// The ATT error, from the range for applications, for a command whose writer has subscribed neither to Offer nor to
  /// Answer. The lock could not send it the answer.
  package static let unsubscribedError: UInt8 = 0x80

  /// What both sides know before they begin: the purpose, the version and the lock.
  static func prologue(_ identity: LockIdentity) -> [UInt8] {
    let purpose: StaticString = "Latchkey lock session"
    return purpose.withUTF8Buffer { Array($0) } + [protocolVersion] + identity.bytes
  }
}

/// Identifies a lock: 16 bytes drawn at random when the lock was made. Not secret.
package struct LockIdentity: Equatable, Sendable {
  package static let byteCount = 16
  package let bytes: [UInt8]

  /// `nil` unless there are 16 bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }
}
