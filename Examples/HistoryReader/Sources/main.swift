// Reads the sensor's history in its story: whenever it meets the sensor, it asks for the records that it does not have yet.
import CoreBluetooth
import Foundation

/// A device of its own, which always runs.
final class Reader: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private static let environment = CBUUID(string: "181A")
  private static let records = CBUUID(string: "B7A1E2F0-5C0E-4C6F-9B2A-3D1F0A9C7E11")

  private var manager: CBCentralManager!
  private var sensor: CBPeripheral?
  private var last = 0

  override init() {
    super.init()
    manager = CBCentralManager(delegate: self, queue: .main)
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    central.scanForPeripherals(withServices: [Self.environment])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi: NSNumber
  ) {
    central.stopScan()
    sensor = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Self.environment])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { central.connect(peripheral) }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics([Self.records], for: service) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard characteristic.isNotifying else { return }
    peripheral.writeValue(Data("\(last)".utf8), for: characteristic, type: .withResponse)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    let parts = String(decoding: characteristic.value ?? Data(), as: UTF8.self).split(separator: ",").compactMap {
      Int($0)
    }
    guard parts.count == 2 else { return print("latchkey: complete last=\(last)") }
    print("latchkey: received number=\(parts[0]) value=\(parts[1]) follows=\(parts[0] == last + 1)")
    last = parts[0]
  }
}

let reader = Reader()
withExtendedLifetime(reader) { dispatchMain() }
