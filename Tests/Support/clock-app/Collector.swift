import CoreBluetooth
import Foundation

/// The app's Bluetooth: it makes the app one of the system, and may collect a band's values.
final class Collector: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private let collects: Bool
  /// The seconds after which it looks at the clock when it was told a value.
  private let looks: [Double]
  private var manager: CBCentralManager?
  private var peripheral: CBPeripheral?
  private static let service = CBUUID(string: "180D")

  init(collects: Bool, looks: [Double]) {
    self.collects = collects
    self.looks = looks
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: .main, options: [CBCentralManagerOptionRestoreIdentifierKey: "clock"])
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    peripheral = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
    peripheral?.delegate = self
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard collects, central.state == .poweredOn, peripheral == nil else { return }
    central.scanForPeripherals(withServices: [Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    guard self.peripheral == nil else { return }
    central.stopScan()
    self.peripheral = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Self.service])
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    let value = String(decoding: characteristic.value ?? Data(), as: UTF8.self)
    record("value", ["value": value])
    let told = now()
    for seconds in looks {
      DispatchQueue.main.asyncAfter(deadline: .now() + seconds) {
        record("looked", ["after": seconds, "took": now() - told, "value": value])
      }
    }
  }
}
