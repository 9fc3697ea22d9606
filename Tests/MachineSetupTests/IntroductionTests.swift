import Foundation
import LockCryptography
import LockProtocol
import Testing

@Suite("A lock and a phone are introduced") struct IntroductionTests {
  private let keys = TestKeys()

  @Test("L5: what is written is read, also with white space around it and in capitals")
  func roundTrip() throws {
    #expect(try LockIntroduction(keys.lock.text) == keys.lock)
    #expect(try PhoneIntroduction("  \(keys.phone.text)\n") == keys.phone)
    #expect(try PhoneIntroduction(keys.phone.text.uppercased()) == keys.phone)
  }

  @Test("L5: it is one word, without the private key") func word() throws {
    let folder = TestFolder()
    let lock = try Provisioning.makeLock(directory: folder.path, enrolledPhones: [])
    let text = LockIntroduction(lock).text
    #expect(text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" })
    #expect(!text.contains(Hex.text(Array(lock.staticKey.rawRepresentation))))
  }

  @Test("L5: a slip in any place, a missing end and a doubled one are found") func slips() throws {
    let text = Array(keys.phone.text)
    for index in "phone-1-".count..<text.count {
      var other = text
      other[index] = other[index] == "0" ? "1" : "0"
      #expect(throws: IntroductionError.damaged(what: "phone")) { try PhoneIntroduction(String(other)) }
    }
    for other in [String(text.dropLast()), String(text.dropLast(2)), String(text) + "00", "phone-1-", "phone-1-zz"] {
      #expect(throws: IntroductionError.damaged(what: "phone")) { try PhoneIntroduction(other) }
    }
    #expect(throws: IntroductionError.damaged(what: "lock")) {
      try LockIntroduction("lock-1-" + String(repeating: "0", count: 1 << 20))
    }
  }

  @Test("L5: the other side's text, and a text that is neither, are named as such") func others() throws {
    #expect(throws: IntroductionError.otherSide(expected: "lock", found: "phone")) {
      try LockIntroduction(keys.phone.text)
    }
    for text in ["", "   ", "lock", "lock-2-00", "ssh-ed25519 AAAA"] {
      #expect(throws: IntroductionError.unknown(expected: "lock")) { try LockIntroduction(text) }
    }
  }

  @Test("L7: phones that are enrolled at the same moment are all enrolled") func enrolledTogether() async throws {
    let folder = TestFolder()
    _ = try Provisioning.makeLock(directory: folder.path, enrolledPhones: [])
    let path = folder.path
    var phones: [PhoneIntroduction] = []
    for _ in 0..<24 { phones.append(TestKeys().phone) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for phone in phones { group.addTask { _ = try LockKeys.enroll(phone, inDirectory: path) } }
      try await group.waitForAll()
    }
    let enrolled = try LockKeys.read(fromDirectory: path).enrolledPhones
    #expect(Set(enrolled) == Set(phones.map(\.publicKey)))
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == [LockKeys.fileName])
  }

  @Test("L5: a phone is enrolled once, beside the others, and the keys stay 0600") func enroll() throws {
    let folder = TestFolder()
    let before = try Provisioning.makeLock(
      directory: folder.path, enrolledPhones: [[UInt8](repeating: 7, count: 32)])
    for _ in 0..<2 {
      let after = try LockKeys.enroll(keys.phone, inDirectory: folder.path)
      #expect(after.enrolledPhones == before.enrolledPhones + [keys.phone.publicKey])
      #expect(try LockKeys.read(fromDirectory: folder.path).enrolledPhones == after.enrolledPhones)
      #expect(after.identity == before.identity)
    }
    let file = folder.path + "/" + LockKeys.fileName
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [LockKeys.fileName])
  }

  @Test("L5: a lock with as many phones as it can have takes no more, and keeps those") func full() throws {
    let folder = TestFolder()
    let phones = (0..<LockKeys.maximumPhoneCount).map { [UInt8](repeating: UInt8($0), count: 32) }
    _ = try Provisioning.makeLock(directory: folder.path, enrolledPhones: phones)
    #expect(throws: KeyFileError.self) { try LockKeys.enroll(keys.phone, inDirectory: folder.path) }
    #expect(try LockKeys.read(fromDirectory: folder.path).enrolledPhones == phones)
  }

  @Test("L5: the key that was given to a lock stays the phone's key when its lock is known") func pending() throws {
    let folder = TestFolder()
    let pending = try Provisioning.makePendingPhone(directory: folder.path)
    #expect(throws: KeyFileError.alreadyThere(path: folder.path + "/" + PendingPhoneKey.fileName)) {
      try Provisioning.makePendingPhone(directory: folder.path)
    }
    let phone = try Provisioning.makePhone(directory: folder.path, lock: keys.lock)
    #expect(PhoneIntroduction(phone) == PhoneIntroduction(pending))
    #expect(LockIntroduction(phone) == keys.lock)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [PhoneKeys.fileName])
  }
}
