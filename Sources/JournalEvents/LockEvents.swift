extension Recorded {
  /// The lock's events.
  package enum Lock: String, JournalEvent {
    case started = "lock.started"
    case willRestoreState
    case stateUpdated
    case offerSent = "offer.sent"
    case commandAccepted = "command.accepted"
    case commandRefused = "command.refused"
    case requestAccepted = "request.accepted"
    case requestRefused = "request.refused"
    case linkRefused = "link.refused"
    case noRoom = "no.room"
    case accessChanged = "access.changed"
    case boltMoved = "bolt.moved"
    case boltJammed = "bolt.jammed"
    case boltInterrupted = "bolt.interrupted"
    case alarmRaised = "alarm.raised"
    case alarmCleared = "alarm.cleared"
    case batteryChanged = "battery.changed"
    case modeChanged = "mode.changed"
    case enrolmentOpened = "enrolment.opened"
    case enrolmentClosed = "enrolment.closed"
    case enrolmentRefused = "enrolment.refused"
    case phoneEnrolled = "phone.enrolled"

    package static let processes = [Recorded.lock]

    package var fields: Set<JournalField> {
      switch self {
      case .started: [.bolt, .door, .records]
      case .willRestoreState: [.services]
      case .stateUpdated: [.state]
      case .offerSent: [.central]
      case .commandAccepted: [.central, .command, .operation]
      case .commandRefused: [.central, .reason, .untold]
      case .requestAccepted: [.central, .request]
      case .requestRefused, .linkRefused: [.central]
      case .noRoom: [.central, .request]
      case .accessChanged: []
      case .boltMoved: [.to, .cause, .from, .record]
      case .boltJammed: [.to, .cause, .record]
      case .boltInterrupted: [.record]
      case .alarmRaised, .alarmCleared: [.alarm, .record]
      case .batteryChanged: [.level, .percent]
      case .modeChanged: [.mode]
      case .enrolmentOpened: []
      case .enrolmentClosed: [.because]
      case .enrolmentRefused: [.central, .reason]
      case .phoneEnrolled: [.record]
      }
    }
  }
}
