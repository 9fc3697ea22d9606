import LockProtocol

/// A phone that was here and whose link is lost.
struct Departure: Sendable {
  var phone: [UInt8]
  /// When it counts as gone.
  var due: Int64
}

extension LockFirmware {
  /// A phone's link is lost. Whether it went or the radio failed shows in a few seconds, if it comes back.
  mutating func depart(_ phone: [UInt8]) {
    // Another link of the same phone means that it is still here.
    guard !links.contains(where: { $0.phone == phone }) else { return }
    departures.removeAll { $0.phone == phone }
    departures.append(Departure(phone: phone, due: now + configuration.leavingDelayMilliseconds))
  }

  /// Locks when somebody has gone, or the time for an unlocked bolt is over, as soon as the door is shut.
  mutating func lockIfDue() {
    guard movement == nil, queued == nil else { return }
    let now = self.now
    if position == .locked {
      departures.removeAll()
      relockDue = nil
      return
    }
    let hasLeft = departures.contains { $0.due <= now }
    let isRelockDue = relockDue.map { $0 <= now } ?? false
    guard hasLeft || isRelockDue, door == .closed else { return }
    departures.removeAll { $0.due <= now }
    relockDue = nil
    start(Movement(target: .locked, cause: hasLeft ? .leaving : .relock))
  }

  /// Locking by itself failed: again in a while, but not for ever, for a motor on a jammed bolt eats the battery.
  mutating func retryLocking() {
    guard lockAttempts < LockLimit.lockAttempts else { return }
    lockAttempts += 1
    relockDue = now + configuration.retryDelayMilliseconds
  }
}
