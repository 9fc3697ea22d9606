import AppLink
import BluetoothTypes
import Dispatch
import Foundation

/// Scans for peripherals and connects to them.
///
/// A connection request never times out. With a restore identifier, the system keeps the request even while the app
/// is not running, and relaunches the app when the request completes.
open class CBCentralManager: CBManager, @unchecked Sendable {
  /// What a machine's Bluetooth can do.
  public struct Feature: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let extendedScanAndConnect = Self(rawValue: 1 << 0)
    public static let channelSounding = Self(rawValue: 1 << 10)
  }

  private weak var currentDelegate: (any CBCentralManagerDelegate)?
  /// Every peripheral object that the app still refers to.
  var table: [PeerIdentifier: WeakPeripheral] = [:]
  /// Peripherals that the manager itself retains: restored and connected ones and, with a restore identifier, also
  /// those it asked to be connected.
  var held: [PeerIdentifier: CBPeripheral] = [:]
  /// The options of every connection that the app asked for.
  var connectOptions: [PeerIdentifier: ConnectOptions] = [:]
  var scan: ScanRequest? { didSet { noteChange() } }
  /// The peripherals that the scan has reported, and what was told about each. A peripheral is removed when its
  /// connection ends, so that it is reported again.
  var discovered = ToldPeripherals()
  var pending: [OperationIdentifier: PendingOperation] = [:]
  var connectionWatch: ConnectionWatch?
  private var tableLimit = 64
  /// The peripherals to restore that have arrived so far. The last of them comes with `willRestoreCentral`.
  var partsToRestore: [PeripheralSnapshot] = []

  struct WeakPeripheral { weak var peripheral: CBPeripheral? }

  /// - Parameters:
  ///   - delegate: Receives all events; its first call is the restoration or the state. Not retained.
  ///   - queue: The queue on which the delegate is called; `nil` means the main queue.
  ///   - options: `CBCentralManagerOption…Key`.
  @discardableResult
  public init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil) {
    currentDelegate = delegate
    super.init()
    prepare(
      Self.creation(
        role: .central, options: options, key: CBCentralManagerOptionRestoreIdentifierKey, mode: "bluetooth-central",
        manager: "CBCentralManager"),
      queue,
      showsPowerAlert: Self.showsPowerAlert(options, CBCentralManagerOptionShowPowerAlertKey, "CBCentralManager"))
    session.register(self)
  }

  @discardableResult
  public convenience init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  @discardableResult
  public convenience override init() { self.init(delegate: nil, queue: nil, options: nil) }

  /// The system ends the connections and requests of a manager that is gone.
  deinit {
    locked {
      for peripheral in table.values.compactMap(\.peripheral) { peripheral.managerDidEnd() }
    }
  }

  open weak var delegate: (any CBCentralManagerDelegate)? {
    get { locked { currentDelegate } }
    set { locked { currentDelegate = newValue } }
  }

  /// Whether the manager scans. It is `true` in `willRestoreState` if a scan is restored, although no state has been
  /// told yet: the system has never stopped that scan.
  open var isScanning: Bool { locked { scan != nil && (toldState ?? .poweredOn) == .poweredOn } }

  @discardableResult
  open class func supports(_ features: Feature) -> Bool { features.isEmpty }

  // MARK: Scanning

  /// A second call replaces the scan. In the background, only a scan for named services finds anything.
  open func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
    let request = ScanRequest(services: serviceUUIDs, appOptions: options)
    guard acceptsCommands("scanForPeripherals(withServices:options:)") else { return }
    locked {
      scan = request
      discovered = ToldPeripherals()
      session.send(.central(managerIdentifier, .scan(request)), for: self)
    }
  }

  /// Ends the scan.
  open func stopScan() {
    guard acceptsCommands("stopScan()") else { return }
    locked {
      guard scan != nil else { return }
      scan = nil
      session.send(.central(managerIdentifier, .stopScan), for: self)
    }
  }

  // MARK: Connecting

  /// Asks the system to connect as soon as the peripheral can be reached. Never times out.
  open func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
    let connectOptions = ConnectOptions(appOptions: options)
    guard acceptsCommands("connect(_:options:)"), isMine(peripheral, "connect(_:options:)") else { return }
    locked {
      let identifier = peripheral.peer
      self.connectOptions[identifier] = connectOptions
      peripheral.isAwaitingConnection = true
      if peripheral.currentState != .connected { peripheral.currentState = .connecting }
      if creation.restoreIdentifier != nil { held[identifier] = peripheral }
      session.send(.central(managerIdentifier, .connect(identifier, connectOptions)), for: self)
    }
  }

  /// Ends the connection, or the request for one. `didDisconnectPeripheral` follows.
  open func cancelPeripheralConnection(_ peripheral: CBPeripheral) {
    let command = "cancelPeripheralConnection(_:)"
    guard acceptsCommands(command), isMine(peripheral, command) else { return }
    let isUnused = locked {
      let identifier = peripheral.peer
      guard peripheral.currentState != .disconnected || connectOptions[identifier] != nil else { return true }
      connectOptions[identifier] = nil
      peripheral.isAwaitingConnection = false
      peripheral.currentState = .disconnecting
      peripheral.isCancelling = true
      // Retained until the system has answered, because the delegate will be told.
      held[identifier] = peripheral
      session.send(.central(managerIdentifier, .cancelConnection(identifier)), for: self)
      return false
    }
    if isUnused {
      session.logger.critical(
        "API MISUSE: \(command) is ignored: no app has or requests a connection to the unused \(peripheral)")
    }
  }

  private func isMine(_ peripheral: CBPeripheral, _ command: String) -> Bool {
    guard peripheral.manager === self else {
      session.logger.critical(
        "API MISUSE: \(command) is ignored: \(peripheral) belongs to another manager than \(self)")
      return false
    }
    return true
  }

  // MARK: Retrieving

  /// Peripherals that this machine knows, in the order of `identifiers`; unknown ones are left out. It knows those that an app holds or
  /// that have a bond, and the last few thousand that it has heard or connected since latchkeyd started. While the system is away, only
  /// those for which this manager already has an object.
  @discardableResult
  open func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
    guard acceptsCommands("retrievePeripherals(withIdentifiers:)") else { return [] }
    let peers = identifiers.map { PeerIdentifier($0) }
    if let reply = session.query(.retrievePeripherals(managerIdentifier, peers)) { return peripherals(in: reply) }
    return locked { peers.compactMap { table[$0]?.peripheral } }
  }

  /// Peripherals that are connected to this machine through any app and offer one of the services. The result is empty
  /// if no service is named. For this app each of them is disconnected until the app connects to it itself.
  @discardableResult
  open func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] {
    guard acceptsCommands("retrieveConnectedPeripherals(withServices:)") else { return [] }
    let services = serviceUUIDs.map(\.bluetoothUUID)
    if let reply = session.query(.retrieveConnectedPeripherals(managerIdentifier, withServices: services)) {
      return peripherals(in: reply)
    }
    let wanted = Set(serviceUUIDs)
    return locked {
      held.values.filter { peripheral in
        peripheral.currentState == .connected
          && (peripheral.serviceList ?? []).contains { wanted.contains($0.attributeUUID) }
      }.sorted { $0.peer < $1.peer }
    }
  }

  private func peripherals(in reply: QueryReply) -> [CBPeripheral] {
    locked {
      reply.map { snapshot in
        let peripheral = self.peripheral(snapshot.identifier)
        // For known peripherals, events are the source of the state. The answer only fills in what is new.
        if peripheral.currentName == nil { peripheral.currentName = snapshot.name }
        return peripheral
      }
    }
  }

  /// From now on `connectionEventDidOccur` tells the delegate when a matching peripheral is connected to this machine,
  /// whichever app or side made the link, and when it no longer is. A second call replaces the first; `nil` ends the
  /// reports. Connections of Bluetooth Classic are not reported, because latchkeyd sees only Bluetooth LE.
  open func registerForConnectionEvents(options: [CBConnectionEventMatchingOption: Any]? = nil) {
    let watch = options.map { ConnectionWatch(appOptions: $0) }
    guard acceptsCommands("registerForConnectionEvents(options:)") else { return }
    locked {
      connectionWatch = watch
      session.send(.central(managerIdentifier, .watchConnections(watch)), for: self)
    }
  }

  // MARK: Objects

  /// The one object for this peripheral. Called under the lock.
  func peripheral(_ identifier: PeerIdentifier) -> CBPeripheral {
    if let known = table[identifier]?.peripheral { return known }
    if table.count >= tableLimit {
      table = table.filter { $0.value.peripheral != nil }
      tableLimit = max(64, table.count * 2)
    }
    let peripheral = CBPeripheral(identifier, manager: self)
    table[identifier] = WeakPeripheral(peripheral: peripheral)
    return peripheral
  }

  /// The app released its last reference to a peripheral that it had asked to connect.
  func abandoned(_ identifier: PeerIdentifier) {
    locked {
      guard table[identifier]?.peripheral == nil, connectOptions.removeValue(forKey: identifier) != nil else { return }
      table[identifier] = nil
      session.logger.critical(
        "API MISUSE: the request to connect to \(identifier) is cancelled: nothing refers to its CBPeripheral any more")
      session.send(.central(managerIdentifier, .cancelConnection(identifier)), for: self)
    }
  }

  /// A scan ends with the radio. The system is told; otherwise it would continue the scan and wake the app in vain.
  override func radioDidEnd() {
    guard scan != nil else { return }
    scan = nil
    discovered = ToldPeripherals()
    session.send(.central(managerIdentifier, .stopScan), for: self)
  }

  /// Every peripheral is disconnected. As on Apple's systems, no delegate is called for it.
  override func accessDidEnd() {
    connectionWatch = nil
    for peripheral in table.values.compactMap(\.peripheral) {
      peripheral.isAwaitingConnection = false
      connectionEnded(peripheral)
    }
  }

  override func property(_ name: String) -> Property? {
    switch name {
    case "delegate": Property(delegate)
    case "isScanning", "scanning": Property(isScanning)
    default: super.property(name)
    }
  }

  override var delegateObject: AnyObject? { delegate }
  override func tellState() { delegate?.centralManagerDidUpdateState(self) }
  override func applyRoleEvent(_ body: Event.Body) { applyCentralEvent(body) }
  override func makeView() -> ManagerView { makeCentralView() }
  override func forgetPartsToRestore() { partsToRestore = [] }
  override func viewWasShown() -> [PeerIdentifier] { askAnewAfterCancellations() }
  override func didResume(cancelled: [PeerIdentifier]) {
    confirmCancellations(cancelled)
    locked {
      if let connectionWatch {
        session.send(.central(managerIdentifier, .watchConnections(connectionWatch)), for: self)
      }
    }
    resumePendingOperations()
  }
}
