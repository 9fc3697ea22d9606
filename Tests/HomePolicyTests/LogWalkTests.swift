import AgentQuestions
import Foundation
import LockCryptography
import LockFirmware
import LockProtocol
import Logging
import Testing

@testable import latchkey_agent

/// A phone reads its lock's log, page after page.
@Suite("A lock's log, as a phone reads it") @MainActor struct LogWalkTests {
  private let directory = NSTemporaryDirectory() + "latchkey-agent-" + UUID().uuidString
  private let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

  private func withLog(_ body: (SeenLog) throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let store = try AgentStore(directory: directory, logger: logger)
    try body(SeenLog(store, logger: logger) { 1_800_000_000 })
  }

  private func record(_ index: UInt64) -> [UInt8] {
    LockRecord(
      .movement, index: index, unixSeconds: 0, target: .locked, cause: .hand, result: .done, phone: LockRecord.nobody,
      operation: 0
    ).encoded
  }

  private func walk(_ records: [[UInt8]], in log: SeenLog) {
    var walk = LogWalk(log: log, after: nil)
    let head = records.reduce(LogHead.empty) { $0.followed(by: $1, using: SwiftCryptography.self) }
    let half = records.count / 2
    let middle = records[..<half].reduce(LogHead.empty) { $0.followed(by: $1, using: SwiftCryptography.self) }
    walk.take(LogPage(first: 1, head: head, before: .empty, records: Array(records[..<half])))
    walk.take(LogPage(first: 1, head: head, before: middle, records: Array(records[half...])))
    walk.finish(head)
  }

  @Test("L5: a log whose records are in their places is in order, also with records of kinds that are not known")
  func inOrder() throws {
    try withLog { log in
      var unknown = record(3)
      unknown[1] = 99
      walk([record(1), record(2), unknown, record(4)], in: log)
      #expect(log.troubles == [] && log.seen?.index == 4)
    }
  }

  @Test("L5: a record whose index is not its place is told, once, and again after it was accepted")
  func misplaced() throws {
    var unknown = record(9)
    unknown[1] = 99
    for (records, place, index) in [
      ([record(1), record(2), record(2), record(4)], 3, 2), ([record(5), record(2)], 1, 5),
      ([record(1), record(2), record(3), unknown], 4, 9),
    ] {
      try withLog { log in
        walk(records, in: log)
        #expect(log.troubles.count == 1)
        let told = "The lock's log is not what it was: the record in place \(place) says that it is record \(index)."
        #expect(log.troubles.first?.hasPrefix(told) == true, "\(log.troubles)")
        #expect(log.seen?.index == UInt64(records.count), "what follows it has to continue it")
        walk(records, in: log)
        #expect(log.troubles.count == 1)
        log.forgetTroubles()
        walk(records, in: log)
        #expect(log.troubles.count == 1, "it is still there")
      }
    }
  }

  @Test("L5: a log that became shorter between two of the lock's answers was cut, also where nobody has read it since")
  func cutBetweenAnswers() throws {
    try withLog { log in
      walk([record(1), record(2)], in: log)
      for index in [4, 9, 9] as [UInt64] { log.compare(index: index) }
      #expect(log.troubles == [] && log.seen?.index == 2)
      // What is read may have been said before the latest answer.
      walk([record(1), record(2), record(3)], in: log)
      #expect(log.troubles == [])
      log.compare(index: 7)
      let cut =
        "The lock's log is not what it was: it ends with record 7, and this phone has heard of record 9: its end was cut off."
      #expect(log.troubles == [cut])
      log.compare(index: 7)
      #expect(log.troubles == [cut], "it is told once")
    }
  }

