import Foundation
import LockCryptography
import LockProtocol
import Logging
import Testing

@testable import LockFirmware
@testable import latchkey_lock

/// The lock's program around the firmware on Linux.
@Suite("The lock's shell") struct LockShellTests {
  private let directory = NSTemporaryDirectory() + "latchkey-trusted-" + UUID().uuidString
  private let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

  private func inFolder(_ body: (TrustedStore, URL) throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try body(
      TrustedStore(directory: directory, logger: logger),
      URL(fileURLWithPath: directory + "/" + TrustedStore.fileName))
  }

  @Test("M11: a proven phone is still known after a restart of the process") func trusted() throws {
    try inFolder { store, _ in
      #expect(store.read().isEmpty)
      let proven = TrustedCentral(
        central: CentralIdentifier(high: 1, low: .max), phone: [UInt8](repeating: 9, count: 32))
      store.write([proven])
      #expect(store.read() == [proven])
    }
  }

  @Test(
    "M11: an unreadable file locks no phone out",
    arguments: [
      "", "{", "[]", #"{"version":9,"centrals":[]}"#, #"{"version":1,"centrals":[{"central":"x","phone":""}]}"#,
    ])
  func damaged(_ content: String) throws {
    try inFolder { store, file in
      try Data(content.utf8).write(to: file)
      #expect(store.read().isEmpty)
      store.write([])
      #expect(try String(contentsOf: file, encoding: .utf8).contains("version"))
    }
  }

  @Test("M11: a flood of refusals is a few lines, and none is forgotten") func refusals() {
    var lines = RefusalLines()
    var told = 0
    var untold = 0
    for milliseconds in 0..<600_000 as Range<Int64> {
      guard let before = lines.tell(at: 5_000_000 + milliseconds) else { continue }
      told += 1
      untold += before
    }
    #expect(told == RefusalLines.burst + 59)
    #expect(untold > 580_000)
    // After a quiet time there is room for a few again.
    #expect(lines.tell(at: 9_000_000) != nil)
    #expect(lines.tell(at: 9_000_000) == 0)
  }

  @Test(
    "L6: when the disk is full for a moment, the lock's records go on without a gap, and none fails that was stored")
  func fullForAMoment() throws {
    var keeper = RecordKeeper()
    let identity = try #require(LockIdentity([UInt8](repeating: 3, count: 16)))
    var firmware = LockFirmware(
      LockConfiguration(identity: identity, enrolledPhones: []), staticKey: .init(), using: SwiftCryptography(),
      records: [], position: .unlocked, door: .closed, at: LockTime(milliseconds: 0, unixSeconds: 0))
    struct Full: Error {}
    var stored: [UInt64] = []
    var attempts = 0
    var told: [LockEvent] = []
    // As the lock's program does it. The second record can't be stored, and those after it could.
    var waiting: [LockEvent] = [
      .tamperChanged(isOpen: true), .batteryChanged(1), .doorChanged(.open), .tamperChanged(isOpen: false),
      .boltTurnedByHand(.locked), .modeSet(.privacy), .modeSet(.normal),
    ]
    while !waiting.isEmpty {
      let event = waiting.removeFirst()
      told.append(event)
      keeper.tells(event)
      for effect in firmware.handle(event, at: LockTime(milliseconds: 0, unixSeconds: 0)) {
        guard case .appendRecord(let record) = effect else { continue }
        let event = keeper.keep(record) { record in
          attempts += 1
          if attempts == 2 { throw Full() }
          stored.append(record.index)
        }
        if let event { waiting.append(event) }
      }
    }
    #expect(stored == Array(1..<UInt64(stored.count + 1)), "\(stored)")
    #expect(told.filter { if case .recordFailed = $0 { true } else { false } } == [.recordFailed(2)])
    #expect(firmware.nextRecordIndex == UInt64(stored.count + 1))
  }

  @Test("L2: whose leaving locks an open bolt is still known after a restart of the process")
  func awaited()
    throws
  {
    try inFolder { _, _ in
      let awaited = AwaitedPhone(phone: [UInt8](repeating: 9, count: 32), record: .max)
      let settings = try LockSettings(directory: directory)
      try settings.write(.passage)
      #expect(settings.awaited == nil)
      try settings.write(awaited)
      let read = try LockSettings(directory: directory)
      #expect(read.awaited == awaited && read.mode == .passage)
      // What a lock of an earlier version wrote.
      try Data(#"{"mode":2,"version":1}"#.utf8).write(
        to: URL(fileURLWithPath: directory + "/" + LockSettings.fileName))
      #expect(try LockSettings(directory: directory).awaited == nil)
    }
  }

