import DurableFiles
import Foundation
import LockFirmware
import Logging
import Testing

@testable import LockRecords
@testable import latchkey_lock

@Suite("The log on disk") struct RecordLogTests {
  private let folder = NSTemporaryDirectory() + "latchkey-log-" + UUID().uuidString
  private var path: String { folder + "/records.log" }
  private var countPath: String { folder + "/records.count" }
  private let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

  private func record(_ index: UInt64) -> LockRecord {
    LockRecord(
      .movement, index: index, unixSeconds: 1_800_000_000, target: .unlocked, cause: .phone, result: .done,
      phone: [UInt8](repeating: 5, count: 32), operation: index * 11)
  }

  private func open(limit: Int = RecordLog.recordsPerFile) throws -> RecordLog {
    try RecordLog(path: path, limit: limit, logger: logger)
  }

  @Test("L5: where the bolt went last is known over restarts and new files, however many records followed")
  func landmarks()
    throws
  {
    try inFolder {
      func chatter(_ index: UInt64) -> LockRecord {
        LockRecord(
          .access, index: index, unixSeconds: 0, target: .locked, cause: .phone, result: .done,
          phone: LockRecord.nobody, operation: 0, detail: AccessChange.clockSet.rawValue)
      }
      do {
        let log = try open(limit: 300)
        for index in 1...5 as ClosedRange<UInt64> { try log.append(record(index)) }
        for index in 6...800 as ClosedRange<UInt64> { try log.append(chatter(index)) }
        #expect(log.landmarks.records.map(\.index) == [5])
      }
      let log = try open(limit: 300)
      #expect(log.latest.first?.index ?? 0 > 5)
      #expect(log.landmarks.records.map(\.index) == [5])
      try log.append(record(801))
      #expect(log.landmarks.records.map(\.index) == [801])
    }
  }

  private func log(_ count: UInt64) throws {
    let log = try open()
    for index in 1...count { try log.append(record(index)) }
  }

  private func inFolder(_ body: () throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body()
  }

