import BlueZ
import Logging
import Synchronization
import SystemBus

/// A client of bluetoothd over the bus.
///
/// It delivers what `DaemonMessage` says, in bluetoothd's own order: `appeared` with the objects, then changes to
/// them; `vanished` when bluetoothd leaves the bus, and `appeared` again when it is back. Only the owner of
/// `org.bluez` is listened to: another's signals and calls change nothing. It exports what the client registers
/// for as long as it is registered.
public final class BlueZClient: Sendable {
  private let address: BusAddress
  private let logger: Logger
  private let onMessage: @Sendable (DaemonMessage) -> Void
  private let onBusLost: @Sendable () -> Void
  private let session = Mutex<BlueZClientSession?>(nil)

  /// `onMessage` is called on the bus's thread, one message at a time, in order. `address` is the system bus's, or what
  /// `DBUS_SYSTEM_BUS_ADDRESS` says, unless given. When the bus itself ends, `onBusLost` is called after `vanished`,
  /// and nothing comes any more.
  public init(
    address: String? = nil, logger: Logger, onBusLost: @escaping @Sendable () -> Void = {},
    onMessage: @escaping @Sendable (DaemonMessage) -> Void
  ) {
    self.address = address.map { BusAddress($0) } ?? .system
    self.logger = logger
    self.onMessage = onMessage
    self.onBusLost = onBusLost
  }

  deinit { close() }

  /// Connects to the bus; bluetoothd needn't be there. Called once. Throws `BusError` where there is no bus.
  public func start() throws(BusError) {
    let started = BlueZClientSession(
      bus: try Bus(address: address), logger: logger, onMessage: onMessage, onBusLost: onBusLost)
    try started.start()
    session.withLock { $0 = started }
  }

  /// Says something to bluetoothd, in order. While it is away calls are dropped, as `DaemonMessage.vanished` says.
  public func send(_ message: ClientMessage) {
    session.withLock { $0 }?.send(message)
  }

  /// Leaves the bus: bluetoothd drops everything that was registered. Nothing is delivered any more.
  public func close() {
    session.withLock { session in
      defer { session = nil }
      return session
    }?.close()
  }
}
