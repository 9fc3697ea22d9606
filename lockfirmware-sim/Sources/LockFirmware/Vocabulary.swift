import LockProtocol

/// The time as a lock has it: how long it has been running, and what its calendar says.
public struct LockTime: Equatable, Sendable {
  /// Milliseconds since some fixed point; it never goes back. Everything the lock decides rests on it.
  public var milliseconds: Int64
  /// Seconds since 1970-01-01 UTC, for the log alone. It may be wrong.
  public var unixSeconds: Int64

  public init(milliseconds: Int64, unixSeconds: Int64) {
    self.milliseconds = milliseconds
    self.unixSeconds = unixSeconds
  }
}

/// Who is on the other end of a link, as the radio names it: the same for a bonded central each time it comes.
public struct CentralIdentifier: Equatable, Sendable {
  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// A central over which a phone has proven its key: strangers' failures never make it wait.
public struct TrustedCentral: Equatable, Sendable {
  public var central: CentralIdentifier
  /// The phone's static public key.
  public var phone: [UInt8]

  public init(central: CentralIdentifier, phone: [UInt8]) {
    self.central = central
    self.phone = phone
  }
}

/// Where the bolt's own switches say it is.
public enum BoltPosition: UInt8, Equatable, Sendable {
  /// At neither end.
  case between = 0
  case locked = 1
  case unlocked = 2

  var lockState: LockState {
    switch self {
    case .between: .notFullyLocked
    case .locked: .locked
    case .unlocked: .unlocked
    }
  }
}

/// Where a bolt can be sent.
public enum BoltTarget: UInt8, Equatable, Sendable {
  case locked = 1
  case unlocked = 2

  var position: BoltPosition { self == .locked ? .locked : .unlocked }
}

/// What a lock is told once.
public struct LockConfiguration: Sendable {
  public var identity: LockIdentity
  /// The static public keys of the phones that may open it, 32 bytes each.
  public var enrolledPhones: [[UInt8]]
  /// Whether nobody can leave but through this door: then its sensor shows who has not left.
  public var isOnlyWayOut = true
  /// How long after an authenticated phone's link is lost the bolt is thrown, if the door is shut.
  public var leavingDelayMilliseconds = defaultLeavingDelayMilliseconds
  public static let defaultLeavingDelayMilliseconds: Int64 = 10_000
  /// How long after an unlock the bolt is thrown again by itself; `nil` for never (Matter's `AutoRelockTime`).
  public var relockDelayMilliseconds: Int64?
  /// How long an offer is good for: a write that was held back for longer opens nothing.
  public var offerLifetimeMilliseconds: Int64 = 60_000
  /// After how long a phone counts as gone that proved its key and does not listen for offers: nobody tells the lock when
  /// such a link ends. Each command of it begins that time anew.
  public var unheardDelayMilliseconds: Int64 = 120_000
  /// How often a central that has not spoken yet is offered anew: a phone whose owner is on the way, and stops on it, is
  /// woken by that to look at its signal.
  public var offerRepeatMilliseconds: Int64 = 10_000
  /// How many times that happens on one link: a quarter of an hour, as long as a phone takes an owner for arriving.
  public var offerRepeatCount = 90
  /// The longest that a turn of the bolt takes. Beyond it the bolt is jammed.
  public var turnTimeoutMilliseconds: Int64 = 5_000
  /// How long the lock waits before it tries again to lock by itself, after that failed.
  public var retryDelayMilliseconds: Int64 = 30_000

