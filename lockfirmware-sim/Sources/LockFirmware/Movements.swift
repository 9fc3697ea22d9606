import LockProtocol

extension LockFirmware {
  /// Carries out the command of a phone in its session. The only caller has just authenticated it.
  /// - Parameter grant: the grant that allows it, if it is a guest's.
  mutating func execute(_ command: LockCommand, from phone: [UInt8], _ grant: Grant?) {
    let key = OperationMemory.Key(phone: phone, operation: command.operation)
    if operations.knows(key) {
      // If the operation is under way, this link waits for its end with the other links.
      if let result = operations.result(of: key) { answer(key, result) }
      return
    }
    switch command.kind {
    case .status:
      // A phone that only announces itself is not on the way to the door, and finds it locked.
      if command.operation == 0, position == .locked { isLockedAtHome = true }
      answer(key, .unknownOperation)
    case .lock: move(.locked, for: key, grant)
    case .unlock:
      doorWatch.comes(phone, isOnApproach: false, at: now)
      move(.unlocked, for: key, grant)
    case .unlockUnlessHome, .unlockUnlessInside, .unlockIfLeft:
      if isSomebodyInside {
        operations.remember(key, nil)
        return conclude(key, .unlocked, .somebodyInside)
      }
      guard isLocked, !opens(command.kind, to: phone) else {
        doorWatch.comes(phone, isOnApproach: true, at: now)
        return move(.unlocked, for: key, grant)
      }
      operations.remember(key, nil)
      conclude(key, .unlocked, .lockedAtHome)
    }
  }

  /// Whether the evidence that comes with a command is enough.
  private func opens(_ command: LockCommand.Kind, to phone: [UInt8]) -> Bool {
    switch (command, doorWatch.whereabouts(of: phone, at: now)) {
    case (_, .inside): false
    // The whole approach suffices for a phone that did not see itself leave: a steel door or a lift can end its link
    // before the signal fades. Less does not, because the phone may be at home and its radio jammed.
    case (.unlockUnlessInside, _), (.unlockIfLeft, .left): true
    case (.unlockIfLeft, .unknown): lockingWatch.hasLeft(phone)
    case (.unlockUnlessHome, .unknown): !isLockedAtHome && !isLockingAtHome
    default: false
    }
  }

  /// Whether the bolt is locked, or about to be.
  private var isLocked: Bool { position != .unlocked || movement?.target == .locked }

  /// Whether a phone is here, or may be. A link that is as weak as at the edge of the range may belong to a phone that
  /// has not proven itself yet.
  private var isSomebodyHere: Bool { !links.isEmpty }

  private var isLockingAtHome: Bool {
    guard let movement, movement.target == .locked else { return false }
    return movement.cause != .leaving && isSomebodyHere
  }

  mutating func move(_ target: BoltTarget, for key: OperationMemory.Key, _ grant: Grant?) {
    operations.remember(key, nil)
    if let refusal = refusal(of: target) { return conclude(key, target, refusal) }
    let joining = JoinedCommand(key: key, grant: grant, commandedAt: now)
    guard let current = movement else {
      if position == target.position { return conclude(key, target, .notNeeded) }
      return start(Movement(target: target, cause: .phone, key: key, grant: grant, commandedAt: now))
    }
    if queued == nil, current.target == target {
      guard current.joined.count < LockLimit.joinedCommands else { return conclude(key, target, .busy) }
      recordJoining(key, target)
      movement?.joined.append(joining)
    } else if let waiting = queued {
      guard waiting.target == target, waiting.joined.count < LockLimit.joinedCommands else {
        return conclude(key, target, .busy)
      }
      recordJoining(key, target)
      queued?.joined.append(joining)
    } else {
      queued = Movement(target: target, cause: .phone, key: key, grant: grant, commandedAt: now)
    }
  }

  /// Why no phone's command for this position can be carried out now, or `nil` if it can.
  private func refusal(of target: BoltTarget) -> LockResult? {
    if isMechanismFailed { return .failed }
    if !allowsPhones(target) { return .restricted }
    if target == .locked, door == .open { return .doorOpen }
    if position != target.position, !battery.suffices(for: target, configuration.battery) {
      return .insufficientBattery
    }
    return nil
  }

  /// Ends a command that moves nothing: it is recorded, then answered.
  mutating func conclude(_ key: OperationMemory.Key, _ target: BoltTarget, _ result: LockResult) {
    append(.command, target: target, cause: .phone, result: result, key: key, then: .answer([(key, result)]))
  }

  /// Records a command for the position to which another command is already moving the bolt. The outcome is not known
  /// yet, so the log says only that the bolt is busy. If the power fails before the outcome, the phone must ask again.
  private mutating func recordJoining(_ key: OperationMemory.Key, _ target: BoltTarget) {
    append(.command, target: target, cause: .phone, result: .busy, key: key, then: .nothing)
  }

