import TimeTypes

/// What must outlive the process. The shell stores it durably when told to, before it does anything else.
package struct HomeState: Sendable, Hashable {
  /// Evidence that the owner is coming: a link that came up at the edge of its range, after there had been none.
  package struct Approach: Sendable, Hashable {
    /// When the link came up this way.
    package var since: HomeTime
    /// The strength with which it came up, in dBm.
    package var signal: Int
    /// When the first of several links in a row came up this way, if each was lost before the phone came to the door.
    /// Such a phone stays at the edge of the range, perhaps in the farthest room of a home.
    package var firstSince: HomeTime?
    /// It rose soon (`HomeConfiguration.risingDuration`): its phone was moving, and not lying in the farthest room of
    /// a home.
    package var hasRisen = false
    /// The lock was heard on the link on which it was seen (`HomePolicy.isLockHeard`), so that it outlives this link.
    package var isProven = false

    package init(
      since: HomeTime, signal: Int, hasRisen: Bool = false, isProven: Bool = false, firstSince: HomeTime? = nil
    ) {
      self.since = since
      self.signal = signal
      self.hasRisen = hasRisen
      self.isProven = isProven
      self.firstSince = firstSince
    }

    /// When it began, with the links before.
    package var beginning: HomeTime { firstSince ?? since }
  }

  /// A door that is to be opened, while the outcome is unknown.
  package struct Opening: Sendable, Hashable {
    /// The number of its unlock, which stays the same however often it is asked about.
    package var operation: UInt64
    /// Whether the unlock may have reached the lock.
    package var isWritten: Bool
    /// How many unlocks have been written for it, including this one.
    package var attempts: Int
    package var because: OpeningReason
    /// When it was decided on.
    package var since: HomeTime

    package init(operation: UInt64, isWritten: Bool, attempts: Int, because: OpeningReason, since: HomeTime) {
      self.operation = operation
      self.isWritten = isWritten
      self.attempts = attempts
      self.because = because
      self.since = since
    }
  }

  /// Whether there was a link at the last event.
  package var isLinked = false
  /// The time of the last event about the lock.
  package var lastHeard: HomeTime?
  /// When the link was last lost.
  package var linkLost: HomeTime?
  /// The link came up after a long enough loss, and the strength with which it came up is not known yet.
  package var isBeginning: Bool?
  package var approach: Approach?
  /// When the first of several links in a row came up that showed an approach, and ended before the lock was heard on it.
  package var unprovenSince: HomeTime?
  /// The phone and the lock have bonded: the phone's system keeps no link on which the other side does not have the key.
  package var isBonded: Bool?
  /// The phone saw itself leave: while somebody may have been leaving, its signal faded from the door's strength until
  /// the link was lost.
  package var hasLeft: Bool?
  /// The phone saw itself stay: its link was lost while it was heard well, long after it had been at the door.
  package var hasStayed: Bool?
  /// The signal that the phone last had at the door while somebody may have been leaving, in dBm.
  package var doorSignal: Int?
  /// The signal of the weakest room that the owner has measured, in dBm.
  package var roomSignal: Int?
  package var opening: Opening?
  /// The lock turned this phone away on its last link.
  package var refusal: Refusal?
  /// When the owner was last asked whether to open.
  package var asked: HomeTime?
  /// The question is still open.
  package var isAsking: Bool?

  package init() {}
}

/// Why a door is opened. There is no third reason.
package enum OpeningReason: String, Sendable, Hashable, CaseIterable {
  /// The owner's approach was observed.
  case approach
  /// A person commanded it.
  case word
}

/// What happens to a phone, as far as its lock is concerned.
package enum HomeEvent: Sendable, Hashable {
  /// The process has started; whether the system has a link to the lock.
  case started(isLinked: Bool)
  /// The link has come up.
  case linkUp
  case linkDown
  /// The link is lost before what it led to had proven to be the lock.
  case linkToUnknown
  /// The link is left: what it led to is not the lock.
  case linkToOther
  /// The lock made an offer, so a command can be written.
  case offerReceived
  /// The lock sent the offer again that the latest command used.
  case offerRepeated
  /// The link's signal in dBm, or `nil` if it can't be read.
  case signalRead(Int?)
  /// The lock's authenticated answer to the last command, and the bolt's position according to the lock.
  case answered(HomeAnswer, bolt: HomeBolt)
  /// The write failed, so its outcome is unknown.
  case writeFailed
  /// The lock has refused the write: it does not know this phone's key, or not this offer.
  case writeRefused
  /// The answer is the lock's own, and can't be understood.
  case answerUnreadable
  /// The owner commands: open.
  case unlockAsked
  /// Whoever commanded it has taken that back, or is gone.
  case unlockTakenBack
  /// The owner wants this done at the lock, now.
  case errandAsked(HomeErrand)
  /// The owner has taken the errand back, or is gone.
  case errandTakenBack
  /// The owner wants a room measured, or all of them forgotten.
  case roomAsked(RoomWish)
  /// The lock has given the phone what it gives on an encrypted link only.
  case bonded
  /// The phone has other keys for this lock, or another grant.
  case keysChanged
  /// `store` could not be carried out, nor any effect after it.
  case storeFailed
  /// The time that `nextDeadline` named.
  case timePassed
}

