import BluetoothTypes

/// An error that the app receives as a `CBError` or a `CBATTError`.
package enum PeerError: Error, Sendable, Hashable, Codable {
  /// A `CBError`, and what happened.
  case coreBluetooth(Code, message: String)
  case att(ATTError)

  /// `CBError.Code`, with its names and raw values (Apple, Core Bluetooth, CBError.h).
  package enum Code: Int, Sendable, Hashable, Codable, CaseIterable {
    case unknown = 0
    case invalidParameters
    case invalidHandle
    case notConnected
    case outOfSpace
    case operationCancelled
    case connectionTimeout
    case peripheralDisconnected
    case uuidNotAllowed
    case alreadyAdvertising
    case connectionFailed
    case connectionLimitReached
    case unknownDevice
    case operationNotSupported
    case peerRemovedPairingInformation
    case encryptionTimedOut
    case tooManyLEPairedDevices
    case leGattExceededBackgroundNotificationLimit
    case leGattNearBackgroundNotificationLimit
  }
}
