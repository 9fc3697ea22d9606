import LockFirmware
import LockProtocol

extension TraceHash {
  /// What the lock says for observers is a part of its trace.
  package mutating func mix(_ note: LockNote) {
    switch note {
    case .offerSent: mix(20 as UInt8)
    case .commandAccepted(_, let command):
      mix(21 as UInt8)
      mix(command.encoded)
    case .commandRefused(_, let reason):
      mix(22 as UInt8)
      mix(reason.rawValue)
    case .requestAccepted(_, let kind):
      mix(31 as UInt8)
      mix(kind.rawValue)
    case .requestRefused: mix(32 as UInt8)
    case .accessChanged: mix(33 as UInt8)
    case .linkRefused: mix(38 as UInt8)
    case .noRoom(_, let kind):
      mix(39 as UInt8)
      mix(kind?.rawValue ?? 0)
    case .boltMoved(let target, let cause, let side, let record):
      mix(23 as UInt8)
      mix(target.rawValue)
      mix(cause.rawValue)
      mix(side?.rawValue ?? .max)
      mix(record)
    case .boltJammed(let target, let cause, let record):
      mix(24 as UInt8)
      mix(target.rawValue)
      mix(cause.rawValue)
      mix(record)
    case .turnWasInterrupted(let record):
      mix(25 as UInt8)
      mix(record)
    case .recordFailed(let record):
      mix(26 as UInt8)
      mix(record)
    case .alarmRaised(let alarm, let record):
      mix(27 as UInt8)
      mix(alarm.rawValue)
      mix(record)
    case .alarmCleared(let alarm, let record):
      mix(28 as UInt8)
      mix(alarm.rawValue)
      mix(record)
    case .batteryChanged(let level, let percent):
      mix(29 as UInt8)
      mix(level.rawValue)
      mix(percent)
    case .enrolmentOpened: mix(34 as UInt8)
    case .enrolmentClosed(let end):
      mix(35 as UInt8)
      mix(end.rawValue)
    case .enrolmentRefused(_, let status):
      mix(36 as UInt8)
      mix(status.rawValue)
    case .phoneEnrolled(let record):
      mix(37 as UInt8)
      mix(record)
    case .modeChanged(let mode):
      mix(30 as UInt8)
      mix(mode.rawValue)
    }
  }
}