  /// Sends the record to the log. The bolt turns when the record is durable.
  mutating func start(_ movement: Movement) {
    var movement = movement
    guard countUse(movement) else { return refuse(movement, .tooManyGrants) }
    movement.record = nextRecordIndex
    overdue = nil
    self.movement = movement
    append(.movement, target: movement.target, cause: movement.cause, result: .done, key: movement.key, then: .turnBolt)
  }

  mutating func append(
    _ kind: LockRecord.Kind, target: BoltTarget, cause: MovementCause, result: LockResult,
    key: OperationMemory.Key?, detail: UInt8 = 0, then continuation: PendingRecord.Continuation
  ) {
    let record = LockRecord(
      kind, index: nextRecordIndex, unixSeconds: time.unixSeconds, target: target, cause: cause, result: result,
      phone: key?.phone ?? LockRecord.nobody, operation: key?.operation ?? 0, detail: detail)
    append(record, then: continuation)
  }

  mutating func append(_ record: LockRecord, then continuation: PendingRecord.Continuation) {
    if record.isMovementDone { latestMovement = record }
    pendingRecords.append(PendingRecord(index: nextRecordIndex, continuation: continuation))
    nextRecordIndex += 1
    effects.append(.appendRecord(record))
  }

  mutating func recordAppended(_ index: UInt64) {
    while let first = pendingRecords.first, first.index <= index {
      pendingRecords.removeFirst()
      switch first.continuation {
      case .nothing, .recorded: break
      case .turnBolt: turn()
      case .told(let asked, _): told(asked)
      case .enrolled(let phone, _): confirm(phone, record: first.index)
      case .forgetPhones: forgetPhones(first.index)
      case .answer(let answers):
        for (key, result) in answers {
          operations.remember(key, result)
          answer(key, result)
        }
      }
    }
    // The state before the change was released before this, because a board has no room for both.
    changeIsRecorded(index)
  }

  /// Whether a factory reset is being recorded. What owners tell the lock in that time would be forgotten with the
  /// rest, or would bring it back.
  var isResetting: Bool {
    pendingRecords.contains { if case .forgetPhones = $0.continuation { true } else { false } }
  }

  /// The index of the newest durable record. Phones are told of no later one: if a record that they know were lost,
  /// they would take that for a cut in the log.
  var durableRecordIndex: UInt64 { (pendingRecords.first?.index ?? nextRecordIndex) - 1 }

  /// The log can't be written. What was to be recorded does not happen, so the bolt stays.
  mutating func recordFailed(_ index: UInt64) {
    let failed = pendingRecords.filter { $0.index >= index }
    guard let first = failed.first else { return }
    pendingRecords.removeAll { $0.index >= index }
    nextRecordIndex = first.index
    effects.append(.note(.recordFailed(first.index)))
    takeBackAccess(failed)
    for record in failed {
      switch record.continuation {
      case .nothing, .forgetPhones: break
      // Another record gets this number. The next start tries again.
      case .recorded: access.unrecorded?.index = .max
      case .turnBolt: abandonMovement()
      case .told(let asked, _): untold(asked)
      case .enrolled: unenrolled()
      case .answer(let answers):
        for (key, result) in answers {
          operations.remember(key, result)
          answer(key, result)
        }
      }
    }
  }

  /// A movement whose record failed. The bolt has not moved and will not, so its commands may be repeated under the
  /// same operation.
  private mutating func abandonMovement() {
    guard let abandoned = movement else { return }
    movement = nil
    // Nothing has moved, so retrying for ever wears nothing out.
    if abandoned.cause != .phone { retryLocking() }
    returnUse(of: abandoned)
    for key in keys(of: abandoned) {
      operations.forget(key)
      answer(key, .failed)
    }
    startQueued()
  }

  private mutating func turn() {
    guard let current = movement, current.phase == .recording else { return }
    guard !isMechanismFailed else { return finish(current, .failed) }
    if let refusal = refusal(of: current) {
      // The phone was forgotten while the record was being written. Commands that joined it are other phones', and are
      // judged by themselves.
      movement?.joined = []
      if let alone = movement { finish(alone, refusal) }
      return judge(current.joined, current.target)
    }
    // Somebody inside has set another mode while the record was being written.
    if current.target == .unlocked, !allowsPhones(.unlocked) { return finish(current, .restricted) }
    guard current.target == .unlocked || door == .closed else {
      // The door opened while the record was being written.
      return finish(current, .doorOpen)
    }
    // Who asked has given up by now, and may be gone: a record took so long on a disk that fails, or this process stood still.
    if let asked = current.commandedAt, isGivenUp(current.target, since: asked) { return finish(current, .failed) }
    let deadline = now + configuration.turnTimeoutMilliseconds
    movement?.phase = .turning(deadline: deadline)
    effects.append(.turnBolt(current.target))
  }

