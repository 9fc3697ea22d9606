/// A phone's request to a lock.
package struct LockCommand: Equatable, Sendable {
  package enum Kind: UInt8, Equatable, Sendable, CaseIterable {
    case lock = 1
    case unlock = 2
    /// Moves nothing. Answers with the result of `operation`. With operation 0 it only says that the phone is here.
    case status = 3
    /// As `unlock`, but refused if the bolt was locked while a phone was here. In that case a signal that comes and
    /// goes may be that of a phone that never left.
    case unlockUnlessHome = 4
    /// As `unlock`, for a phone that saw itself come all the way home. Refused if the door's sensor shows that this
    /// phone never left.
    case unlockUnlessInside = 5
    /// As `unlock`, for a phone that saw itself leave. Done only if the lock saw it leave, too: by the door's sensor,
    /// or because the phone's link was lost right after the bolt was turned.
    case unlockIfLeft = 6
  }

  package var kind: Kind
  /// The phone's own number for what it wants. It is never reused: if it is sent twice, the bolt moves once.
  package var operation: UInt64

  package init(_ kind: Kind, operation: UInt64) {
    self.kind = kind
    self.operation = operation
  }

  /// The encoded length in bytes: version, kind, operation.
  package static let byteCount = 10

  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.write(LockService.protocolVersion)
    writer.write(kind.rawValue)
    writer.write(operation)
    return writer.bytes
  }

  /// Reads exactly `byteCount` bytes of this version.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    var reader = try ByteReader(bytes, count: Self.byteCount)
    guard reader.readByte() == LockService.protocolVersion else { throw .unknownVersion }
    guard let kind = Kind(rawValue: reader.readByte()) else { throw .unknownValue }
    let operation = reader.readUInt64()
    // A second command without a number would be taken for a repetition of the first.
    guard operation != 0 || kind == .status else { throw .unknownValue }
    self.init(kind, operation: operation)
  }
}

/// The bolt's position, with Matter's words and numbers (Door Lock cluster, `LockState`).
package enum LockState: UInt8, Equatable, Sendable, CaseIterable {
  /// Between the ends: moving, jammed, or interrupted during a turn.
  case notFullyLocked = 0
  case locked = 1
  case unlocked = 2
}

/// The door's position, with Matter's words and numbers (Door Lock cluster, `DoorState`).
package enum DoorState: UInt8, Equatable, Sendable, CaseIterable {
  case open = 0
  case closed = 1
  case jammed = 2
  /// It was opened while the bolt was locked, and has not been closed since.
  case forcedOpen = 3
  /// The sensor fails.
  case error = 4
  /// It has been open for longer than it should be.
  case ajar = 5

  /// `open` or `closed`. An answer of this version says no more, because a phone of an earlier release knows only
  /// these.
  package var inAnswer: DoorState { self == .closed ? .closed : .open }
}

/// The result of a command.
package enum LockResult: UInt8, Equatable, Sendable, CaseIterable {
  /// The bolt moved to where the command wanted it.
  case done = 0
  /// The bolt was already there, or another command took it there.
  case notNeeded = 1
  /// `status` for an operation that this lock does not know, or has forgotten: it remembers only the latest ones.
  case unknownOperation = 2
  /// The bolt did not reach its end, or the record of the movement could not be stored.
  case failed = 3
  /// The door is open: a bolt thrown now would hit the frame.
  case doorOpen = 4
  /// The bolt is busy with other commands. Ask again, with a new operation.
  case busy = 5
  /// The command depends on where the phone was. Either it was `unlockUnlessHome`, and the bolt was locked while a
  /// phone was here; or it was `unlockUnlessInside` or `unlockIfLeft`, and what the lock saw does not confirm it.
  case lockedAtHome = 6
  /// The battery can't finish this turn, or could not finish the next one: see `LockConfiguration.battery`.
  case insufficientBattery = 16
  /// A phone that came home by itself, without a person's command, would unlock a bolt that somebody locked from
  /// inside, and that nobody has turned since.
  case somebodyInside = 17
  /// The lock's operating mode does not allow it (Matter's `Restricted`): privacy, or no remote operation.
  case restricted = 18

  // What a guest's grant does not allow.
  /// Not at this time: too early, or outside its weekdays and hours.
  case outsideSchedule = 32
  /// Its time is over.
  case expired = 33
  case revoked = 34
  /// It has unlocked as often as it may.
  case usedUp = 35
  /// The grant depends on the time, and the lock has no time that an owner has set.
  case clockUnknown = 36
  /// It does not allow this command.
  case notPermitted = 37
  /// The grant has a limited number of uses, and the lock already counts as many such grants as it can.
  case tooManyGrants = 38
  /// As many guests are linked to the lock as it can hold.
  case tooManyGuests = 39
  /// Stands for a result of a later lock that this phone does not know. No lock sends or records it.
  case unrecognised = 255

  /// Whether the result says that the guest's grant does not allow the command.
  package var isRefusalOfGrant: Bool {
    rawValue >= Self.outsideSchedule.rawValue && rawValue <= Self.tooManyGuests.rawValue
  }
}

/// A lock's answer to a command.
package struct LockAnswer: Equatable, Sendable {
  package var result: LockResult
  package var lockState: LockState
  package var doorState: DoorState
  /// The operation of the command. An answer with a different operation must be ignored.
  package var operation: UInt64
  /// The index of the newest record in the lock's log.
  package var logIndex: UInt64

  package init(result: LockResult, lockState: LockState, doorState: DoorState, operation: UInt64, logIndex: UInt64) {
    self.result = result
    self.lockState = lockState
    self.doorState = doorState
    self.operation = operation
    self.logIndex = logIndex
  }

  /// The encoded length in bytes: version, result, lock state, door state, operation, log index.
  package static let byteCount = 20

  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.write(LockService.protocolVersion)
    writer.write(result.rawValue)
    writer.write(lockState.rawValue)
    writer.write(doorState.rawValue)
    writer.write(operation)
    writer.write(logIndex)
    return writer.bytes
  }

  /// Reads exactly `byteCount` bytes of this version. A result that is not known becomes `.unrecognised`.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    var reader = try ByteReader(bytes, count: Self.byteCount)
    guard reader.readByte() == LockService.protocolVersion else { throw .unknownVersion }
    // A phone that could not read a later lock's refusal would ask about that operation for ever.
    let result = LockResult(rawValue: reader.readByte()) ?? .unrecognised
    guard let lockState = LockState(rawValue: reader.readByte()), let doorState = DoorState(rawValue: reader.readByte())
    else { throw .unknownValue }
    self.init(
      result: result, lockState: lockState, doorState: doorState, operation: reader.readUInt64(),
      logIndex: reader.readUInt64())
  }
}

/// Why a message can't be read.
package enum LockMessageError: Error, Equatable, Sendable {
  case wrongLength
  case unknownVersion
  case unknownValue
}
