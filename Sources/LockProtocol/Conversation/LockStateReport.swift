/// How a lock is.
package struct LockStateReport: Equatable, Sendable {
  package var lockState: LockState
  package var doorState: DoorState
  /// In percent, or `nil` if the lock does not measure it.
  package var battery: UInt8?
  /// The lock's trusted time in seconds since 1970-01-01 UTC, or `nil` if it has none.
  package var unixSeconds: Int64?
  /// The log's end.
  package var head: LogHead
  /// The record of the bolt's last movement, 64 bytes, or `nil` if the lock remembers none.
  package var lastMovement: [UInt8]?

  package init(
    lockState: LockState, doorState: DoorState, battery: UInt8?, unixSeconds: Int64?, head: LogHead,
    lastMovement: [UInt8]?
  ) {
    self.lockState = lockState
    self.doorState = doorState
    self.battery = battery
    self.unixSeconds = unixSeconds
    self.head = head
    self.lastMovement = lastMovement
  }

  /// The encoded length in bytes: lock state, door state, battery, time, head, record.
  package static let byteCount = 3 + 8 + 8 + NoiseSize.hashByteCount + LogPage.recordByteCount
  private static let unknownBattery: UInt8 = 255

  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.write(lockState.rawValue)
    writer.write(doorState.rawValue)
    writer.write(battery ?? Self.unknownBattery)
    writer.write(UInt64(bitPattern: unixSeconds ?? 0))
    writer.write(head.index)
    writer.write(head.hash)
    writer.write(lastMovement ?? [UInt8](repeating: 0, count: LogPage.recordByteCount))
    return writer.bytes
  }

  /// Reads exactly `byteCount` bytes.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    var reader = try ByteReader(bytes, count: Self.byteCount)
    guard let lockState = LockState(rawValue: reader.readByte()), let doorState = DoorState(rawValue: reader.readByte())
    else { throw .unknownValue }
    self.lockState = lockState
    self.doorState = doorState
    let battery = reader.readByte()
    guard battery <= 100 || battery == Self.unknownBattery else { throw .unknownValue }
    self.battery = battery == Self.unknownBattery ? nil : battery
    let seconds = Int64(bitPattern: reader.readUInt64())
    unixSeconds = seconds == 0 ? nil : seconds
    head = LogHead(index: reader.readUInt64(), hash: reader.readBytes(NoiseSize.hashByteCount))
    let record = reader.readBytes(LogPage.recordByteCount)
    lastMovement = record.contains { $0 != 0 } ? record : nil
  }
}
