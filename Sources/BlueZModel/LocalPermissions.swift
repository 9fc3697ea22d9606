import BlueZ
import BluetoothTypes

/// Permissions to read and write an attribute of this machine (src/shared/att-types.h). Every level includes those
/// below it.
struct LocalPermissions: OptionSet, Sendable, Hashable {
  let rawValue: UInt16
  static let readable = Self(rawValue: 0x01)
  static let writeable = Self(rawValue: 0x02)
  /// Requires an encrypted link.
  static let readEncryptionRequired = Self(rawValue: 0x04)
  static let writeEncryptionRequired = Self(rawValue: 0x08)
  /// Requires a pairing that was authenticated by a number or a passkey.
  static let readAuthenticationRequired = Self(rawValue: 0x10)
  static let writeAuthenticationRequired = Self(rawValue: 0x20)
  /// Requires such a pairing with LE Secure Connections. Every pairing here uses them.
  static let readSecurityRequired = Self(rawValue: 0x40)
  static let writeSecurityRequired = Self(rawValue: 0x80)
  /// The application is asked before a peer may send a value in pieces.
  static let preparationAuthorized = Self(rawValue: 0x100)
}

/// How a link is protected.
struct LinkSecurity {
  var isEncrypted: Bool
  /// By a pairing in which a user compared a number or entered a passkey.
  var isAuthenticated: Bool
}

extension LocalAttribute {
  /// Why the attribute may not be read over a link with this security, or `nil` if it may.
  func readError(_ security: LinkSecurity?) -> ATTError? {
    guard permissions.contains(.readable) else { return .readNotPermitted }
    return securityError(.readEncryptionRequired, [.readAuthenticationRequired, .readSecurityRequired], security)
  }

  /// Why the attribute may not be written over a link with this security, or `nil` if it may.
  func writeError(_ security: LinkSecurity?) -> ATTError? {
    guard permissions.contains(.writeable) else { return .writeNotPermitted }
    return securityError(.writeEncryptionRequired, [.writeAuthenticationRequired, .writeSecurityRequired], security)
  }

  /// src/shared/gatt-server.c, check_permissions.
  private func securityError(
    _ encrypted: LocalPermissions, _ authenticated: LocalPermissions, _ security: LinkSecurity?
  ) -> ATTError? {
    guard let security else { return .unlikelyError }
    if !permissions.isDisjoint(with: authenticated), !security.isAuthenticated { return .insufficientAuthentication }
    if permissions.contains(encrypted), !security.isEncrypted { return .insufficientEncryption }
    return nil
  }
}
