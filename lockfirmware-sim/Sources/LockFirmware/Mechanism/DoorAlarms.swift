import LockProtocol

/// What the door's sensor shows apart from who is here: a door that was forced, or that stands open for too long.
extension LockFirmware {
  /// The door, for anyone who asks: more than the sensor says by itself.
  package var doorState: DoorState {
    guard door == .open else { return .closed }
    if alarms.contains(.doorForcedOpen) { return .forcedOpen }
    return alarms.contains(.doorAjar) ? .ajar : .open
  }

  /// Somebody locked the bolt from inside and has not come out since: whoever goes out has to turn the bolt first, so the bolt
  /// itself shows it, and no sensor of the door is needed. A home with another way out shows nothing.
  var isSomebodyInside: Bool { isLockedFromInside && position == .locked && configuration.isOnlyWayOut }

  /// The door begins to be open or closed.
  mutating func doorMoves(to state: DoorState) {
    let wasLocked = position == .locked || slip?.from == .locked
    // A bolt that slipped, and a door that moved meanwhile: that is no flicker.
    slip?.from = nil
    if state == .closed {
      ajarDue = nil
      clearAlarm(.doorAjar)
      clearAlarm(.doorForcedOpen)
      return
    }
    isLockedFromInside = false
    endPrivacy()
    ajarDue = configuration.ajarDelayMilliseconds.map { now + $0 }
    // A bolt that turns may already be out of the frame.
    if wasLocked, movement == nil, !isMechanismFailed { raiseAlarm(.doorForcedOpen) }
  }

  /// The lock has just started. An alarm about the door that the log does not end still counts if the door is open:
  /// whoever forces a door must not get rid of the alarm by cutting the lock's power.
  mutating func doorRests(_ standing: [LockAlarm]) {
    for alarm in standing {
      alarms.append(alarm)
      // Somebody shut the door while the lock had no power.
      if door != .open { clearAlarm(alarm) }
    }
    guard door == .open, !alarms.contains(.doorAjar) else { return }
    // The door may have been open for long. Nothing shows since when.
    ajarDue = configuration.ajarDelayMilliseconds.map { now + $0 }
  }

  mutating func watchDoor() {
    guard let due = ajarDue, due <= now else { return }
    ajarDue = nil
    raiseAlarm(.doorAjar)
  }
}
