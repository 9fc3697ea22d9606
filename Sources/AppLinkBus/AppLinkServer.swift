import AppLink
import Logging
import Synchronization
import SystemBus

/// One connection of an app's process to the bus. The bus never gives its name to another connection.
package struct AppConnection: Sendable, Hashable, CustomStringConvertible {
  /// Its unique name on the bus.
  package let name: String
  package init(name: String) { self.name = name }
  package var description: String { name }
}

/// The process behind a connection, according to the bus.
package struct Credentials: Sendable, Hashable {
  package var processIdentifier: Int32
  package var userIdentifier: UInt32
  package init(processIdentifier: Int32, userIdentifier: UInt32) {
    self.processIdentifier = processIdentifier
    self.userIdentifier = userIdentifier
  }
}

/// Identifies an attachment that waits for its answer.
package struct AttachToken: Sendable, Hashable { let connection: AppConnection, call: IncomingCall }
/// Identifies a query that waits for its answer.
package struct QueryToken: Sendable, Hashable { let call: IncomingCall }
/// Identifies a user's request that waits for its answer.
package struct ControlToken: Sendable, Hashable {
  let call: IncomingCall
  /// The user who asks.
  let user: UInt32
  /// Whether the answer is the status.
  let wantsStatus: Bool
}

/// What the system's end of the links is told.
package enum AppLinkServerEvent: Sendable, Hashable {
  /// A process claims to be an app. Answered by `AppLinkServer.reply`. Its requests are delivered once it is
  /// accepted.
  case attach(AppConnection, Credentials, Attachment, AttachToken)
  /// The receiver calls `AppLinkServer.handled` when it has handled the request.
  case request(AppConnection, Request)
  /// The receiver answers with `AppLinkServer.reply`, and then calls `AppLinkServer.handled`.
  case query(AppConnection, Query, QueryToken)
  /// The process has left the bus, or was cut off because it sent too much. Comes once for each `attach` that was not
  /// refused.
  case detached(AppConnection)
  /// The user asks for something. The receiver answers with `AppLinkServer.reply`. It passes `watchStatus` on to
  /// `AppLinkServer.watch` if the caller may control the system.
  case control(ControlRequest, Credentials, ControlToken)
  /// Who asked an app for this gives it up, or has left the bus. Comes only after the request, and before its answer.
  case withdrawn(ControlToken)
  /// `true` when the first client watches the status: from then on, `AppLinkServer.statusChanged` is to be called when
  /// it has changed. `false` when the last such client has left.
  case statusWatched(Bool)
  /// The bus has ended. Nothing more comes.
  case busLost
}

/// The system's end of the links to apps and to the user's command, on the bus as `org.latchkey.System1`.
///
/// Malformed messages are answered with `org.latchkey.Error.InvalidArguments` and not delivered. A few requests that
/// arrive behind an attachment are kept until the app is accepted (`Flow.earlyLimit`). All other requests from a
/// process that is not attached are answered with `org.latchkey.Error.NotAttached`. The reply to a request is sent when
/// the request has been handled. A connection with 256 waiting requests, or four megabytes of them, gets
/// `org.latchkey.Error.LimitReached` for the next one and is detached.
package final class AppLinkServer: Sendable {
  private let address: BusAddress
  private let logger: Logger
  private let onEvent: @Sendable (AppLinkServerEvent) -> Void
  private let session = Mutex<AppLinkServerSession?>(nil)

  /// - Parameters:
  ///   - address: the bus; by default the system bus, or the bus in `DBUS_SYSTEM_BUS_ADDRESS`.
  ///   - onEvent: called on the bus's thread, one event at a time, in order.
  package init(
    address: String? = nil, logger: Logger, onEvent: @escaping @Sendable (AppLinkServerEvent) -> Void
  ) {
    self.address = address.map { BusAddress($0) } ?? .system
    self.logger = logger
    self.onEvent = onEvent
  }

  deinit { close() }

  /// Connects, and owns the name. Called once. Throws `BusError` if there is no bus, if another system owns the name,
  /// or if the bus's policy does not allow it.
  package func start() throws(BusError) {
    let limits = MessageLimits(depth: 12, values: 100_000, bytes: 1 << 20, openCalls: 32768)
    let bus = try Bus(address: address, name: AppLinkName.busName, limits: limits)
    let started = AppLinkServerSession(bus: bus, logger: logger, onEvent: onEvent)
    session.withLock { $0 = started }
    try started.start()
  }

  /// Sends an event to an app, in the order of the calls.
  package func send(_ event: Event, to connection: AppConnection) {
    session.withLock { $0 }?.send(event, to: connection)
  }

  /// The oldest request or query of this connection has been handled. Called once for each.
  package func handled(_ connection: AppConnection) {
    session.withLock { $0 }?.handled(connection)
  }

  /// Accepts an app, or refuses it.
  package func reply(to token: AttachToken, _ result: Result<AttachReply, AppLinkError>) {
    session.withLock { $0 }?.reply(to: token, result)
  }

  /// Answers a query. If the answer is `notAttached`, the system has forgotten the app's link, for example because the
  /// process that the system had started for the app has ended. The connection is then detached, so that the app may
  /// attach again.
  package func reply(to token: QueryToken, _ result: Result<QueryReply, AppLinkError>) {
    let session = session.withLock { $0 }
    if case .failure(let error) = result, error.code == .notAttached {
      session?.cutOff(AppConnection(name: token.call.sender))
    }
    session?.reply(to: token.call, result.map { [$0.busValue] }.mapError { BusError($0) })
  }

  /// Answers the user: with the status if it was asked for, otherwise with `nil`.
  package func reply(to token: ControlToken, _ result: Result<SystemStatus?, AppLinkError>) {
    session.withLock { $0 }?.reply(
      to: token,
      result.map { status in
        token.wantsStatus ? [(status ?? SystemStatus(bluetooth: .unknown, apps: [])).busValue] : []
      }.mapError { BusError($0) })
  }

  /// Answers the user of `askApp`.
  package func reply(to token: ControlToken, text: String) {
    session.withLock { $0 }?.reply(to: token, .success([.string(text)]))
  }

  /// The caller of `watchStatus` watches from now on. It is answered like a caller of `status`, which comes as an event
  /// after this one.
  package func watch(_ token: ControlToken, _ credentials: Credentials) {
    session.withLock { $0 }?.watch(token, credentials)
  }

  /// The status has changed. Tells each client that watches, unless it was told of a change already and has not asked
  /// for the status since.
  /// - Parameter number: grows with each change.
  package func statusChanged(_ number: UInt64) {
    session.withLock { $0 }?.statusChanged(number)
  }

  /// Leaves the bus after everything has been sent. When it returns, another system can take the name. The caller
  /// must not hold anything that `onEvent` may be waiting for.
  package func close() {
    session.withLock { session in
      defer { session = nil }
      return session
    }?.close()
  }
}
