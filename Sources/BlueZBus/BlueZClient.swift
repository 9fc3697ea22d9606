import BlueZ
import Logging
import Synchronization
import SystemBus

/// A client of bluetoothd over the bus.
///
/// It delivers `DaemonMessage` values in bluetoothd's own order: `appeared` with the objects, then changes to them,
/// `vanished` when bluetoothd leaves the bus, and `appeared` again when it is back. It listens only to the owner of
/// `org.bluez`; signals and calls of other connections change nothing. It exports what the client registers, for as
/// long as it is registered.
package final class BlueZClient: Sendable {
  private let address: BusAddress
  private let logger: Logger
  private let onMessage: @Sendable (DaemonMessage) -> Void
  private let onBusLost: @Sendable () -> Void
  private let onLooked: @Sendable () -> Void
  private let session = Mutex<BlueZClientSession?>(nil)

  /// `onMessage` is called on the bus's thread, one message at a time, in order. `address` is by default the system
  /// bus's, or that in `DBUS_SYSTEM_BUS_ADDRESS`. When the bus itself ends, `onBusLost` is called after `vanished`,
  /// and nothing is delivered any more. `onLooked` is called once, when it is known whether bluetoothd is there: after the first
  /// `appeared`, if it is.
  package init(
    address: String? = nil, logger: Logger, onBusLost: @escaping @Sendable () -> Void = {},
    onLooked: @escaping @Sendable () -> Void = {}, onMessage: @escaping @Sendable (DaemonMessage) -> Void
  ) {
    self.address = address.map { BusAddress($0) } ?? .system
    self.logger = logger
    self.onMessage = onMessage
    self.onBusLost = onBusLost
    self.onLooked = onLooked
  }

  deinit { close() }

  /// All objects of a machine with twenty thousand bonded devices, in one message.
  private static let limits = MessageLimits(values: 1_200_000, bytes: 16 << 20)

  /// Connects to the bus. bluetoothd need not be there yet. Called once. Throws `BusError` if there is no bus.
  package func start() throws(BusError) {
    let started = BlueZClientSession(
      bus: try Bus(address: address, limits: Self.limits), logger: logger, onMessage: onMessage, onBusLost: onBusLost,
      onLooked: onLooked)
    try started.start()
    session.withLock { $0 = started }
  }

  /// Sends a message to bluetoothd, in order. While bluetoothd is away, calls are dropped (see
  /// `DaemonMessage.vanished`).
  package func send(_ message: ClientMessage) {
    session.withLock { $0 }?.send(message)
  }

  /// Leaves the bus, so bluetoothd drops everything that was registered. Nothing is delivered any more.
  package func close() {
    session.withLock { session in
      defer { session = nil }
      return session
    }?.close()
  }
}
