import LockProtocol

/// What a lock raises the alarm about: Matter's numbers (Door Lock cluster, `DoorLockAlarm`), and from 128 on this lock's
/// own.
package enum LockAlarm: UInt8, Equatable, Sendable, CaseIterable {
  /// The bolt did not reach its end.
  case lockJammed = 0
  /// The lock has forgotten its phones.
  case lockFactoryReset = 1
  /// Strangers' writes have failed as often as they may.
  case wrongCodeEntryLimit = 4
  /// The lock's cover is off.
  case frontEscutcheonRemoved = 5
  /// The door was opened while the bolt was locked.
  case doorForcedOpen = 6
  /// The door has been open for longer than it should be.
  case doorAjar = 7
  /// Nothing is known of the bolt, because what drives it does not answer or contradicts itself.
  case mechanismFailed = 128
  /// The battery is nearly empty: soon nothing will be unlocked any more.
  case batteryCritical = 129
  /// The battery can't throw the bolt, and it should be thrown.
  case batteryEmpty = 130
}

extension LockFirmware {
  /// Records an alarm, unless it has been raised already. An alarm has no movement: `target` says nothing in its record.
  mutating func raiseAlarm(_ alarm: LockAlarm) {
    guard !alarms.contains(alarm) else { return }
    alarms.append(alarm)
    recordAlarm(alarm)
  }

  /// The reason for an alarm is gone.
  mutating func clearAlarm(_ alarm: LockAlarm) {
    guard alarms.contains(alarm) else { return }
    alarms.removeAll { $0 == alarm }
    effects.append(.note(.alarmCleared(alarm, record: nextRecordIndex)))
    append(
      .alarmCleared, target: .locked, cause: .unexplained, result: .done, key: nil, detail: alarm.rawValue,
      then: .nothing)
  }

  /// An alarm about something that happened and does not last.
  mutating func recordAlarm(_ alarm: LockAlarm, then continuation: PendingRecord.Continuation = .nothing) {
    effects.append(.note(.alarmRaised(alarm, record: nextRecordIndex)))
    append(
      .alarm, target: .locked, cause: .unexplained, result: .done, key: nil, detail: alarm.rawValue, then: continuation)
  }

  /// The contact of the cover has changed. It can be reached from outside, and may flutter, so the alarm ends only when it has been
  /// quiet for a while. Otherwise whoever plays with it would fill the log.
  mutating func coverChanged(isOff: Bool) {
    coverQuietDue = nil
    if isOff {
      raiseAlarm(.frontEscutcheonRemoved)
    } else if alarms.contains(.frontEscutcheonRemoved) {
      coverQuietDue = now + LockLimit.coverQuietMilliseconds
    }
  }

  mutating func watchCover() {
    guard let due = coverQuietDue, due <= now else { return }
    coverQuietDue = nil
    clearAlarm(.frontEscutcheonRemoved)
  }

  /// Strangers must wait. That is alarming, but not again and again.
  mutating func tooManyWrongCodes() {
    if let last = wrongCodeAlarmAt, now - last < LockLimit.wrongCodeAlarmPauseMilliseconds { return }
    wrongCodeAlarmAt = now
    recordAlarm(.wrongCodeEntryLimit)
  }
}
