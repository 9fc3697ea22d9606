import LockProtocol

/// What a lock decides: it takes events and the time, and returns effects. It has no radio, no flash, no motor and no
/// clock, and runs on a board as well as on Linux.
///
/// The bolt moves for three reasons: an enrolled phone's command in its own session, the lock's own decision to lock,
/// and a hand. There is no other path to `turnBolt`, and every path leads through a durable record.
package struct LockFirmware<Cryptography: NoiseCryptography> {
  package internal(set) var configuration: LockConfiguration
  let staticKey: Cryptography.PrivateKey
  var cryptography: Cryptography

  /// What owners have told over the air.
  package internal(set) var access: AccessState
  /// The window in which phones are enrolled.
  var enrolment = EnrolmentWindow<Cryptography>()
  /// The bolt's last resting position.
  package internal(set) var position: BoltPosition
  package internal(set) var door: DoorState
  var movement: Movement?
  /// The latest movement, if it took too long and nothing has moved the bolt since.
  var overdue: Movement?
  /// A command for the other direction that arrived while the bolt was moving.
  var queued: Movement?
  var paidUses: [PaidUse] = []
  /// The door has moved since this start, so it has a sensor.
  var hasDoorMoved = false
  var links: [Link<Cryptography>] = []
  /// The latest accepted commands of links that have ended.
  var lateCommands: [LateCommand] = []
  var failures: FailureBudget
  var operations: OperationMemory
  /// Records on their way to the log, oldest first.
  var pendingRecords: [PendingRecord] = []
  package internal(set) var nextRecordIndex: UInt64
  /// What the bolt did last, or `nil` if the log does not reach back to it.
  var latestMovement: LockRecord?
  /// The phone whose leaving locks an unlocked bolt. It had the bolt unlocked, or was here when a hand unlocked it, or
  /// has come since. A restarted lock must not miss its leaving.
  var awaited: [UInt8]? { didSet { presumed = nil } }
  /// After a start with an unlocked bolt: the awaited phone, as long as it may be behind a link from before the start.
  /// That ends when it has proven itself, when the bolt moves, or when it is due.
  var presumed: Departure?
  /// The bolt was locked while a phone was here, or a phone has since said that it is. It opens only on a person's
  /// command, or for a phone that is seen to come all the way.
  package internal(set) var isLockedAtHome = false
  /// What the door's sensor shows of who is here. A restart knows nothing of it.
  var doorWatch: DoorWatch
  /// Which phones left right after the bolt was turned. A restart knows nothing of it.
  var lockingWatch = LockingWatch()
  /// Whether the mechanism's state is unknown. Nothing moves until it answers again.
  package internal(set) var isMechanismFailed = false
  /// The switches' position before the mechanism failed.
  var positionBeforeFailure: BoltPosition?
  /// What the log says, until something is known of the mechanism for the first time.
  var recovered: Recovered? {
    get { recoveredBox?.value }
    set { recoveredBox = newValue.map { Boxed($0) } }
  }
  private var recoveredBox: Boxed<Recovered>?
  /// The bolt was found between its ends, and nothing else has happened to it or the door since.
  var slip: Slip?
  package internal(set) var battery = Battery()
  package internal(set) var mode: OperatingMode
  /// The alarms whose reasons still exist.
  package internal(set) var alarms: [LockAlarm] = []
  /// Somebody locked the bolt from inside, and it has not been turned since. It becomes false if a sensor shows that
  /// the door opened all the same, because that person may have gone.
  package internal(set) var isLockedFromInside = false
  /// When the open door counts as ajar.
  var ajarDue: Int64?
  /// When the reset button has been held for long enough.
  var resetDue: Int64?
  /// When the alarm about the cover ends, if its contact stays quiet.
  var coverQuietDue: Int64?
  /// When writes of strangers were last alarming.
  var wrongCodeAlarmAt: Int64?
  var departures: [Departure] = []
  /// When the bolt is thrown by itself.
  var relockDue: Int64?
  var lockAttempts = 0
  /// The bolt jammed too often while locking. A hand or the door may free it.
  var hasGivenUpLocking = false
  var time: LockTime
  var effects: [LockEffect] = []

  /// A lock that has just started.
  /// - Parameters:
  /// - records: the newest records of its log, oldest first; `LockLimit.operations * 3` are enough.
  /// - landmarks: the records of its log that count however old they are (`LockLandmarks`).
  /// - trusted: what the last run stored by `storeTrusted`.
  /// - access: what the last run stored by `storeAccess`.
  /// - awaited: what the last run stored by `storeAwaited`.
  /// - position: what the bolt's switches report, which takes precedence over the log. `nil` if nothing is known of them yet: then
  ///   `mechanismRestored` tells, and nothing moves before that.
  /// - mode: what the last run stored by `storeMode`.
  package init(
    _ configuration: LockConfiguration, staticKey: Cryptography.PrivateKey, using cryptography: Cryptography,
    records: [LockRecord], landmarks: [LockRecord] = [], trusted: [TrustedCentral] = [],
    access: AccessState = AccessState(), awaited: AwaitedPhone? = nil, position: BoltPosition?, door: DoorState,
    mode: OperatingMode = .normal, at time: LockTime
  ) {
    let door = door.inAnswer
    self.mode = mode
    failures = FailureBudget(
      trusted: trusted.filter { proven in
        let isKnown =
          configuration.enrolledPhones.contains(proven.phone) || access.isEnrolled(proven.phone)
          || access.guests.contains { $0.key == proven.phone }
        return isKnown && !access.lists.contains { $0.revokes(phone: proven.phone) }
      }, within: configuration.capacity)
    operations = OperationMemory(limit: configuration.capacity.operations)
    self.access = access
    self.configuration = configuration
    self.staticKey = staticKey
    self.cryptography = cryptography
    self.position = position ?? .between
    self.door = door
    doorWatch = DoorWatch(
      isOnlyWay: configuration.isOnlyWayOut, door: door, limit: configuration.capacity.trustedCentrals)
    self.time = time
    nextRecordIndex = (records.last?.index ?? 0) + 1
    _ = failures.limitGuests(to: configuration.capacity.guestsCentrals, besides: ownersPhones)
    let first = records.first?.index ?? .max
    let recovered = recover(landmarks.filter { $0.index < first } + records, awaited)
    takeBackUnmovedUse(after: records.last?.index ?? 0)
    recordMissingChange(records)
    if let position { settle(recovered, position, door) } else { self.recovered = recovered }
  }

  /// The bolt's position, for anyone who asks.
  package var lockState: LockState {
    if case .turning = movement?.phase { return .notFullyLocked }
    if isMechanismFailed { return .notFullyLocked }
    return position.lockState
  }

  /// Handles what happened. Returns what to do, in order.
  package mutating func handle(_ event: LockEvent, at time: LockTime) -> [LockEffect] {
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
    case .requestWritten(let central, let bytes): requestWritten(central, bytes)
    case .logRead(let question, let page): logRead(question, page)
    case .recordAppended(let index): recordAppended(index)
    case .recordFailed(let index): recordFailed(index)
    case .boltStopped(let position): boltStopped(position)
    case .boltTurnedByHand(let position, let side): boltTurnedByHand(position, from: side)
    case .doorChanged(let state): doorChanged(state)
    case .boltFound(let position): boltFound(position)
    case .mechanismFailed: mechanismFailed()
    case .mechanismRestored(let position, let door): mechanismRestored(position, door)
    case .batteryChanged(let percent): batteryChanged(percent)
    case .tamperChanged(let isOpen): coverChanged(isOff: isOpen)
    case .modeSet(let mode): set(mode)
    case .resetButton(let isPressed): resetButton(isPressed: isPressed)
    case .enrolmentButton: enrolmentButton()
    case .enrolmentWritten(let central, let fragment): enrolmentWritten(central, fragment)
    case .stoodStill: voidOffers()
    }
    forgetUnheard()
    refreshOffers()
    watchTurn()
    watchDoor()
    watchResetButton()
    watchCover()
    watchEnrolment()
    settleUses()
    noteWhoIsHere()
    lockIfDue()
    defer { effects = [] }
    return effects
  }

  /// When `handle(.timePassed)` must be called at the latest; `nil` if nothing is due.
  package var nextDeadline: LockTime? {
    var earliest: Int64?
    func consider(_ milliseconds: Int64?) {
      // A deadline that has passed and still stands waits for an event, and not for a time.
      guard let milliseconds, milliseconds > time.milliseconds else { return }
      earliest = min(earliest ?? .max, milliseconds)
    }
    for link in links {
      consider(link.nextOffer)
      consider(link.resending.due)
      consider(link.unheardDue)
    }
    for departure in departures { consider(departure.due) }
    consider(presumed?.due)
    consider(relockDue)
    consider(ajarDue)
    consider(resetDue)
    consider(coverQuietDue)
    consider(enrolment.openUntil)
    consider(enrolment.lockedOutUntil)
    if case .turning(let deadline) = movement?.phase { consider(deadline) }
    return earliest.map { LockTime(milliseconds: $0, unixSeconds: time.unixSeconds) }
  }

  var now: Int64 { time.milliseconds }

  /// Restores from the log what does not depend on the bolt's switches.
  private mutating func recover(_ records: [LockRecord], _ stored: AwaitedPhone?) -> Recovered {
    var recovered = Recovered()
    // The log says who had the bolt unlocked, and not who was here when a hand opened it.
    var stored = stored
    if records.isEmpty { awaited = stored?.phone }
    for record in records {
      if let earlier = stored, earlier.record < record.index {
        awaited = awaited ?? earlier.phone
        stored = nil
      }
      if record.isMovementDone { latestMovement = record }
      recovered.take(record)
      let key = OperationMemory.Key(phone: record.phone, operation: record.operation)
      switch record.kind {
      case .movement:
        switch (record.target, record.cause) {
        case (.unlocked, let cause): awaited = cause == .phone ? record.phone : nil
        case (.locked, .hand), (.locked, .unexplained): awaited = nil
        // Until the bolt has arrived, the phone that unlocked has left an unlocked door.
        case (.locked, _): break
        }
        if record.cause == .phone { operations.remember(key, .failed) }
      case .outcome:
        if record.target == .locked, record.result == .done { awaited = nil }
        if record.cause == .phone { operations.remember(key, record.result) }
      case .command:
        // A phone that wanted the bolt unlocked, and found it so, also counts as awaited.
        if record.target == .unlocked, record.result == .notNeeded { awaited = awaited ?? record.phone }
        operations.remember(key, record.result)
      case .alarm: if record.isFactoryReset { awaited = nil }
      case .access, .alarmCleared, .mode: break
      }
      if let stored, stored.record == record.index { awaited = awaited ?? stored.phone }
    }
    return recovered
  }

  /// Compares the log with the bolt's switches and the door's sensor, as soon as they are known.
  mutating func settle(_ recovered: Recovered, _ position: BoltPosition, _ door: DoorState) {
    self.recovered = nil
    self.position = position
    if door != self.door {
      self.door = door
      doorWatch = DoorWatch(
        isOnlyWay: configuration.isOnlyWayOut, door: door, limit: configuration.capacity.trustedCentrals)
    }
    if let open = recovered.open {
      // The previous run ended between the record and the end of the turn. The switches show how far the bolt got.
      let result: LockResult = position == open.target.position ? .done : .failed
      effects.append(.note(.turnWasInterrupted(record: open.index)))
      append(
        .outcome, target: open.target, cause: open.cause, result: result,
        key: OperationMemory.Key(phone: open.phone, operation: open.operation), then: .nothing)
      if open.cause == .phone {
        operations.remember(OperationMemory.Key(phone: open.phone, operation: open.operation), result)
      }
    }
    if !recovered.explained.isEmpty, !recovered.explained.contains(position) { recordFound(position) }
    // The log does not say whether a phone was here when it was locked. Every locking counts, except the lock's own
    // behind its owner.
    let latest = recovered.locking
    isLockedAtHome = position == .locked && latest.map { $0.cause != .leaving } ?? false
    // A door can't have been opened meanwhile, because its bolt is locked.
    if position == .locked, door == .closed, let latest, latest.cause == .hand {
      isLockedFromInside = latest.detail == HandSide.inside.rawValue
    }
    if position == .between {
      slip = Slip(from: nil, at: now, relockDue: nil)
      relockDue = now + configuration.leavingDelayMilliseconds
    }
    if position == .unlocked {
      if let awaited {
        let departure = Departure(phone: awaited, due: now + configuration.retryDelayMilliseconds)
        departures = [departure]
        presumed = departure
      }
      let delay =
        recovered.owesLocking ? configuration.retryDelayMilliseconds : configuration.relockDelayMilliseconds
      relockDue = delay.map { now + $0 }
    }
    doorRests(recovered.doorAlarms)
  }
}

