import CoreBluetooth
import Foundation
import Journal
import JournalEvents
import LockCryptography
import LockProtocol
import Logging
import Timekeeping

/// An agent that uses the API correctly but follows no policy.
///
/// Its ways to misbehave: "discovers" looks for services at every connection; "resubscribes" subscribes at every
/// connection; "unordered" creates its manager anew when it should restore it; "doubled" has two managers for one
/// lock; "unlocks" writes an unlock for every offer, "deaf" one and never hears the answer, "garbage" what no lock
/// can read; "refused" believes that it was refused, though it asked nothing; "errors" logs an error.
final class RogueAgent: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  // Everything here happens on the main queue.
  private static let service = CBUUID(string: LockService.serviceUUID)
  private static let offer = CBUUID(string: LockService.offerUUID)
  private static let command = CBUUID(string: LockService.commandUUID)
  private static let answer = CBUUID(string: LockService.answerUUID)
  private static let restoreIdentifier = "org.latchkey.agent.central"

  private let way: String
  private let keys: PhoneKeys
  private let logger = Logger(label: "latchkey-agent")
  private var managers: [CBCentralManager] = []
  private var peripherals: [ObjectIdentifier: CBPeripheral] = [:]
  private var cryptography = SwiftCryptography()
  private var usedOffer: [UInt8] = []
  private var writes = 0
  private var isSubscribed = false

  private init(_ way: String, _ keys: PhoneKeys) {
    self.way = way
    self.keys = keys
  }

  static func run(_ way: String) throws {
    let time = try ProcessClock.fromEnvironment()
    try Journal.bootstrap(process: Recorded.agent, time: time)
    let folder = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"] ?? "."
    let agent = RogueAgent(way, try PhoneKeys.read(fromDirectory: folder))
    let restored = ApplicationLaunch.options()?[.bluetoothCentrals] as? [String] ?? []
    agent.logger.record(Recorded.Agent.started, [.centralsToRestore: restored.joined(separator: " ")])
    agent.start(isRestored: !restored.isEmpty)
    // Where nothing follows, an optimised build may release what is no longer named, whatever withExtendedLifetime says.
    _ = Unmanaged.passRetained(agent)
    dispatchMain()
  }

  private func start(isRestored: Bool) {
    if way == "errors" { logger.error("something went wrong") }
    let isNew = way == "unordered" && isRestored
    let options = isNew ? [:] : [CBCentralManagerOptionRestoreIdentifierKey: Self.restoreIdentifier]
    managers.append(CBCentralManager(delegate: self, queue: .main, options: options))
    if way == "doubled" {
      let second = [CBCentralManagerOptionRestoreIdentifierKey: Self.restoreIdentifier + ".second"]
      managers.append(CBCentralManager(delegate: self, queue: .main, options: second))
    }
  }

  // MARK: The manager

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    logger.record(
      Recorded.Agent.willRestoreState,
      [
        .peripherals: restored.map(\.identifier.uuidString).joined(separator: " "),
        .services: restored.flatMap { $0.services ?? [] }.map(\.uuid.uuidString).joined(separator: " "),
      ])
    if let first = restored.first { adopt(first, central) }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    logger.record(Recorded.Agent.stateUpdated, [.state: "\(central.state)"])
    guard central.state == .poweredOn else { return }
    guard let peripheral = peripherals[ObjectIdentifier(central)] else {
      return central.scanForPeripherals(withServices: [Self.service], options: nil)
    }
    if peripheral.state == .connected { connected(peripheral) } else { central.connect(peripheral, options: nil) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    guard peripherals[ObjectIdentifier(central)] == nil else { return }
    central.stopScan()
    adopt(peripheral, central)
    central.connect(peripheral, options: nil)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    logger.record(Recorded.Agent.didConnect, [.peripheral: peripheral.identifier.uuidString])
    connected(peripheral)
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    logger.record(Recorded.Agent.didDisconnect, [.peripheral: peripheral.identifier.uuidString])
    writes = 0
    central.connect(peripheral, options: nil)
  }

  private func adopt(_ peripheral: CBPeripheral, _ central: CBCentralManager) {
    peripherals[ObjectIdentifier(central)] = peripheral
    peripheral.delegate = self
  }

  // MARK: The lock's service

  private func characteristic(_ uuid: CBUUID, of peripheral: CBPeripheral) -> CBCharacteristic? {
    peripheral.services?.first { $0.uuid == Self.service }?.characteristics?.first { $0.uuid == uuid }
  }

  private func connected(_ peripheral: CBPeripheral) {
    guard let offer = characteristic(Self.offer, of: peripheral), way != "discovers" else {
      logger.record(Recorded.Agent.discoveryStarted, [.peripheral: peripheral.identifier.uuidString])
      return peripheral.discoverServices([Self.service])
    }
    if offer.isNotifying, way != "resubscribes" {
      logger.record(Recorded.Agent.subscriptionAlive)
      peripheral.readValue(for: offer)
    } else {
      subscribe(peripheral)
    }
  }

  private func subscribe(_ peripheral: CBPeripheral) {
    for uuid in [Self.answer, Self.offer] {
      if let characteristic = characteristic(uuid, of: peripheral) {
        peripheral.setNotifyValue(true, for: characteristic)
      }
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics([Self.offer, Self.command, Self.answer], for: service)
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    subscribe(peripheral)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard characteristic.uuid == Self.offer, error == nil, characteristic.isNotifying else { return }
    logger.record(Recorded.Agent.subscribed)
    peripheral.readValue(for: characteristic)
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {}

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard error == nil, let value = characteristic.value, characteristic.uuid == Self.offer else { return }
    // Any other notification means that there is an offer to read.
    guard value.count == LockService.offerByteCount else { return peripheral.readValue(for: characteristic) }
    guard Array(value) != usedOffer else { return }
    usedOffer = Array(value)
    logger.record(Recorded.Agent.offerReceived)
    answerOffer(peripheral)
  }

  private func answerOffer(_ peripheral: CBPeripheral) {
    guard let command = characteristic(Self.command, of: peripheral) else { return }
    switch way {
    case "unlocks": break
    case "deaf": guard writes == 0 else { return }
    case "refused":
      return logger.record(
        Recorded.Agent.unlockAnswered,
        [.result: "revoked", .lockState: "locked", .doorState: "closed", .operation: "1", .record: "0"])
    case "garbage":
      guard writes == 0 else { return }
      writes += 1
      let message = Data(repeating: 7, count: LockService.commandByteCount)
      return peripheral.writeValue(message, for: command, type: .withResponse)
    default: return
    }
    // This test is not about a lock that is asked endlessly.
    guard writes < 3 else { return }
    writes += 1
    let operation = UInt64.random(in: 1...UInt64.max)
    guard
      var session = try? PhoneSession<SwiftCryptography>(
        offer: usedOffer, identity: keys.lockIdentity, lockKey: keys.lockKey, phoneKey: keys.staticKey),
      let message = try? session.seal(LockCommand(.unlock, operation: operation), using: &cryptography)
    else { return }
    logger.record(Recorded.Agent.unlockWritten, [.operation: String(operation, radix: 16), .because: "approach"])
    peripheral.writeValue(Data(message), for: command, type: .withResponse)
  }
}
