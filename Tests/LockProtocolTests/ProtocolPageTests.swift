import Crypto
import Foundation
import LockCryptography
import LockProtocol
import Testing

/// The worked examples of docs/lock-protocol.md. `LATCHKEY_RECORD_EXAMPLES=1` writes them again.
@Suite("The page about the protocol") struct ProtocolPageTests {
  private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("docs/lock-protocol.md")

  private typealias Key = Curve25519.KeyAgreement.PrivateKey

  private func key(_ byte: UInt8) throws -> Key { try Key(rawRepresentation: [UInt8](repeating: byte, count: 32)) }

  /// Every example, by its name on the page.
  private func examples() throws -> [(String, [UInt8])] {
    let identity = try #require(LockIdentity([UInt8](repeating: 0x66, count: 16)))
    let (lockKey, phoneKey) = (try key(0x11), try key(0x33))
    let (lockEphemeral, phoneEphemeral) = (try key(0x22), try key(0x44))
    var atLock = SwiftCryptography { lockEphemeral }
    var atPhone = SwiftCryptography { phoneEphemeral }
    let operation: UInt64 = 0x0102_0304_0506_0708

    var lock = try LockSession(identity: identity, staticKey: lockKey, using: &atLock)
    let fragments = OfferFragments.cut(lock.offer, using: SwiftCryptography.self)
    let phonesKey = Array(phoneKey.publicKey.rawRepresentation)
    let ownFragments = OfferFragments.cut(lock.offer, for: phonesKey, using: SwiftCryptography.self)
    var phone = try PhoneSession<SwiftCryptography>(
      offer: lock.offer, identity: identity, lockKey: lockKey.publicKey, phoneKey: phoneKey)
    let command = try phone.seal(LockCommand(.unlock, operation: operation), using: &atPhone)
    _ = try lock.accept(command, isEnrolled: { _ in true })
    let answer = try lock.seal(
      LockAnswer(result: .done, lockState: .unlocked, doorState: .closed, operation: operation, logIndex: 9))
    _ = try phone.open(answer)
    var asking = try #require(phone.conversation)
    var replying = try #require(lock.conversation)
    let request = Fragments.cut(
      try asking.seal(LockRequest.state.encoded), tag: asking.tag, valueByteCount: Fragments.smallestValueByteCount)
    try #require(request.count == 1)
    #expect(replying.take(request[0]) == LockRequest.state.encoded)
    let report = LockStateReport(
      lockState: .unlocked, doorState: .closed, battery: 80, unixSeconds: nil,
      head: LogHead(index: 9, hash: [UInt8](repeating: 0x77, count: 32)), lastMovement: nil)
    let reply = try replying.seal(LockReply(.state, .done, report.encoded).encoded)

    let owner = OwnerKey(key: try Curve25519.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 0x55, count: 32)))
    let grant = try owner.sign(
      Grant(
        lock: identity, identifier: [UInt8](repeating: 0x88, count: 16),
        phone: Array(phoneKey.publicKey.rawRepresentation), issuer: owner.publicKey,
        schedule: GrantSchedule(
          from: 1_795_996_800, until: 1_796_601_600, weekdays: 0b0011111, start: 480, end: 1050, offset: 60,
          offsetChange: 1_806_195_600, laterOffset: 120), uses: 5, permissions: [.unlock, .lock],
        name: Array("Ben".utf8)))
    let list = try owner.sign(
      RevocationList(lock: identity, issuer: owner.publicKey, version: 1, entries: [.grant(grant.identifier)]))
    let introduction = try SealedIntroduction(
      signingKey: owner.publicKey, name: Array("Ann".utf8), to: identity, lockKey: lockKey.publicKey, from: phoneKey,
      using: &atPhone)
    let introduced = try introduction.open(at: identity, lockKey: lockKey, using: SwiftCryptography.self)
    #expect(introduced.signingKey == owner.publicKey && introduced.name == Array("Ann".utf8))
    #expect(grant.isSigned(using: SwiftCryptography.self) && list.isSigned(using: SwiftCryptography.self))

    let code = try #require(EnrolmentCode(random: Array(0..<19)))
    let secret = code.secret(using: SwiftCryptography.self)
    var enrolling = try EnrolmentOfPhone<SwiftCryptography>(secret: secret, staticKey: phoneKey, using: &atPhone)
    var enroller = try EnrolmentOfLock<SwiftCryptography>(
      secret: secret, staticKey: lockKey, start: enrolling.start, using: &atLock)
    let proof = try enrolling.answer(enroller.reply, name: Array("Ann".utf8), using: &atPhone)
    let enrolled = try enroller.accept(proof)
    #expect(enrolled.key == Array(phoneKey.publicKey.rawRepresentation) && enrolled.name == Array("Ann".utf8))
    let confirmation = try enroller.confirm(identity, name: Array("Front".utf8))
    let learned = try enrolling.finish(confirmation)
    #expect(learned.lock == identity && learned.lockName == Array("Front".utf8))

    func record(_ kind: UInt8, _ index: UInt64) -> [UInt8] {
      var writer = ByteWriter()
      writer.write([1, kind, 2, 1, 0, 0, 0, 0])
      writer.write(index)
      writer.write(UInt64(1_795_996_800))
      writer.write(operation)
      writer.write(Array(phoneKey.publicKey.rawRepresentation))
      return writer.bytes
    }
    let records = [record(1, 1), record(2, 2)]
    let end = records.reduce(LogHead.empty) { $0.followed(by: $1, using: SwiftCryptography.self) }
    return [
      ("offer", lock.offer), ("offer fragment 1", fragments[0]), ("offer fragment 2", fragments[1]),
      ("its fragment 1 for this phone alone", ownFragments[0]), ("command", command), ("answer", answer),
      ("handshake tag", [asking.tag]),
      ("request fragment 1", request[0]), ("sealed reply", reply), ("grant", grant.encoded), ("list", list.encoded),
      ("introduction", introduction.encoded),
      ("code", code.text), ("secret", secret), ("enrolment 1", enrolling.start), ("enrolment 2", enroller.reply),
      ("enrolment 3", proof), ("enrolment 4", confirmation),
      ("record 1", records[0]), ("record 2", records[1]), ("hash 2", end.hash),
    ]
  }

  @Test("L4: the page's worked examples are what both sides compute") func page() throws {
    var text = try String(contentsOf: Self.page, encoding: .utf8)
    for (name, bytes) in try examples() {
      let line = try #require(
        text.split(separator: "\n").first { $0.hasPrefix("    \(name) = ") }, "the page has no example \(name)")
      if ProcessInfo.processInfo.environment["LATCHKEY_RECORD_EXAMPLES"] == "1" {
        text = text.replacingOccurrences(of: line, with: "    \(name) = \(Hex.text(bytes))")
      } else {
        #expect(line == "    \(name) = \(Hex.text(bytes))", "\(name)")
      }
    }
    if ProcessInfo.processInfo.environment["LATCHKEY_RECORD_EXAMPLES"] == "1" {
      try text.write(to: Self.page, atomically: true, encoding: .utf8)
    }
  }

  @Test("L4: the page's lengths and UUIDs are those of the program") func lengths() throws {
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    for uuid in [
      LockService.serviceUUID, LockService.offerUUID, LockService.commandUUID, LockService.quickCommandUUID,
      LockService.answerUUID, LockService.requestUUID, LockService.replyUUID, LockService.enrolmentUUID,
    ] { #expect(text.contains("`\(uuid)`")) }
    #expect(
      LockService.offerByteCount == 32 && LockService.commandByteCount == 106 && LockService.answerByteCount == 36)
    #expect(text.contains("106 + \(Grant.byteCounts.lowerBound) to 106 + \(Grant.byteCounts.upperBound) bytes"))
    #expect(Enrolment.startByteCount == 48 && Enrolment.replyByteCount == 96 && EnrolmentStatus.closed.attError == 0x81)
    #expect(SealedIntroduction.byteCounts == 112...144 && text.contains("112 to 144 bytes"))
    #expect(LockService.unsubscribedError == 0x80 && EnrolmentStatus.badName.attError == 0x86)
    #expect(LockStateReport.byteCount == 115 && text.contains("115 bytes"))
    #expect(RevocationList.maximumCount == 128 && LogPage.maximumCount == 32 && KeyName.nameByteLimit == 32)
    #expect(RevocationList.maximumByteCount + 2 <= Conversation<SwiftCryptography>.maximumByteCount)
    #expect(LogPage.maximumCount * LogPage.recordByteCount + 200 <= Conversation<SwiftCryptography>.maximumByteCount)
  }
}