  public init(identity: LockIdentity, enrolledPhones: [[UInt8]]) {
    self.identity = identity
    self.enrolledPhones = enrolledPhones
  }
}

/// What bounds everything that a stranger could make grow.
public enum LockLimit {
  /// Links at a time of centrals that have proven nothing. Phones that proved their keys take none of these places.
  public static let links = 16
  /// Links at a time of one phone, under the names that the radio has for it.
  public static let linksOfOnePhone = 2
  /// Commands that share one turn of the bolt with the command that it was begun for.
  public static let joinedCommands = 16
  /// Operations remembered.
  public static let operations = 64
  /// Centrals whose failures are remembered.
  public static let centralsWithFailures = 32
  /// Failures of one central before it must wait.
  public static let freeFailures = 3
  /// The longest that one central must wait, in milliseconds.
  public static let longestWaitMilliseconds: Int64 = 300_000
  /// Failures of all centrals together in one window, before strangers must wait until it ends.
  public static let failuresPerWindow = 30
  /// That window, in milliseconds.
  public static let windowMilliseconds: Int64 = 60_000
  /// The least time between an offer and the one after it that asks for a look, in milliseconds.
  public static let lookPauseMilliseconds: Int64 = 1_000
  /// Times the lock tries again by itself to lock.
  public static let lockAttempts = 3
}

/// What happens to a lock.
public enum LockEvent: Equatable, Sendable {
  /// The time has come that `nextDeadline` named, or the lock has just started.
  case timePassed
  /// A central has a link and listens for offers.
  case linkUp(CentralIdentifier)
  /// The lock has just started, and this central had a link and listened before.
  case linkRestored(CentralIdentifier)
  case linkDown(CentralIdentifier)
  case offerRead(CentralIdentifier)
  case commandWritten(CentralIdentifier, [UInt8])
  /// The record with this index, and with it each before it, is durable.
  case recordAppended(UInt64)
  /// The record with this index could not be made durable, nor any that followed it.
  case recordFailed(UInt64)
  /// The bolt has come to rest after `turnBolt`.
  case boltStopped(BoltPosition)
  /// Somebody turned the bolt by hand.
  case boltTurnedByHand(BoltPosition)
  case doorChanged(DoorState)
}

/// What a lock wants done.
public enum LockEffect: Equatable, Sendable {
  /// Notify this central of its Offer.
  case sendOffer(CentralIdentifier, [UInt8])
  /// Answer this central's read of its Offer; `nil` is a refusal.
  case answerRead(CentralIdentifier, [UInt8]?)
  /// Answer this central's write: taken, or refused.
  case respond(CentralIdentifier, isAccepted: Bool)
  /// Notify this central of its Answer.
  case sendAnswer(CentralIdentifier, [UInt8])
  /// Make this record durable, then say `recordAppended` or `recordFailed`.
  case appendRecord(LockRecord)
  /// Keep these, in place of those before, for the next start. Nothing waits for it: should they be lost, their phones
  /// are strangers until they have proven themselves again.
  case storeTrusted([TrustedCentral])
  /// Turn the bolt, then say `boltStopped`.
  case turnBolt(BoltTarget)
  /// For whoever watches; nothing depends on it.
  case note(LockNote)
}

/// What is worth telling of what a lock did.
public enum LockNote: Equatable, Sendable {
  case offerSent(CentralIdentifier)
  case commandAccepted(CentralIdentifier, LockCommand)
  case commandRefused(CentralIdentifier, RefusalReason)
  case boltMoved(BoltTarget, cause: MovementCause, record: UInt64)
  /// The bolt did not reach its end.
  case boltJammed(BoltTarget, cause: MovementCause, record: UInt64)
  /// The start found the bolt in mid-turn.
  case turnWasInterrupted(record: UInt64)
  /// A record could not be stored: what it was for does not happen.
  case recordFailed(UInt64)
}

/// Why a command was refused. A central is not told; it learns only that it was.
public enum RefusalReason: UInt8, Equatable, Sendable {
  /// There is no offer out to this central: it was used, or there was none.
  case noOffer
  case wrongLength
  case offerExpired
  case authenticationFailed
  case notEnrolled
  case malformed
  /// This central, or all strangers together, failed too often.
  case waiting
  /// The link was there before this run of the lock, and nothing has come over it since: the command may have been on its
  /// way to an offer of the run before, whose keys are gone. Such a one is no forgery for all the lock knows.
  case earlierRun
}

/// Why the bolt moved.
public enum MovementCause: UInt8, Equatable, Sendable {
  /// A phone's command.
  case phone = 1
  /// An authenticated phone's link was lost.
  case leaving = 2
  /// The time for an unlocked bolt was over, or a turn that was interrupted is completed.
  case relock = 3
  /// The thumb-turn.
  case hand = 4
}
