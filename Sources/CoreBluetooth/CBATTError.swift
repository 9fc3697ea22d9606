// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import AppLink
import Foundation

/// The domain of `CBATTError` as an `NSError`.
public let CBATTErrorDomain = "CBATTErrorDomain"

/// An error returned by a remote device's attribute server.
public struct CBATTError: _BridgedStoredNSError, Sendable {
  // These names are the same as in Foundation's own errors (`URLError`), which apps use to bridge by hand.
  public let _nsError: NSError
  public init(_nsError error: NSError) { _nsError = error }
  public static var _nsErrorDomain: String { CBATTErrorDomain }
  public static var errorDomain: String { CBATTErrorDomain }

  /// The named codes are those of the Bluetooth Core specification. Every other number is a code too, as on Apple's
  /// systems: `Code(rawValue: 0x80)` is a code of the peer's own application.
  public enum Code: RawRepresentable, _ErrorCodeProtocol, Hashable, Sendable {
    public typealias _ErrorType = CBATTError

    case success
    case invalidHandle
    case readNotPermitted
    case writeNotPermitted
    case invalidPdu
    case insufficientAuthentication
    case requestNotSupported
    case invalidOffset
    case insufficientAuthorization
    case prepareQueueFull
    case attributeNotFound
    case attributeNotLong
    case insufficientEncryptionKeySize
    case invalidAttributeValueLength
    case unlikelyError
    case insufficientEncryption
    case unsupportedGroupType
    case insufficientResources
    /// Unavailable, so that a `switch` over the named codes is complete without it.
    @available(*, unavailable, message: "use init(rawValue:) and rawValue")
    case unnamed(Int)

    public init?(rawValue: Int) {
      switch rawValue {
      case 0: self = .success
      case 1: self = .invalidHandle
      case 2: self = .readNotPermitted
      case 3: self = .writeNotPermitted
      case 4: self = .invalidPdu
      case 5: self = .insufficientAuthentication
      case 6: self = .requestNotSupported
      case 7: self = .invalidOffset
      case 8: self = .insufficientAuthorization
      case 9: self = .prepareQueueFull
      case 10: self = .attributeNotFound
      case 11: self = .attributeNotLong
      case 12: self = .insufficientEncryptionKeySize
      case 13: self = .invalidAttributeValueLength
      case 14: self = .unlikelyError
      case 15: self = .insufficientEncryption
      case 16: self = .unsupportedGroupType
      case 17: self = .insufficientResources
      // `unnamed` can't be written here either. `AnyCode` has the same cases, and so the same layout.
      default: self = unsafeBitCast(AnyCode.unnamed(rawValue), to: Code.self)
      }
    }

    public var rawValue: Int {
      switch unsafeBitCast(self, to: AnyCode.self) {
      case .success: 0
      case .invalidHandle: 1
      case .readNotPermitted: 2
      case .writeNotPermitted: 3
      case .invalidPdu: 4
      case .insufficientAuthentication: 5
      case .requestNotSupported: 6
      case .invalidOffset: 7
      case .insufficientAuthorization: 8
      case .prepareQueueFull: 9
      case .attributeNotFound: 10
      case .attributeNotLong: 11
      case .insufficientEncryptionKeySize: 12
      case .invalidAttributeValueLength: 13
      case .unlikelyError: 14
      case .insufficientEncryption: 15
      case .unsupportedGroupType: 16
      case .insufficientResources: 17
      case .unnamed(let number): number
      }
    }

    public static func == (left: Code, right: Code) -> Bool { left.rawValue == right.rawValue }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
  }
}

/// The cases of `CBATTError.Code`, all of them available.
private enum AnyCode {
  case success, invalidHandle, readNotPermitted, writeNotPermitted, invalidPdu, insufficientAuthentication,
    requestNotSupported, invalidOffset, insufficientAuthorization, prepareQueueFull, attributeNotFound,
    attributeNotLong, insufficientEncryptionKeySize, invalidAttributeValueLength, unlikelyError, insufficientEncryption,
    unsupportedGroupType, insufficientResources
  case unnamed(Int)
}

extension CBATTError {
  public static var success: Code { .success }
  public static var invalidHandle: Code { .invalidHandle }
  public static var readNotPermitted: Code { .readNotPermitted }
  public static var writeNotPermitted: Code { .writeNotPermitted }
  public static var invalidPdu: Code { .invalidPdu }
  public static var insufficientAuthentication: Code { .insufficientAuthentication }
  public static var requestNotSupported: Code { .requestNotSupported }
  public static var invalidOffset: Code { .invalidOffset }
  public static var insufficientAuthorization: Code { .insufficientAuthorization }
  public static var prepareQueueFull: Code { .prepareQueueFull }
  public static var attributeNotFound: Code { .attributeNotFound }
  public static var attributeNotLong: Code { .attributeNotLong }
  public static var insufficientEncryptionKeySize: Code { .insufficientEncryptionKeySize }
  public static var invalidAttributeValueLength: Code { .invalidAttributeValueLength }
  public static var unlikelyError: Code { .unlikelyError }
  public static var insufficientEncryption: Code { .insufficientEncryption }
  public static var unsupportedGroupType: Code { .unsupportedGroupType }
  public static var insufficientResources: Code { .insufficientResources }
}

// Lets `error as? CBATTError` and `catch CBATTError.readNotPermitted` see through an `NSError`, as on Apple's systems. Foundation on Linux does this
// for no error, but the runtime asks every type that says how it is bridged.
extension CBATTError: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSError { _nsError }

  public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CBATTError?) {
    result = CBATTError(_nsError: source)
  }

  /// Only an error of `CBATTErrorDomain` is a `CBATTError`.
  @discardableResult
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CBATTError?) -> Bool {
    result = source.domain == CBATTErrorDomain ? CBATTError(_nsError: source) : nil
    return result != nil
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CBATTError {
    source.map { CBATTError(_nsError: $0) } ?? CBATTError(.unlikelyError)
  }
}
