import LockProtocol

/// A record on its way to the log.
struct PendingRecord: Sendable {
  /// What to do when it is durable.
  enum Continuation: Sendable {
    case nothing
    case turnBolt
    case answer([(OperationMemory.Key, LockResult)])
    /// An owner has told the lock something. If that can't be stored, this earlier state applies again.
    case told(Asked, AccessState)
    /// A phone was enrolled. If that can't be stored, this earlier state applies again.
    case enrolled(Enrolled, AccessState)
    /// The missing record of an earlier run's change is written.
    case recorded
    /// A factory reset is recorded, so it may begin.
    case forgetPhones

    /// The state before the change that this record is about, or `nil` if it is about none.
    var previousAccess: AccessState? {
      switch self {
      case .told(_, let previous), .enrolled(_, let previous): previous
      case .nothing, .turnBolt, .answer, .recorded, .forgetPhones: nil
      }
    }
  }

  var index: UInt64
  var continuation: Continuation
}
