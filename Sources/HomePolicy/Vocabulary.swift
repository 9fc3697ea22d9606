import Timekeeping

/// The time as a phone has it. Within one boot the boot-time clock decides, which nobody can step; the calendar only
/// bridges a reboot.
public struct HomeTime: Sendable, Hashable, Codable {
  /// Which boot of the machine this is: `instant`s compare only within one.
  public var boot: String
  /// Time since that boot (in a simulated world: since the world began).
  public var instant: Instant
  /// Seconds since 1970-01-01 UTC; it may step.
  public var unixSeconds: Double

  public init(boot: String, instant: Instant, unixSeconds: Double) {
    self.boot = boot
    self.instant = instant
    self.unixSeconds = unixSeconds
  }
}

/// What an owner can set.
public struct HomeConfiguration: Sendable, Hashable {
  /// How long the link must have been lost before its return is an arrival.
  public var awayDuration: Duration = .seconds(180)
  /// The weakest signal that counts as being at the door, in dBm.
  public var nearSignal = -75
  /// By how much a reading may be below the one before and not be a falling signal, in dB.
  public var signalTolerance = 4
  /// Whether a link whose signal can't be read counts as near. Then the range of the radio alone keeps the door shut.
  public var unlocksWithoutSignal = false
  /// The time between readings of the signal while the owner is not near yet.
  public var signalInterval: Duration = .seconds(1)
  /// Readings in a row before waiting for the lock's next offer: a background app has ten seconds a wake.
  public var signalReadings = 8
  /// How long after the link came up its owner may still be arriving.
  public var arrivalWindow: Duration = .seconds(600)
  /// How long an offer is used after it came; the lock's own limit is longer.
  public var offerLifetime: Duration = .seconds(45)
  /// How long to wait for an offer after a link came up, before reading it: what the lock notifies before the link's MTU
  /// is agreed on arrives cut short or not at all (seen with bluetoothd 5.82), and a read costs one round trip.
  public var offerPatience: Duration = .milliseconds(250)
  /// Reads of the offer in a row that bring none, before waiting for the lock to offer by itself.
  public var offerReads = 4
  /// How long to wait for an answer before asking what became of the command.
  public var answerPatience: Duration = .seconds(15)
  /// Offers in a row that may each cut the wait for an answer short: one is a lock or a system that has restarted.
  public var interruptions = 3
  /// Times that one arrival writes an unlock: more than one only if the lock says that nothing moved.
  public var unlockAttempts = 3

  public init() {}
}

/// What must outlive the process. The shell stores it durably when told to, before it does anything else.
public struct HomeState: Sendable, Hashable, Codable {
  /// An arrival that has been decided on, and of which it is not known yet what became of it.
  public struct Arrival: Sendable, Hashable, Codable {
    /// The name of its unlock, the same however often it is asked about.
    public var operation: UInt64
    /// Whether the unlock may have reached the lock.
    public var isWritten: Bool
    /// How many unlocks have been written for it, this one included.
    public var attempts: Int
  }

  /// The format's version.
  public var version = 1
  /// Whether there was a link when last heard of.
  public var isLinked = false
  /// When anything was last heard of the lock.
  public var lastHeard: HomeTime?
  /// When the link was lost. Still there while a link is up: an arrival that is not decided on yet.
  public var linkLost: HomeTime?
  /// Since when there has been a link to arrive by.
  public var arrivingSince: HomeTime?
  public var arrival: Arrival?

  public init() {}
}

/// What happens to a phone, as far as its lock is concerned.
public enum HomeEvent: Sendable, Hashable {
  /// The process has started; whether the system has a link to the lock.
  case started(isLinked: Bool)
  case linkUp
  case linkDown
  /// The lock made an offer: a command can be written.
  case offerReceived
  /// The link's signal in dBm; `nil` where it can't be read.
  case signalRead(Int?)
  /// The lock's authenticated answer to the command that was written last.
  case answered(HomeAnswer)
  /// The write failed, or its answer can't be trusted: what became of it is unknown.
  case writeFailed
  /// The time that `nextDeadline` named.
  case timePassed
}

/// What the lock said.
public enum HomeAnswer: Sendable, Hashable {
  /// The bolt is where the command wanted it.
  case done
  /// The lock has never had this operation.
  case unknownOperation
  /// The lock had it and did not carry it out.
  case failed
}

/// What a phone does about its lock.
public enum HomeEffect: Sendable, Hashable {
  /// Store `state`, durably, before the effects that follow.
  case store
  case readSignal
  case readOffer
  /// Write this command with the latest offer, which is used up by it.
  case write(HomeCommand, operation: UInt64)
}

public enum HomeCommand: Sendable, Hashable {
  case unlock
  /// Moves nothing; says who is here, and asks what became of an operation (0: of none).
  case status
}
