import AgentQuestions
import LockCryptography
import LockProtocol

/// Follows a log's chain from page to page.
@MainActor struct LogWalk {
  let log: SeenLog
  private(set) var end: LogHead?
  private var hasPassedSeen = false
  /// The first record that says that it is another one.
  private var misplaced: (place: UInt64, index: UInt64)?

  /// - Parameter after: where the piece before this one ended.
  init(log: SeenLog, after: SeenHead?) {
    self.log = log
    end = after.flatMap { after in Hex.bytes(after.hash).map { LogHead(index: after.index, hash: $0) } }
  }

  mutating func take(_ page: LogPage) {
    if let end, end != page.before {
      log.isBroken("the records up to \(end.index) are not those that the lock sent a moment ago")
    }
    var head = page.before
    check(head)
    for record in page.records {
      head = head.followed(by: record, using: SwiftCryptography.self)
      checkPlace(record, head.index)
      check(head)
    }
    end = head
  }

  /// The log's end, as the lock said before the first page. It may have grown since.
  mutating func finish(_ head: LogHead) {
    if let misplaced {
      log.isBroken("the record in place \(misplaced.place) says that it is record \(misplaced.index)")
    }
    guard let end else { return }
    if end.index == head.index, end.hash != head.hash {
      return log.isBroken("its records do not make up the end that the lock claims")
    }
    if hasPassedSeen || log.seen == nil { log.see(end) }
  }

  /// The chain holds whatever the lock has put into it. A record of a kind that this phone does not know has an index, too.
  private mutating func checkPlace(_ record: [UInt8], _ place: UInt64) {
    guard misplaced == nil, let index = LogPage.index(of: record), index != place else { return }
    misplaced = (place, index)
  }

  private mutating func check(_ head: LogHead) {
    guard let seen = log.seen, seen.index == head.index else { return }
    log.compare(head)
    hasPassedSeen = log.seen != nil
  }
}
