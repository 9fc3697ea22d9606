import AppLink
import Dispatch
import Foundation
import Logging

/// One app's attachment to the system: it routes events to managers in order, and brings every manager back
/// after the system went away.
///
/// A process is one app and has one session. In a test several apps share a process: code that runs inside
/// `AppSession.$current.withValue(session)` belongs to that session's app.
package final class AppSession: AppLinkDelegate, @unchecked Sendable {
  @TaskLocal package static var current: AppSession?

  /// The session that a manager created here belongs to.
  static var active: AppSession { current ?? process }

  private static let process = AppSession(
    identity: Result { () throws(AppIdentity.Missing) in try AppIdentity.ofThisProcess() },
    logger: Logger(label: "org.latchkey.corebluetooth"), keep: ProcessLink.keepDefaults, makeLink: ProcessLink.make)

  /// Whether the system is there, and what it answered.
  private enum Phase {
    /// Not attached yet, or the system is away.
    case away
    case attached(AttachReply)
    case refused(AppLinkError)
    /// The app has no usable identity, or there is no link to latchkeyd: it can never attach.
    case unusable(String)
  }

  package let logger: Logger
  /// `nil` outside tests.
  let observer: (any SessionObserver)?
  private let identity: AppIdentity?
  /// Writes what the app has stored (`UserDefaults`) to disk. Called before the system hears that the app has handled
  /// everything, because the system may end the app from then on.
  private let keep: (@Sendable () -> Void)?
  private var phase = Phase.away
  private var connection: (any AppLinkConnection)?
  private var managers: [ManagerIdentifier: WeakManager] = [:]
  private var lastManager: UInt32 = 0
  private var lastOperation: UInt64 = 0
  private var lastEvent: EventSequence?
  private var actions = RequestedActions()
  private var told = ToldUser()
  /// Which centrals the app lets in. A system that comes back is told it again.
  private var admission: CentralAdmission?
  /// The number of events whose delegate calls have not returned, plus the managers that have not been brought back
  /// yet.
  private var outstanding = 0
  private let phaseChanged = NSCondition()
  /// The last state that a manager was told says that the user does not let this app use Bluetooth.
  private var isDenied = false

  private struct WeakManager { weak var manager: CBManager? }

  /// - Parameter makeLink: Makes the link. Once started, the link calls its delegate from a thread of its own.
  package init(
    identity: Result<AppIdentity, AppIdentity.Missing>, logger: Logger, observer: (any SessionObserver)? = nil,
    keep: (@Sendable () -> Void)? = nil, makeLink: (any AppLinkDelegate, Logger) -> Link
  ) {
    self.logger = logger
    self.observer = observer
    self.keep = keep
    self.identity = try? identity.get()
    switch identity {
    case .failure(let missing):
      phase = .unusable("this app can't use Bluetooth: \(missing)")
    case .success:
      let link = makeLink(self, logger)
      // Set before the link is started, because the link may attach at once.
      connection = link.connection
      do { try link.start() } catch {
        locked { phase = .unusable("this app can't use Bluetooth: no link to the system: \(error)") }
      }
    }
    if case .unusable(let reason) = locked({ phase }) { logger.critical("\(reason)") }
  }

  /// Background modes in the app's Info.plist, or `nil` if it has no usable one.
  var backgroundModes: [String]? { identity?.backgroundModes }

  package var attachment: Attachment {
    locked { Attachment(bundleIdentifier: identity?.bundleIdentifier ?? "", lastEvent: lastEvent) }
  }

  /// Whether the app may use Bluetooth, as far as it was told.
  var authorization: CBManagerAuthorization {
    locked {
      if case .refused(let error) = phase, Self.state(for: error) == .unauthorized { return .restricted }
      return isDenied ? .denied : .allowedAlways
    }
  }

  /// A manager was told this state.
  func learned(_ state: ManagerState) {
    switch state {
    case .unauthorized: isDenied = true
    case .poweredOn, .poweredOff: isDenied = false
    case .unknown, .resetting, .unsupported: break
    }
  }

  // MARK: Managers

  func register(_ manager: CBManager) {
    locked {
      lastManager += 1
      manager.managerIdentifier = ManagerIdentifier(lastManager)
      enter(manager)
    }
  }

  /// - Parameter waited: The manager with the same restore identifier that this one has already waited for.
  private func enter(_ manager: CBManager, waited: ManagerIdentifier? = nil) {
    if let other = namesake(of: manager) {
      if other.managerIdentifier == waited { reject(manager) } else { enter(manager, afterTurnOf: other) }
      return
    }
    managers[manager.managerIdentifier] = WeakManager(manager: manager)
    switch phase {
    case .attached: create(manager)
    case .away:
      manager.isKnownToSystem = connection?.createEarly(manager.managerIdentifier, manager.creation) ?? false
    case .refused(let error): deliverState(Self.state(for: error), to: manager)
    case .unusable: deliverState(.unsupported, to: manager)
    }
  }

  /// Registers the manager after the other one's present delegate call. An app may replace a manager within such a
  /// call, which keeps the old manager alive until it returns.
  private func enter(_ manager: CBManager, afterTurnOf other: CBManager) {
    other.delivery.async { [weak self, weak manager, waited = other.managerIdentifier] in
      locked {
        if let self, let manager { self.enter(manager, waited: waited) }
      }
    }
  }

  private func reject(_ manager: CBManager) {
    logger.critical(
      """
      API MISUSE: two \(manager.creation.role.rawValue) managers with the restore identifier \
      "\(manager.creation.restoreIdentifier ?? "")"; the later one stays unsupported
      """)
    manager.isRejected = true
    deliverState(.unsupported, to: manager)
  }

  /// All managers that still exist, in the order in which they were made.
  var livingManagers: [CBManager] {
    locked { managers.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap(\.value.manager) }
  }

  /// Another manager of the same role that has the same restore identifier.
  private func namesake(of manager: CBManager) -> CBManager? {
    guard let restoreIdentifier = manager.creation.restoreIdentifier else { return nil }
    for (identifier, box) in managers {
      guard let other = box.manager else {
        // The other manager was deallocated, but `forget` has not been called for it yet, so it is forgotten now.
        forget(identifier)
        continue
      }
      let creation = other.creation
      if creation.role == manager.creation.role, creation.restoreIdentifier == restoreIdentifier { return other }
    }
    return nil
  }

  private func create(_ manager: CBManager) {
    manager.isKnownToSystem = true
    if manager.hasPartsToRestore {
      // The parts came from a system that went away before it had sent the rest.
      manager.hasPartsToRestore = false
      manager.enqueue {
        locked { manager.forgetPartsToRestore() }
      } after: {
      }
    }
    connection?.send(.createManager(manager.managerIdentifier, manager.creation))
  }

  /// A manager was deallocated.
  func forget(_ identifier: ManagerIdentifier) {
    locked {
      guard managers.removeValue(forKey: identifier) != nil else { return }
      switch phase {
      case .attached: connection?.send(.destroyManager(identifier))
      case .away: connection?.destroyEarly(identifier)
      case .refused, .unusable: break
      }
    }
  }

  func makeOperationIdentifier() -> OperationIdentifier {
    locked {
      lastOperation += 1
      return OperationIdentifier(lastOperation)
    }
  }

  // MARK: Messages to the system

  /// Sends a request. While the system is away, requests are dropped; the manager repeats them in its view. Returns
  /// whether the request was sent.
  @discardableResult
  func send(_ request: Request, for manager: CBManager) -> Bool {
    locked {
      guard manager.isKnownToSystem, case .attached = phase else { return false }
      connection?.send(request)
      return true
    }
  }

  /// Asks the system and blocks until it answers. `nil` if the system is away or refuses.
  func query(_ query: Query) -> QueryReply? {
    // Outside the lock: the answer takes a while, and events continue in the meantime.
    guard let connection = locked({ connection }) else { return nil }
    do { return try connection.query(query) } catch {
      logger.warning("the system did not answer \(query): \(error)")
      return nil
    }
  }

  // MARK: AppLinkDelegate

  package func linkDidAttach(_ reply: AttachReply) {
    locked {
      phase = .attached(reply)
      for manager in managers.values.compactMap(\.manager) where !manager.isRejected {
        if manager.hasHeard { bringBack(manager) } else if !manager.isKnownToSystem { create(manager) }
      }
      if let admission { connection?.send(.admit(admission)) }
      for request in told.takeUntold() { connection?.send(request) }
      announceIfIdle()
    }
    wakeWaiters()
  }

  /// Asks for the same manager again, once its delegate has been told everything from before.
  private func bringBack(_ manager: CBManager) {
    manager.isKnownToSystem = false
    outstanding += 1
    manager.enqueue { [self] in
      let cancelled: [PeerIdentifier] = locked {
        guard case .attached = phase else { return [] }
        manager.isKnownToSystem = true
        let (parts, rest) = manager.makeView().inParts
        for (peripherals, options) in parts {
          connection?.send(.heldPeripherals(manager.managerIdentifier, peripherals, options))
        }
        connection?.send(.resumeManager(manager.managerIdentifier, manager.creation, rest))
        return manager.viewWasShown()
      }
      manager.didResume(cancelled: cancelled)
    } after: { [self] in
      finishOne()
    }
  }

  package func linkDidReceive(_ event: Event) {
    locked {
      if let lastEvent, event.sequence <= lastEvent {
        logger.notice("event \(event.sequence.rawValue) came again and is dropped")
        return
      }
      lastEvent = event.sequence
      outstanding += 1
      if case .actionRequested(let identifier, let name) = event.body {
        perform(identifier, name, nil)
        return finishOne()
      }
      if case .questionAsked(let identifier, let name, let argument) = event.body {
        perform(identifier, name, argument)
        return finishOne()
      }
      if case .actionWithdrawn(let identifier) = event.body {
        actions.withdraw(identifier)
        return finishOne()
      }
      guard let manager = event.manager.flatMap({ managers[$0]?.manager }) else { return finishOne() }
      if case .restoredPeripherals = event.body {
        manager.hasPartsToRestore = true
      } else {
        manager.hasHeard = true
      }
      if case .operationCompleted(_, let operation, _) = event.body {
        (manager as? CBCentralManager)?.answered(operation)
      }
      // A queued event must not keep its manager alive: an app that has released the manager may make another with the
      // same restore identifier. This thread's own reference is let go under the lock for the same reason, because
      // `namesake(of:)` looks for the manager under the lock.
      manager.enqueue { [weak manager] in
        manager?.apply(event.body)
      } after: { [self] in
        finishOneAndKeep()
      }
    }
  }

  // MARK: The user

  private func perform(_ identifier: ActionIdentifier, _ name: String, _ argument: String?) {
    let action = UserAction(name: name, argument: argument) { [weak self] outcome in
      let request: Request =
        switch outcome {
        case .done: .completeAction(identifier, error: nil)
        case .answered(let text): .answerQuestion(identifier, text: text)
        case .failed(let reason): .completeAction(identifier, error: reason)
        }
      locked {
        self?.actions.completed(identifier)
        self?.connection?.send(request)
      }
    }
    actions.perform(action, identifier)
  }

  func setActionHandler(_ queue: DispatchQueue, _ handle: @escaping @Sendable (UserAction) -> Void) {
    locked { actions.setHandler(queue, handle) }
  }

  func showAlert(_ text: String?) { tell { told in told.showAlert(text) } }

  func admit(_ admission: CentralAdmission) {
    locked {
      guard self.admission != admission else { return }
      self.admission = admission
      if case .attached = phase { connection?.send(.admit(admission)) }
    }
  }

  func report(_ report: AppReport) { tell { told in told.report(report) } }

  /// Shows the user that Bluetooth is off, or takes that back. Called under the lock.
  func showPowerAlert(after before: ManagerState?, now state: ManagerState) {
    tell { told in told.showPowerAlert(after: before, now: state) }
  }

  /// Applies a change, and sends the request that results from it. While the system is away, the request is kept for
  /// it.
  private func tell(_ change: (inout ToldUser) -> Request?) {
    locked {
      guard let request = change(&told) else { return }
      if case .attached = phase { connection?.send(request) } else { told.keep(request) }
    }
  }

  /// Does what follows from the end of an object. A `deinit` may run inside any operation, so it is done later. The system hears
  /// that the app has handled an event after that.
  func doLater(_ work: @escaping @Sendable () -> Void) {
    locked { outstanding += 1 }
    let tidying = observer?.tidyingBegins()
    housekeepingQueue.async { [self] in
      work()
      finishOneAndKeep()
      withExtendedLifetime(tidying) {}
    }
  }

  private func finishOneAndKeep() {
    if let keep, locked({ outstanding == 1 }) { keep() }
    finishOne()
  }

  private func finishOne() {
    locked {
      outstanding -= 1
      announceIfIdle()
    }
  }

  private func announceIfIdle() {
    guard outstanding == 0, let lastEvent, case .attached = phase else { return }
    connection?.send(.handled(through: lastEvent))
  }

  package func linkDidDetach() {
    locked {
      phase = .away
      actions.withdrawAll()
      for manager in managers.values.compactMap(\.manager) { manager.isKnownToSystem = false }
    }
    logger.notice("the Bluetooth system is away; managers come back with it")
  }

  package func linkWasRefused(_ error: AppLinkError) {
    logger.critical("the Bluetooth system refuses this app: \(error)")
    locked {
      phase = .refused(error)
      for manager in managers.values.compactMap(\.manager) where !manager.isRejected {
        manager.isKnownToSystem = false
        deliverState(Self.state(for: error), to: manager)
      }
    }
    wakeWaiters()
  }

  private static func state(for error: AppLinkError) -> ManagerState {
    switch error.code {
    case .unknownApp, .appLeftOut, .notThatApp: .unauthorized
    default: .unsupported
    }
  }

  private func deliverState(_ state: ManagerState, to manager: CBManager) {
    manager.enqueue {
      manager.apply(.stateChanged(state))
    } after: {
    }
  }

  // MARK: Launch

  private func wakeWaiters() {
    phaseChanged.lock()
    phaseChanged.broadcast()
    phaseChanged.unlock()
  }

  /// Blocks until the system has answered the first attachment. `nil` if it refuses, or can never answer.
  package func waitForAttachReply() -> AttachReply? {
    phaseChanged.lock()
    defer { phaseChanged.unlock() }
    while true {
      switch locked({ phase }) {
      case .attached(let reply): return reply
      case .refused, .unusable: return nil
      case .away: phaseChanged.wait()
      }
    }
  }
}
