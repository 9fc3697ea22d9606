import AppLink
import BusValue
import SystemBus

/// What the `latchkey` command asks of the system.
public final class ControlClient: Sendable {
  private let bus: Bus

  /// Connects to the bus: the system bus, or what `DBUS_SYSTEM_BUS_ADDRESS` says, unless an address is given. Throws
  /// `BusError` where there is none.
  public init(address: String? = nil) throws(BusError) {
    bus = try Bus(address: address.map { BusAddress($0) } ?? .system)
    try bus.start()
  }

  deinit { bus.close() }

  /// Asks, and waits until it is done. Returns the status where that was asked for. Throws `unavailable` where no
  /// latchkeyd is on the bus.
  @discardableResult
  public func perform(_ request: ControlRequest) async throws(AppLinkError) -> SystemStatus? {
    let message = ControlCoding.message(request)
    do throws(BusError) {
      let reply = try await bus.call(
        MethodCall(
          to: AppLinkName.busName, path: AppLinkName.path, interface: AppLinkName.controlInterface,
          member: message.name, arguments: message.arguments))
      guard request.returnsStatus else { return nil }
      return try SystemStatus(busValue: reply.first ?? .bool(false))
    } catch {
      throw AppLinkError(error)
    }
  }

  /// What the system and its apps are doing.
  public func status() async throws(AppLinkError) -> SystemStatus {
    guard let status = try await perform(.status) else { throw AppLinkError(.unavailable, "no status came") }
    return status
  }
}
