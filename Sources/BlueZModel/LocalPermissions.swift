import BlueZ
import BluetoothTypes
import Radio

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

extension BlueZModel {
  func readError(_ attribute: LocalAttribute, on link: LinkIdentifier) -> ATTError? {
    guard attribute.permissions.contains(.readable) else { return .readNotPermitted }
    return securityError(
      attribute.permissions, .readEncryptionRequired, [.readAuthenticationRequired, .readSecurityRequired], on: link)
  }

  func writeError(_ attribute: LocalAttribute, on link: LinkIdentifier) -> ATTError? {
    guard attribute.permissions.contains(.writeable) else { return .writeNotPermitted }
    return securityError(
      attribute.permissions, .writeEncryptionRequired, [.writeAuthenticationRequired, .writeSecurityRequired], on: link)
  }

  /// src/shared/gatt-server.c, check_permissions.
  private func securityError(
    _ permissions: LocalPermissions, _ encrypted: LocalPermissions, _ authenticated: LocalPermissions,
    on identifier: LinkIdentifier
  ) -> ATTError? {
    guard let link = links[identifier] else { return .unlikelyError }
    if !permissions.isDisjoint(with: authenticated), !isAuthenticated(link) { return .insufficientAuthentication }
    if permissions.contains(encrypted), !link.isEncrypted { return .insufficientEncryption }
    return nil
  }

  private func isAuthenticated(_ link: Link) -> Bool {
    link.isEncrypted && (link.pairing?.isAuthenticated ?? devices[link.device]?.bond?.isAuthenticated ?? false)
  }
}
