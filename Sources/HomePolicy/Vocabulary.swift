import TimeTypes

/// What must outlive the process. The shell stores it durably when told to, before it does anything else.
package struct HomeState: Sendable, Hashable {
  /// Evidence that the owner is coming: a link that came up at the edge of its range, after there had been none.
  package struct Approach: Sendable, Hashable {
    /// When the link came up so.
    package var since: HomeTime
    /// How strong it came up, in dBm.
    package var signal: Int
    /// It rose soon (`HomeConfiguration.risingDuration`): its phone was on the move, and not in the farthest room of a home.
    package var hasRisen = false

    package init(since: HomeTime, signal: Int, hasRisen: Bool = false) {
      self.since = since
      self.signal = signal
      self.hasRisen = hasRisen
    }
  }

  /// A door that is to be opened, and of which it is not known yet whether it was.
  package struct Opening: Sendable, Hashable {
    /// The name of its unlock, the same however often it is asked about.
    package var operation: UInt64
    /// Whether the unlock may have reached the lock.
    package var isWritten: Bool
    /// How many unlocks have been written for it, this one included.
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

  /// Whether there was a link when last heard of.
  package var isLinked = false
  /// When anything was last heard of the lock.
  package var lastHeard: HomeTime?
  /// When the link was last lost.
  package var linkLost: HomeTime?
  /// The link came up after it was lost for long enough, and how strong it came up is not known yet.
  package var isBeginning: Bool?
  package var approach: Approach?
  package var opening: Opening?
  /// When the owner was last asked whether to open.
  package var asked: HomeTime?
  /// The question still stands.
  package var isAsking: Bool?

  package init() {}
}

/// Why a door is opened. There is no third reason.
package enum OpeningReason: String, Sendable, Hashable {
  /// The owner was seen to come.
  case approach
  /// A person said so.
  case word
}

/// What happens to a phone, as far as its lock is concerned.
package enum HomeEvent: Sendable, Hashable {
  /// The process has started; whether the system has a link to the lock.
  case started(isLinked: Bool)
  /// The link has come up.
  case linkUp
  case linkDown
  /// The lock made an offer: a command can be written.
  case offerReceived
  /// The link's signal in dBm; `nil` where it can't be read.
  case signalRead(Int?)
  /// The lock's authenticated answer to the command that was written last, and where it says its bolt is.
  case answered(HomeAnswer, bolt: HomeBolt)
  /// The write failed, or its answer can't be trusted: what became of it is unknown.
  case writeFailed
  /// The owner says: open.
  case unlockAsked
  /// `store` could not be carried out, nor any effect after it.
  case storeFailed
  /// The time that `nextDeadline` named.
  case timePassed
}

/// What the lock said of a command.
package enum HomeAnswer: Sendable, Hashable {
  /// The bolt is where the command wanted it.
  case done
  /// The lock has never had this operation.
  case unknownOperation
  /// The lock had it and did not carry it out.
  case failed
  /// The bolt was locked while a phone was here, and this approach could have been made by one that never went.
  case lockedAtHome
}

/// Where the lock said its bolt is.
package enum HomeBolt: Sendable, Hashable {
  case locked, unlocked, between
}

/// What a phone does about its lock.
package enum HomeEffect: Sendable, Hashable {
  /// Store `state`, durably, before the effects that follow.
  case store
  case readSignal
  case readOffer
  /// Write this command with the latest offer, which is used up by it.
  case write(HomeCommand, operation: UInt64)
  /// The owner seems to be at a locked door, and nothing shows that they came: ask.
  case ask(Doubt)
  /// The question is over: the door is open, or its owner is gone.
  case stopAsking
  /// What became of the owner's word.
  case answerWord(WordOutcome)
}

package enum HomeCommand: Sendable, Hashable {
  case unlock(OpeningReason)
  /// Unlock on an approach, unless the bolt was locked while a phone was here.
  case unlockUnlessHome
  /// Moves nothing; says who is here, and asks what became of an operation (0: of none).
  case status
}

/// Why a door is not opened by itself.
package enum Doubt: String, Sendable, Hashable {
  /// The link came up as strong as where the phone is now: nothing shows that it came from elsewhere.
  case noApproach
  /// The signal can't be read, so nothing shows where the phone is.
  case noSignal
  /// The bolt was locked while a phone was here, and nothing shows well enough that this one left and came back.
  case lockedAtHome
}

/// What became of a person's word.
package enum WordOutcome: String, Sendable, Hashable {
  /// The lock says that its bolt is open.
  case done
  /// There is no link to the lock.
  case notLinked
  /// The link was lost before the lock answered.
  case linkLost
  /// The lock did not answer in time.
  case noAnswer
  /// The lock says that its bolt did not move.
  case failed
  /// The decision could not be stored, so it was not carried out.
  case notStored
}
