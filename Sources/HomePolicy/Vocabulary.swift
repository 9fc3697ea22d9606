import TimeTypes

/// What must outlive the process. The shell stores it durably when told to, before it does anything else.
public struct HomeState: Sendable, Hashable {
  /// Evidence that the owner is coming: a link that came up at the edge of its range, after there had been none.
  public struct Approach: Sendable, Hashable {
    /// When the link came up so.
    public var since: HomeTime
    /// How strong it came up, in dBm.
    public var signal: Int
    /// It rose soon (`HomeConfiguration.risingDuration`): its phone was on the move, and not in the farthest room of a home.
    public var hasRisen = false

    public init(since: HomeTime, signal: Int, hasRisen: Bool = false) {
      self.since = since
      self.signal = signal
      self.hasRisen = hasRisen
    }
  }

  /// A door that is to be opened, and of which it is not known yet whether it was.
  public struct Opening: Sendable, Hashable {
    /// The name of its unlock, the same however often it is asked about.
    public var operation: UInt64
    /// Whether the unlock may have reached the lock.
    public var isWritten: Bool
    /// How many unlocks have been written for it, this one included.
    public var attempts: Int
    public var because: OpeningReason
    /// When it was decided on.
    public var since: HomeTime

    public init(operation: UInt64, isWritten: Bool, attempts: Int, because: OpeningReason, since: HomeTime) {
      self.operation = operation
      self.isWritten = isWritten
      self.attempts = attempts
      self.because = because
      self.since = since
    }
  }

  /// Whether there was a link when last heard of.
  public var isLinked = false
  /// When anything was last heard of the lock.
  public var lastHeard: HomeTime?
  /// When the link was last lost.
  public var linkLost: HomeTime?
  /// The link came up after it was lost for long enough, and how strong it came up is not known yet.
  public var isBeginning: Bool?
  public var approach: Approach?
  /// The phone was seen to leave: it looked at its signal since the lock said that somebody may be leaving, and that faded
  /// from the door's until the link was lost.
  public var hasLeft: Bool?
  public var opening: Opening?
  /// When the owner was last asked whether to open.
  public var asked: HomeTime?
  /// The question still stands.
  public var isAsking: Bool?

  public init() {}
}

/// Why a door is opened. There is no third reason.
public enum OpeningReason: String, Sendable, Hashable {
  /// The owner was seen to come.
  case approach
  /// A person said so.
  case word
}

/// What happens to a phone, as far as its lock is concerned.
public enum HomeEvent: Sendable, Hashable {
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
public enum HomeAnswer: Sendable, Hashable {
  /// The bolt is where the command wanted it.
  case done
  /// The lock has never had this operation.
  case unknownOperation
  /// The lock had it and did not carry it out.
  case failed
  /// The bolt was locked while a phone was here, or the door's sensor shows that this one has not left; and this approach
  /// could have been made by one that never went.
  case lockedAtHome
}

/// Where the lock said its bolt is.
public enum HomeBolt: Sendable, Hashable {
  case locked, unlocked, between
}

/// What a phone does about its lock.
public enum HomeEffect: Sendable, Hashable {
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

public enum HomeCommand: Sendable, Hashable {
  /// On an approach: unless the door's sensor shows that its phone never left.
  case unlock(OpeningReason)
  /// Unlock on an approach, unless the bolt was locked while a phone was here.
  case unlockUnlessHome
  /// Unlock for a phone that was seen to leave and is back, if the door's sensor saw it leave as well.
  case unlockIfLeft
  /// Moves nothing; says who is here, and asks what became of an operation (0: of none).
  case status
}

/// Why a door is not opened by itself.
public enum Doubt: String, Sendable, Hashable {
  /// The link came up as strong as where the phone is now: nothing shows that it came from elsewhere.
  case noApproach
  /// The signal can't be read, so nothing shows where the phone is.
  case noSignal
  /// The bolt was locked while a phone was here, and nothing shows well enough that this one left and came back.
  case lockedAtHome
}

/// What became of a person's word.
public enum WordOutcome: String, Sendable, Hashable {
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