  @Test("L5: a log that was cut is found out by an agent that was started meanwhile, and had not read what is missing")
  func cutBetweenAgents() throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    func life(_ body: (SeenLog, AgentStore) throws -> Void) throws {
      let store = try AgentStore(directory: directory, logger: logger)
      try body(SeenLog(store, logger: logger) { 1_800_000_000 }, store)
    }
    /// The agent stores what it knows of its link.
    func storeLink(_ isLinked: Bool, _ store: AgentStore) throws {
      var state = store.state
      state.home.isLinked = isLinked
      try store.write(state)
    }
    try life { log, store in
      log.compare(index: 9)
      try storeLink(true, store)
    }
    try life { log, store in
      log.compare(index: 7)
      #expect(log.troubles.count == 1 && log.troubles.first?.contains("has heard of record 9") == true)
      try storeLink(false, store)
    }
    // From there on it counts.
    try life { log, _ in
      log.compare(index: 8)
      #expect(log.troubles.count == 1)
    }
  }

  @Test("L5: a record in a wrong place hides no other change of the log") func changedAsWell() throws {
    try withLog { log in
      walk([record(1), record(2)], in: log)
      walk([record(7), record(2), record(3)], in: log)
      #expect(log.troubles.count == 2)
      #expect(log.troubles.contains { $0.contains("is not the one that this phone has seen") })
    }
  }

  @Test("L5: a lock that sends ever other records is told of once, and not on every page") func torn() throws {
    try withLog { log in
      var walk = LogWalk(log: log, after: nil)
      for page in 0..<5 as Range<UInt64> {
        let before = LogHead(index: page * 2, hash: [UInt8](repeating: UInt8(page), count: 32))
        walk.take(
          LogPage(first: 1, head: before, before: before, records: [record(page * 2 + 1), record(page * 2 + 2)]))
      }
      #expect(log.troubles.count == 1)
    }
  }

  @Test("L5: after a long time a phone goes on where its last question came to") func long() throws {
    try withLog { log in
      @MainActor func page(from first: UInt64, _ before: LogHead) -> LogPage {
        let records = (first..<first + UInt64(LogPage.maximumCount)).map { record($0) }
        let head = LogHead(index: 100_000, hash: [UInt8](repeating: 1, count: 32))
        return LogPage(first: 1, head: head, before: before, records: records)
      }
      var end = LogHead.empty
      for question in 1...2 as ClosedRange<UInt64> {
        var walk = LogWalk(log: log, after: nil)
        var count = 0
        while !walk.isTired, count < 1000 {
          let next = page(from: end.index + 1, end)
          walk.take(next)
          end = next.end(using: SwiftCryptography.self)
          count += 1
        }
        walk.rest()
        #expect(log.seen == end && end.index == question * UInt64(LogWalk.walkLimit))
      }
      #expect(log.troubles == [])
    }
  }

  @Test("L5: a record that can't be read is told with its place and time, so that a lock hides none") func unreadable()
  {
    var bytes = record(7)
    bytes[2] = 0
    bytes[23] = 9
    let answer = RecordAnswer(decoding: bytes, own: [], [:])
    #expect(answer.kind == "unknown" && answer.index == 7 && answer.unixSeconds == 9 && answer.by == nil)
    #expect(RecordAnswer(decoding: record(8), own: [], [:]).kind == "movement")
    #expect(RecordAnswer(decoding: [], own: [], [:]).index == 0)
  }

  @Test(
    "L5: a trouble of the log that one answer has told, and that was accepted with it, is not lost with the next answer"
  )
  func troubles() {
    func answer(_ troubles: [String], _ times: [Double]?) -> LogAnswer {
      LogAnswer(
        door: "door", first: 1, last: 2, records: [], end: SeenHead(index: 2, hash: ""), troubles: troubles,
        troubleTimes: times)
    }
    var next = answer(["b"], [2])
    next.keepTroubles(of: answer(["a", "b"], [1, 2]))
    #expect(next.troubles == ["a", "b"] && next.troubleTimes == [1, 2])
    next = answer([], [])
    next.keepTroubles(of: answer(["a"], [1]))
    #expect(next.troubles == ["a"] && next.troubleTimes == [1])
    // An agent of an earlier version tells no times.
    next = answer(["b"], nil)
    next.keepTroubles(of: answer(["a"], nil))
    #expect(next.troubles == ["a", "b"] && next.troubleTimes == nil)
  }
}