  mutating func boltStopped(_ position: BoltPosition) {
    guard let current = movement, case .turning = current.phase else {
      guard movement == nil, let late = overdue, position == late.target.position else {
        // Nobody started the motor, so the bolt is where it was not expected.
        return boltFound(position)
      }
      self.position = position
      slip = nil
      arrived(late)
      return append(
        .outcome, target: late.target, cause: late.cause, result: .done, key: late.key, then: .nothing)
    }
    self.position = position
    slip = nil
    guard position == current.target.position else {
      effects.append(.note(.boltJammed(current.target, cause: current.cause, record: current.record)))
      // After its owner has left, a jammed bolt is reported even if this alarm was raised before, because the door
      // stays open.
      if current.cause == .leaving { alarms.removeAll { $0 == .lockJammed } }
      raiseAlarm(.lockJammed)
      return finish(current, .failed)
    }
    arrived(current)
    finish(current, .done)
  }

  /// The bolt is where this movement was to take it.
  private mutating func arrived(_ arrived: Movement) {
    effects.append(.note(.boltMoved(arrived.target, cause: arrived.cause, record: arrived.record)))
    overdue = nil
    awaited = arrived.target == .unlocked && arrived.cause == .phone ? arrived.key?.phone : nil
    isLockedAtHome = arrived.target == .locked && arrived.cause != .leaving && isSomebodyHere
    isLockedFromInside = false
    if arrived.target == .locked, arrived.cause != .leaving {
      watchLeaving(goesOn: arrived.cause == .relock)
    } else {
      lockingWatch.forgetAll()
    }
    clearAlarm(.lockJammed)
    lockAttempts = 0
    hasGivenUpLocking = false
    if arrived.target == .unlocked {
      if arrived.cause == .phone { doorWatch.unlocked(at: now) }
      // Privacy was asked for while the bolt turned.
      relockDue = mode == .privacy ? now : configuration.relockDelayMilliseconds.map { now + $0 }
    }
  }

  mutating func finish(_ current: Movement, _ result: LockResult) {
    movement = nil
    if result != .done { returnUse(of: current) }
    settleUses()
    if result != .done, !result.isRefusalOfGrant, current.target == .locked {
      if result != .doorOpen {
        retryJammedLocking()
      } else if current.cause != .phone {
        retryLocking()
      }
    }
    var answers: [(OperationMemory.Key, LockResult)] = []
    if let key = current.key { answers.append((key, result)) }
    for joined in current.joined {
      let shared: LockResult = result == .done ? .notNeeded : result
      append(.command, target: current.target, cause: .phone, result: shared, key: joined.key, then: .nothing)
      answers.append((joined.key, shared))
    }
    append(
      .outcome, target: current.target, cause: current.cause, result: result, key: current.key,
      then: .answer(answers))
    startQueued()
  }

  private mutating func startQueued() {
    guard movement == nil, let next = queued else { return }
    queued = nil
    if let refusal = refusal(of: next) { return refuse(next, refusal) }
    guard let refusal = refusal(of: next.target) ?? (position == next.target.position ? .notNeeded : nil) else {
      return start(next)
    }
    for key in keys(of: next) { conclude(key, next.target, refusal) }
  }

  private func keys(of movement: Movement) -> [OperationMemory.Key] {
    var keys = movement.joined.map { $0.key }
    if let key = movement.key { keys.insert(key, at: 0) }
    return keys
  }

  /// Refuses the command that a movement is for. Commands that joined it are other phones', and are judged by
  /// themselves.
  private mutating func refuse(_ movement: Movement, _ refusal: LockResult) {
    if let key = movement.key { conclude(key, movement.target, refusal) }
    judge(movement.joined, movement.target)
  }

  /// A turn that takes too long counts as jammed.
  mutating func watchTurn() {
    guard case .turning(let deadline) = movement?.phase, deadline <= now else { return }
    effects.append(.stopBolt)
    let late = movement
    boltStopped(.between)
    // A motor may arrive all the same, just before it is stopped.
    overdue = late
  }

  /// A hand moved the bolt. That can only be recorded.
  mutating func boltTurnedByHand(_ position: BoltPosition, from side: HandSide) {
    guard position != self.position else { return }
    if let movement, movement.phase != .recording { return }
    self.position = position
    slip = nil
    overdue = nil
    isLockedFromInside = position == .locked && side == .inside && door == .closed
    if position == .unlocked { endPrivacy() }
    if position != .between { clearAlarm(.lockJammed) }
    isLockedAtHome = position == .locked && isSomebodyHere
    watchLeaving(isInside: isLockedFromInside)
    let target: BoltTarget = position == .locked ? .locked : .unlocked
    if position != .between {
      effects.append(.note(.boltMoved(target, cause: .hand, from: side, record: nextRecordIndex)))
    }
    append(
      .movement, target: target, cause: .hand, result: .done, key: nil, detail: side.rawValue, then: .nothing)
    // If another movement is about to begin, it decides the rest.
    guard movement == nil else { return }
    awaited = nil
    hasGivenUpLocking = false
    departures.removeAll()
    relockDue = position == .unlocked ? configuration.relockDelayMilliseconds.map { now + $0 } : nil
  }
}
