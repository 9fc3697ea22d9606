import Foundation
import JournalEvents
import Logging
import Testing
import TimeTypes
import Timekeeping

@testable import Journal

@Suite("The journal")
struct JournalTests {
  private let path = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)").path

  private func makeLogger(at now: Instant = .zero + .seconds(90)) throws -> Logger {
    let origin = JournalOrigin(machine: "phone", process: "test", time: ManualClock(now: now))
    let sink = try FileSink(path: path)
    return Logger(label: "test.part") { label in
      JournalHandler(label: label, origin: origin, sink: sink, logLevel: .info)
    }
  }

  @Test("An event is a line with its time, its writer and its fields")
  func event() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    var logger = try makeLogger()
    var reader = try JournalReader(path: path)
    logger[metadataKey: "app"] = "org.latchkey.agent"
    logger.record(Recorded.Lock.boltMoved, [.to: "unlocked", .cause: "remote \"quoted\"\n"])
    logger.info("a message")
    logger.debug("too small to keep")
    let entries = try reader.read()
    #expect(entries.count == 2)
    #expect(entries[0].event == "bolt.moved")
    #expect(entries[0].level == "notice")
    #expect(
      entries[0].fields == ["to": "unlocked", "cause": "remote \"quoted\"\n", "app": "org.latchkey.agent"])
    #expect(entries[0].t == 90_000_000_000)
    #expect(entries[0].machine == "phone" && entries[0].process == "test" && entries[0].pid == getpid())
    #expect(abs(Double(entries[0].wall) / 1e9 - Date().timeIntervalSince1970) < 600)
    #expect(entries[1].event == nil)
    #expect(entries[1].fields["logger"] == "test.part")
    #expect(try reader.read().isEmpty)
  }

  @Test("An entry stays small, whatever was logged")
  func bounds() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    let logger = try makeLogger()
    var fields: Logger.Metadata = [JournalHandler.eventKey: "flood"]
    for number in 0..<500 { fields["field\(number)"] = "\(String(repeating: "é", count: 5000))" }
    logger.notice("flood", metadata: fields)
    var reader = try JournalReader(path: path)
    let entry = try #require(try reader.read().first)
    #expect(entry.fields.count == JournalEntry.Limits.fieldCount)
    #expect(entry.fields.values.allSatisfy { $0.utf8.count <= JournalEntry.Limits.valueByteCount })
  }

  @Test("A reader waits for the end of a line and leaves out what is damaged")
  func damage() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    let logger = try makeLogger()
    var reader = try JournalReader(path: path)
    logger.record(Recorded.Lock.offerSent)
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.seekToEnd()
    try file.write(contentsOf: whole.prefix(20))
    #expect(try reader.read().map(\.event) == ["offer.sent"])
    try file.write(contentsOf: whole.dropFirst(20))
    #expect(try reader.read().map(\.event) == ["offer.sent"])
    try file.write(contentsOf: Data("{\"t\":\nnonsense\n\u{FF}\n".utf8) + whole)
    #expect(try reader.read().map(\.event) == ["offer.sent"])
    #expect(reader.damagedLineCount == 3)
    try file.write(contentsOf: Data(repeating: 0x41, count: 1_000_000))
    #expect(try reader.read().isEmpty)
    try file.write(contentsOf: Data("\n".utf8) + whole)
    #expect(try reader.read().map(\.event) == ["offer.sent"])
    #expect(reader.damagedLineCount == 4)
  }

  @Test("Names of fields become names that systemd's journal takes")
  func systemdNames() {
    #expect(JournalFieldNames.systemdName("bolt.moved to-é") == "LATCHKEY_FIELD_BOLT_MOVED_TO___")
  }
}