  private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }
  private func write(_ bytes: Data, _ path: String) throws { try bytes.write(to: URL(fileURLWithPath: path)) }
  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  @Test("L6: what was appended is there after a restart, newest last") func restart() throws {
    try inFolder {
      try log(300)
      let again = try open()
      #expect(again.recordCount == 300)
      #expect(again.latest.last == record(300))
      #expect(again.latest.count == RecordLogFormat.keptCount)
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test("L6: a record torn by a power cut, at any byte, is set aside, and the log continues") func torn() throws {
    for cut in 1...67 {
      try inFolder {
        try log(2)
        let count = try bytes(countPath)
        let two = try bytes(path)
        let third = RecordLogFormat.entry(record(3))
        // The power fails before the third record is complete, so its number is not stored either.
        try write(two + Data(third.dropLast(cut)), path)
        try write(count, countPath)
        let log = try open()
        #expect(log.recordCount == 2)
        #expect(try bytes(path + ".torn").count == 68 - cut)
        try log.append(record(3))
        #expect(try bytes(path) == two + Data(third))
      }
    }
  }

  @Test("L6: a log that is damaged elsewhere, no log, or newer, is refused and left as it is") func damaged() throws {
    try inFolder {
      try log(5)
      let whole = try bytes(path)
      var flipped = whole
      flipped[18 + 68 + 20] ^= 1
      var newer = whole
      newer[17] = 2
      let cases: [(Data, RecordLogError)] = [
        (flipped, .damaged(path: path, record: 2)), (Data("hello, this is no log".utf8), .notALog(path: path)),
        (newer, .unknownVersion(path: path, version: 2)),
      ]
      for (bytes, error) in cases {
        try write(bytes, path)
        #expect(throws: error) { try open() }
        #expect(try self.bytes(path) == bytes)
      }
    }
  }

  @Test("Two locks on one log: the second is refused") func inUse() throws {
    try inFolder {
      let first = try open()
      #expect(throws: RecordLogError.inUse(path: path)) { try open() }
      try first.append(record(1))
    }
  }

  // MARK: A shortened log

  @Test("H3 A9: a log that lost its end, at a record's edge or within one, is refused and left as it is")
  func lostItsEnd() throws {
    for cut in [1, 67, 68, 69, 2 * 68, 3 * 68] {
      try inFolder {
        try log(3)
        let short = try bytes(path).dropLast(cut)
        try write(short, path)
        let found = UInt64((3 * 68 - cut) / 68)
        #expect(throws: RecordLogError.shortened(path: path, found: found, stored: 3)) { try open() }
        #expect(try bytes(path) == short)
        #expect(!exists(path + ".torn"))
      }
    }
  }

  @Test("A9: an empty or missing log is refused where its count, or the bolt, tells that there was one")
  func empty() throws {
    try inFolder {
      try log(3)
      try write(Data(), path)
      #expect(throws: RecordLogError.missing(path: path, trace: countPath)) { try open() }
      try FileManager.default.removeItem(atPath: path)
      #expect(throws: RecordLogError.missing(path: path, trace: countPath)) { try open() }
      #expect(!exists(path))
      try FileManager.default.removeItem(atPath: countPath)
      try write(Data("locked\n".utf8), folder + "/bolt")
      #expect(throws: RecordLogError.missing(path: path, trace: folder + "/bolt")) { try open() }
      let text = RecordLogError.missing(path: path, trace: countPath).description
      #expect(text.contains("--accept-lost-records") && text.contains(folder))
    }
  }

  @Test("A power cut before or during the write of a record's number loses nothing") func betweenTheTwo() throws {
    try inFolder {
      try log(2)
      let two = try bytes(countPath)
      do {
        let log = try open()
        try log.append(record(3))
      }
      let three = try bytes(countPath)
      // The number is that of the record before, and any part of the new number may be there.
      let changed = zip(two, three).enumerated().filter { $1.0 != $1.1 }.map(\.offset)
      let place = try #require(changed.first)
      for length in 0...(changed.last ?? 0) - place {
        var torn = two
        torn.replaceSubrange(place..<place + length, with: three[place..<place + length])
        try write(torn, countPath)
        let log = try open()
        #expect(log.recordCount == 3)
      }
      #expect(try RecordCount.read(countPath)?.last == 3)
    }
  }

  @Test("A log of an earlier version, without a count, is taken up, and its loss is noticed from then on")
  func earlierVersion() throws {
    try inFolder {
      try log(3)
      try FileManager.default.removeItem(atPath: countPath)
      #expect(try open().recordCount == 3)
      try write(bytes(path).dropLast(68), path)
      #expect(throws: RecordLogError.shortened(path: path, found: 2, stored: 3)) { try open() }
    }
  }

  @Test("A count that is damaged is refused; one of its places is enough") func damagedCount() throws {
    try inFolder {
      try log(3)
      let whole = try bytes(countPath)
      for place in [512, 1024] {
        var one = whole
        one[place + 3] ^= 0xFF
        try write(one, countPath)
        #expect(try open().recordCount == 3)
      }
      for bytes in [Data(), whole.prefix(700), Data(count: whole.count)] {
        try write(bytes, countPath)
        #expect(throws: RecordLogError.countDamaged(path: countPath)) { try open() }
        #expect(try self.bytes(countPath) == bytes)
      }
    }
  }

  @Test("Power that goes at any step of the first start leaves a folder that the next start takes up")
  func firstStart() throws {
    try inFolder {
      // After the log's lock; and after the log, before its count. An earlier version may have been cut within the
      // header.
      for piece in [nil, 0, 5, 17, 18] {
        for name in [path, countPath] { try? FileManager.default.removeItem(atPath: name) }
        if let piece { try write(Data(RecordLogFormat.header.prefix(piece)), path) }
        let log = try open()
        #expect(log.recordCount == 0)
        try log.append(record(1))
        #expect(try RecordCount.read(countPath)?.last == 1)
      }
    }
  }

  @Test("A person accepts the loss: the readable part continues, and the old file is kept") func accept() throws {
    let losses: [(String, (Data) -> Data?, UInt64)] = [
      ("cut", { $0.dropLast(68) }, 2), ("empty", { _ in Data() }, 0), ("missing", { _ in nil }, 0),
      ("no log", { _ in Data("hello".utf8) }, 0),
      (
        "flipped",
        { whole in
          var whole = whole
          whole[18 + 68 + 20] ^= 1
          return whole
        }, 1
      ),
    ]
    for (name, lose, left) in losses {
      try inFolder {
        try log(3)
        let lost = lose(try bytes(path))
        try FileManager.default.removeItem(atPath: path)
        if let lost { try write(lost, path) }
        #expect(throws: RecordLogError.self, "\(name)") { try open() }
        let said = try RecordLog.acceptLoss(path: path)
        #expect(
          said.contains("after record \(left)") && said.contains("\(3 - left) records are lost"), "\(name): \(said)")
        if let lost, !lost.isEmpty { #expect(try bytes(path + ".lost") == lost) }
        let log = try open()
        #expect(log.recordCount == left)
        try log.append(record(left + 1))
      }
    }
  }

  @Test("A newer log is not accepted as lost") func acceptNewer() throws {
    try inFolder {
      try log(1)
      var newer = try bytes(path)
      newer[17] = 2
      try write(newer, path)
      #expect(throws: RecordLogError.unknownVersion(path: path, version: 2)) { try RecordLog.acceptLoss(path: path) }
      #expect(try bytes(path) == newer)
    }
  }

  @Test("L6: losses are accepted as the folder's user alone, and the advice names the user and the program")
  func acceptAsUser() throws {
    try inFolder {
      try log(2)
      try write(Data(), path)
      // Only root can give a folder away, or be another than its user and write in it.
      guard geteuid() == 0, let other = getpwnam("nobody") else { return }
      chown(folder, other.pointee.pw_uid, other.pointee.pw_gid)
      defer { chown(folder, 0, 0) }
      let advice = #expect(throws: RecordLogError.self) { try open() }?.description ?? ""
      #expect(advice.contains("runuser -u nobody -- /"), "\(advice)")
      let before = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      let refusal = #expect(throws: RecordLogError.self) { try RecordLog.acceptLoss(path: path) }?.description ?? ""
      #expect(refusal.contains("belongs to nobody") && refusal.contains("runuser -u nobody -- /"), "\(refusal)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == before)
      #expect(try bytes(path).isEmpty)
    }
  }

  // MARK: A long log

  @Test("L5: a long log continues in a new file, and a start reads only that file") func long() throws {
    try inFolder {
      do {
        let log = try open(limit: 300)
        for index in UInt64(1)...1000 { try log.append(record(index)) }
        #expect(log.recordCount == 1000)
      }
      let log = try open(limit: 300)
      #expect(log.recordCount == 1000 && log.latest.count == RecordLogFormat.keptCount)
      #expect(try bytes(path).count < 18 + 68 * 301)
      let older = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains(".until-") }
      #expect(older.contains("records.log.until-300"))
      // Every record is in one of the files.
      var seen: Set<UInt64> = []
      for name in older + ["records.log"] {
        let content = [UInt8](try bytes(folder + "/" + name))
        for start in stride(from: 18, to: content.count, by: 68) {
          seen.insert(try LockRecord(decoding: Array(content[start..<start + 64])).index)
        }
      }
      #expect(seen == Set(1...1000))
    }
  }

  @Test("M4: where the disk is full, what was reserved makes room, once") func reserve() throws {
    try inFolder {
      let reserve = DiskReserve(path: folder + "/reserve", byteCount: 1000)
      reserve.take()
      #expect(try bytes(reserve.path).count == 1000)
      var attempts = 0
      func write() throws(DurableFileError) {
        attempts += 1
        guard !exists(reserve.path) else { throw DurableFileError(path: path, call: "write", number: ENOSPC) }
      }
      try reserve.use(write) { $0.isOfFullDisk }
      #expect(attempts == 2 && !exists(reserve.path))
      reserve.take()
      #expect(throws: DurableFileError(path: path, call: "write", number: EIO)) {
        try reserve.use { () throws(DurableFileError) in
          throw DurableFileError(path: path, call: "write", number: EIO)
        } whereFull: {
          $0.isOfFullDisk
        }
      }
      #expect(exists(reserve.path))
    }
  }

  @Test("L5: the check sum is what it always was") func checkSum() {
    // The check value of CRC-32/ISO-HDLC.
    #expect(RecordLogFormat.checkSum(Array("123456789".utf8)) == [0xCB, 0xF4, 0x39, 0x26])
  }
}
