/// What a phone asks of a lock.
public struct LockCommand: Equatable, Sendable {
  public enum Kind: UInt8, Equatable, Sendable, CaseIterable {
    case lock = 1
    case unlock = 2
    /// Moves nothing; answers with what became of `operation`. With operation 0 it says that the phone is here.
    case status = 3
    /// As `unlock`, unless the bolt was locked while a phone was here: then a signal that comes and goes may be a phone that
    /// never went.
    case unlockUnlessHome = 4
    /// As `unlock`, for who was seen to come all the way; unless the door's sensor shows that this phone never left.
    case unlockUnlessInside = 5
    /// As `unlock`, for a phone that saw itself leave, if the door's sensor saw it leave as well.
    case unlockIfLeft = 6
  }

  public var kind: Kind
  /// The phone's own name for what it wants, never reused: asked twice under one name, the bolt moves once.
  public var operation: UInt64

  public init(_ kind: Kind, operation: UInt64) {
    self.kind = kind
    self.operation = operation
  }

  /// The encoded length in bytes: version, kind, operation.
  public static let byteCount = 10

  public var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.write(LockService.protocolVersion)
    writer.write(kind.rawValue)
    writer.write(operation)
    return writer.bytes
  }

  /// Reads exactly `byteCount` bytes of this version.
  public init(decoding bytes: [UInt8]) throws(LockMessageError) {
    var reader = try ByteReader(bytes, count: Self.byteCount)
    guard reader.readByte() == LockService.protocolVersion else { throw .unknownVersion }
    guard let kind = Kind(rawValue: reader.readByte()) else { throw .unknownValue }
    self.init(kind, operation: reader.readUInt64())
  }
}

/// Where the bolt is, in Matter's words and numbers (Door Lock cluster, `LockState`).
public enum LockState: UInt8, Equatable, Sendable {
  /// Between the ends: moving, jammed, or interrupted in mid-turn.
  case notFullyLocked = 0
  case locked = 1
  case unlocked = 2
}

/// Where the door is, in Matter's words and numbers (Door Lock cluster, `DoorState`).
public enum DoorState: UInt8, Equatable, Sendable {
  case open = 0
  case closed = 1
}

/// What became of a command.
public enum LockResult: UInt8, Equatable, Sendable {
  /// The bolt moved to where the command wanted it.
  case done = 0
  /// The bolt was there already, or another's command took it there.
  case notNeeded = 1
  /// `status` for an operation that this lock does not know (or no longer: it remembers the latest).
  case unknownOperation = 2
  /// The bolt did not reach its end, or the record of the movement could not be stored.
  case failed = 3
  /// The door is open: a bolt thrown now would hit the frame.
  case doorOpen = 4
  /// The bolt is busy with other commands. Ask again, under a new operation.
  case busy = 5
  /// `unlockUnlessHome` for a bolt that was locked while a phone was here; `unlockUnlessInside` and `unlockIfLeft` where the
  /// door's sensor does not bear them out.
  case lockedAtHome = 6
}

/// A lock's answer to a command.
public struct LockAnswer: Equatable, Sendable {
  public var result: LockResult
  public var lockState: LockState
  public var doorState: DoorState
  /// The command's own operation: an answer to another command is no answer.
  public var operation: UInt64
  /// The index of the newest record in the lock's log.
  public var logIndex: UInt64

  public init(result: LockResult, lockState: LockState, doorState: DoorState, operation: UInt64, logIndex: UInt64) {
    self.result = result
    self.lockState = lockState
    self.doorState = doorState
    self.operation = operation
    self.logIndex = logIndex
  }

  /// The encoded length in bytes: version, result, lock state, door state, operation, log index.
  public static let byteCount = 20

  public var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.write(LockService.protocolVersion)
    writer.write(result.rawValue)
    writer.write(lockState.rawValue)
    writer.write(doorState.rawValue)
    writer.write(operation)
    writer.write(logIndex)
    return writer.bytes
  }

  /// Reads exactly `byteCount` bytes of this version.
  public init(decoding bytes: [UInt8]) throws(LockMessageError) {
    var reader = try ByteReader(bytes, count: Self.byteCount)
    guard reader.readByte() == LockService.protocolVersion else { throw .unknownVersion }
    guard let result = LockResult(rawValue: reader.readByte()), let lockState = LockState(rawValue: reader.readByte()),
      let doorState = DoorState(rawValue: reader.readByte())
    else { throw .unknownValue }
    self.init(
      result: result, lockState: lockState, doorState: doorState, operation: reader.readUInt64(),
      logIndex: reader.readUInt64())
  }
}

/// Why a message can't be read.
public enum LockMessageError: Error, Equatable, Sendable {
  case wrongLength
  case unknownVersion
  case unknownValue
}