/// What the log says of the bolt and the door, until it is compared with the switches.
struct Recovered: Sendable {
  /// A turn whose end is not in the log.
  var open: LockRecord?
  /// The positions in which the log explains the bolt. Empty if the log says nothing.
  var explained: [BoltPosition] = []
  /// The lock's own decision to lock, until it is carried out.
  var owesLocking = false
  /// The latest movement that locked, or was to lock.
  var locking: LockRecord?
  /// The alarms about the door that stand.
  var doorAlarms: [LockAlarm] = []

  mutating func take(_ record: LockRecord) {
    switch record.kind {
    case .movement:
      let isDone = record.cause == .hand || record.cause == .unexplained
      open = isDone ? nil : record
      if isDone {
        explained = [.between]
      } else if explained.isEmpty {
        // Nothing is known of where the bolt was before its first turn.
        explained = [.between, record.target == .locked ? .unlocked : .locked]
      } else if !explained.contains(.between) {
        explained.append(.between)
      }
      explained.append(record.target.position)
      owesLocking = record.target == .locked && (record.cause == .leaving || record.cause == .relock)
      if record.target == .locked { locking = record }
    case .outcome:
      open = nil
      if record.result == .done { explained = [record.target.position] }
      if record.target == .locked, record.result == .done { owesLocking = false }
    case .alarm, .alarmCleared:
      guard let alarm = LockAlarm(rawValue: record.detail), alarm == .doorForcedOpen || alarm == .doorAjar else {
        return
      }
      doorAlarms.removeAll { $0 == alarm }
      if record.kind == .alarm { doorAlarms.append(alarm) }
    case .command, .access, .mode: break
    }
  }
}
