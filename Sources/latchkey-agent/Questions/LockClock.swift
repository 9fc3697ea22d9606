import AgentQuestions
import CoreBluetooth
import LockProtocol

/// How a lock's clock, by which it reckons guests' times, compares with this phone's.
enum LockClock: Equatable {
  case right
  /// The lock has no time, or one that is before this phone's: crystals drift, and machines are off.
  case behind
  /// By so many seconds. A lock tells the earliest time that it may be, so its own error never puts it ahead: either this phone's
  /// clock is behind, or that of the phone that set the lock's was ahead. Only a person knows which. To set the lock's clock back
  /// makes invitations count again that are over.
  case ahead(Int64)

  /// In seconds. Each setting is a record in the lock's log.
  private static let tolerance: Int64 = 60

  /// - Parameter lock: the earliest time that it may be for the lock, or `nil` if it has none.
  init(lock: Int64?, phone: Int64) {
    guard let lock, lock >= phone - Self.tolerance else {
      self = .behind
      return
    }
    self = lock > phone + Self.tolerance ? .ahead(lock - phone) : .right
  }

  /// What a person is told about a lock that is ahead.
  static func advice(_ seconds: Int64) -> String {
    let length =
      switch seconds {
      case ..<7200: "\(seconds / 60) min"
      case ..<172_800: "\(seconds / 3600) h"
      default: "\(seconds / 86_400) days"
      }
    return
      "The lock's clock, by which guests come, is \(length) ahead of this phone's. If this phone's is wrong, set it right; if the lock's is, "
      + "`latchkey guests clock` sets it back."
  }
}

extension QuestionDesk {
  /// Sets the lock's clock, in the present conversation, unless that needs a person's word.
  /// - Returns: how it was.
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

  /// Takes the question back.
  func clockIsRight() {
    if hasAskedAboutClock { UserAlert.clear() }
    hasAskedAboutClock = false
  }
}
