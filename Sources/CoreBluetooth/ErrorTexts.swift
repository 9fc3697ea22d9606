import Foundation

extension CBATTError.Code {
  /// The text that Apple's systems give this error. Apps and the plugins that they are written with compare it, above
  /// all where a bond is missing ("Encryption is insufficient."). The words are those that flutter_blue_plus lists in
  /// its README ("List of Bluetooth GATT Errors") and that appear in apps' logs.
  var text: String {
    switch rawValue {
    case 1: "The handle is invalid."
    case 2: "Reading is not permitted."
    case 3: "Writing is not permitted."
    case 4: "The command is invalid."
    case 5: "Authentication is insufficient."
    case 6: "The request is not supported."
    case 7: "The offset is invalid."
    case 8: "Authorization is insufficient."
    case 9: "The prepare queue is full."
    case 10: "The attribute could not be found."
    case 11: "The attribute is not long."
    case 12: "The encryption key size is insufficient."
    case 13: "The value's length is invalid."
    case 14: "Unlikely error."
    case 15: "Encryption is insufficient."
    case 16: "The group type is unsupported."
    case 17: "Resources are insufficient."
    default: "Unknown ATT error."
    }
  }
}

extension CBATTError {
  /// - Parameter reason: what happened, for the app's developer.
  init(_ code: Code, because reason: String) {
    self.init(
      code, userInfo: [NSLocalizedDescriptionKey: code.text, NSLocalizedFailureReasonErrorKey: reason])
  }
}

extension CBError.Code {
  /// The text that Apple's systems give this error; `nil` where it is not known. Apps compare these words as well
  /// ("Peer removed pairing information", which has no full stop). They come from logs and comparisons in apps' public
  /// repositories and issues.
  var text: String? {
    switch self {
    case .unknown: "Unknown error."
    case .invalidParameters: "One or more parameters were invalid."
    case .notConnected: "The specified device is not connected."
    case .connectionTimeout: "The connection has timed out unexpectedly."
    case .peripheralDisconnected: "The specified device has disconnected from us."
    case .uuidNotAllowed: "The specified UUID is not allowed for this operation."
    case .alreadyAdvertising: "Advertising has already started."
    case .connectionFailed: "The connection has failed unexpectedly."
    case .peerRemovedPairingInformation: "Peer removed pairing information"
    case .encryptionTimedOut: "Failed to encrypt the connection, the connection has timed out unexpectedly."
    case .invalidHandle, .outOfSpace, .operationCancelled, .connectionLimitReached, .unkownDevice,
      .operationNotSupported, .tooManyLEPairedDevices, .leGattExceededBackgroundNotificationLimit,
      .leGattNearBackgroundNotificationLimit:
      nil
    }
  }
}
