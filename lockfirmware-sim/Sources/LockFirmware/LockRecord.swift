import LockProtocol

/// One entry in the lock's log: what the bolt is about to do, its outcome, or a command that moved nothing.
package struct LockRecord: Equatable, Sendable {
  package enum Kind: UInt8, Equatable, Sendable {
    /// The bolt is about to move to `target` (or was moved by hand). Durable before the bolt moves.
    case movement = 1
    /// The outcome of the latest movement.
    case outcome = 2
    /// A command that moved nothing, and why.
    case command = 3
    /// An alarm, with its number in `detail`.
    case alarm = 16
    /// The reason for an alarm is gone.
    case alarmCleared = 17
    /// The operating mode was set, with its number in `detail`.
    case mode = 18
    /// An owner has told the lock something over the air (`change`). Target, cause and result say nothing.
    case access = 32
  }

  package var kind: Kind
  /// Counts up from 1, without a gap.
  package var index: UInt64
  /// Seconds since 1970-01-01 UTC, according to the lock's calendar.
  package var unixSeconds: Int64
  package var target: BoltTarget
  package var cause: MovementCause
  /// `.done` in a movement: the expected result.
  package var result: LockResult
  /// The phone's static public key, or 32 zeros if no phone was involved.
  package var phone: [UInt8]
  /// The command's operation, or 0 if there was none.
  package var operation: UInt64
  /// A `LockAlarm`, an `OperatingMode`, an `AccessChange`, or the `HandSide` of a movement by hand. Otherwise 0.
  package var detail: UInt8

  package init(
    _ kind: Kind, index: UInt64, unixSeconds: Int64, target: BoltTarget, cause: MovementCause, result: LockResult,
    phone: [UInt8], operation: UInt64, detail: UInt8 = 0
  ) {
    self.kind = kind
    self.index = index
    self.unixSeconds = unixSeconds
    self.target = target
    self.cause = cause
    self.result = result
    self.phone = phone
    self.operation = operation
    self.detail = detail
  }

  /// A record of what an owner has told.
  package init(_ change: AccessChange, index: UInt64, unixSeconds: Int64, phone: [UInt8], number: UInt64) {
    self.init(
      .access, index: index, unixSeconds: unixSeconds, target: .locked, cause: .phone, result: .done, phone: phone,
      operation: number, detail: change.rawValue)
  }

  /// The owner's change that this record is about, or `nil`.
  package var change: AccessChange? { kind == .access ? AccessChange(rawValue: detail) : nil }

  /// Whether it says that the lock forgets its phones.
  package var isFactoryReset: Bool { kind == .alarm && detail == LockAlarm.lockFactoryReset.rawValue }

  /// Whether it says that the bolt has reached an end.
  var isMovementDone: Bool { kind == .outcome && result == .done || kind == .movement && cause == .hand }

  /// No phone.
  package static var nobody: [UInt8] { [UInt8](repeating: 0, count: NoiseSize.keyByteCount) }

  /// The encoded length in bytes.
  package static let byteCount = 64
  private static let formatVersion: UInt8 = 1

  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.write(Self.formatVersion)
    writer.write(kind.rawValue)
    writer.write(target.rawValue)
    writer.write(cause.rawValue)
    writer.write(result.rawValue)
    writer.write(detail)
    writer.write([0, 0])
    writer.write(index)
    writer.write(UInt64(bitPattern: unixSeconds))
    writer.write(operation)
    writer.write(phone)
    return writer.bytes
  }

  /// Reads exactly `byteCount` bytes of this version.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    var reader = try ByteReader(bytes, count: Self.byteCount)
    guard reader.readByte() == Self.formatVersion else { throw .unknownVersion }
    guard let kind = Kind(rawValue: reader.readByte()), let target = BoltTarget(rawValue: reader.readByte()),
      let cause = MovementCause(rawValue: reader.readByte()), let result = LockResult(rawValue: reader.readByte()),
      result != .unrecognised,
      case let detail = reader.readByte(), reader.readBytes(2) == [0, 0], Self.isKnown(detail, in: kind, cause)
    else { throw .unknownValue }
    let index = reader.readUInt64()
    let unixSeconds = Int64(bitPattern: reader.readUInt64())
    let operation = reader.readUInt64()
    self.init(
      kind, index: index, unixSeconds: unixSeconds, target: target, cause: cause, result: result,
      phone: reader.readBytes(NoiseSize.keyByteCount), operation: operation, detail: detail)
  }

  private static func isKnown(_ detail: UInt8, in kind: Kind, _ cause: MovementCause) -> Bool {
    switch (kind, cause) {
    case (.alarm, _), (.alarmCleared, _): LockAlarm(rawValue: detail) != nil
    case (.access, _): AccessChange(rawValue: detail) != nil
    case (.mode, _): OperatingMode(rawValue: detail) != nil
    case (.movement, .hand): HandSide(rawValue: detail) != nil
    default: detail == 0
    }
  }
}
