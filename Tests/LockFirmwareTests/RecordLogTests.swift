import Foundation
import LockFirmware
import Logging
import Testing

@testable import latchkey_lock

@Suite("The log on disk") struct RecordLogTests {
  private let path = NSTemporaryDirectory() + "latchkey-log-" + UUID().uuidString
  private let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

  private func record(_ index: UInt64) -> LockRecord {
    LockRecord(
      .movement, index: index, unixSeconds: 1_800_000_000, target: .unlocked, cause: .phone, result: .done,
      phone: [UInt8](repeating: 5, count: 32), operation: index * 11)
  }

  private func log(_ count: UInt64) throws {
    let log = try RecordLog(path: path, logger: logger)
    for index in 1...count { try log.append(record(index)) }
  }

  private func cleanUp() {
    for name in [path, path + ".torn", path + ".torn.1"] { try? FileManager.default.removeItem(atPath: name) }
  }

  @Test("L6: what was appended is there after a restart, newest last") func restart() throws {
    defer { cleanUp() }
    try log(300)
    let again = try RecordLog(path: path, logger: logger)
    #expect(again.recordCount == 300)
    #expect(again.latest.last == record(300))
    #expect(again.latest.count == 3 * LockLimit.operations)
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test("L6: a record torn by a power cut, at any byte, is kept aside, and the log goes on") func torn() throws {
    for cut in [1, 10, 63, 64, 67] {
      defer { cleanUp() }
      try log(3)
      let whole = try Data(contentsOf: URL(fileURLWithPath: path))
      try whole.dropLast(cut).write(to: URL(fileURLWithPath: path))
      let log = try RecordLog(path: path, logger: logger)
      #expect(log.recordCount == 2)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".torn")).count == 68 - cut)
      try log.append(record(3))
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == whole)
    }
  }

  @Test("L6: a log that is damaged elsewhere, no log, or newer, is refused and left as it is") func damaged() throws {
    defer { cleanUp() }
    try log(5)
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    var flipped = whole
    flipped[18 + 68 + 20] ^= 1
    var newer = whole
    newer[17] = 2
    let cases: [(Data, RecordLogError)] = [
      (flipped, .damaged(path: path, record: 2)), (Data("hello, this is no log".utf8), .notALog(path: path)),
      (newer, .unknownVersion(path: path, version: 2)),
    ]
    for (bytes, error) in cases {
      try bytes.write(to: URL(fileURLWithPath: path))
      #expect(throws: error) { try RecordLog(path: path, logger: logger) }
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    }
  }

  @Test("Two locks on one log: the second is refused") func inUse() throws {
    defer { cleanUp() }
    let first = try RecordLog(path: path, logger: logger)
    #expect(throws: RecordLogError.inUse(path: path)) { try RecordLog(path: path, logger: logger) }
    try first.append(record(1))
  }
}