/// The lock's answer to a command.
package enum HomeAnswer: Sendable, Hashable {
  /// The bolt is where the command wanted it.
  case done
  /// The lock never received this operation.
  case unknownOperation
  /// The lock received it and did not carry it out.
  case failed
  /// The bolt was locked while a phone was here, or the door's sensor shows that this phone has not left; and a phone that
  /// never left could have made this approach.
  case lockedAtHome
  /// Somebody locked the bolt from inside and has not come out since.
  case somebodyInside
  /// The lock can't or may not move its bolt for this phone now, and asking again does not help: its battery, its mode, or the
  /// guest's grant.
  case refused
  /// The guest's grant is over or revoked. The lock keeps no link of theirs.
  case turnedAway
}

/// The bolt's position according to the lock.
package enum HomeBolt: Sendable, Hashable {
  case locked, unlocked, between
}

/// What a phone does about its lock.
package enum HomeEffect: Sendable, Hashable {
  /// Store `state`, durably, before the effects that follow.
  case store
  case readSignal
  case readOffer
  /// Write this command with the latest offer, which is then used up.
  case write(HomeCommand, operation: UInt64)
  /// Write the very bytes of the latest command again: the lock carries them out once.
  case writeAgain(isConfirmed: Bool)
  /// The owner seems to be at a locked door, and nothing shows that they came there: ask.
  case ask(Doubt)
  /// The question is over: the door is open, or its owner is gone.
  case stopAsking
  /// The outcome of the owner's command.
  case answerWord(WordOutcome)
  /// The end of the errand.
  case answerErrand(ErrandOutcome)
  /// What came of the owner's wish about rooms.
  case answerRoom(RoomOutcome)
  /// End the link as soon as everybody who asked is answered, because the lock turns this phone away, and ask for the
  /// next link after this pause.
  case endLink(pause: Duration)
  /// Ask for a link at once, and not after the rest of the pause.
  case requestLink
}

/// What an owner wants of the lock besides an open door. It is for now: nothing is kept for later, and nothing is stored.
package enum HomeErrand: Sendable, Hashable {
  /// Lock the door.
  case lock
  /// Have the lock answer, so that more can be asked of it. Moves nothing, and announces nobody.
  case look
}

/// How an errand ended.
package enum ErrandOutcome: String, Sendable, Hashable {
  /// The lock has answered. The answer says whether it was done.
  case answered
  /// There is no link to the lock.
  case notLinked
  /// The link was lost before the lock answered.
  case linkLost
  /// The lock did not answer in time, or refuses this phone.
  case noAnswer
  /// The lock's answer can't be understood.
  case unreadable
  /// The owner has said since that the door is to open.
  case overtaken
  /// It was taken back before it was written.
  case takenBack
  /// It was taken back after it was written, and the lock has not answered.
  case sentAlready
}

/// A command that the phone writes to the lock.
package enum HomeCommand: Sendable, Hashable {
  /// Unlock: on a person's word; or on an approach, unless the door's sensor shows that the phone never left.
  case unlock(OpeningReason)
  /// Unlock on an approach, unless the bolt was locked while a phone was here.
  case unlockUnlessHome
  /// Unlock for a phone that was seen to leave and is back, if the door's sensor saw it leave as well.
  case unlockIfLeft
  /// Lock, on a person's command.
  case lock
  /// Moves nothing; announces the phone's presence, and asks for the outcome of an operation (0 for none).
  case status
}

/// Why a door is not opened by itself.
package enum Doubt: String, Sendable, Hashable, CaseIterable {
  /// The link came up as strong as it is now, so nothing shows that the phone came from elsewhere.
  case noApproach
  /// The signal can't be read, so nothing shows where the phone is.
  case noSignal
  /// The bolt was locked while a phone was here, and there is not enough evidence that this phone left and came back.
  case lockedAtHome
  /// Somebody locked the bolt from inside, and it has not been turned since.
  case somebodyInside
  /// The phone came home, and the bolt did not move, however often it was tried.
  case jammed
  /// The phone came home, and the lock can't or may not open for it now: its battery, its mode, or the guest's grant.
  case refused
}

/// The outcome of a person's command.
package enum WordOutcome: String, Sendable, Hashable, CaseIterable {
  /// The lock reports that its bolt is open.
  case done
  /// There is no link to the lock.
  case notLinked
  /// The link was lost before the lock answered.
  case linkLost
  /// The lock did not answer in time, or refuses this phone.
  case noAnswer
  /// The lock's answer can't be understood, so what became of the command is not known.
  case unreadable
  /// The lock reports that its bolt did not move.
  case failed
  /// The lock has opened, and its bolt was locked again before the phone learned of it.
  case lockedAgain
  /// The decision could not be stored, so it was not carried out.
  case notStored
  /// The owner has said since that the door is to be locked.
  case overtaken
  /// It was taken back before it was written.
  case takenBack
  /// It was taken back after it was written, and the lock has not answered.
  case sentAlready
}
