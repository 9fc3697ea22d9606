import AgentQuestions
import LockProtocol

/// How a lock's clock, by which it reckons guests' times, compares with this phone's.
enum LockClock: Equatable {
  case right
  /// The lock has no time, or one that is a little before this phone's: crystals drift.
  case behind
  /// The lock's clock is this many seconds behind, which is more than a crystal drifts in months. Either this phone's
  /// clock is ahead, or that of the phone that set the lock's clock was behind. Only a person knows which. Setting the
  /// lock's clock forward ends invitations that are not over, and begins some too early.
  case farBehind(Int64)
  /// The lock's clock is this many seconds ahead. A lock tells the earliest time that it may be, so its own error never
  /// puts it ahead. Either this phone's clock is behind, or that of the phone that set the lock's clock was ahead. Only
  /// a person knows which. Setting the lock's clock back makes invitations count again that are over.
  case ahead(Int64)

  /// The largest difference that counts as right, in seconds. Each setting is a record in the lock's log.
  private static let tolerance: Int64 = 60
  /// The largest difference that drift explains, in seconds. With 200 parts per million and the lock's own error, it
  /// takes a hundred days without an owner's visit. A lock that is further behind has more likely lost its time.
  private static let drift: Int64 = 3600

  /// - Parameter lock: the earliest time that it may be for the lock, or `nil` if it has none.
  init(lock: Int64?, phone: Int64) {
    guard let lock else {
      self = .behind
      return
    }
    let (difference, isTooFar) = lock.subtractingReportingOverflow(phone)
    switch isTooFar ? (lock < phone ? .min + 1 : .max) : difference {
    case ..<(-Self.drift): self = .farBehind(isTooFar ? .max : -difference)
    case ..<(-Self.tolerance): self = .behind
    case ...Self.tolerance: self = .right
    case let ahead: self = .ahead(ahead)
    }
  }

  /// What a person is told about a lock whose clock is not set without their word; `nil` if there is nothing to tell.
  var advice: String? {
    switch self {
    case .right, .behind: nil
    case .ahead(let seconds): Self.advice(seconds, "ahead of", "back")
    case .farBehind(let seconds): Self.advice(seconds, "behind", "forward")
    }
  }

  private static func advice(_ seconds: Int64, _ relation: String, _ direction: String) -> String {
    let length =
      switch seconds {
      case ..<7200: "\(seconds / 60) min"
      case ..<172_800: "\(seconds / 3600) h"
      default: "\(seconds / 86_400) days"
      }
    return
      "The lock's clock, by which guests come, is \(length) \(relation) this phone's. If this phone's is wrong, set it right; if the lock's is, "
      + "`latchkey guests clock` sets it \(direction)."
  }
}

extension QuestionDesk {
  /// Sets the lock's clock, in the present conversation, unless that needs a person's word.
  /// - Returns: how the clock compared before that.
  func mendClock() async throws -> LockClock {
    let report = try LockStateReport(decoding: try await ask(.state).body)
    let now = Int64(app.unixSeconds)
    let clock = LockClock(lock: report.unixSeconds, phone: now)
    if clock == .behind { _ = try await ask(.setClock(now)) }
    return clock
  }

  /// A person says that this phone's clock is right.
  func setClock() async throws -> ClockAnswer {
    guard app.grant == nil else {
      throw NoAnswer("Only an owner of this door sets its clock; this phone is a guest's.")
    }
    try await beginConversation()
    let now = Int64(app.unixSeconds)
    _ = try await ask(.setClock(now))
    clockIsRight()
    return ClockAnswer(door: app.name, unixSeconds: now)
  }

  /// The lock's clock is right. Takes the question about it back.
  func clockIsRight() {
    let wasAsked = (try? GuestBook.read(bookPath))?.hasAskedAboutClock == true
    guard wasAsked || hasAskedAboutClock else { return }
    AgentAlert(door: app.name, reason: .clock).takeBack()
    hasAskedAboutClock = false
    remember(asked: nil)
  }

  /// Asks a person whose clock is right. This is stored, so that an agent that is started meanwhile can take the
  /// question back.
  func askAboutClock(_ advice: String) {
    // The question is not repeated on each link.
    guard !hasAskedAboutClock else { return }
    hasAskedAboutClock = true
    remember(asked: true)
    AgentAlert(door: app.name, reason: .clock).show("\(app.name): \(advice)")
  }

  private func remember(asked: Bool?) {
    do {
      var book = try GuestBook.read(bookPath)
      guard book.hasAskedAboutClock != asked else { return }
      book.hasAskedAboutClock = asked
      try book.write(bookPath)
    } catch { logger.warning("what was asked about the lock's clock can't be stored: \(error)") }
  }
}
