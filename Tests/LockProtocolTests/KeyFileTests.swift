import Foundation
import LockCryptography
import LockProtocol
import Testing

@Suite("Key files") struct KeyFileTests {
  private let directory: String
  private var lockDirectory: String { directory + "/lock" }
  private var phoneDirectory: String { directory + "/phone" }
  private var lockFile: String { lockDirectory + "/" + LockKeys.fileName }

  init() throws {
    directory = NSTemporaryDirectory() + "latchkey-keys-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  }

  private func withKeys(_ body: () throws -> Void) throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try Provisioning.provision(lockDirectory: lockDirectory, phoneDirectory: phoneDirectory)
    try body()
  }

  @Test("L4: provisioned keys fit each other, in files that only their owner can reach") func provision() throws {
    try withKeys {
      let lock = try LockKeys.read(fromDirectory: lockDirectory)
      let phone = try PhoneKeys.read(fromDirectory: phoneDirectory)
      #expect(lock.identity == phone.lockIdentity)
      #expect(lock.staticKey.publicKey.rawRepresentation == phone.lockKey.rawRepresentation)
      #expect(lock.enrolledPhones == [Array(phone.staticKey.publicKey.rawRepresentation)])
      for path in [lockFile, phoneDirectory + "/" + PhoneKeys.fileName] {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: lockDirectory) == [LockKeys.fileName])
    }
  }

  @Test("Keys of version 1 are read, and written again as they were, byte by byte") func golden() throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    // Made for this test; it belongs to no lock.
    let key = { (digits: String) in String(repeating: digits, count: 32) }
    let identity = String(repeating: "0f", count: 16)
    let lock = """
      {
        "enrolledPhones" : [
          "\(key("22"))",
          "\(key("23"))"
        ],
        "identity" : "\(identity)",
        "privateKey" : "\(key("11"))",
        "version" : 1
      }
      """
    let phone = """
      {
        "lockIdentity" : "\(identity)",
        "lockPublicKey" : "\(key("09"))",
        "privateKey" : "\(key("12"))",
        "version" : 1
      }
      """
    let pending = """
      {
        "privateKey" : "\(key("13"))",
        "version" : 1
      }
      """
    for (name, text) in [
      (LockKeys.fileName, lock), (PhoneKeys.fileName, phone), (PendingPhoneKey.fileName, pending),
    ] {
      try text.write(toFile: directory + "/" + name, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory + "/" + name)
    }
    let again = directory + "/again"
    try FileManager.default.createDirectory(atPath: again, withIntermediateDirectories: true)
    try LockKeys.read(fromDirectory: directory).write(toDirectory: again)
    try PhoneKeys.read(fromDirectory: directory).write(toDirectory: again)
    try PendingPhoneKey.read(fromDirectory: directory).write(toDirectory: again)
    for (name, text) in [
      (LockKeys.fileName, lock), (PhoneKeys.fileName, phone), (PendingPhoneKey.fileName, pending),
    ] {
      #expect(try String(contentsOfFile: again + "/" + name, encoding: .utf8) == text + "\n")
    }
  }

  @Test("Provisioning never replaces keys") func neverReplaces() throws {
    try withKeys {
      let before = try Data(contentsOf: URL(fileURLWithPath: lockFile))
      #expect(throws: KeyFileError.alreadyThere(path: lockFile)) {
        try Provisioning.provision(lockDirectory: lockDirectory, phoneDirectory: directory + "/other")
      }
      #expect(try Data(contentsOf: URL(fileURLWithPath: lockFile)) == before)
      #expect(!FileManager.default.fileExists(atPath: directory + "/other"))
    }
  }

  @Test("Keys that others could read are refused") func tooOpen() throws {
    try withKeys {
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: lockFile)
      let error = #expect(throws: KeyFileError.self) { try LockKeys.read(fromDirectory: lockDirectory) }
      #expect(error == .tooOpen(path: lockFile, mode: 0o640))
      #expect(error?.description.contains("0640") == true)
    }
  }

  @Test("Missing keys are named as missing") func missing() throws {
    #expect(throws: KeyFileError.missing(path: lockFile)) { try LockKeys.read(fromDirectory: lockDirectory) }
    try FileManager.default.removeItem(atPath: directory)
  }

  @Test("Damaged keys are refused, and left as they are") func damaged() throws {
    try withKeys {
      let good = try String(contentsOfFile: lockFile, encoding: .utf8)
      for text in ["", "{", "[]", good.replacingOccurrences(of: "\"identity\" : \"", with: "\"identity\" : \"z")] {
        try Data(text.utf8).write(to: URL(fileURLWithPath: lockFile))
        let error = #expect(throws: KeyFileError.self) { try LockKeys.read(fromDirectory: lockDirectory) }
        guard case .damaged = error else {
          Issue.record("not damaged: \(String(describing: error))")
          continue
        }
        #expect(try String(contentsOfFile: lockFile, encoding: .utf8) == text)
      }
      let newer = good.replacingOccurrences(of: "\"version\" : 1", with: "\"version\" : 2")
      try Data(newer.utf8).write(to: URL(fileURLWithPath: lockFile))
      #expect(throws: KeyFileError.unknownVersion(path: lockFile, version: 2)) {
        try LockKeys.read(fromDirectory: lockDirectory)
      }
    }
  }

  @Test("A folder or a pipe in the keys' place is refused") func notAFile() throws {
    try withKeys {
      try FileManager.default.removeItem(atPath: lockFile)
      #expect(mkfifo(lockFile, 0o600) == 0)
      #expect(throws: KeyFileError.notAFile(path: lockFile)) { try LockKeys.read(fromDirectory: lockDirectory) }
    }
  }

  private func write(_ stored: [String: Any], as name: String) throws {
    let path = directory + "/" + name
    try JSONSerialization.data(withJSONObject: stored).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  @Test("L5: a door's keys of which anything is damaged are refused: no key that is to be revoked is dropped")
  func doors()
    throws
  {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let replaced = [[UInt8](repeating: 0x21, count: 32), [UInt8](repeating: 0x22, count: 32)]
    let keys = PhoneKeys(
      staticKey: PendingPhoneKey.draw().staticKey,
      lockIdentity: try #require(LockIdentity([UInt8](repeating: 3, count: 16))),
      lockKey: PendingPhoneKey.draw().staticKey.publicKey)
    try DoorKeys(name: "home", keys: keys, grant: nil, replaces: replaced).write(toDirectory: directory)
    #expect(try DoorKeys.read(fromDirectory: directory).map(\.replaces) == [replaced])
    let path = directory + "/home.json"
    let whole = try #require(
      try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path))) as? [String: Any])
    let key = String(repeating: "21", count: 32)
    for damaged in ["", "21", String(key.dropLast()), String(key.dropLast(2)), key + "21", "x" + key.dropFirst()] {
      var stored = whole
      stored["replaces"] = [key, damaged]
      try write(stored, as: "home.json")
      #expect(
        throws: KeyFileError.damaged(path: path, problem: "replaces is not 32 bytes in hexadecimal"), "\(damaged)"
      ) { try DoorKeys.read(fromDirectory: directory) }
    }
    // Neither does a grant that can't be read make an owner's door of a guest's.
    for grant in ["", "00", "x"] {
      var stored = whole
      stored["grant"] = grant
      try write(stored, as: "home.json")
      #expect(throws: KeyFileError.damaged(path: path, problem: "grant"), "\(grant)") {
        try DoorKeys.read(fromDirectory: directory)
      }
    }
  }

  @Test("A5: keys that can't be written are answered with the system's reason, in words") func inWords() throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try Data().write(to: URL(fileURLWithPath: directory + "/file"))
    for (folder, reason) in [("/file", "File exists"), ("/file/folder", "Not a directory")] {
      let refusal = #expect(throws: KeyFileError.self) {
        try Provisioning.makePendingPhone(directory: directory + folder)
      }
      #expect(refusal?.description == "keys can't be written to \(directory + folder): \(reason)")
    }
  }

  @Test("L8: doors whose folder can't be read are not taken for none") func unreadableDoors() throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    #expect(try DoorKeys.read(fromDirectory: directory + "/none").isEmpty)
    try Data().write(to: URL(fileURLWithPath: directory + "/file"))
    #expect(throws: KeyFileError.self) { try DoorKeys.read(fromDirectory: directory + "/file") }
  }
}
