import Foundation
import LockCryptography
import LockFirmware
import LockProtocol
import Logging
import Testing

@testable import LockRecords
@testable import latchkey_lock

@Suite("The lock's files in every format that was ever released") struct GoldenFilesTests {
  private let folder = NSTemporaryDirectory() + "latchkey-files-" + UUID().uuidString
  private var path: String { folder + "/records.log" }
  private let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

  private func inFolder(_ body: () throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body()
  }

  private func golden(_ name: String) throws -> Data {
    try Data(contentsOf: #require(Bundle.module.url(forResource: "Files/" + name, withExtension: nil)))
  }

  private func write(_ bytes: some Sequence<UInt8>, _ path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  /// Every kind of record, with every cause and result.
  private var everything: [LockRecord] {
    let results: [LockResult] = [.done, .notNeeded, .unknownOperation, .failed, .doorOpen, .busy, .lockedAtHome]
    var records: [LockRecord] = []
    for kind in [LockRecord.Kind.movement, .outcome, .command] {
      for target in [BoltTarget.locked, .unlocked] {
        for cause in [MovementCause.phone, .leaving, .relock, .hand] {
          for result in results {
            let index = UInt64(records.count + 1)
            let isOfPhone = cause == .phone
            records.append(
              LockRecord(
                kind, index: index, unixSeconds: index == 1 ? -1 : 1_800_000_000 + Int64(index), target: target,
                cause: cause, result: result,
                phone: isOfPhone
                  ? [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 32) : LockRecord.nobody,
                operation: isOfPhone ? 0 &- index : 0))
          }
        }
      }
    }
    return records
  }

  @Test("L6: the golden log has every record, and what is written now is the same, byte by byte")
  func everyRecord() throws {
    let golden = try golden("format-1.log")
    let content = RecordLogFormat.read([UInt8](golden), path: path)
    #expect(content.problem == nil && content.recordCount == everything.count)
    #expect(content.latest == everything.suffix(content.latest.count))
    let written = RecordLogFormat.header + everything.flatMap(RecordLogFormat.entry)
    #expect(Data(written) == golden)
  }

  @Test("L5: what owners have told is read from the golden state, and written as it is there, byte by byte")
  func access() throws {
    try inFolder {
      let golden = try golden("format-1-access.state")
      let path = folder + "/" + AccessStore.fileName
      try write(golden, path)
      let store = AccessStore(directory: folder)
      let state = try store.read()
      let issuer = [UInt8](repeating: 2, count: 32)
      #expect(state.clock?.unixSeconds == 1_800_000_000 && state.clock?.milliseconds == 86_400_000)
      #expect(state.owners.map(\.name) == [Array("alice".utf8), Array("Žofie".utf8)])
      #expect(state.owners.map(\.phone) == [[UInt8](repeating: 1, count: 32), [UInt8](repeating: 3, count: 32)])
      #expect(state.lists.map(\.version) == [7] && state.lists.map(\.issuer) == [issuer])
      #expect(
        state.lists.first?.entries == [
          .grant([UInt8](repeating: 5, count: 16)), .phone([UInt8](repeating: 6, count: 16)),
        ])
      #expect(state.uses.map(\.count) == [1, 65535])
      #expect(state.guests == [KeyName(key: [UInt8](repeating: 10, count: 32), name: Array("Ben".utf8))])
      try store.write(state.encoded)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == golden)
      // What is cut off or changed is not taken for less.
      for count in [0, 20, golden.count - 1] {
        try write(golden.prefix(count), path)
        #expect(throws: StartError.self) { try store.read() }
      }
      var changed = golden
      changed[60] ^= 1
      try write(changed, path)
      #expect(throws: StartError.self) { try store.read() }
    }
  }

