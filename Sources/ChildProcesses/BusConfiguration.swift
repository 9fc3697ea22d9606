import Glibc

/// The bus of a simulated machine, or of a test.
package enum BusConfiguration {
  /// The address of a socket, as defined by the D-Bus specification: other characters in the path are written as
  /// their bytes.
  package static func address(ofSocket path: String) -> String {
    var address = "unix:path="
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
        UInt8(ascii: "."):
        address.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16)
        address += digits.utf8.count < 2 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return address
  }

  /// - Throws: `ChildProcessError` if dbus-daemon would refuse this user, which it does silently.
  package static func requireKnownUser() throws {
    guard getpwuid(geteuid()) == nil else { return }
    throw ChildProcessError(
      """
      user \(geteuid()) has no entry in /etc/passwd, and dbus-daemon lets nobody in whom it does not know there: add one, \
      or run this as another user
      """)
  }

  /// dbus-daemon's configuration (dbus-daemon(1)). Nothing is activated, and only this user's processes are admitted.
  ///
  /// - Parameter socket: where it listens, a path of at most 107 bytes.
  package static func text(socket: String) -> String {
    """
    <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
     "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
    <busconfig>
      <type>system</type>
      <listen>\(address(ofSocket: socket))</listen>
      <auth>EXTERNAL</auth>
      <policy context="default">
        <deny user="*"/>
        <allow user="\(geteuid())"/>
        <allow own="*"/>
        <allow send_destination="*"/>
        <allow receive_sender="*"/>
        <allow send_type="method_call"/>
        <allow send_type="signal"/>
        <allow send_requested_reply="true" send_type="method_return"/>
        <allow send_requested_reply="true" send_type="error"/>
      </policy>
      <limit name="max_replies_per_connection">128</limit>
      <limit name="max_match_rules_per_connection">65536</limit>
    </busconfig>
    """
  }
}
