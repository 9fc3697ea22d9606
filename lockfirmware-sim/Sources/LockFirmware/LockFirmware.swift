import LockProtocol

/// What a lock decides: events and the time in, effects out. It has no radio, no flash, no motor and no clock; it
/// runs on a board as on Linux.
///
/// The bolt moves for three reasons: an enrolled phone's command in a session of its own, the lock's own wish to
/// lock, and a hand. There is no other path to `turnBolt`, and none that does not lead through a durable record.
public struct LockFirmware<Cryptography: NoiseCryptography> {
  public let configuration: LockConfiguration
  let staticKey: Cryptography.PrivateKey
  var cryptography: Cryptography

  /// Where the bolt last came to rest.
  public internal(set) var position: BoltPosition
  public internal(set) var door: DoorState
  var movement: Movement?
  /// A command for the other direction, that came while the bolt was moving.
  var queued: Movement?
  var links: [Link<Cryptography>] = []
  var failures: FailureBudget
  var operations = OperationMemory()
  /// Records on their way to the log, oldest first.
  var pendingRecords: [PendingRecord] = []
  public internal(set) var nextRecordIndex: UInt64
  /// Who unlocked last, if nobody locked since: whose leaving a restarted lock must not miss.
  var unlockedBy: [UInt8]?
  /// The bolt was locked while a phone was here, or a phone has said since that it is: it opens on a person's word, or to
  /// who is seen to come all the way.
  public internal(set) var isLockedAtHome = false
  /// What the door's sensor shows of who is here. A restart knows nothing of it.
  var doorWatch: DoorWatch
  var departures: [Departure] = []
  /// When the bolt is thrown by itself.
  var relockDue: Int64?
  var lockAttempts = 0
  /// The bolt jammed too often as it was to be thrown; a hand or the door may free it.
  var hasGivenUpLocking = false
  var time: LockTime
  var effects: [LockEffect] = []

  /// A lock that has just started.
  /// - Parameters:
  ///   - records: the newest records of its log, oldest first; `LockLimit.operations * 3` are enough.
  ///   - trusted: what the last run said to keep, by `storeTrusted`.
  ///   - position: what the bolt's switches say; they outweigh the log.
  public init(
    _ configuration: LockConfiguration, staticKey: Cryptography.PrivateKey, using cryptography: Cryptography,
    records: [LockRecord], trusted: [TrustedCentral] = [], position: BoltPosition, door: DoorState, at time: LockTime
  ) {
    failures = FailureBudget(trusted: trusted.filter { configuration.enrolledPhones.contains($0.phone) })
    self.configuration = configuration
    self.staticKey = staticKey
    self.cryptography = cryptography
    self.position = position
    self.door = door
    doorWatch = DoorWatch(isOnlyWay: configuration.isOnlyWayOut, door: door)
    self.time = time
    nextRecordIndex = (records.last?.index ?? 0) + 1
    recover(records)
  }

  /// Where the bolt is, for whoever asks.
  public var lockState: LockState {
    if case .turning = movement?.phase { return .notFullyLocked }
    return position.lockState
  }

  /// Takes what happened; returns what to do, in order.
  public mutating func handle(_ event: LockEvent, at time: LockTime) -> [LockEffect] {
    // A clock that went back would make deadlines come twice.
    self.time = LockTime(
      milliseconds: max(time.milliseconds, self.time.milliseconds), unixSeconds: time.unixSeconds)
    switch event {
    case .timePassed: break
    case .linkUp(let central): linkUp(central)
    case .linkRestored(let central): linkRestored(central)
    case .linkDown(let central): linkDown(central)
    case .offerRead(let central): offerRead(central)
    case .commandWritten(let central, let bytes): commandWritten(central, bytes)
    case .recordAppended(let index): recordAppended(index)
    case .recordFailed(let index): recordFailed(index)
    case .boltStopped(let position): boltStopped(position)
    case .boltTurnedByHand(let position): boltTurnedByHand(position)
    case .doorChanged(let state): doorChanged(state)
    }
    forgetUnheard()
    refreshOffers()
    watchTurn()
    lockIfDue()
    defer { effects = [] }
    return effects
  }

  /// When `handle(.timePassed)` must be called at the latest; `nil` if nothing is due.
  public var nextDeadline: LockTime? {
    var earliest: Int64?
    func consider(_ milliseconds: Int64?) {
      // What was due before and still is waits for an event, not for the time.
      guard let milliseconds, milliseconds > time.milliseconds else { return }
      earliest = min(earliest ?? .max, milliseconds)
    }
    for link in links {
      consider(link.nextOffer)
      consider(link.unheardDue)
    }
    for departure in departures { consider(departure.due) }
    consider(relockDue)
    if case .turning(let deadline) = movement?.phase { consider(deadline) }
    return earliest.map { LockTime(milliseconds: $0, unixSeconds: time.unixSeconds) }
  }

  var now: Int64 { time.milliseconds }

  /// Takes up from the log and the bolt's switches what the last run left.
  private mutating func recover(_ records: [LockRecord]) {
    var open: LockRecord?
    // The lock's own wish to lock, as long as it is not fulfilled.
    var owesLocking = false
    for record in records {
      let key = OperationMemory.Key(phone: record.phone, operation: record.operation)
      switch record.kind {
      case .movement:
        open = record.cause == .hand ? nil : record
        switch (record.target, record.cause) {
        case (.unlocked, let cause): unlockedBy = cause == .phone ? record.phone : nil
        case (.locked, .hand): unlockedBy = nil
        // Until the bolt has arrived, whoever unlocked has an unlocked door behind them.
        case (.locked, _): break
        }
        owesLocking = record.target == .locked && (record.cause == .leaving || record.cause == .relock)
        if record.cause == .phone { operations.remember(key, .failed) }
      case .outcome:
        open = nil
        if record.target == .locked, record.result == .done {
          unlockedBy = nil
          owesLocking = false
        }
        if record.cause == .phone { operations.remember(key, record.result) }
      case .command:
        // Who wants it unlocked and finds it so is one whose leaving counts, too.
        if record.target == .unlocked, record.result == .notNeeded { unlockedBy = unlockedBy ?? record.phone }
        operations.remember(key, record.result)
      }
    }
    if let open {
      // The run before ended between the record and the end of the turn. The switches know how far it came.
      let result: LockResult = position == open.target.position ? .done : .failed
      effects.append(.note(.turnWasInterrupted(record: open.index)))
      append(
        .outcome, target: open.target, cause: open.cause, result: result,
        key: OperationMemory.Key(phone: open.phone, operation: open.operation), then: .nothing)
      if open.cause == .phone {
        operations.remember(OperationMemory.Key(phone: open.phone, operation: open.operation), result)
      }
    }
    // Who was here when it was locked is not in the log: all but the lock's own locking behind its owner counts.
    let latest = records.last { $0.kind == .movement && $0.target == .locked }
    isLockedAtHome = position == .locked && latest.map { $0.cause != .leaving } ?? false
    if position == .between { relockDue = now + configuration.leavingDelayMilliseconds }
    if position == .unlocked {
      if let unlockedBy {
        departures = [Departure(phone: unlockedBy, due: now + configuration.retryDelayMilliseconds)]
      }
      let delay = owesLocking ? configuration.retryDelayMilliseconds : configuration.relockDelayMilliseconds
      relockDue = delay.map { now + $0 }
    }
  }
}
