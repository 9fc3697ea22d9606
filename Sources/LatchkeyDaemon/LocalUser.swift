import Glibc

/// Users of this machine, from the name service.
enum LocalUser {
  /// Members of this group act as the user: they open and quit apps, and turn Bluetooth on and off.
  static let controlGroup = "latchkey"

  /// The number of the user with this name, which may itself be a number. `nil` if there is no such user.
  static func identifier(of name: String) -> UInt32? {
    if let number = UInt32(name) { return number }
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16384)
    guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
    return entry.pw_uid
  }

  /// The bus's policy says who may call. This second check is for buses without a policy.
  static func mayControl(_ user: UInt32) -> Bool {
    if user == 0 || user == geteuid() { return true }
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16384)
    guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return false }
    var wanted = group()
    var foundGroup: UnsafeMutablePointer<group>?
    var groupBuffer = [CChar](repeating: 0, count: 65536)
    guard getgrnam_r(controlGroup, &wanted, &groupBuffer, groupBuffer.count, &foundGroup) == 0, foundGroup != nil else {
      return false
    }
    var groups = [gid_t](repeating: 0, count: 1024)
    var count = Int32(groups.count)
    guard getgrouplist(entry.pw_name, entry.pw_gid, &groups, &count) >= 0 else { return false }
    return groups.prefix(Int(count)).contains(wanted.gr_gid)
  }
}
