import LockProtocol
import Testing

/// What a phone takes as a lock's reply.
@Suite("Replies of a lock, as a phone reads them") struct ReplyTests {
  @Test("attack 39: a reply of another kind than was asked is none, nor is one without a kind that is done")
  func kinds() {
    #expect(LockReply(.state, .done).replies(to: .state) && LockReply(.log, .failed).replies(to: .log))
    #expect(!LockReply(.names, .done).replies(to: .state))
    #expect(!LockReply(nil, .done).replies(to: .state) && !LockReply(nil, .notEntitled).replies(to: .state))
    #expect(LockReply(nil, .malformed).replies(to: .state) && LockReply(nil, .noRoom).replies(to: .deliver))
  }

  @Test("attack 12: a page of a log with an index that no log reaches, or beyond the log's end, can't be read")
  func indices() {
    func page(_ first: UInt64, _ head: UInt64, before: UInt64) -> [UInt8] {
      let hash = [UInt8](repeating: 0, count: 32)
      return LogPage(
        first: first, head: LogHead(index: head, hash: hash), before: LogHead(index: before, hash: hash), records: []
      ).encoded
    }
    #expect((try? LogPage(decoding: page(1, LogPage.maximumIndex, before: LogPage.maximumIndex))) != nil)
    #expect((try? LogPage(decoding: page(0, 0, before: 0))) != nil)
    for (first, head, before) in [
      (1, LogPage.maximumIndex + 1, 0), (1, UInt64.max, UInt64.max), (1, 5, 6), (6, 5, 5),
    ] as [(UInt64, UInt64, UInt64)] {
      #expect(throws: LockMessageError.unknownValue) { try LogPage(decoding: page(first, head, before: before)) }
    }
  }
}
