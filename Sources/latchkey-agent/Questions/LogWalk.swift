import AgentQuestions
import LockCryptography
import LockProtocol

/// Follows a log's chain from page to page.
@MainActor struct LogWalk {
  let log: SeenLog
  private(set) var end: LogHead?
  private var hasPassedSeen = false
  private var isTorn = false
  private var walkedCount = 0
  /// The most records that one question reads without showing them: some 20 s over the air.
  static let walkLimit = 2048
  /// The first record whose own index is not that of its place.
  private var misplaced: (place: UInt64, index: UInt64)?

  /// - Parameter after: the end of the previous piece.
  init(log: SeenLog, after: SeenHead?) {
    self.log = log
    end = after.flatMap { after in Hex.bytes(after.hash).map { LogHead(index: after.index, hash: $0) } }
  }

  mutating func take(_ page: LogPage) {
    walkedCount += page.records.count
    if let end, end != page.before, !isTorn {
      isTorn = true
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

  /// Whether this question has read enough. The next one goes on from there.
  var isTired: Bool { walkedCount >= Self.walkLimit }

  /// The records up to here count as seen, although this is not the log's end.
  mutating func rest() {
    guard let end, hasPassedSeen || log.seen == nil else { return }
    log.see(end)
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

  /// Checks that a record has the index of its place: the chain alone would hold whatever the lock puts into it. A
  /// record of an unknown kind has an index, too.
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
