import AppLink
import BusValue
import SystemBus

/// The `latchkey` command's client of the system.
package final class ControlClient: Sendable {
  private let bus: Bus

  /// Connects to the bus. `address` is by default the system bus's, or that in `DBUS_SYSTEM_BUS_ADDRESS`. Throws
  /// `BusError` if there is no bus.
  package init(address: String? = nil) throws(BusError) {
    bus = try Bus(address: address.map { BusAddress($0) } ?? .system)
    try bus.start()
  }

  deinit { bus.close() }

  /// Asks, and waits until it is done. Returns the status if that was asked for. Throws `unavailable` if latchkeyd is
  /// not on the bus.
  @discardableResult
  package func perform(_ request: ControlRequest) async throws(AppLinkError) -> SystemStatus? {
    do throws(BusError) {
      let reply = try await bus.call(Self.call(request))
      guard request.returnsStatus else { return nil }
      return try SystemStatus(busValue: reply.first ?? .bool(false))
    } catch {
      throw AppLinkError(error)
    }
  }

  /// Asks, and returns when latchkeyd has received it. The outcome is in latchkeyd's journal.
  package func say(_ request: ControlRequest) async throws(AppLinkError) {
    do throws(BusError) {
      try await bus.callWithoutReply(Self.call(request))
    } catch {
      throw AppLinkError(error)
    }
    // It handles one client's requests in order, and answers this one at once.
    _ = try await status()
  }

  private static func call(_ request: ControlRequest) -> MethodCall {
    let message = ControlCoding.message(request)
    return MethodCall(
      to: AppLinkName.busName, path: AppLinkName.path, interface: AppLinkName.controlInterface,
      member: message.name, arguments: message.arguments)
  }

  /// The call that asks for the status, for a client that has its own connection.
  package static var statusCall: MethodCall { call(.status) }

  /// Reads the answer to `statusCall`. Throws `InvalidArgs` if it has another form, as another version's may.
  package static func status(_ reply: [Value]) throws(BusError) -> SystemStatus {
    try SystemStatus(busValue: reply.first ?? .bool(false))
  }

  /// What the system and its apps are doing.
  package func status() async throws(AppLinkError) -> SystemStatus {
    guard let status = try await perform(.status) else { throw AppLinkError(.unavailable, "no status came") }
    return status
  }
}
