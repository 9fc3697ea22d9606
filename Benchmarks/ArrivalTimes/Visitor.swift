import CoreBluetooth
import CoreBluetoothTestKit
import Crypto
import Foundation
import LockCryptography
import LockProtocol

struct Keys: Sendable {
  let identity: LockIdentity
  let lock = Curve25519.KeyAgreement.PrivateKey()
  let phone = Curve25519.KeyAgreement.PrivateKey()
}

/// A phone that has decided what to command before it has a link.
final class Visitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private static let service = CBUUID(string: LockService.serviceUUID)
  private static let offer = CBUUID(string: LockService.offerUUID)
  private static let command = CBUUID(string: LockService.quickCommandUUID)
  private static let answer = CBUUID(string: LockService.answerUUID)
  /// As in `HomeConfiguration.writingPatience`.
  private static let writingPatience: Duration = .milliseconds(200)

  private let keys: Keys
  private let clock: SimulatedClock
  private var manager: CBCentralManager?
  private var lock: CBPeripheral?
  private var cryptography = SwiftCryptography()
  private var reader = OfferReader()
  private var used: [UInt8]?
  private var message: [UInt8] = []
  private var writtenAt: Duration?
  private let writes: Writes

  /// Counts writes. It outlives the app's process.
  final class Writes: @unchecked Sendable { var count = 0 }

  init(_ keys: Keys, clock: SimulatedClock, writes: Writes) {
    self.keys = keys
    self.clock = clock
    self.writes = writes
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "visitor"])
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    lock = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
    lock?.delegate = self
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    guard let lock else { return central.scanForPeripherals(withServices: [Self.service]) }
    if lock.state == .disconnected { central.connect(lock) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    guard lock == nil else { return }
    central.stopScan()
    lock = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    begin()
    guard peripheral.services == nil else { return }
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    begin()
    central.connect(peripheral)
  }

  private func begin() {
    reader = OfferReader()
    used = nil
    writtenAt = nil
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for uuid in [Self.answer, Self.offer] {
      if let found = service.characteristics?.first(where: { $0.uuid == uuid }) {
        peripheral.setNotifyValue(true, for: found)
      }
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard characteristic.uuid == Self.offer, let value = characteristic.value.map({ Array($0) }) else { return }
    let key = Array(keys.phone.publicKey.rawRepresentation)
    let heard =
      value.count == LockService.offerByteCount
      ? value : reader.take(value, phone: key, using: SwiftCryptography.self)
    guard let heard else { return }
    if let writtenAt {
      guard heard == used, clock.now - writtenAt >= Self.writingPatience else { return }
      return write(peripheral)
    }
    guard
      var session = try? PhoneSession<SwiftCryptography>(
        offer: heard, identity: keys.identity, lockKey: keys.lock.publicKey, phoneKey: keys.phone),
      let message = try? session.seal(LockCommand(.status, operation: 0), using: &cryptography)
    else { return }
    used = heard
    self.message = message
    write(peripheral)
  }

  private func write(_ peripheral: CBPeripheral) {
    guard
      let command = peripheral.services?.first(where: { $0.uuid == Self.service })?.characteristics?.first(where: {
        $0.uuid == Self.command
      }), message.count <= peripheral.maximumWriteValueLength(for: .withoutResponse)
    else { return }
    writtenAt = clock.now
    writes.count += 1
    peripheral.writeValue(Data(message), for: command, type: .withoutResponse)
  }
}
