import CoreBluetoothTestKit
import Foundation

/// A central's app of which a test says what it does in each call, and which notes what it saw there.
final class Probe: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []
  /// What it has noted.
  var notes: [String] { lock.withLock { lines } }
  func note(_ line: String) { lock.withLock { lines.append(line) } }

  private(set) var central: CBCentralManager?
  /// The peripheral that it connects to: the first that it finds, or the first restored one.
  var peripheral: CBPeripheral?
  /// Kept by an app for longer than it is valid.
  var kept: [CBUUID: CBCharacteristic] = [:]
  private let service: CBUUID

  var whenOn: (Probe, CBCentralManager) -> Void = { $1.scanForPeripherals(withServices: [$0.service]) }
  var whenConnected: (Probe, CBPeripheral) -> Void = { if $1.services == nil { $1.discoverServices(nil) } }
  var whenDisconnected: (Probe, CBPeripheral) -> Void = { $0.central?.connect($1) }
  var whenExplored: (Probe, CBPeripheral, CBService) -> Void = { _, peripheral, service in
    for characteristic in service.characteristics ?? [] where characteristic.properties.contains(.notify) {
      peripheral.setNotifyValue(true, for: characteristic)
    }
  }
  var whenModified: (Probe, CBPeripheral, [CBService]) -> Void = { _, _, _ in }
  var whenRestored: (Probe, CBCentralManager, [String: Any]) -> Void = { _, _, _ in }

  /// - Parameter identifier: the restore identifier.
  init(_ service: String, identifier: String? = nil, _ prepare: (Probe) -> Void = { _ in }) {
    self.service = CBUUID(string: service)
    super.init()
    prepare(self)
    central = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: "probe"),
      options: identifier.map { [CBCentralManagerOptionRestoreIdentifierKey: $0] })
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    peripheral = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
    peripheral?.delegate = self
    whenRestored(self, central, dict)
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn, peripheral == nil { whenOn(self, central) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi: NSNumber
  ) {
    self.peripheral = peripheral
    peripheral.delegate = self
    central.stopScan()
    central.connect(peripheral)
  }

  /// Releases all objects of Core Bluetooth that it has.
  func letGo() { (central, peripheral, kept) = (nil, nil, [:]) }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    whenConnected(self, peripheral)
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { whenDisconnected(self, peripheral) }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] where service.characteristics == nil {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] where kept[characteristic.uuid] == nil {
      kept[characteristic.uuid] = characteristic
    }
    whenExplored(self, peripheral, service)
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    whenModified(self, peripheral, invalidatedServices)
  }
}
