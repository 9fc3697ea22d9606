import LockProtocol

/// A bolt that was found between its ends.
struct Slip: Sendable {
  /// Where it was before, or `nil` if that is not known.
  var from: BoltPosition?
  var at: Int64
  /// What was due before.
  var relockDue: Int64?
}

/// A mechanism that fails, and positions that nothing explains. The lock says that it is locked only if a mechanism
/// shows it. It never shows another position without a record of it.
extension LockFirmware {
  /// The mechanism does not answer, or contradicts itself. A turn that is under way has failed.
  mutating func mechanismFailed() {
    guard !isMechanismFailed else { return }
    isMechanismFailed = true
    positionBeforeFailure = position
    slip = nil
    position = .between
    overdue = nil
    // A driver that is gone tells nobody that the button was let go.
    resetDue = nil
    lockingWatch.forgetAll()
    doorMayHaveOpened()
    raiseAlarm(.mechanismFailed)
    if let current = movement, case .turning = current.phase {
      effects.append(.note(.boltJammed(current.target, cause: current.cause, record: current.record)))
      finish(current, .failed)
    }
  }

  /// The mechanism answers again.
  mutating func mechanismRestored(_ found: BoltPosition, _ door: DoorState) {
    if let recovered {
      isMechanismFailed = false
      positionBeforeFailure = nil
      clearAlarm(.mechanismFailed)
      return settle(recovered, found, door.inAnswer)
    }
    guard isMechanismFailed else {
      if door.inAnswer != self.door { doorChanged(door) }
      return boltFound(found)
    }
    isMechanismFailed = false
    clearAlarm(.mechanismFailed)
    let before = positionBeforeFailure
    positionBeforeFailure = nil
    // The position is recorded before the door, because the person who turned the bolt in the meantime may also have
    // opened the door.
    if found != before, found != .between {
      recordFound(found)
    } else {
      position = found
    }
    if door.inAnswer != self.door { doorChanged(door) }
    lockAttempts = 0
    hasGivenUpLocking = false
    // The lock need not wait long after a turn that failed with the mechanism, because the bolt is not jammed.
    if found == .between {
      slip = Slip(from: nil, at: now, relockDue: relockDue)
      relockDue = min(relockDue ?? .max, now + configuration.leavingDelayMilliseconds)
    }
  }

  /// The switches show a position that neither the motor nor a hand accounts for.
  mutating func boltFound(_ found: BoltPosition) {
    if let movement, movement.phase != .recording { return }
    guard !isMechanismFailed, found != position else { return }
    if found == .between {
      // Somebody is turning it, or it slips. It is thrown again unless it arrives somewhere.
      slip = Slip(from: position, at: now, relockDue: relockDue)
      position = .between
      lockingWatch.forgetAll()
      relockDue = relockDue ?? now + configuration.leavingDelayMilliseconds
    } else if let slip, slip.from == found, now - slip.at <= LockLimit.flickerMilliseconds {
      // A switch that flickers, or a thumb-turn that somebody touched. Nothing has moved, and a record of each time would fill the log.
      self.slip = nil
      position = found
      relockDue = slip.relockDue
      if found == .locked { isLockedAtHome = true }
    } else {
      recordFound(found)
    }
  }

  /// Records a position that was found, as a movement by nobody known.
  mutating func recordFound(_ found: BoltPosition) {
    position = found
    // What was due for a bolt half way is not due for one that has arrived.
    if let slip { relockDue = slip.relockDue }
    slip = nil
    overdue = nil
    let target: BoltTarget = found == .locked ? .locked : .unlocked
    if found != .between {
      clearAlarm(.lockJammed)
      effects.append(.note(.boltMoved(target, cause: .unexplained, record: nextRecordIndex)))
    }
    append(.movement, target: target, cause: .unexplained, result: .done, key: nil, then: .nothing)
    isLockedFromInside = false
    isLockedAtHome = found == .locked
    lockingWatch.forgetAll()
    awaited = nil
    if found == .unlocked {
      // Somebody at the door has done it, with the thumb-turn or a key.
      endPrivacy()
      relockDue = relockDue ?? configuration.relockDelayMilliseconds.map { now + $0 }
    }
  }
}
