import AppLink
import Logging
import Synchronization
import SystemBus

/// One connection of an app's process; never used again for another.
public struct AppConnection: Sendable, Hashable, CustomStringConvertible {
  /// Its unique name on the bus.
  public let name: String
  public init(name: String) { self.name = name }
  public var description: String { name }
}

/// The process behind a connection, as the bus tells it.
public struct Credentials: Sendable, Hashable {
  public var processIdentifier: Int32
  public var userIdentifier: UInt32
  public init(processIdentifier: Int32, userIdentifier: UInt32) {
    self.processIdentifier = processIdentifier
    self.userIdentifier = userIdentifier
  }
}

/// Names an attachment that waits for its answer.
public struct AttachToken: Sendable, Hashable { let connection: AppConnection, call: IncomingCall }
/// Names a query that waits for its answer.
public struct QueryToken: Sendable, Hashable { let call: IncomingCall }
/// Names a request of the user's that waits for its answer.
public struct ControlToken: Sendable, Hashable {
  let call: IncomingCall
  /// Whether the status is the answer.
  let wantsStatus: Bool
}

/// What the system's end of the links is told.
public enum AppLinkServerEvent: Sendable, Hashable {
  /// A process says that it is an app; answered by `AppLinkServer.reply`. Requests are delivered once it is accepted.
  case attach(AppConnection, Credentials, Attachment, AttachToken)
  /// Followed by `AppLinkServer.handled` when it has been dealt with.
  case request(AppConnection, Request)
  /// Answered by `AppLinkServer.reply`, and followed by `AppLinkServer.handled`.
  case query(AppConnection, Query, QueryToken)
  /// The process has left the bus, or was cut off because it said too much. It comes once for each `attach` that wasn't refused.
  case detached(AppConnection)
  /// The user asks for something; answered by `AppLinkServer.reply`.
  case control(ControlRequest, Credentials, ControlToken)
  /// The bus has ended; nothing more comes.
  case busLost
}

/// The system's end of the links to apps and to the user's command, on the bus as `org.latchkey.System1`.
///
/// What is malformed is answered with `org.latchkey.Error.InvalidArguments` and not delivered; a request of a process
/// that isn't attached is answered with `org.latchkey.Error.NotAttached`. The reply to a request comes when it has been
/// dealt with. A connection of which 256 wait, or four megabytes, is refused the next with
/// `org.latchkey.Error.LimitReached`, and detached.
public final class AppLinkServer: Sendable {
  private let address: BusAddress
  private let logger: Logger
  private let onEvent: @Sendable (AppLinkServerEvent) -> Void
  private let session = Mutex<AppLinkServerSession?>(nil)

  /// `onEvent` is called on the bus's thread, one event at a time, in order. `address` is the system bus's, or what
  /// `DBUS_SYSTEM_BUS_ADDRESS` says, unless given.
  public init(
    address: String? = nil, logger: Logger, onEvent: @escaping @Sendable (AppLinkServerEvent) -> Void
  ) {
    self.address = address.map { BusAddress($0) } ?? .system
    self.logger = logger
    self.onEvent = onEvent
  }

  deinit { close() }

  /// Connects, and owns the name. Called once. Throws `BusError` where there is no bus, where another system owns the
  /// name, or where the bus's policy doesn't allow it.
  public func start() throws(BusError) {
    let limits = MessageLimits(depth: 12, values: 100_000, bytes: 1 << 20, openCalls: 32768)
    let bus = try Bus(address: address, name: AppLinkName.busName, limits: limits)
    let started = AppLinkServerSession(bus: bus, logger: logger, onEvent: onEvent)
    session.withLock { $0 = started }
    try started.start()
  }

  /// Tells an app an event; in the order of the calls.
  public func send(_ event: Event, to connection: AppConnection) {
    session.withLock { $0 }?.send(event, to: connection)
  }

  /// The oldest request or query of this connection has been dealt with; said once for each.
  public func handled(_ connection: AppConnection) {
    session.withLock { $0 }?.handled(connection)
  }

  /// Accepts an app, or refuses it.
  public func reply(to token: AttachToken, _ result: Result<AttachReply, AppLinkError>) {
    session.withLock { $0 }?.reply(to: token, result)
  }

  public func reply(to token: QueryToken, _ result: Result<QueryReply, AppLinkError>) {
    session.withLock { $0 }?.reply(
      to: token.call, result.map { [$0.busValue] }.mapError { BusError($0) })
  }

  /// Answers the user: with the status where that was asked for, else with `nil`.
  public func reply(to token: ControlToken, _ result: Result<SystemStatus?, AppLinkError>) {
    session.withLock { $0 }?.reply(
      to: token,
      result.map { status in
        token.wantsStatus ? [(status ?? SystemStatus(bluetooth: .unknown, apps: [])).busValue] : []
      }.mapError { BusError($0) })
  }

  /// Leaves the bus after what was said has gone out. When it returns, another system can take the name. The caller
  /// holds nothing that `onEvent` may be waiting for.
  public func close() {
    session.withLock { session in
      defer { session = nil }
      return session
    }?.close()
  }
}
