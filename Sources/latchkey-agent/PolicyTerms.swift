import HomePolicy
import LockProtocol

// What the lock says, in the words of the policy, and the other way round.

extension HomeAnswer {
  init(_ answer: LockAnswer) {
    switch answer.result {
    case .done: self = .done
    // The bolt was moving for another phone's command, and has stopped on its way.
    case .notNeeded: self = answer.lockState == .notFullyLocked ? .failed : .done
    case .unknownOperation: self = .unknownOperation
    case .failed, .doorOpen, .busy: self = .failed
    case .lockedAtHome: self = .lockedAtHome
    case .somebodyInside: self = .somebodyInside
    case .expired, .revoked: self = .turnedAway
    case .insufficientBattery, .restricted, .outsideSchedule, .usedUp, .clockUnknown, .notPermitted,
      .tooManyGrants, .tooManyGuests, .unrecognised:
      self = .refused
    }
  }
}

extension LockCommand.Kind {
  init(_ command: HomeCommand) {
    switch command {
    case .unlock(.word): self = .unlock
    case .unlock(.approach): self = .unlockUnlessInside
    case .unlockUnlessHome: self = .unlockUnlessHome
    case .unlockIfLeft: self = .unlockIfLeft
    case .lock: self = .lock
    case .status: self = .status
    }
  }
}

extension HomeBolt {
  init(_ state: LockState) {
    switch state {
    case .locked: self = .locked
    case .unlocked: self = .unlocked
    case .notFullyLocked: self = .between
    }
  }
}
