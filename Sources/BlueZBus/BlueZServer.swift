import BlueZ
import Logging
import Synchronization
import SystemBus
import Timekeeping

/// What a server of org.bluez is told.
public enum BlueZServerEvent: Sendable, Hashable {
  /// A client, by its unique name on the bus, says something.
  case message(from: String, ClientMessage)
  /// A client has left the bus; nothing more comes from it, and what it had registered is gone.
  case clientVanished(String)
  /// The bus has ended; nothing more comes.
  case busLost
}

/// Serves org.bluez to any client, in bluetoothd's place.
///
/// The objects it shows are a mirror: those given at the start, changed by every signal broadcast since.
/// `GetManagedObjects`, `Properties.Get`, `Properties.GetAll` and `Introspect` are answered from it at once, so that
/// a client sees an object exactly as the signals before the answer left it; they are not delivered as requests.
/// Every other method is, as `ClientMessage.call`, to be answered by `send(.reply(…))`. Before a registration is
/// delivered, the client's objects have been fetched.
public final class BlueZServer: Sendable {
  private let address: String
  private let logger: Logger
  private let objects: ManagedObjects
  private let time: (any TimeSource)?
  private let onEvent: @Sendable (BlueZServerEvent) -> Void
  private struct Connection: Sendable {
    var session: BlueZServerSession
    /// Clients are heard.
    var isOpen = false
  }
  private let connection = Mutex<Connection?>(nil)

  /// `objects`: those there are from the start. `time`: a client that registers something and then says nothing of its
  /// objects is told so after 25 s of it; without one it waits for ever. `onEvent` is called on the bus's thread, one event at a time, in order.
  public init(
    address: String, logger: Logger, objects: ManagedObjects = [:], time: (any TimeSource)? = nil,
    onEvent: @escaping @Sendable (BlueZServerEvent) -> Void
  ) {
    self.address = address
    self.logger = logger
    self.objects = objects
    self.time = time
    self.onEvent = onEvent
  }

  deinit { close() }

  /// Connects, owns `org.bluez`, and serves. Called once; after `close` another server takes its place. Throws
  /// `BusError` where there is no bus, or where the name has an owner.
  public func start() throws(BusError) {
    try connect()
    try open()
  }

  /// As `start`, but no client is heard before `open`: what is broadcast until then is there, and told, before the first
  /// answer. So nobody meets half a bluetoothd.
  public func connect() throws(BusError) {
    let bus = try Bus(address: BusAddress(address), name: WellKnown.busName)
    let session = BlueZServerSession(bus: bus, logger: logger, objects: objects, time: time, onEvent: onEvent)
    connection.withLock { $0 = Connection(session: session) }
  }

  /// Hears clients from now on, those first who called since `connect`. A second call does nothing.
  public func open() throws(BusError) {
    let session = connection.withLock { connection in
      guard connection?.isOpen == false else { return nil as BlueZServerSession? }
      connection?.isOpen = true
      return connection?.session
    }
    try session?.start()
  }

  /// Says something to one client: a reply or a callback. (What else `DaemonMessage` has, D-Bus says by itself.)
  public func send(_ message: DaemonMessage, to client: String) {
    connection.withLock { $0?.session }?.send(message, to: client)
  }

  /// Changes the objects and tells every client.
  public func broadcast(_ signal: Signal) {
    connection.withLock { $0?.session }?.broadcast(signal)
  }

  /// Leaves the bus after what was said has gone out: clients see bluetoothd vanish. When it returns, another server
  /// can take the name. The caller holds nothing that `onEvent` may be waiting for.
  public func close() { takeConnection()?.session.close() }

  /// As `close`, and returns when the connection is gone: another server may take the name then.
  public func closeAndWait() async {
    guard let ended = takeConnection() else { return }
    // Without a thread nothing is under way.
    if ended.isOpen { await ended.session.closeAndWait() } else { ended.session.close() }
  }

  private func takeConnection() -> Connection? {
    connection.withLock { connection in
      defer { connection = nil }
      return connection
    }
  }
}
