import Glibc

/// The address of a bus (D-Bus specification, "Server Addresses").
public struct BusAddress: Sendable, Hashable, CustomStringConvertible {
  public let text: String

  public init(_ text: String) { self.text = text }

  /// The address in `DBUS_SYSTEM_BUS_ADDRESS`, or else the system bus's usual one, as in sd-bus. The variable is
  /// ignored in a process that runs with more rights than its starter.
  public static var system: BusAddress {
    if getuid() == geteuid(), getgid() == getegid(), let address = getenv("DBUS_SYSTEM_BUS_ADDRESS"),
      address.pointee != 0
    {
      return BusAddress(String(cString: address))
    }
    return BusAddress("unix:path=/run/dbus/system_bus_socket")
  }

  public var description: String { text }
}
