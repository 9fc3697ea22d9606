import CoreBluetooth
import Journal
import LockProtocol
import Logging

/// The agent's radio: a `CBCentralManager` that wants one thing, a link to the lock, and says so once.
final class AgentCentral: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  // Everything here happens on the main queue.
  static let restoreIdentifier = "org.latchkey.agent.central"
  private static let serviceUUID = CBUUID(string: LockService.serviceUUID)
  private static let offerUUID = CBUUID(string: LockService.offerUUID)
  private static let commandUUID = CBUUID(string: LockService.commandUUID)
  private static let answerUUID = CBUUID(string: LockService.answerUUID)

  private unowned let app: AgentApp
  private let logger: Logger
  private var manager: CBCentralManager?
  private var peripheral: CBPeripheral?
  /// The radio was off since the peripheral was got.
  private var isStale = false
  private var offer: CBCharacteristic?
  private var command: CBCharacteristic?
  private var answer: CBCharacteristic?
  /// Peripherals that offered the lock service and refused us: other people's locks.
  private var strangers: Set<UUID> = []
  private var refusals = 0
  private static let maximumRefusals = 3
  /// Subscriptions to the answer that were refused on this link, as before a bond is made.
  private var answerRefusals = 0
  private static let maximumStrangers = 64

  init(_ app: AgentApp, logger: Logger) {
    self.app = app
    self.logger = logger
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: .main, options: [CBCentralManagerOptionRestoreIdentifierKey: Self.restoreIdentifier])
  }

  var peripheralIdentifier: UUID? { peripheral?.identifier }

  func readSignal() {
    guard let peripheral, peripheral.state == .connected else { return }
    peripheral.readRSSI()
  }

  func readOffer() {
    guard let peripheral, let offer, peripheral.state == .connected else { return }
    peripheral.readValue(for: offer)
  }

  func write(_ message: [UInt8]) {
    guard let peripheral, let command, peripheral.state == .connected else {
      return DispatchQueue.main.async { self.app.writeFailed(CBError(.notConnected)) }
    }
    peripheral.writeValue(Data(message), for: command, type: .withResponse)
  }

  // MARK: The manager

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    logger.record(
      "willRestoreState",
      [
        "peripherals": peripherals.map(\.identifier.uuidString).joined(separator: " "),
        "states": peripherals.map { "\($0.state)" }.joined(separator: " "),
        "services": peripherals.flatMap { $0.services ?? [] }.map(\.uuid.uuidString).joined(separator: " "),
      ])
    guard let restored = peripherals.first(where: { $0.identifier == app.knownLock }) ?? peripherals.first else {
      return
    }
    adopt(restored)
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    logger.record("stateUpdated", ["state": "\(central.state)"])
    guard central.state == .poweredOn else {
      // Nobody tells of the links that end with the radio, and some of these states make the peripheral invalid.
      app.linkDown()
      isStale = true
      return
    }
    if isStale || peripheral == nil, let identifier = peripheral?.identifier ?? app.knownLock {
      central.retrievePeripherals(withIdentifiers: [identifier]).first.map(adopt)
    }
    isStale = false
    let isLinked = peripheral?.state == .connected
    app.radioIsReady(isLinked: isLinked)
    guard let peripheral else {
      return central.scanForPeripherals(withServices: [Self.serviceUUID], options: nil)
    }
    switch peripheral.state {
    case .connected: explore(peripheral)
    case .connecting: break  // The system is at it.
    case .disconnected, .disconnecting: central.connect(peripheral, options: nil)
    @unknown default: central.connect(peripheral, options: nil)
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    guard self.peripheral == nil, !strangers.contains(peripheral.identifier) else { return }
    central.stopScan()
    adopt(peripheral)
    central.connect(peripheral, options: nil)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    guard peripheral == self.peripheral else { return }
    logger.record("didConnect", ["peripheral": peripheral.identifier.uuidString])
    answerRefusals = 0
    app.linkUp()
    explore(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
    guard peripheral == self.peripheral else { return }
    logger.warning("no connection: \(error.map { "\($0)" } ?? "no reason given")")
    central.connect(peripheral, options: nil)
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    guard peripheral == self.peripheral else { return }
    logger.record(
      "didDisconnect",
      ["peripheral": peripheral.identifier.uuidString, "error": error.map { "\($0)" } ?? ""])
    app.linkDown()
    // Asked for once; from here on the system waits for the lock, for days if need be, with or without this process.
    central.connect(peripheral, options: nil)
  }

  private func adopt(_ peripheral: CBPeripheral) {
    self.peripheral = peripheral
    peripheral.delegate = self
    refusals = 0
    forgetCharacteristics()
    findCharacteristics(peripheral)
  }

  // MARK: The lock's service

  /// Takes up what is known of the lock's service, and discovers the rest.
  private func explore(_ peripheral: CBPeripheral) {
    findCharacteristics(peripheral)
    guard let offer, let answer, command != nil else { return discover(peripheral) }
    if offer.isNotifying, answer.isNotifying {
      logger.record("subscription.alive")
      return
    }
    // The answer's first: with the offer's the lock begins to speak.
    if !answer.isNotifying { peripheral.setNotifyValue(true, for: answer) }
    if !offer.isNotifying { peripheral.setNotifyValue(true, for: offer) }
  }

  private func discover(_ peripheral: CBPeripheral) {
    logger.record("discovery.started", ["peripheral": peripheral.identifier.uuidString])
    peripheral.discoverServices([Self.serviceUUID])
  }

  private func findCharacteristics(_ peripheral: CBPeripheral) {
    let service = peripheral.services?.first { $0.uuid == Self.serviceUUID }
    for characteristic in service?.characteristics ?? [] {
      switch characteristic.uuid {
      case Self.offerUUID: offer = characteristic
      case Self.commandUUID: command = characteristic
      case Self.answerUUID: answer = characteristic
      default: break
      }
    }
  }

  private func forgetCharacteristics() {
    offer = nil
    command = nil
    answer = nil
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    guard invalidatedServices.contains(where: { $0.uuid == Self.serviceUUID }) else { return }
    logger.record("services.changed", ["peripheral": peripheral.identifier.uuidString])
    forgetCharacteristics()
    discover(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard let service = peripheral.services?.first(where: { $0.uuid == Self.serviceUUID }) else {
      return logger.warning("the lock service is not there: \(error.map { "\($0)" } ?? "no error")")
    }
    peripheral.discoverCharacteristics([Self.offerUUID, Self.commandUUID, Self.answerUUID], for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    findCharacteristics(peripheral)
    guard offer != nil, command != nil, answer != nil else {
      return logger.warning("the lock service is not whole: \(error.map { "\($0)" } ?? "no error")")
    }
    explore(peripheral)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    if let error {
      if characteristic.uuid == Self.answerUUID { answerRefusals += 1 }
      return logger.error("no subscription to \(characteristic.uuid): \(error)")
    }
    if characteristic.uuid == Self.offerUUID, characteristic.isNotifying { logger.record("subscribed") }
  }

  /// An offer has come, so the lock is talking to us: without the answer's subscription we would talk and not hear.
  private func subscribeToAnswer(_ peripheral: CBPeripheral) {
    guard let answer, !answer.isNotifying, (1..<Self.maximumRefusals).contains(answerRefusals) else { return }
    peripheral.setNotifyValue(true, for: answer)
  }

  func peripheral(_ peripheral: CBPeripheral, didReadRSSI signal: NSNumber, error: (any Error)?) {
    if let error { logger.info("the signal can't be read: \(error)") }
    app.signalRead(error == nil ? signal.intValue : nil)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard error == nil, let value = characteristic.value else {
      return logger.warning("no value of \(characteristic.uuid): \(error.map { "\($0)" } ?? "none given")")
    }
    switch characteristic.uuid {
    case Self.offerUUID:
      subscribeToAnswer(peripheral)
      if Array(value) == LockService.offerHint { readOffer() } else { app.offerReceived(Array(value)) }
    case Self.answerUUID:
      refusals = 0
      app.answerReceived(Array(value))
    default: break
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    guard characteristic.uuid == Self.commandUUID, let error else { return }
    app.writeFailed(error)
    refusals += 1
    giveUpOnStranger(peripheral)
  }

  /// A lock that refuses us, and has never proven to be ours, is somebody else's: look for another.
  private func giveUpOnStranger(_ peripheral: CBPeripheral) {
    guard refusals >= Self.maximumRefusals, app.knownLock != peripheral.identifier, let manager else { return }
    logger.warning("this is not the lock that the keys are for", metadata: ["peripheral": "\(peripheral.identifier)"])
    if strangers.count == Self.maximumStrangers { strangers = [] }
    strangers.insert(peripheral.identifier)
    self.peripheral = nil
    forgetCharacteristics()
    app.linkDown()
    manager.cancelPeripheralConnection(peripheral)
    manager.scanForPeripherals(withServices: [Self.serviceUUID], options: nil)
  }
}
