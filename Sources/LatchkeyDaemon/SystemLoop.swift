import AppLink
import BlueZ
import BluetoothSystem
import CSystemd
import Journal
import JournalEvents
import LatchkeyVersion
import Logging
import TimeTypes
import Timekeeping

/// Where the system's effects go.
package struct SystemPorts: Sendable {
  package var bluez: @Sendable (ClientMessage) -> Void
  package var event: @Sendable (AppLink.Event, AppLinkIdentifier) -> Void
  package var attachReply: @Sendable (AnswerToken, Result<AttachReply, AppLinkError>) -> Void
  package var queryReply: @Sendable (AnswerToken, Result<QueryReply, AppLinkError>) -> Void
  package var controlReply: @Sendable (AnswerToken, Result<SystemStatus, AppLinkError>) -> Void
  /// The answer to what the user asked of an app.
  package var controlText: @Sendable (AnswerToken, String) -> Void
  /// The status has changed. Called only while somebody watches it (`SystemLoop.watchStatus`). The number grows with
  /// each change.
  package var statusChanged: @Sendable (UInt64) -> Void

  package init(
    bluez: @escaping @Sendable (ClientMessage) -> Void,
    event: @escaping @Sendable (AppLink.Event, AppLinkIdentifier) -> Void,
    attachReply: @escaping @Sendable (AnswerToken, Result<AttachReply, AppLinkError>) -> Void,
    queryReply: @escaping @Sendable (AnswerToken, Result<QueryReply, AppLinkError>) -> Void,
    controlReply: @escaping @Sendable (AnswerToken, Result<SystemStatus, AppLinkError>) -> Void,
    controlText: @escaping @Sendable (AnswerToken, String) -> Void = { _, _ in },
    statusChanged: @escaping @Sendable (UInt64) -> Void = { _ in }
  ) {
    self.bluez = bluez
    self.event = event
    self.attachReply = attachReply
    self.queryReply = queryReply
    self.controlReply = controlReply
    self.controlText = controlText
    self.statusChanged = statusChanged
  }
}

