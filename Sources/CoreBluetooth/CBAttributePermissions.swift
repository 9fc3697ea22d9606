/// The permissions for the value of an attribute that this app publishes.
public struct CBAttributePermissions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  public static let readable = Self(rawValue: 0x01)
  public static let writeable = Self(rawValue: 0x02)
  /// Only a trusted central may read.
  public static let readEncryptionRequired = Self(rawValue: 0x04)
  /// Only a trusted central may write.
  public static let writeEncryptionRequired = Self(rawValue: 0x08)
}
