import AppLink
import AppLinkBus
import BluetoothSystem
import Synchronization
import TimeTypes
import Timekeeping

/// What a machine's apps said to latchkeyd at one moment of a simulated world: it is handled when the world rests, in the order
/// of the apps' identifiers. Apps of one machine run in parallel, and what they say arrives in the order of chance.
///
/// So do the managers of one app, if their delegates are called on queues of their own. What an app said at one moment is therefore
/// handled manager by manager; what one manager said keeps its order.
///
/// A machine has no such thing: there, what comes first is handled first.
final class AppTurns: Sendable {
  typealias Work = @Sendable () -> Void
  typealias Source = TurnQueue<Work>.Source

  /// What is known of an app by its connection.
  private struct App {
    var identifier: String
    /// Which managers the app's unanswered reads and writes came to.
    var asked: [RemoteRequestIdentifier: ManagerIdentifier] = [:]
    /// Whose request was the last. What belongs to no manager stays behind it.
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

  /// - Parameter time: rings an alarm of the present moment when every process of the world rests.
  init(time: any TimeSource) {
    self.time = time
    let alarm = time.makeAlarm { [weak self] in self?.take() }
    state.withLock { $0.alarm = alarm }
  }

  /// Handles what came from an app's connection, or a user's command, in its turn. Commands are given while the world rests.
  func add(_ event: AppLinkServerEvent, _ work: @escaping Work) {
    guard let source = state.withLock({ Self.source(of: event, &$0.apps) }) else { return work() }
    add(work, from: source)
  }

  /// Handles news of an app's process in its turn: what the process had said before it ended comes first, and what its connection's
  /// end means comes last.
  func add(_ news: SupervisorNews, _ work: @escaping Work) {
    add(work, from: Source(group: news.bundleIdentifier, rank: Int.max - 1, name: ""))
  }

  /// An app is told something. Its answer to a read or a write does not name the manager.
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
    // That it has handled what it was told comes behind what it asks for meanwhile.
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
    case .control, .statusWatched, .busLost: return nil
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
  /// The manager that it is about.
  fileprivate var manager: ManagerIdentifier? {
    switch self {
    case .createManager(let manager, _), .resumeManager(let manager, _, _), .heldPeripherals(let manager, _, _),
      .destroyManager(let manager), .central(let manager, _), .peripheral(let manager, _):
      manager
    case .respond, .completeAction, .answerQuestion, .showAlert, .report, .admit, .handled: nil
    }
  }
}
