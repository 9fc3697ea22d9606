import BlueZ
import Logging
import Synchronization
import SystemBus
import Timekeeping

/// What a server of org.bluez is told.
package enum BlueZServerEvent: Sendable, Hashable {
  /// A client, named by its unique name on the bus, sends a message.
  case message(from: String, ClientMessage)
  /// A client has left the bus. It sends nothing more, and its registrations are gone.
  case clientVanished(String)
  /// The bus has ended. Nothing more comes.
  case busLost
}

/// Serves org.bluez to any client, in bluetoothd's place.
///
/// The objects it shows are a mirror: those given at the start, changed by every signal broadcast since.
/// `GetManagedObjects`, `Properties.Get`, `Properties.GetAll` and `Introspect` are answered from the mirror at once,
/// and are not delivered as requests. So a client always sees an object exactly as the signals before the answer left
/// it. Every other method is delivered as `ClientMessage.call` and must be answered by `send(.reply(…))`. By the time
/// a registration is delivered, the client's objects have been fetched.
package final class BlueZServer: Sendable {
  private let address: String
  private let logger: Logger
  private let objects: ManagedObjects
  private let isExperimental: Bool
  private let time: (any TimeSource)?
  private let thread: BusThread?
  private let turns: Turns?
  private let onEvent: @Sendable (BlueZServerEvent) -> Void
  /// Decides when a message of a client is handled. It receives the client's name and the work that handles the
  /// message. It has to call that work once, at once or later, on the server's thread, and to keep the order of one
  /// client's messages.
  package typealias Turns = @Sendable (_ client: String, _ work: @escaping @Sendable () -> Void) -> Void

  /// A client that has left many calls open does not shut the others out. bluetoothd ignores a file descriptor that it
  /// does not look for, and takes another for a value of the wrong type.
  private static let limits = MessageLimits(
    openCalls: 65_536, openCallsOfPeer: 4096, ignoresUnexpectedDescriptors: true)

  private struct Connection: Sendable {
    var session: BlueZServerSession
    /// Clients' calls are handled.
    var isOpen = false
  }
  private let connection = Mutex<Connection?>(nil)

  /// `objects` are those that exist from the start. With `time`, a client that registers something and then does not
  /// describe its objects gets an error after 25 s; without it, the client waits for ever. `onEvent` is called on the
  /// bus's thread, one event at a time, in order.
  ///
  /// - Parameter isExperimental: whether there are the methods that bluetoothd has only with `--experimental`.
  /// - Parameter thread: a thread that several servers share; `nil` for a thread of its own. On a shared thread, the
  ///   servers are used by work that was enqueued there, not from `onEvent`.
  /// - Parameter turns: decides when a client's message is handled; `nil` to handle each as it arrives.
  package init(
    address: String, logger: Logger, objects: ManagedObjects = [:], isExperimental: Bool = false,
    time: (any TimeSource)? = nil, thread: BusThread? = nil, turns: Turns? = nil,
    onEvent: @escaping @Sendable (BlueZServerEvent) -> Void
  ) {
    self.address = address
    self.logger = logger
    self.objects = objects
    self.isExperimental = isExperimental
    self.time = time
    self.thread = thread
    self.turns = turns
    self.onEvent = onEvent
  }

  deinit { close() }

  /// How many messages a server on a shared thread handles in a turn. Values that arrive together are then sent
  /// together over the air.
  private static let messagesPerTurn = 32

  /// Connects, owns `org.bluez`, and serves. Called once; after `close` another server can take its place. Throws
  /// `BusError` if there is no bus or the name already has an owner.
  package func start() throws(BusError) {
    try connect()
    try open()
  }

  /// Like `start`, but no client's call is handled before `open`. Objects broadcast until then exist before the first
  /// answer, so a client never sees half a bluetoothd.
  package func connect() throws(BusError) {
    let bus = try Bus(
      address: BusAddress(address), name: WellKnown.busName, limits: Self.limits, thread: thread,
      messagesPerTurn: thread == nil ? 1 : Self.messagesPerTurn)
    let session = BlueZServerSession(
      bus: bus, sharesThread: thread != nil, logger: logger, objects: objects, isExperimental: isExperimental,
      time: time, turns: turns, onEvent: onEvent)
    connection.withLock { $0 = Connection(session: session) }
  }

  /// Handles clients' calls from now on, beginning with those made since `connect`. A second call does nothing.
  package func open() throws(BusError) {
    let session = connection.withLock { connection in
      guard connection?.isOpen == false else { return nil as BlueZServerSession? }
      connection?.isOpen = true
      return connection?.session
    }
    try session?.start()
  }

  /// Sends a reply or a callback to one client. (D-Bus itself sends the other kinds of `DaemonMessage`.)
  package func send(_ message: DaemonMessage, to client: String) {
    connection.withLock { $0?.session }?.send(message, to: client)
  }

  /// Changes the objects and tells every client.
  package func broadcast(_ signal: Signal) {
    connection.withLock { $0?.session }?.broadcast(signal)
  }

  /// Changes the objects and tells nobody.
  package func apply(_ signal: Signal) {
    connection.withLock { $0?.session }?.apply(signal)
  }

  /// Leaves the bus after everything has been sent; clients see bluetoothd vanish. When it returns, another server
  /// can take the name. The caller must not hold anything that `onEvent` may be waiting for.
  package func close() { takeConnection()?.session.close() }

  private func takeConnection() -> Connection? {
    connection.withLock { connection in
      defer { connection = nil }
      return connection
    }
  }
}
