import AppLink
import Dispatch
import Foundation

/// What central and peripheral managers have in common.
open class CBManager: CoreBluetoothObject, @unchecked Sendable {
  let session = AppSession.active
  // Set once, by `prepare`, before any other code sees the manager.
  private(set) var queue = DispatchQueue.main
  /// Calls the delegate on the queue.
  private(set) var delivery = SerialDelivery(.main)
  private(set) var creation = ManagerCreation(role: .central)
  /// Set once, by the session, before any other code sees the manager.
  var managerIdentifier = ManagerIdentifier(0)
  /// The system refuses this manager for good.
  var isRejected = false
  /// The system knows the manager and accepts requests for it.
  var isKnownToSystem = false
  /// The system has sent an event for this manager. It has been delivered or is on the queue.
  var hasHeard = false
  /// The system has sent only parts of what is to be restored. They count for nothing until the rest has come.
  var hasPartsToRestore = false
  /// The state last told, or `nil` before the first.
  var toldState: ManagerState? { didSet { noteChange() } }

  /// The user is to be told if Bluetooth is off when the manager is made.
  private var showsPowerAlert = false

  /// Apps make a `CBCentralManager` or a `CBPeripheralManager` instead. This is public because an app's subclass of
  /// those inherits their initializers only if this class has no other designated initializer.
  public override init() {}

  /// Completes the initialization of a role's manager.
  func prepare(_ creation: ManagerCreation, _ queue: DispatchQueue?, showsPowerAlert: Bool) {
    self.creation = creation
    self.queue = queue ?? .main
    delivery = SerialDelivery(self.queue)
    self.showsPowerAlert = showsPowerAlert
  }

  deinit {
    let session = session
    let identifier = managerIdentifier
    // Not called here directly, because a `deinit` may run inside any operation of the session.
    session.doLater { session.forget(identifier) }
  }

  /// The state last told to the delegate.
  open var state: CBManagerState {
    locked { toldState.flatMap { CBManagerState(rawValue: Int($0.rawValue)) } ?? .unknown }
  }

  /// Whether the user lets this app use Bluetooth. On Linux an app may until its user says no with `latchkey allow APP no`,
  /// so this is never `.notDetermined`. It is `.denied` after a no, and `.restricted` if the system does not know the app. A
  /// manager's state `.unauthorized` comes with both, and is how an app learns of a change.
  ///
  /// Before a manager has a state, this is `.allowedAlways`.
  open class var authorization: CBManagerAuthorization { AppSession.active.authorization }

  @available(*, deprecated, message: "use the class property")
  open var authorization: CBManagerAuthorization { Self.authorization }

  /// Runs `work` on the manager's queue, later. Runs `after` when everything that `work` put on that queue has run. On
  /// a concurrent queue that moment can't be known, and `after` may run earlier.
  func enqueue(_ work: @escaping @Sendable () -> Void, after: @escaping @Sendable () -> Void) {
    delivery.async { [session, queue] in
      // Objects that a delegate creates belong to the same app.
      session.asApp(work)
      queue.async { after() }
    }
  }

  /// Called under the lock.
  func forgetPartsToRestore() {}

  /// Applies one event to the objects' state and tells the delegate. Runs on the manager's queue.
  func apply(_ body: Event.Body) {
    CallRecord.note(body, self)
    switch body {
    case .stateChanged(let state): change(to: state)
    case .managerRejected(let error):
      session.logger.critical("API MISUSE: the system rejects \(self): \(error)")
      locked { isRejected = true }
      change(to: .unsupported)
    default: applyRoleEvent(body)
    }
  }

  private func change(to state: ManagerState) {
    if locked({ toldState == nil }), creation.restoreIdentifier == nil { noteUselessRestoration() }
    locked {
      let isEndOfRadio = toldState == .poweredOn && state != .poweredOn
      if showsPowerAlert { session.showPowerAlert(after: toldState, now: state) }
      toldState = state
      session.learned(state)
      if isEndOfRadio { radioDidEnd() }
      if state == .unauthorized { accessDidEnd() }
    }
    tells("didUpdateState")
    tellState()
  }

  /// Whether commands are accepted. If not, the misuse is logged.
  func acceptsCommands(_ command: String) -> Bool {
    guard state != .poweredOn else { return true }
    session.logger.critical(
      "API MISUSE: \(command) is ignored: \(self) accepts commands only in the state poweredOn, not \(state)")
    return false
  }

  /// Logs that the delegate expects a restoration while the manager has no restore identifier.
  private func noteUselessRestoration() {
    let name = creation.role == .central ? "centralManager" : "peripheralManager"
    guard let delegate = delegateObject,
      DeclaredMethods.declares(type(of: delegate), name, label: "willRestoreState")
    else { return }
    session.logger.critical(
      """
      API MISUSE: \(self) has no restore identifier, but its delegate \(type(of: delegate)) has \
      \(name)(_:willRestoreState:). Nothing is restored
      """)
  }

  /// Logs that no delegate is told `willRestoreState`: the app sets the delegate too late, or does not keep it.
  func noteLostRestoration() {
    session.logger.critical(
      """
      API MISUSE: \(self) has no delegate while its state is restored, so nobody is told willRestoreState. Give it one when it is \
      made, and keep that
      """)
  }

  // Overridden for each role.
  var delegateObject: AnyObject? { nil }
  func applyRoleEvent(_ body: Event.Body) {}
  func tellState() {}
  /// The state was `poweredOn` and no longer is. Called under the lock. It is not called for what is restored while the
  /// radio is off: that goes on when the radio is on.
  func radioDidEnd() {}
  /// The app may not use Bluetooth any more. The system has forgotten what the manager asked for. Called under the lock.
  func accessDidEnd() {}
  /// What delegates have been told so far. Called under the lock.
  func makeView() -> ManagerView { ManagerView() }
  /// The view was sent. Returns the peripherals whose connections the app has cancelled without an answer. Called under the lock.
  func viewWasShown() -> [PeerIdentifier] { [] }
  /// The system knows this manager again. Runs on the manager's queue.
  /// - Parameter cancelled: what `viewWasShown` has returned.
  func didResume(cancelled: [PeerIdentifier]) {}

  override func property(_ name: String) -> Property? {
    switch name {
    case "state": Property(state.rawValue)
    case "authorization": Property(Self.authorization.rawValue)
    default: super.property(name)
    }
  }

  open override var description: String {
    let name = creation.restoreIdentifier.map { ", restore identifier \"\($0)\"" } ?? ""
    return "<\(type(of: self)) \(managerIdentifier.rawValue)\(name)>"
  }

  static func showsPowerAlert(_ options: [String: Any]?, _ key: String, _ manager: String) -> Bool {
    guard let value = options?[key] else { return false }
    guard let isShown = booleanOption(value) else {
      fatalError("\(manager): the option \(key) has to be a Bool, not \(value)")
    }
    return isShown
  }

  /// Reads the restore identifier, and checks that the app may have one.
  static func creation(
    role: Role, options: [String: Any]?, key: String, mode: String, manager: String
  ) -> ManagerCreation {
    guard let value = options?[key] else { return ManagerCreation(role: role) }
    guard let identifier = value as? String, !identifier.isEmpty else {
      fatalError("\(manager): the option \(key) has to be a string that is not empty, not \(value)")
    }
    if let modes = AppSession.active.backgroundModes, !modes.contains(mode) {
      fatalError(
        "\(manager): the restore identifier \"\(identifier)\" needs the background mode \"\(mode)\" among the "
          + "UIBackgroundModes of the app's Info.plist")
    }
    return ManagerCreation(role: role, restoreIdentifier: identifier)
  }
}
