/// An attribute's handle in its server's database, 0x0001 to 0xFFFF (Bluetooth Core, Vol 3, Part F, 3.2.2).
public typealias AttributeHandle = UInt16

/// What a characteristic can do (Bluetooth Core, Vol 3, Part G, 3.3.1.1). The bits above 7 are Core Bluetooth's.
public struct CharacteristicProperties: OptionSet, Sendable, Hashable, Codable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let broadcast = Self(rawValue: 0x01)
  public static let read = Self(rawValue: 0x02)
  public static let writeWithoutResponse = Self(rawValue: 0x04)
  public static let write = Self(rawValue: 0x08)
  public static let notify = Self(rawValue: 0x10)
  public static let indicate = Self(rawValue: 0x20)
  public static let authenticatedSignedWrites = Self(rawValue: 0x40)
  public static let extendedProperties = Self(rawValue: 0x80)
  /// Only a peer with an encrypted link may subscribe.
  public static let notifyEncryptionRequired = Self(rawValue: 0x100)
  /// Only a peer with an encrypted link may subscribe to indications.
  public static let indicateEncryptionRequired = Self(rawValue: 0x200)
}

/// Permissions to read and write an attribute's value. The bits are Core Bluetooth's.
public struct AttributePermissions: OptionSet, Sendable, Hashable, Codable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let readable = Self(rawValue: 0x01)
  public static let writeable = Self(rawValue: 0x02)
  public static let readEncryptionRequired = Self(rawValue: 0x04)
  public static let writeEncryptionRequired = Self(rawValue: 0x08)
}

/// An ATT error code (Bluetooth Core, Vol 3, Part F, 3.4.1.1). Codes 0x80 to 0x9F belong to the application.
public struct ATTError: RawRepresentable, Error, Sendable, Hashable, Codable, CustomStringConvertible {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let invalidHandle = Self(rawValue: 0x01)
  public static let readNotPermitted = Self(rawValue: 0x02)
  public static let writeNotPermitted = Self(rawValue: 0x03)
  public static let invalidPDU = Self(rawValue: 0x04)
  public static let insufficientAuthentication = Self(rawValue: 0x05)
  public static let requestNotSupported = Self(rawValue: 0x06)
  public static let invalidOffset = Self(rawValue: 0x07)
  public static let insufficientAuthorization = Self(rawValue: 0x08)
  public static let prepareQueueFull = Self(rawValue: 0x09)
  public static let attributeNotFound = Self(rawValue: 0x0A)
  public static let attributeNotLong = Self(rawValue: 0x0B)
  public static let insufficientEncryptionKeySize = Self(rawValue: 0x0C)
  public static let invalidAttributeValueLength = Self(rawValue: 0x0D)
  // The word is the specification's, and Apple's.
  // swift-format-ignore: DontRepeatTypeInStaticProperties
  public static let unlikelyError = Self(rawValue: 0x0E)
  public static let insufficientEncryption = Self(rawValue: 0x0F)
  public static let unsupportedGroupType = Self(rawValue: 0x10)
  public static let insufficientResources = Self(rawValue: 0x11)
  public static let procedureAlreadyInProgress = Self(rawValue: 0xFE)

  public var description: String {
    let text = String(rawValue, radix: 16)
    return "ATT error 0x" + (text.count == 1 ? "0" + text : text)
  }
}

/// Limits of the attribute protocol.
public enum ATTLimits {
  /// The MTU before an exchange (Bluetooth Core, Vol 3, Part G, 5.2.1).
  public static let defaultMTU = 23
  /// The largest MTU that BlueZ offers.
  public static let maximumMTU = 517
  /// The longest attribute value (Vol 3, Part F, 3.2.9).
  public static let maximumValueLength = 512
}
