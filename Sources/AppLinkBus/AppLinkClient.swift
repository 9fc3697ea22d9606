import AppLink
import Logging
import Synchronization
import SystemBus
import Timekeeping

/// An app's link to the system over the bus. It attaches by itself when latchkeyd appears, and again when latchkeyd
/// comes back or is replaced.
///
/// The link does not keep the delegate alive. It calls the delegate on the bus's thread, in order. It listens only to
/// the owner of `org.latchkey.System1`.
package final class AppLinkClient: AppLinkConnection {
  private let address: BusAddress
  private let logger: Logger
  private let time: (any TimeSource)?
  private nonisolated(unsafe) weak var delegate: (any AppLinkDelegate)?
  private let session = Mutex<AppLinkClientSession?>(nil)

  /// - Parameters:
  ///   - address: the bus; by default the system bus, or the bus in `DBUS_SYSTEM_BUS_ADDRESS`.
  ///   - time: for repeating a refused attachment; by default the process's time (`ProcessClock`).
  package init(
    address: String? = nil, logger: Logger, time: (any TimeSource)? = nil, delegate: any AppLinkDelegate
  ) {
    self.time = time
    self.address = address.map { BusAddress($0) } ?? .system
    self.logger = logger
    self.delegate = delegate
  }

  deinit { close() }

  /// Connects to the bus. The system need not be there yet. Called once. Throws `BusError` if there is no bus.
  package func start() throws(BusError) {
    let started = AppLinkClientSession(
      bus: try Bus(connectingTo: address, limits: MessageLimits(signalsMayHaveDescriptors: true)), logger: logger,
      time: time, delegate: delegate)
    // Set before the first call of the delegate, which may use the link.
    session.withLock { $0 = started }
    try started.start()
  }

  package func send(_ request: Request) {
    session.withLock { $0 }?.send(request)
  }

  package func createEarly(_ manager: ManagerIdentifier, _ creation: ManagerCreation) -> Bool {
    guard let session = session.withLock({ $0 }) else { return false }
    session.createEarly(manager, creation)
    return true
  }

  package func destroyEarly(_ manager: ManagerIdentifier) {
    session.withLock { $0 }?.destroyEarly(manager)
  }

  /// Blocks until the system has answered or is gone. It may be called in the delegate's methods.
  package func query(_ query: Query) throws(AppLinkError) -> QueryReply {
    guard let session = session.withLock({ $0 }) else { throw AppLinkError(.unavailable, "the link isn't started") }
    return try session.query(query)
  }

  /// Leaves the bus, so the system sees the app detach. The delegate is not called any more.
  package func close() {
    session.withLock { session in
      defer { session = nil }
      return session
    }?.close()
  }
}