  @Test(
    "L5, L6: what a lock of any version has stored of its owners and guests is read for ever, and written as it is there",
    arguments: ["format-1-access", "format-2-access", "format-3-access", "format-3-open-access"])
  func everyAccess(_ name: String) throws {
    try inFolder {
      let golden = try golden(name + ".state")
      try write(golden, folder + "/" + AccessStore.fileName)
      let store = AccessStore(directory: folder)
      let state = try store.read()
      // The same of each version.
      #expect(state.owners.count == 2 && state.lists.map(\.version) == [7] && state.guests.count == 1)
      #expect(state.uses.map(\.count) == [1, 65535] && state.clock != nil)
      let phones = [
        KeyName(key: [UInt8](repeating: 20, count: 32), name: Array("Carol".utf8)),
        // An earlier version did not look at the name.
        KeyName(key: [UInt8](repeating: 21, count: 32), name: [0xFF, 0xFE]),
      ]
      let hasPhones = name == "format-2-access" || name == "format-3-access"
      #expect(state.phones == (hasPhones ? phones : []))
      #expect(state.uses.map(\.until) == (name.contains("3") ? [1_900_000_000, .max] : [.max, .max]))
      #expect(state.forgottenUntil == (name == "format-3-access" ? 1_790_000_000 : nil))
      try store.write(state.encoded)
      #expect(try Data(contentsOf: URL(fileURLWithPath: store.path)) == golden)
      // A lock goes on with it, whatever it holds itself.
      var configuration = LockConfiguration(
        identity: try #require(LockIdentity([UInt8](repeating: 3, count: 16))), enrolledPhones: [])
      configuration.capacity.countedGrants = 1
      configuration.capacity.phones = 1
      let lock = LockFirmware(
        configuration, staticKey: .init(), using: SwiftCryptography(), records: [], access: state, position: .locked,
        door: .closed, at: LockTime(milliseconds: 0, unixSeconds: 0))
      #expect(lock.access == state)
      for count in [30, golden.count - 5, golden.count - 1] {
        try write(golden.prefix(count), store.path)
        #expect(throws: StartError.self) { try store.read() }
      }
    }
  }

  @Test("L6: a log of the first release, which had no count, is continued; so is one with a count")
  func goesOn() throws {
    for (log, hasCount) in [("format-1-door.log", false), ("format-1-counted.log", true)] {
      try inFolder {
        try write(golden(log), path)
        if hasCount { try write(golden("format-1.count"), folder + "/records.count") }
        let opened = try RecordLog(path: path, logger: logger)
        #expect(opened.recordCount == 9)
        var next = try #require(opened.latest.last)
        next.index += 1
        try opened.append(next)
        #expect(opened.recordCount == 10)
      }
    }
  }

  @Test(
    "L6: a complete record of a newer lock is not damage: the log is not changed, even by --accept-lost-records")
  func newerRecord() throws {
    // A newer version of records, or an unknown kind, cause or result; in the middle of the log, and at its end.
    for (offset, value) in [(0, 2), (1, 9), (2, 7), (3, 99), (4, 200), (5, 1)] as [(Int, UInt8)] {
      for isLast in [false, true] {
        try inFolder {
          var record = everything[1].encoded
          record[offset] = value
          var bytes = RecordLogFormat.header + RecordLogFormat.entry(everything[0]) + record
          bytes += RecordLogFormat.checkSum(record)
          if !isLast { bytes += RecordLogFormat.entry(everything[2]) }
          try write(bytes, path)
          let refusal = RecordLogError.unknownRecord(path: path, record: 2)
          #expect(throws: refusal) { try RecordLog(path: path, logger: logger) }
          #expect(throws: refusal) { try RecordLog.acceptLoss(path: path) }
          #expect(refusal.description.contains("install the newer latchkey-lock"))
          #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(bytes))
        }
      }
    }
  }

  @Test("The centrals that a lock of version 1 trusted are trusted")
  func trusted() throws {
    try inFolder {
      let golden = try golden("version-1-trusted.json")
      try write(golden, folder + "/trusted.json")
      let store = TrustedStore(directory: folder, logger: logger)
      let read = store.read()
      #expect(read.count == 1)
      store.write(read)
      #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/trusted.json")) == golden)
    }
  }
}
