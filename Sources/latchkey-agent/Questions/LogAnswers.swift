import AgentQuestions
import Foundation
import LockCryptography
import LockFirmware
import LockProtocol

/// Answers about the lock's log. Each piece is followed along the hash chain, through the end that this phone saw last.
extension QuestionDesk {
  func log(_ question: LogQuestion) async throws -> LogAnswer {
    let door = app.name
    try await beginConversation()
    try await learnNames()
    let end = try await page(from: 0, count: 0)
    app.log.compare(end.head)
    guard end.head.index > 0 else {
      return answer(door, end, records: [], at: end.head, isAccepted: question.isAccepted)
    }
    let wanted: UInt64
    if let after = question.after {
      wanted = after.index + 1
    } else if let from = question.from {
      wanted = max(from, end.first)
    } else {
      let count = UInt64(min(max(question.last ?? 0, 1), LogQuestion.maximumCount))
      wanted = max(end.first, end.head.index > count ? end.head.index - count + 1 : 1)
    }
    app.log.noteGap(oldest: end.first)
    guard wanted <= end.head.index else {
      return answer(door, end, records: [], at: end.head, isAccepted: question.isAccepted)
    }
    // The walk begins at the end that was seen last, so that new records are known to follow it.
    var start = question.after == nil ? min(wanted, app.log.seen.map { $0.index + 1 } ?? wanted) : wanted
    start = max(start, end.first)
    var walk = LogWalk(log: app.log, after: question.after)
    var records: [[UInt8]] = []
    while start <= end.head.index, records.count < LogQuestion.maximumCount {
      if start < wanted, walk.isTired {
        walk.rest()
        return answer(door, end, records: [], at: walk.end ?? end.head, isAccepted: question.isAccepted)
      }
      let room = start < wanted ? LogPage.maximumCount : LogQuestion.maximumCount - records.count
      let page = try await page(from: start, count: min(room, LogPage.maximumCount))
      guard !page.records.isEmpty, page.before.index == start - 1 else {
        throw NoAnswer("The lock's log can't be read: it does not have the records that it says it has.")
      }
      walk.take(page)
      for (number, record) in page.records.enumerated() where start + UInt64(number) >= wanted {
        records.append(record)
      }
      start += UInt64(page.records.count)
    }
    walk.finish(end.head)
    return answer(door, end, records: records, at: walk.end ?? end.head, isAccepted: question.isAccepted)
  }

  private func page(from: UInt64, count: Int) async throws -> LogPage {
    let reply = try await ask(.log(from: from, count: UInt8(count)))
    do { return try LogPage(decoding: reply.body) } catch { throw NoAnswer.unreadable }
  }

  private func answer(
    _ door: String, _ page: LogPage, records: [[UInt8]], at end: LogHead, isAccepted: Bool?
  ) -> LogAnswer {
    defer { if isAccepted == true { app.log.forgetTroubles() } }
    return LogAnswer(
      door: door, first: page.first, last: page.head.index,
      records: records.map { RecordAnswer(decoding: $0, own: app.publicKey, names) },
      end: SeenHead(index: end.index, hash: Hex.text(end.hash)), troubles: app.log.troubles,
      troubleTimes: app.log.troubleTimes)
  }
}