  @Test(
    "L6: settings of which anything is damaged keep the lock from its start: nobody comes back, and no open bolt is forgotten",
    arguments: [
      #""awaited":{"phone":"zz","record":3}"#, #""awaited":{"phone":"","record":3}"#,
      #""awaited":{"phone":"0909","record":3}"#, #""reset":{"identity":"0303","phones":[],"record":1}"#,
      #""reset":{"identity":"\#(String(repeating: "03", count: 16))","phones":["09"],"record":1}"#,
      #""reset":{"identity":"\#(String(repeating: "03", count: 16))","phones":["\#(String(repeating: "0g", count: 32))"],"record":1}"#,
    ])
  func damagedSettings(_ member: String) throws {
    try inFolder { _, _ in
      try Data(#"{"mode":0,"version":1,\#(member)}"#.utf8).write(
        to: URL(fileURLWithPath: directory + "/" + LockSettings.fileName))
      let refusal = #expect(throws: StartError.self) { try LockSettings(directory: directory) }
      #expect(refusal?.description.contains("is damaged") == true)
    }
  }

  @Test("L6: what a reset has forgotten stays forgotten, in whatever case its key is written") func upperCase() throws {
    try inFolder { _, _ in
      let phone = [UInt8](repeating: 0xAB, count: 32)
      let keys = try LockKeys(
        identity: #require(LockIdentity([UInt8](repeating: 0xCD, count: 16))), staticKey: .init(),
        enrolledPhones: [phone])
      let identity = String(repeating: "CD", count: 16)
      let key = String(repeating: "AB", count: 32)
      try Data(#"{"mode":0,"version":1,"reset":{"identity":"\#(identity)","phones":["\#(key)"],"record":1}}"#.utf8)
        .write(to: URL(fileURLWithPath: directory + "/" + LockSettings.fileName))
      #expect(try LockSettings(directory: directory).remaining(of: keys).isEmpty)
    }
  }

  @Test("L6: a reset that is in the log and nowhere else, because the power failed, is finished at the next start")
  func unfinishedReset() throws {
    try inFolder { trusted, _ in
      let phone = [UInt8](repeating: 9, count: 32)
      let keys = try LockKeys(
        identity: #require(LockIdentity([UInt8](repeating: 3, count: 16))), staticKey: .init(), enrolledPhones: [phone])
      let access = AccessStore(directory: directory)
      func settings(after records: [LockRecord]) throws -> LockSettings {
        let settings = try LockSettings(directory: directory)
        try settings.finishReset(records, of: keys, access, trusted)
        return settings
      }
      func tellAccess() throws {
        var state = AccessState()
        let isIntroduced = state.introduce(.init(phone: phone, signingKey: phone, name: []))
        #expect(isIntroduced)
        try access.write(state.encoded)
      }
      func alarm(_ alarm: LockAlarm, _ index: UInt64) -> LockRecord {
        LockRecord(
          .alarm, index: index, unixSeconds: 0, target: .locked, cause: .unexplained, result: .done,
          phone: LockRecord.nobody, operation: 0, detail: alarm.rawValue)
      }
      try tellAccess()
      trusted.write([TrustedCentral(central: CentralIdentifier(high: 1, low: 1), phone: phone)])
      #expect(try settings(after: [alarm(.doorAjar, 4)]).remaining(of: keys) == [phone])
      #expect(try !access.read().owners.isEmpty)
      let records = [alarm(.doorAjar, 4), alarm(.lockFactoryReset, 5)]
      #expect(try settings(after: records).remaining(of: keys).isEmpty)
      #expect(try access.read() == AccessState() && trusted.read().isEmpty)
      // Only the phones were forgotten.
      try tellAccess()
      #expect(try settings(after: records).remaining(of: keys).isEmpty)
      #expect(try access.read() == AccessState())
      // The lock was set up again since, with another phone, and an owner has told it something.
      let told = LockRecord(.ownerIntroduced, index: 6, unixSeconds: 0, phone: phone, number: 0)
      try tellAccess()
      let other = [UInt8](repeating: 8, count: 32)
      let newKeys = LockKeys(identity: keys.identity, staticKey: keys.staticKey, enrolledPhones: [other])
      #expect(try settings(after: records + [told]).remaining(of: newKeys) == [other])
      #expect(try !access.read().owners.isEmpty)
    }
  }

  @Test("L5: a lock whose owners' words are missing says so, and does not let in again who was revoked")
  func missingAccess() throws {
    try inFolder { _, _ in
      let store = AccessStore(directory: directory)
      #expect(try store.read() == AccessState(), "nothing was told yet")
      try store.write(AccessState().encoded)
      #expect(try store.read() == AccessState())
      try FileManager.default.removeItem(atPath: store.path)
      let refusal = #expect(throws: StartError.self) { try store.read() }
      #expect(refusal?.description.contains("is missing") == true)
    }
  }

  /// What owners have told at some time, as it is stored.
  private func told(_ version: UInt8) -> [UInt8] {
    var state = AccessState()
    state.phones = [KeyName(key: [UInt8](repeating: version, count: 32), name: [version])]
    return state.encoded
  }

  @Test("L5: a lock whose owners' words are from a backup says so, and does not let in again who was revoked since")
  func restoredAccess() throws {
    try inFolder { _, _ in
      let store = AccessStore(directory: directory)
      var backups: [Data] = []
      for version in 1...4 as ClosedRange<UInt8> {
        try store.write(told(version))
        backups.append(try Data(contentsOf: URL(fileURLWithPath: store.path)))
        #expect(try store.read().encoded == told(version))
      }
      // Even the one just before the last.
      for backup in backups.dropLast() {
        try backup.write(to: URL(fileURLWithPath: store.path))
        let refusal = #expect(throws: StartError.self) { try store.read() }
        #expect(refusal?.description.contains("is not what the lock has stored last") == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: store.path)) == backup, "it was left as it is")
      }
      try backups[3].write(to: URL(fileURLWithPath: store.path))
      #expect(try store.read().encoded == told(4))
      // A person decides.
      try backups[1].write(to: URL(fileURLWithPath: store.path))
      try FileManager.default.removeItem(atPath: store.path + ".made")
      #expect(try store.read().encoded == told(2))
      try backups[2].write(to: URL(fileURLWithPath: store.path))
      #expect(throws: StartError.self) { try store.read() }
    }
  }

  @Test("L5: a power cut in the middle of storing what owners have told is no backup") func cutAccess() throws {
    try inFolder { _, _ in
      let store = AccessStore(directory: directory)
      let (state, mark) = (URL(fileURLWithPath: store.path), URL(fileURLWithPath: store.path + ".made"))
      try store.write(told(1))
      let old = (try Data(contentsOf: state), try Data(contentsOf: mark))
      try store.write(told(2))
      let new = try Data(contentsOf: state)
      let digests = { (mark: Data) in
        String(decoding: mark, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("stored ") }
      }
      let newMark = try Data(contentsOf: mark)
      let both = old.1 + Data(digests(newMark).joined(separator: "\n").utf8)
      for content in [old.0, new] {
        try both.write(to: mark)
        try content.write(to: state)
        _ = try store.read()
        #expect(digests(try Data(contentsOf: mark)).count == 1, "from now on, that one alone")
      }
    }
  }

  @Test("L5: what an earlier release has stored of its owners is missed as well, once a lock has read it")
  func missingOlderAccess() throws {
    try inFolder { _, _ in
      let store = AccessStore(directory: directory)
      try store.write(AccessState().encoded)
      try? FileManager.default.removeItem(atPath: store.path + ".made")
      #expect(try store.read() == AccessState())
      try FileManager.default.removeItem(atPath: store.path)
      #expect(throws: StartError.self) { try store.read() }
    }
  }

  private func run(_ program: String, _ arguments: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  @Test(
    "L5: a revocation counts though the disk is full, again and again",
    .enabled(if: geteuid() == 0, "only root makes a small disk"))
  func fullDisk() throws {
    try inFolder { _, _ in
      try run("/usr/bin/mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", directory)
      defer { try? run("/usr/bin/umount", directory) }
      let store = AccessStore(directory: directory)
      #expect(try store.read() == AccessState())
      let junk = directory + "/junk"
      #expect(FileManager.default.createFile(atPath: junk, contents: nil))
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: junk))
      for count in [65_536, 4096, 1] { while (try? handle.write(contentsOf: Data(count: count))) != nil {} }
      for number in 1...20 as ClosedRange<UInt8> {
        var access = AccessState()
        access.phones = [KeyName(key: [UInt8](repeating: number, count: 32), name: [])]
        try store.write(access.encoded)
        #expect(try store.read() == access)
      }
    }
  }
}
