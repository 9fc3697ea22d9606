/// An attribute's handle in its server's database, 0x0001 to 0xFFFF (Bluetooth Core, Vol 3, Part F, 3.2.2).
package typealias AttributeHandle = UInt16

/// What a characteristic can do (Bluetooth Core, Vol 3, Part G, 3.3.1.1). The bits above 7 are Core Bluetooth's.
package struct CharacteristicProperties: OptionSet, Sendable, Hashable, Codable {
  package let rawValue: UInt16
  package init(rawValue: UInt16) { self.rawValue = rawValue }

  package static let broadcast = Self(rawValue: 0x01)
  package static let read = Self(rawValue: 0x02)
  package static let writeWithoutResponse = Self(rawValue: 0x04)
  package static let write = Self(rawValue: 0x08)
  package static let notify = Self(rawValue: 0x10)
  package static let indicate = Self(rawValue: 0x20)
  package static let authenticatedSignedWrites = Self(rawValue: 0x40)
  package static let extendedProperties = Self(rawValue: 0x80)
  /// Only a peer with an encrypted link may subscribe.
  package static let notifyEncryptionRequired = Self(rawValue: 0x100)
  /// Only a peer with an encrypted link may subscribe to indications.
  package static let indicateEncryptionRequired = Self(rawValue: 0x200)
}

/// Permissions to read and write an attribute's value. The bits are Core Bluetooth's.
package struct AttributePermissions: OptionSet, Sendable, Hashable, Codable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let readable = Self(rawValue: 0x01)
  package static let writeable = Self(rawValue: 0x02)
  package static let readEncryptionRequired = Self(rawValue: 0x04)
  package static let writeEncryptionRequired = Self(rawValue: 0x08)
}

/// An ATT error code (Bluetooth Core, Vol 3, Part F, 3.4.1.1). Codes 0x80 to 0x9F belong to the application.
package struct ATTError: RawRepresentable, Error, Sendable, Hashable, Codable, CustomStringConvertible {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let invalidHandle = Self(rawValue: 0x01)
  package static let readNotPermitted = Self(rawValue: 0x02)
  package static let writeNotPermitted = Self(rawValue: 0x03)
  package static let invalidPDU = Self(rawValue: 0x04)
  package static let insufficientAuthentication = Self(rawValue: 0x05)
  package static let requestNotSupported = Self(rawValue: 0x06)
  package static let invalidOffset = Self(rawValue: 0x07)
  package static let insufficientAuthorization = Self(rawValue: 0x08)
  package static let prepareQueueFull = Self(rawValue: 0x09)
  package static let attributeNotFound = Self(rawValue: 0x0A)
  package static let attributeNotLong = Self(rawValue: 0x0B)
  package static let insufficientEncryptionKeySize = Self(rawValue: 0x0C)
  package static let invalidAttributeValueLength = Self(rawValue: 0x0D)
  // The word is the specification's, and Apple's.
  // swift-format-ignore: DontRepeatTypeInStaticProperties
  package static let unlikelyError = Self(rawValue: 0x0E)
  package static let insufficientEncryption = Self(rawValue: 0x0F)
  package static let unsupportedGroupType = Self(rawValue: 0x10)
  package static let insufficientResources = Self(rawValue: 0x11)
  package static let improperlyConfigured = Self(rawValue: 0xFD)
  package static let procedureAlreadyInProgress = Self(rawValue: 0xFE)

  package var description: String {
    let text = String(rawValue, radix: 16)
    return "ATT error 0x" + (text.count == 1 ? "0" + text : text)
  }
}

/// Limits of the attribute protocol.
package enum ATTLimits {
  /// The MTU before an exchange (Bluetooth Core, Vol 3, Part G, 5.2.1).
  package static let defaultMTU = 23
  /// The largest MTU that BlueZ offers.
  package static let maximumMTU = 517
  /// The longest attribute value (Vol 3, Part F, 3.2.9).
  package static let maximumValueLength = 512

  /// The bytes that fit in one notification or indication. (A bluetoothd of both sides puts two bytes more before a
  /// notified value, but it also agrees on an MTU of 517, where that makes no difference.)
  package static func updateLength(mtu: Int) -> Int {
    min(min(max(mtu, defaultMTU), maximumMTU) - 3, maximumValueLength)
  }
}
