import Glibc

/// The bus of a simulated machine.
public enum BusConfiguration {
  /// dbus-daemon's configuration (dbus-daemon(1)). Nothing is activated, and only this user's processes get in.
  ///
  /// - Parameter socket: where it listens, a path of at most 107 bytes.
  public static func text(socket: String) -> String {
    """
    <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
     "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
    <busconfig>
      <type>system</type>
      <listen>unix:path=\(socket)</listen>
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
      <limit name="max_replies_per_connection">65536</limit>
      <limit name="max_match_rules_per_connection">65536</limit>
    </busconfig>
    """
  }
}
