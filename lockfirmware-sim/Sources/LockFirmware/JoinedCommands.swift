import LockProtocol

/// A command that shares a turn of the bolt with another phone's. It is judged by itself if that one is refused.
struct JoinedCommand: Sendable {
  var key: OperationMemory.Key
  var grant: Grant?
  /// When it was accepted.
  var commandedAt: Int64
}

extension LockFirmware {
  /// Commands that had joined another, each by its own right.
  mutating func judge(_ joined: [JoinedCommand], _ target: BoltTarget) {
    for command in joined {
      if let refusal = refusal(of: Movement(target: target, cause: .phone, key: command.key, grant: command.grant)) {
        conclude(command.key, target, refusal)
      } else if isGivenUp(target, since: command.commandedAt) {
        conclude(command.key, target, .failed)
      } else {
        move(target, for: command.key, command.grant)
      }
    }
  }

  /// Whether who asked for this has been told by now that nothing came of it.
  func isGivenUp(_ target: BoltTarget, since asked: Int64) -> Bool {
    target == .unlocked && now - asked > LockLimit.unlockPatienceMilliseconds
  }
}
