import CoreBluetooth
import LockFirmware
import LockProtocol

/// What the lock tells the user of its machine about its door.
struct DoorReports {
  private static let subject = "Door"
  private var hasReported = false
  /// What happened before the lock had its radio.
  private var early: [String] = []

  /// Reports a change of the bolt or the door. The first call comes when the lock has its radio.
  mutating func tell(
    _ lock: LockState, _ door: DoorState, isTurning: Bool, isWorking: Bool, _ battery: Battery
  ) {
    let bolt =
      switch lock {
      case _ where isTurning: "turning"
      case _ where !isWorking: "unknown, its mechanism does not answer"
      case .notFullyLocked: "neither locked nor unlocked"
      case .locked: "locked"
      case .unlocked: "unlocked"
      }
    var text = "\(bolt), door \(Self.words(door))"
    if battery.level != .ok, let percent = battery.percent {
      text += ", battery \(battery.level == .critical ? "nearly empty" : "low") (\(percent) %)"
    }
    // The state that the lock finds at its start is not new.
    UserReport.state(text, of: Self.subject, isNew: hasReported)
    hasReported = true
    for text in early { UserReport.movement(text, of: Self.subject) }
    early = []
  }

  mutating func doorMoved(_ door: DoorState) { move(door == .open ? "opened" : "shut") }

  mutating func noted(_ note: LockNote) {
    switch note {
    case .boltMoved(let target, let cause, _, _): move("\(target), \(Self.words(cause))")
    case .boltJammed(let target, let cause, _): move("stuck on its way to \(target), \(Self.words(cause))")
    case .turnWasInterrupted: move("found half turned when the lock started")
    case .recordFailed: move("not turned, because the lock's log can't be written")
    case .alarmRaised(let alarm, _): move(Self.words(alarm))
    case .alarmCleared(.mechanismFailed, _): move("its mechanism answers again")
    case .modeChanged(let mode): move("set to \(mode)")
    case .enrolmentOpened: move("open for a new phone, for two minutes")
    case .enrolmentClosed(let end): if end != .phoneEnrolled { move("closed for new phones again") }
    case .phoneEnrolled: move("known to a new phone, which opens it from now on")
    case .enrolmentRefused, .alarmCleared, .batteryChanged: break
    case .offerSent, .commandAccepted, .commandRefused, .requestAccepted, .requestRefused, .linkRefused,
      .noRoom, .accessChanged:
      break
    }
  }

  private mutating func move(_ text: String) {
    if hasReported { UserReport.movement(text, of: Self.subject) } else { early.append(text) }
  }

  private static func words(_ cause: MovementCause) -> String {
    switch cause {
    case .phone: "as a phone asked"
    case .leaving: "because its owner has left"
    case .relock: "by itself"
    case .hand: "by hand"
    case .unexplained: "and nothing tells by whom"
    }
  }

  private static func words(_ door: DoorState) -> String {
    switch door {
    case .closed: "shut"
    case .open: "open"
    case .ajar: "open for long"
    case .forcedOpen: "forced open"
    case .jammed: "jammed"
    case .error: "unknown"
    }
  }

  private static func words(_ alarm: LockAlarm) -> String {
    switch alarm {
    case .lockJammed: "jammed"
    case .lockFactoryReset: "reset: it has forgotten its phones"
    case .wrongCodeEntryLimit: "tried by strangers, too often"
    case .frontEscutcheonRemoved: "opened: its cover is off"
    case .doorForcedOpen: "forced open: the bolt was locked"
    case .doorAjar: "left open"
    case .mechanismFailed: "without its mechanism, which does not answer"
    case .batteryCritical: "nearly out of battery"
    case .batteryEmpty: "not locked: its battery is empty"
    }
  }
}
