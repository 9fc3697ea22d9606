import LockProtocol

/// The time on a lock: how long it has been running, and its calendar.
package struct LockTime: Equatable, Sendable {
  /// Milliseconds since some fixed point. It never goes back, and the lock uses it for all decisions.
  package var milliseconds: Int64
  /// Seconds since 1970-01-01 UTC, only for the log. It may be wrong.
  package var unixSeconds: Int64

  package init(milliseconds: Int64, unixSeconds: Int64) {
    self.milliseconds = milliseconds
    self.unixSeconds = unixSeconds
  }
}

/// The device at the other end of a link, as the radio identifies it: a bonded central keeps its identifier.
package struct CentralIdentifier: Equatable, Sendable {
  package var high: UInt64
  package var low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// A central over which a phone has proven its key. Strangers' failures never make it wait.
package struct TrustedCentral: Equatable, Sendable {
  package var central: CentralIdentifier
  /// The phone's static public key.
  package var phone: [UInt8]

  package init(central: CentralIdentifier, phone: [UInt8]) {
    self.central = central
    self.phone = phone
  }
}

/// The bolt's position according to its own switches.
package enum BoltPosition: UInt8, Equatable, Sendable, CaseIterable {
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

/// The positions to which a bolt can be sent.
package enum BoltTarget: UInt8, Equatable, Sendable, CaseIterable {
  case locked = 1
  case unlocked = 2

  var position: BoltPosition { self == .locked ? .locked : .unlocked }
}

/// What a lock is configured with.
package struct LockConfiguration: Sendable {
  package var identity: LockIdentity
  /// The static public keys of the phones that may open it, 32 bytes each.
  package var enrolledPhones: [[UInt8]]
  /// Identifies the run of the clock that counts `LockTime.milliseconds`: 16 bytes, and another one after each start of
  /// the machine.
  package var boot = [UInt8](repeating: 0, count: 16)
  /// Whether this door is the only way out. If so, its sensor shows which phones have not left.
  package var isOnlyWayOut = true
  /// Whether the bolt is thrown when any phone leaves. If not, it is thrown when the last phone that has proven its key
  /// has left.
  package var locksOnAnyDeparture = false
  /// How long after an authenticated phone's link is lost the bolt is thrown, if the door is shut.
  package var leavingDelayMilliseconds = defaultLeavingDelayMilliseconds
  package static let defaultLeavingDelayMilliseconds: Int64 = 10_000
  /// How long after an unlock the bolt is thrown again by itself, or `nil` for never (Matter's `AutoRelockTime`).
  package var relockDelayMilliseconds: Int64?
  /// How long an offer is good for.
  package var offerLifetimeMilliseconds: Int64 = 60_000
  /// How long it is good for a command that moves the bolt. Such a command may wait at the phone or at the lock, behind other
  /// operations or in a system that stands still, and its person has been told by then that nothing came of it.
  package var movingOfferLifetimeMilliseconds: Int64 = 15_000
  /// For a phone that has proven its key and is not subscribed to offers: how long after its last command it counts as
  /// gone. The lock is not told when the link of such a phone ends.
  package var unheardDelayMilliseconds: Int64 = 120_000
  /// How often a central that has not answered yet gets a new offer. That wakes a phone whose owner stopped on the
  /// way, so that it checks its signal.
  package var offerRepeatMilliseconds: Int64 = 10_000
  /// How many times that happens on one link: for a quarter of an hour, as long as a phone's approach may take.
  package var offerRepeatCount = 90
  /// How long an unknown phone waits for its first offer if it seems to be the only one. It is meant for a radio that
  /// does not tell who subscribes, and reports several subscriptions one after the other.
  package var firstOfferDelayMilliseconds: Int64 = 0
  /// Whether the radio notifies one central alone. bluetoothd notifies every subscriber.
  package var notifiesOneAlone = false
  /// The longest time for a turn of the bolt. After that the bolt counts as jammed.
  package var turnTimeoutMilliseconds: Int64 = 5_000
  /// How long the lock waits before it tries again to lock by itself, after a failure.
  package var retryDelayMilliseconds: Int64 = 30_000
  /// How long the door may stand open before it counts as ajar, or `nil` for no limit.
  package var ajarDelayMilliseconds: Int64? = defaultAjarDelayMilliseconds
  package static let defaultAjarDelayMilliseconds: Int64 = 300_000
  /// The secret of the code that is printed on the lock, 32 bytes (`EnrolmentCode.secret`), or `nil` if it has none.
  package var enrolmentSecret: [UInt8]?
  /// The lock's own name, at most 32 bytes of UTF-8. A phone that is enrolled learns it.
  package var name: [UInt8] = []
  /// How much charge the battery must have left for each kind of turn.
  package var battery = BatteryThresholds()
  /// How much the lock holds.
  package var capacity = LockCapacity.machine

  package init(identity: LockIdentity, enrolledPhones: [[UInt8]]) {
    self.identity = identity
    self.enrolledPhones = enrolledPhones
  }
}

/// Limits on everything that a stranger could make grow.
package enum LockLimit {
  /// Simultaneous links of one phone, under different identifiers of the radio.
  package static let linksOfOnePhone = 2
  /// How long after its command the bolt may still be unlocked for it, in milliseconds. A person's command is valid for
  /// as long.
  package static let unlockPatienceMilliseconds: Int64 = 20_000
  /// Commands that share one turn of the bolt with the command that started it.
  package static let joinedCommands = 16
  /// The most operations that are remembered (`LockCapacity.operations`).
  package static let operations = 64
  /// How far the clock may go wrong, in parts per million: several times what a quartz does in cold and heat.
  static let clockDriftPerMillion: Int64 = 200
  /// Times that an owner can set: in the years 2024 to 2099.
  static let possibleTimes: Range<Int64> = 1_704_067_200..<4_102_444_800
  /// Failures of one central before it must wait.
  package static let freeFailures = 3
  /// The longest that one central must wait, in milliseconds.
  package static let longestWaitMilliseconds: Int64 = 300_000
  /// The longest that a guest must wait whose authentic grant does not count yet, in milliseconds.
  package static let earlyWaitMilliseconds: Int64 = 10_000
  /// Failures of all centrals together in one window, before strangers must wait until it ends.
  package static let failuresPerWindow = 30
  /// The length of that window, in milliseconds.
  package static let windowMilliseconds: Int64 = 60_000
  /// The least time between an offer and the next one that makes a phone look at its signal, in milliseconds.
  package static let lookPauseMilliseconds: Int64 = 1_000
  /// The least time between two alarms about strangers' writes, in milliseconds, so that a flood does not fill the log.
  package static let wrongCodeAlarmPauseMilliseconds: Int64 = 600_000
  /// A read brings the newest offer if it is no older than this, in milliseconds, so that enough time is left for its command.
  package static let freshOfferMilliseconds: Int64 = 3_000
  /// A bolt that was between its ends for no longer than this, and is back where it was, has not moved, in milliseconds.
  package static let flickerMilliseconds: Int64 = 2_000
  /// How long the cover must stay on before its alarm ends, in milliseconds.
  package static let coverQuietMilliseconds: Int64 = 10_000
  /// How long the reset button must be held, in milliseconds.
  package static let resetHoldMilliseconds: Int64 = 10_000
  /// How long the button opens the window for enrolments, in milliseconds.
  package static let enrolmentWindowMilliseconds: Int64 = 120_000
  /// Wrong codes in one window. With the last of them it closes, and the button does nothing for a while.
  package static let wrongEnrolmentCodes = 5
  /// How long the button then does nothing, in milliseconds.
  package static let enrolmentLockOutMilliseconds: Int64 = 300_000
  /// The most enrolments that may be begun in one window, and that may be under way at the same time. Each costs the
  /// lock some milliseconds of work, and memory.
  package static let enrolmentStarts = 64
  static let simultaneousEnrolments = 4
  /// The longest message of an enrolment, in bytes, with room for later versions.
  static let enrolmentByteCount = 256
  /// The most phones that can be enrolled, with those of the lock's key file (`LockCapacity.phones`).
  package static let phones = 64
  /// How many times the lock tries again by itself to lock.
  package static let lockAttempts = 3
}

/// What happens to a lock.
package enum LockEvent: Equatable, Sendable {
  /// The time that `nextDeadline` named has come, or the lock has just started.
  case timePassed
  /// A central has a link and is subscribed to offers.
  case linkUp(CentralIdentifier)
  /// The lock has just started, and this central already had a link and a subscription.
  case linkRestored(CentralIdentifier)
  case linkDown(CentralIdentifier)
  case offerRead(CentralIdentifier)
  case commandWritten(CentralIdentifier, [UInt8])
  /// A fragment of what a phone asks after the answer.
  case requestWritten(CentralIdentifier, [UInt8])
  /// What `readLog` asked for, or `nil` if it can't be read.
  case logRead(LogReading, LogPage?)
  /// The record with this index, and each before it, is durable.
  case recordAppended(UInt64)
  /// The record with this index could not be made durable, nor could any after it.
  case recordFailed(UInt64)
  /// The bolt has come to rest after `turnBolt`.
  case boltStopped(BoltPosition)
  /// Someone turned the bolt by hand.
  case boltTurnedByHand(BoltPosition, from: HandSide = .unknown)
  case doorChanged(DoorState)
  /// The switches show this position, and neither the motor nor a hand accounts for it.
  case boltFound(BoltPosition)
  /// Nothing is known of the mechanism any more: its driver has ended, hangs, or contradicts its switches.
  case mechanismFailed
  /// The mechanism answers again, or for the first time. Its switches show this.
  case mechanismRestored(BoltPosition, DoorState)
  /// The battery's charge in percent, or `nil` if there is no battery.
  case batteryChanged(UInt8?)
  /// The lock's cover was taken off, or put back.
  case tamperChanged(isOpen: Bool)
  /// Someone inside set the operating mode, with the lock's own button.
  case modeSet(OperatingMode)
  /// The reset button on the inside is pressed, or let go.
  case resetButton(isPressed: Bool)
  /// The button for enrolments on the inside was pressed.
  case enrolmentButton
  /// A fragment of an enrolment.
  case enrolmentWritten(CentralIdentifier, [UInt8])
  /// This process stood still for some seconds. What comes now may have been said before that.
  case stoodStill
}

/// What a lock wants done.
package enum LockEffect: Equatable, Sendable {
  /// Notify this central of its Offer with each of these values, in order. They replace values of earlier offers that
  /// still wait. If the radio can't notify one central alone, all centrals hear them.
  case sendOffer(CentralIdentifier, [[UInt8]])
  /// Answer this central's read of its Offer. `nil` means refusal.
  case answerRead(CentralIdentifier, [UInt8]?)
  /// Answer this central's write: accepted or refused.
  case respond(CentralIdentifier, isAccepted: Bool)
  /// Notify this central of its Answer.
  case sendAnswer(CentralIdentifier, [UInt8])
  /// Notify this central of a reply, in fragments with this tag (`Fragments`).
  case sendReply(CentralIdentifier, tag: UInt8, [UInt8])
  /// Read from the log, then report `logRead`.
  case readLog(LogReading)
  /// Make this record durable, then report `recordAppended` or `recordFailed`.
  case appendRecord(LockRecord)
  /// Keep these for the next start, instead of earlier ones. Nothing waits for this. If they are lost, these phones are
  /// strangers until they have proven themselves again.
  case storeTrusted([TrustedCentral])
  /// Keep this (`AccessState`) for the next start, durably, before the effects that follow. If that fails, the records
  /// that follow must fail, too.
  case storeAccess([UInt8])
  /// Keep this for the next start. Nothing waits for this. If it is lost, a bolt that a hand opened stays open over a
  /// restart.
  case storeAwaited(AwaitedPhone)
  /// Turn the bolt, then report `boltStopped`.
  case turnBolt(BoltTarget)
  /// Stop the motor: the turn has taken too long, and counts as jammed. Nothing waits for this.
  case stopBolt
  /// Keep this mode for the next start, durably.
  case storeMode(OperatingMode)
  /// Factory reset: forget every phone, durably. If that fails, the next start finds this record and finishes the
  /// reset.
  case forgetPhones(record: UInt64)
  /// Answer this central's write to Enrolment: `open` if it was taken, otherwise why not.
  case respondToEnrolment(CentralIdentifier, EnrolmentStatus)
  /// Notify this central of a message of its enrolment, in fragments with this tag.
  case sendEnrolment(CentralIdentifier, tag: UInt8, [UInt8])
  /// For observers; nothing depends on it.
  case note(LockNote)
}

/// Noteworthy actions of a lock.
package enum LockNote: Equatable, Sendable {
  case offerSent(CentralIdentifier)
  case commandAccepted(CentralIdentifier, LockCommand)
  case commandRefused(CentralIdentifier, RefusalReason)
  /// A phone that has proven its key asks something after its answer.
  case requestAccepted(CentralIdentifier, LockRequest.Kind)
  /// A question was refused: its sender has proven nothing, or its conversation is over.
  case requestRefused(CentralIdentifier)
  /// The lock has no place for another link, because all links are of phones that have proven their keys.
  case linkRefused(CentralIdentifier)
  /// The lock has no room for what a phone tells it. The kind is `nil` if there was no room even to read it.
  case noRoom(CentralIdentifier, LockRequest.Kind?)
  /// `from` is the side of the hand that turned it, if a hand did.
  case boltMoved(BoltTarget, cause: MovementCause, from: HandSide? = nil, record: UInt64)
  /// The bolt did not reach its end.
  case boltJammed(BoltTarget, cause: MovementCause, record: UInt64)
  /// At its start, the lock found the bolt between its ends.
  case turnWasInterrupted(record: UInt64)
  /// What owners have told the lock has changed.
  case accessChanged
  /// A record could not be stored, so what it was to record does not happen.
  case recordFailed(UInt64)
  case alarmRaised(LockAlarm, record: UInt64)
  case alarmCleared(LockAlarm, record: UInt64)
  case batteryChanged(BatteryLevel, percent: UInt8)
  case modeChanged(OperatingMode)
  /// The button has opened the window for enrolments.
  case enrolmentOpened
  case enrolmentClosed(EnrolmentEnd)
  case enrolmentRefused(CentralIdentifier, EnrolmentStatus)
  case phoneEnrolled(record: UInt64)
}

/// Why a command was refused. The central is told only that it was.
package enum RefusalReason: UInt8, Equatable, Sendable, CaseIterable {
  /// There is no offer to this central: it was used, or there was none.
  case noOffer
  case wrongLength
  case offerExpired
  case authenticationFailed
  case notEnrolled
  case malformed
  /// This central, or all strangers together, failed too often.
  case waiting
  /// A guest's grant does not allow it. The guest is told why.
  case notAllowed
  /// The link existed before this run of the lock, and nothing has come over it since. The command may have been on
  /// its way to an offer of the previous run, whose keys are gone. As far as the lock can tell, it need not be a
  /// forgery.
  case earlierRun
}

/// Why the bolt moved.
package enum MovementCause: UInt8, Equatable, Sendable, CaseIterable {
  /// A phone's command.
  case phone = 1
  /// An authenticated phone's link was lost.
  case leaving = 2
  /// The time for an unlocked bolt was over, or an interrupted turn is completed.
  case relock = 3
  /// The thumb-turn.
  case hand = 4
  /// The switches show a position that the log does not account for, for example after a turn by hand while the lock had
  /// no power.
  case unexplained = 16
}
