import CoreBluetooth
import Foundation

/// Collects the values of a heart-rate strap, day and night, whether anybody looks at the app or not.
///
/// The system keeps the connection and the subscription. It wakes the app for each value, and if the app was removed from
/// memory, launches it again and hands back the strap. The app has to do three things for that: it has the background
/// mode `bluetooth-central` in its Info.plist, a restore identifier, and it stores a value before it returns.
final class Collector: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  static let heartRate = CBUUID(string: "180D")
  static let measurement = CBUUID(string: "2A37")
  static let restoreIdentifier = "org.latchkey.examples.heart-rate-collector"

  private let diary: Diary
  private var manager: CBCentralManager!
  private var strap: CBPeripheral?

  init(diary: Diary) {
    self.diary = diary
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: nil,
      options: [CBCentralManagerOptionRestoreIdentifierKey: Self.restoreIdentifier])
  }

  // MARK: The manager

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    strap = peripherals.first
    strap?.delegate = self
    print("latchkey: restored straps=\(peripherals.count)")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    guard let strap else { return central.scanForPeripherals(withServices: [Self.heartRate]) }
    switch strap.state {
    case .connected: strap.discoverServices([Self.heartRate])
    case .connecting: break
    default: central.connect(strap)
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi: NSNumber
  ) {
    central.stopScan()
    strap = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Self.heartRate])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    // The request has no end: the system connects when the strap is there again, and wakes the app.
    central.connect(peripheral)
  }

  // MARK: The strap

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics([Self.measurement], for: service) }
  }

  /// What the app has found is not valid any more, or there is more: a strap that was switched off and on publishes anew.
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    peripheral.discoverServices([Self.heartRate])
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? [] where !characteristic.isNotifying {
      peripheral.setNotifyValue(true, for: characteristic)
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    guard let value = characteristic.value, let measurement = HeartRateMeasurement(value) else { return }
    do {
      try diary.write(measurement)
    } catch {
      print("latchkey: lost rate=\(measurement.rate) reason=\"\(error.localizedDescription)\"")
    }
  }
}

/// The Heart Rate Measurement characteristic (Heart Rate Service 1.0, 3.1).
struct HeartRateMeasurement {
  /// Beats per minute.
  var rate: Int
  /// Kilojoules since the strap was put on, if the strap says so.
  var energy: Int?

  init?(_ data: Data) {
    let bytes = [UInt8](data)
    guard let flags = bytes.first else { return nil }
    var rest = bytes.dropFirst()
    func number(_ count: Int) -> Int? {
      guard rest.count >= count else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    guard let rate = number(flags & 1 == 0 ? 1 : 2) else { return nil }
    self.rate = rate
    if flags & 8 != 0 { energy = number(2) }
  }
}
