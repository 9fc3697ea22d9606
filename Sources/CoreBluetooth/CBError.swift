// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import AppLink
import Foundation

/// The domain of `CBError` as an `NSError`.
public let CBErrorDomain = "CBErrorDomain"

/// An error of Core Bluetooth itself.
public struct CBError: _BridgedStoredNSError, Sendable {
  // These names are the same as in Foundation's own errors (`URLError`), which apps use to bridge by hand.
  public let _nsError: NSError
  public init(_nsError error: NSError) { _nsError = error }
  public static var _nsErrorDomain: String { CBErrorDomain }
  public static var errorDomain: String { CBErrorDomain }

  public enum Code: Int, _ErrorCodeProtocol, Sendable {
    public typealias _ErrorType = CBError

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
    case unkownDevice
    case operationNotSupported
    case peerRemovedPairingInformation
    case encryptionTimedOut
    case tooManyLEPairedDevices
    case leGattExceededBackgroundNotificationLimit
    case leGattNearBackgroundNotificationLimit

    /// The correct spelling of Apple's `unkownDevice`.
    public static var unknownDevice: Code { .unkownDevice }
  }
}

extension CBError {
  public static var unknown: Code { .unknown }
  public static var invalidParameters: Code { .invalidParameters }
  public static var invalidHandle: Code { .invalidHandle }
  public static var notConnected: Code { .notConnected }
  public static var outOfSpace: Code { .outOfSpace }
  public static var operationCancelled: Code { .operationCancelled }
  public static var connectionTimeout: Code { .connectionTimeout }
  public static var peripheralDisconnected: Code { .peripheralDisconnected }
  public static var uuidNotAllowed: Code { .uuidNotAllowed }
  public static var alreadyAdvertising: Code { .alreadyAdvertising }
  public static var connectionFailed: Code { .connectionFailed }
  public static var connectionLimitReached: Code { .connectionLimitReached }
  public static var unkownDevice: Code { .unkownDevice }
  public static var operationNotSupported: Code { .operationNotSupported }
  public static var peerRemovedPairingInformation: Code { .peerRemovedPairingInformation }
  public static var encryptionTimedOut: Code { .encryptionTimedOut }
  public static var tooManyLEPairedDevices: Code { .tooManyLEPairedDevices }
  public static var leGattExceededBackgroundNotificationLimit: Code { .leGattExceededBackgroundNotificationLimit }
  public static var leGattNearBackgroundNotificationLimit: Code { .leGattNearBackgroundNotificationLimit }
  public static var unknownDevice: Code { .unknownDevice }
}

extension CBError {
  /// - Parameter reason: what happened, for the app's developer.
  init(_ code: Code, _ reason: String) {
    self.init(
      code, userInfo: [NSLocalizedDescriptionKey: code.text ?? reason, NSLocalizedFailureReasonErrorKey: reason])
  }
}

extension CBError.Code {
  init(_ code: PeerError.Code) { self = Self(rawValue: code.rawValue) ?? .unknown }
}

extension PeerError {
  /// The error as an app receives it.
  var appError: any Error {
    switch self {
    case .coreBluetooth(let code, let message): return CBError(CBError.Code(code), message)
    case .att(let error):
      // A code of the peer's own application (0x80 and above) has no name, but is a code all the same.
      let code = CBATTError.Code(rawValue: Int(error.rawValue)) ?? .unlikelyError
      return CBATTError(code, because: "The peer answered \(error).")
    }
  }
}

// Lets `error as? CBError` and `catch CBError.connectionTimeout` see through an `NSError`, as on Apple's systems. Foundation on Linux does this
// for no error, but the runtime asks every type that says how it is bridged.
extension CBError: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSError { _nsError }

  public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CBError?) {
    result = CBError(_nsError: source)
  }

  /// Only an error of `CBErrorDomain` is a `CBError`.
  @discardableResult
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CBError?) -> Bool {
    result = source.domain == CBErrorDomain ? CBError(_nsError: source) : nil
    return result != nil
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CBError {
    source.map { CBError(_nsError: $0) } ?? CBError(.unknown)
  }
}
