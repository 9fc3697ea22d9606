import Glibc

/// The address of a bus (D-Bus specification, "Server Addresses").
package struct BusAddress: Sendable, Hashable, CustomStringConvertible {
  package let text: String

  package init(_ text: String) { self.text = text }

  /// The address in `DBUS_SYSTEM_BUS_ADDRESS`, or else the system bus's usual one, as in sd-bus. The variable is
  /// ignored in a process that runs with more rights than its starter.
  package static var system: BusAddress {
    if getuid() == geteuid(), getgid() == getegid(), let address = getenv("DBUS_SYSTEM_BUS_ADDRESS"),
      address.pointee != 0
    {
      return BusAddress(String(cString: address))
    }
    return BusAddress("unix:path=/run/dbus/system_bus_socket")
  }

  /// The bus of the user's session: the address in `DBUS_SESSION_BUS_ADDRESS`, or else the one where systemd has it.
  package static var session: BusAddress {
    if let address = getenv("DBUS_SESSION_BUS_ADDRESS"), address.pointee != 0 {
      return BusAddress(String(cString: address))
    }
    return BusAddress("unix:path=/run/user/\(getuid())/bus")
  }

  package var description: String { text }
}