/// The one queue through which everything passes. One event at a time goes into the state machine, and its effects
/// are carried out in order before the next event.
package final class SystemLoop: Sendable {
  private enum Entry: Sendable {
    /// `whenDone` is called when the event's effects have been carried out.
    case event(BluetoothSystem.Event, whenDone: (@Sendable () -> Void)? = nil)
    case watchdog
    /// Try to write the store again.
    case storeRetry
    /// Somebody watches the status, or nobody does any more.
    case statusWatched(Bool)
    /// A change of the status may have been held back.
    case statusCheck
    case stop
  }

  private let entries: AsyncStream<Entry>
  private let continuation: AsyncStream<Entry>.Continuation
  private let time: any TimeSource
  private let store: any StateStore
  private let supervisor: any Supervisor
  private let registry: AppRegistry
  private let logger: Logger
  /// Orders news of apps' processes in a simulated world; `nil` on a real machine.
  private let turns: AppTurns?
  /// Where its tasks run, or `nil` for Swift's own executor.
  private let executor: (any TaskExecutor)?

  init(
    time: any TimeSource, store: any StateStore, supervisor: any Supervisor, registry: AppRegistry, logger: Logger,
    turns: AppTurns? = nil, executor: (any TaskExecutor)? = nil
  ) {
    self.turns = turns
    self.executor = executor
    (entries, continuation) = AsyncStream.makeStream()
    self.time = time
    self.store = store
    self.supervisor = supervisor
    self.registry = registry
    self.logger = logger
  }

  /// Queues an event. Can be called from any thread; events of one thread keep their order. The queue itself has no
  /// limit: a caller that may send many events must wait for `whenDone` of earlier ones.
  /// - Parameter whenDone: called on the loop's thread when the event's effects have been carried out.
  package func handle(_ event: BluetoothSystem.Event, whenDone: (@Sendable () -> Void)? = nil) {
    continuation.yield(.event(event, whenDone: whenDone))
  }

  /// Begins or ends watching the status. While it is watched, changes are reported to `SystemPorts.statusChanged`.
  package func watchStatus(_ isWatched: Bool) { continuation.yield(.statusWatched(isWatched)) }

  /// Ends `run` when everything queued before has been carried out.
  package func stop() { continuation.yield(.stop) }

  /// Sets an alarm that puts a sign of life for systemd's watchdog into the queue, so that the sign shows that the
  /// queue is moving. `run` sets the alarm again each time.
  package func keepWatchdogQuiet(every interval: Duration) -> any Alarm {
    let alarm = time.makeAlarm { [continuation] in continuation.yield(.watchdog) }
    alarm.set(time.now + interval)
    return alarm
  }

  /// Runs until `stop`.
  package func run(
    _ initial: consuming BluetoothSystem, ports: SystemPorts, watchdogInterval: Duration? = nil,
    onStarted: @Sendable () -> Void = {}
  ) async {
    let alarm = time.makeAlarm { [continuation] in continuation.yield(.event(.timePassed)) }
    let storeAlarm = time.makeAlarm { [continuation] in continuation.yield(.storeRetry) }
    let statusAlarm = time.makeAlarm { [continuation] in continuation.yield(.statusCheck) }
    let watchdog = watchdogInterval.map(keepWatchdogQuiet)
    defer {
      alarm.set(nil)
      storeAlarm.set(nil)
      statusAlarm.set(nil)
      watchdog?.set(nil)
    }
    let news = Task(executorPreference: executor) { [supervisor, turns, continuation] in
      for await piece in supervisor.news {
        let tell: AppTurns.Work = { continuation.yield(.event(piece.event)) }
        if let turns { turns.add(piece, tell) } else { tell() }
      }
    }
    defer { news.cancel() }
    let trouble = Trouble()
    let turns = DurableTurns(
      consume initial, store: store, time: time, early: self.turns == nil ? .launches : .records,
      actions: actions(ports, trouble))
    var deadline: Instant?
    var retryAt: Instant?
    var statusWatch = StatusWatch()
    func status() -> SystemStatus {
      var status = turns.system.status
      status.storeTrouble = turns.trouble
      return status
    }
    func compareStatus() {
      if let number = statusWatch.compare(status(), at: time.now) { ports.statusChanged(number) }
    }
    func followStatus() {
      guard statusWatch.isWatched else { return }
      if statusWatch.mayHaveChanged(at: time.now) {
        compareStatus()
      } else if let due = statusWatch.takeNewDeadline() {
        statusAlarm.set(due)
      }
    }
    func setAlarms(after event: BluetoothSystem.Event?) {
      if turns.retryAt != retryAt {
        retryAt = turns.retryAt
        storeAlarm.set(retryAt)
      }
      guard turns.system.nextDeadline != deadline || event?.isTimePassed == true else { return }
      deadline = turns.system.nextDeadline
      alarm.set(deadline)
    }
    func turn(_ event: BluetoothSystem.Event, whenDone: (@Sendable () -> Void)? = nil) {
      // An answer with the status reports the store's problem at this moment.
      trouble.text = turns.trouble
      turns.handle(event, whenDone: whenDone)
      setAlarms(after: event)
    }
    turn(.started)
    onStarted()
    for await entry in entries {
      switch entry {
      case .event(let event, let whenDone):
        turn(event, whenDone: whenDone)
        followStatus()
      case .watchdog:
        sd_notify(0, "WATCHDOG=1")
        if let watchdogInterval { watchdog?.set(time.now + watchdogInterval) }
        turn(.timePassed)
        followStatus()
      case .storeRetry:
        retryAt = nil
        trouble.text = turns.trouble
        turns.retry()
        setAlarms(after: nil)
        followStatus()
      case .statusWatched(true): statusWatch.begin(status())
      case .statusWatched(false):
        statusWatch.end()
        statusAlarm.set(nil)
      case .statusCheck: if statusWatch.takeDeadline(at: time.now) { compareStatus() }
      case .stop:
        let count = turns.finish()
        if count > 0 { logger.critical("\(count) changes of the state were not written") }
        return
      }
    }
  }

  /// What the status says about the store.
  private final class Trouble { var text: String? }

  private func actions(_ ports: SystemPorts, _ trouble: Trouble) -> DurableTurns.Actions {
    DurableTurns.Actions(
      carryOut: { [self] effects in carryOut(effects, ports, trouble.text) },
      tell: { [logger] reason in
        if let reason {
          logger.record(Recorded.Daemon.storeFailed, [.reason: reason], level: .error)
        } else {
          logger.record(Recorded.Daemon.storeRecovered)
        }
        sd_notify(0, "STATUS=" + (reason.map { "The state can't be written: \($0)" } ?? Self.healthyStatus))
      },
      refuse: { token, error in ports.controlReply(token, .failure(error)) },
      drop: { [logger] count, link in
        logger.error("an app is gone whose requests waited for the disk: \(count) of link \(link.rawValue) are dropped")
      })
  }

  /// What systemd shows for a latchkeyd that works normally.
  static let healthyStatus = "Apps and bluetoothd are served."

  private func carryOut(_ effects: [BluetoothSystem.Effect], _ ports: SystemPorts, _ trouble: String?) {
    for effect in effects {
      switch effect {
      case .store: break
      case .bluez(let message): ports.bluez(message)
      case .event(let event, let link): ports.event(event, link)
      case .attachReply(let token, let result): ports.attachReply(token, result)
      case .queryReply(let token, let result): ports.queryReply(token, result)
      case .controlReply(let token, let result):
        ports.controlReply(
          token,
          result.map { status in
            var status = status
            status.version = LatchkeyVersion.current
            status.storeTrouble = trouble
            return status
          })
      case .controlText(let token, let text): ports.controlText(token, text)
      case .launch(let name, let options): launch(name, options)
      case .adopt(let name, let process): supervisor.adopt(name, process)
      case .suspend(let name, let process): supervisor.suspend(name, process)
      case .resume(let name, let process): supervisor.resume(name, process)
      case .kill(let name, let process): supervisor.kill(name, process)
      case .record(let event, let fields): logger.record(event, fields)
      }
    }
  }

  private func launch(_ name: String, _ options: LaunchOptions) {
    guard let app = registry.apps[name] else {
      handle(.appLaunchFailed(name, "It is not installed."))
      return
    }
    do {
      if let process = try supervisor.launch(app, options) { handle(.appLaunched(name, process)) }
    } catch {
      handle(.appLaunchFailed(name, "\(error)"))
    }
  }
}

extension SupervisorNews {
  fileprivate var event: BluetoothSystem.Event {
    switch self {
    case .launched(let name, let process): .appLaunched(name, process)
    case .launchFailed(let name, let reason): .appLaunchFailed(name, reason)
    case .ended(let end): .appEnded(end.bundleIdentifier, end.process, how: end.how)
    }
  }
}

extension BluetoothSystem.Event {
  fileprivate var isTimePassed: Bool { if case .timePassed = self { true } else { false } }
}
