import LockProtocol

/// One turn of the bolt, from the decision to its end.
struct Movement: Sendable {
  enum Phase: Equatable, Sendable {
    /// Its record is not durable yet: the bolt rests.
    case recording
    /// The bolt turns. After the deadline it counts as jammed.
    case turning(deadline: Int64)
  }

  var target: BoltTarget
  var cause: MovementCause
  /// The command for which it was started.
  var key: OperationMemory.Key?
  /// The grant that the phone brought with that command, if it is a guest's.
  var grant: Grant?
  /// When that command was accepted.
  var commandedAt: Int64?
  /// Other commands with the same target.
  var joined: [JoinedCommand] = []
  var phase = Phase.recording
  var record: UInt64 = 0
}
