import Foundation
import LockCryptography
import LockFirmware
import LockProtocol
import Logging
import Testing

@testable import LockRecords
@testable import latchkey_lock

@Suite("Pages of the log") struct RecordPageTests {
  private let folder = NSTemporaryDirectory() + "latchkey-pages-" + UUID().uuidString
  private var path: String { folder + "/records.log" }
  private let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

  private func record(_ index: UInt64) -> LockRecord {
    LockRecord(
      .movement, index: index, unixSeconds: 1_800_000_000, target: .unlocked, cause: .phone, result: .done,
      phone: [UInt8](repeating: 5, count: 32), operation: index * 11)
  }

  private func open(limit: Int = RecordLog.recordsPerFile) throws -> RecordLog {
    try RecordLog(path: path, limit: limit, logger: logger)
  }

  private func inFolder(_ body: () throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body()
  }

  /// The ends after each record, computed from the definition.
  private func ends(_ count: UInt64) -> [LogHead] {
    var ends = [LogHead.empty]
    for index in 1...count {
      ends.append(
        LogHead(index: index, hash: SwiftCryptography.hash(ends[Int(index) - 1].hash + record(index).encoded)))
    }
    return ends
  }

  @Test("L5: the chain goes through all files of a log that was set aside again and again, and over restarts")
  func files() throws {
    try inFolder {
      let ends = ends(3000)
      var log = try open(limit: 400)
      for index in 1...3000 {
        try log.append(record(UInt64(index)))
        if index.isMultiple(of: 701) { log = try reopened(&log) }
      }
      log = try reopened(&log)
      #expect(log.head == ends[3000])
      #expect(log.olderFiles().count > 5)
      for start: UInt64 in [0, 1, 2, 255, 256, 257, 399, 400, 401, 1000, 2047, 2990, 3000] {
        let page = try log.page(from: start, count: 32)
        let first = max(start, 1)
        #expect(page.first == 1 && page.head == ends[3000])
        #expect(page.before == ends[Int(first) - 1], "\(start)")
        #expect(page.records.first == record(first).encoded)
        #expect(page.end(using: SwiftCryptography.self) == ends[Int(first) - 1 + page.records.count])
        #expect(!page.records.isEmpty)
      }
      #expect(try log.page(from: 3001, count: 32).records.isEmpty)
      #expect(try log.page(from: 1, count: 0).records.isEmpty)
    }
  }

  @Test("L5: a page of a long log costs the hashes of one file at most, and only if it is of a file that was set aside")
  func bounded() throws {
    try inFolder {
      let ends = ends(3000)
      var log = try open(limit: 400)
      for index in 1...3000 { try log.append(record(UInt64(index))) }
      log = try reopened(&log)
      let newest = try log.page(from: 2990, count: 32)
      #expect(newest.first == 1 && newest.before == ends[2989] && newest.records.count == 11)
      #expect(log.olderChains.isEmpty)
      #expect(try log.page(from: 5, count: 32).before == ends[4])
      #expect(log.olderChains.count == 1)
    }
  }

  @Test("L5: a file that was set aside and has lost its end is not read, nor any before it") func cutOlder() throws {
    try inFolder {
      var log = try open(limit: 400)
      for index in 1...1500 { try log.append(record(UInt64(index))) }
      log = try reopened(&log)
      let older = log.olderFiles()
      try #require(older.count > 2)
      let cut = older[older.count - 2]
      let bytes = try Data(contentsOf: URL(fileURLWithPath: cut.path))
      try bytes.dropLast(RecordLogFormat.entryByteCount).write(to: URL(fileURLWithPath: cut.path))
      let page = try log.page(from: 1, count: 32)
      #expect(page.first > older[older.count - 3].last)
      #expect(page.records.first == record(page.first).encoded && page.before == ends(1500)[Int(page.first) - 1])
    }
  }

  private func reopened(_ log: inout RecordLog) throws -> RecordLog {
    // The lock on the folder is released only with the object.
    let limit = 400
    log = try { try placeholder() }()
    return try open(limit: limit)
  }

  /// A log elsewhere, so that the one before it is closed.
  private func placeholder() throws -> RecordLog {
    let other = folder + "/other-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    return try RecordLog(path: other + "/records.log", logger: logger)
  }

  @Test("L5: after the oldest files are removed, pages begin with the oldest record that is left") func removed() throws
  {
    try inFolder {
      let log = try open(limit: 200)
      for index in 1...6000 { try log.append(record(UInt64(index))) }
      let ends = ends(6000)
      let page = try log.page(from: 1, count: 32)
      #expect(page.first > 1 && page.records.first == record(page.first).encoded)
      #expect(page.before == ends[Int(page.first) - 1])
    }
  }

  @Test("L5: a log of an earlier version is continued, and its records are in the chain") func earlier() throws {
    try inFolder {
      var log: RecordLog? = try open()
      for index in 1...300 { try log?.append(record(UInt64(index))) }
      log = nil
      try FileManager.default.removeItem(atPath: folder + "/records.chain")
      let again = try open()
      #expect(again.head == ends(300)[300])
      #expect(try again.page(from: 290, count: 32).records.count == 11)
    }
  }

  @Test("L5: a log that is closed is free at once, also if a child that is being started has its files")
  func closed() throws {
    try inFolder {
      var log: RecordLog? = try open()
      // A child has the same open files until it runs its program.
      let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
      let shared = descriptors.filter {
        let name = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        return name?.hasPrefix(folder) == true
      }.map { dup($0) }
      defer { for descriptor in shared { close(descriptor) } }
      #expect(!shared.isEmpty)
      #expect(log?.recordCount == 0)
      log = nil
      #expect(try open().recordCount == 0)
    }
  }

  @Test("L5: a damaged file of beginnings is reported, and the log is read all the same") func damaged() throws {
    try inFolder {
      var log: RecordLog? = try open(limit: 200)
      for index in 1...450 { try log?.append(record(UInt64(index))) }
      log = nil
      let chain = URL(fileURLWithPath: folder + "/records.chain")
      let bytes = try Data(contentsOf: chain)
      for position in stride(from: 0, to: bytes.count, by: 7) {
        var changed = bytes
        changed[position] ^= 0x20
        try changed.write(to: chain)
        let again = try open(limit: 200)
        #expect(again.recordCount == 450)
        #expect(try again.page(from: 440, count: 32).records.count == 11)
      }
    }
  }
}
