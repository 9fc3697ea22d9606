import BlueZ
import BluetoothTypes

/// Who may read and write an attribute of this machine's (src/shared/att-types.h). Every level asks for those below it.
struct LocalPermissions: OptionSet, Sendable, Hashable {
  let rawValue: UInt16
  static let readable = Self(rawValue: 0x01)
  static let writeable = Self(rawValue: 0x02)
  /// Over an encrypted link.
  static let readEncryptionRequired = Self(rawValue: 0x04)
  static let writeEncryptionRequired = Self(rawValue: 0x08)
  /// By whom a pairing with a number or a passkey has shown to be who it is.
  static let readAuthenticationRequired = Self(rawValue: 0x10)
  static let writeAuthenticationRequired = Self(rawValue: 0x20)
  /// That, by LE Secure Connections. Every pairing here is one.
  static let readSecurityRequired = Self(rawValue: 0x40)
  static let writeSecurityRequired = Self(rawValue: 0x80)
  /// An application that is asked before what a peer sends in pieces is taken.
  static let preparationAuthorized = Self(rawValue: 0x100)
}

/// How far a link is protected.
struct LinkSecurity {
  var isEncrypted: Bool
  /// By a pairing in which somebody compared a number or a passkey.
  var isAuthenticated: Bool
}

extension LocalAttribute {
  /// `nil`: it may be read over such a link.
  func readError(_ security: LinkSecurity?) -> ATTError? {
    guard permissions.contains(.readable) else { return .readNotPermitted }
    return securityError(.readEncryptionRequired, [.readAuthenticationRequired, .readSecurityRequired], security)
  }

  /// `nil`: it may be written over such a link.
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
