import AppLink
import AppLinkBus
import BluetoothSystem
import Synchronization
import TimeTypes
import Timekeeping

/// Holds what a machine's apps say to latchkeyd at one moment of a simulated world, until the world rests. Then it is
/// handled in the order of the apps' identifiers. Apps of one machine run in parallel, so without this the order of
/// their messages would be a matter of chance.
///
/// The managers of one app run in parallel as well, if their delegates are called on queues of their own. So what an
/// app said at one moment is handled manager by manager. The messages of one manager keep their order.
///
/// A real machine has no `AppTurns`: its messages are handled in the order in which they arrive.
final class AppTurns: Sendable {
  typealias Work = @Sendable () -> Void
  typealias Source = TurnQueue<Work>.Source

  /// What is known about the app of a connection.
  private struct App {
    var identifier: String
    /// The manager that received each read or write of a central that the app has not answered.
    var asked: [RemoteRequestIdentifier: ManagerIdentifier] = [:]
    /// The manager of the app's last request. A request that belongs to no manager stays behind that one.
    var manager = ManagerIdentifier(0)

    mutating func manager(of request: Request) -> ManagerIdentifier {
      if case .respond(let identifier, _, _) = request {
        manager = asked.removeValue(forKey: identifier) ?? manager
      } else {
        manager = request.manager ?? manager
      }
      return manager
    }
  }

  private struct State {
    var queue = TurnQueue<Work>()
    var apps: [AppConnection: App] = [:]
    var alarm: (any Alarm)?
  }

  private let state = Mutex(State())
  private let time: any TimeSource

  /// - Parameter time: an alarm for the present moment rings when every process of the world rests.
  init(time: any TimeSource) {
    self.time = time
    let alarm = time.makeAlarm { [weak self] in self?.take() }
    state.withLock { $0.alarm = alarm }
  }

  /// Handles an event of an app's connection in its turn. A user's command is handled at once: commands are given while
  /// the world rests.
  func add(_ event: AppLinkServerEvent, _ work: @escaping Work) {
    guard let source = state.withLock({ Self.source(of: event, &$0.apps) }) else { return work() }
    add(work, from: source)
  }

  /// Handles news of an app's process in its turn: after what the process said before it ended, and before the end of
  /// its connection.
  func add(_ news: SupervisorNews, _ work: @escaping Work) {
    add(work, from: Source(group: news.bundleIdentifier, rank: Int.max - 1, name: ""))
  }

  /// An event is about to be sent to an app. This notes which manager a read or a write goes to, because the app's
  /// answer does not name it.
  func willSend(_ event: Event, to connection: AppConnection) {
    state.withLock { state in
      switch event.body {
      case .readRequested(let identifier, _, _, _), .writeRequested(let identifier, _, _, _, _, _):
        state.apps[connection]?.asked[identifier] = event.manager
      case .requestExpired(let identifier): state.apps[connection]?.asked[identifier] = nil
      default: break
      }
    }
  }

  private static func source(of event: AppLinkServerEvent, _ apps: inout [AppConnection: App]) -> Source? {
    switch event {
    case .attach(let connection, _, let attachment, _):
      apps[connection] = App(identifier: attachment.bundleIdentifier)
      return Source(group: attachment.bundleIdentifier, name: connection.name)
    // A receipt for handled events comes behind what the app asks for at the same moment.
    case .request(let connection, .handled):
      return Source(group: identifier(connection, apps), rank: Int.max - 2, name: connection.name)
    case .request(let connection, let request):
      let manager = apps[connection, default: App(identifier: connection.name)].manager(of: request)
      return Source(group: identifier(connection, apps), rank: Int(manager.rawValue), name: connection.name)
    case .query(let connection, .retrievePeripherals(let manager, _), _),
      .query(let connection, .retrieveConnectedPeripherals(let manager, _), _):
      return Source(group: identifier(connection, apps), rank: Int(manager.rawValue), name: connection.name)
    case .detached(let connection):
      defer { apps[connection] = nil }
      return Source(group: identifier(connection, apps), rank: Int.max, name: connection.name)
    case .control, .withdrawn, .statusWatched, .busLost: return nil
    }
  }

  private static func identifier(_ connection: AppConnection, _ apps: [AppConnection: App]) -> String {
    apps[connection]?.identifier ?? connection.name
  }

  private func add(_ work: @escaping Work, from source: Source) {
    let now = time.now
    let waits = state.withLock { state in
      guard state.queue.takesTurns(at: now) else { return false }
      state.queue.add(work, from: source)
      state.alarm?.set(now)
      return true
    }
    if !waits { work() }
  }

  private func take() {
    let now = time.now
    for work in state.withLock({ $0.queue.nextTurn(at: now) }) { work() }
    state.withLock { state in
      if !state.queue.isEmpty { state.alarm?.set(now) }
    }
  }
}

extension SupervisorNews {
  fileprivate var bundleIdentifier: String {
    switch self {
    case .launched(let name, _), .launchFailed(let name, _): name
    case .ended(let end): end.bundleIdentifier
    }
  }
}

extension Request {
  /// The manager that the request is about; `nil` if it is about none.
  fileprivate var manager: ManagerIdentifier? {
    switch self {
    case .createManager(let manager, _), .resumeManager(let manager, _, _), .heldPeripherals(let manager, _, _),
      .destroyManager(let manager), .central(let manager, _), .peripheral(let manager, _):
      manager
    case .respond, .completeAction, .answerQuestion, .showAlert, .report, .admit, .handled: nil
    }
  }
}
