import CoreBluetooth
import Foundation

/// Where the collector keeps what it was sent. It stands for a file: it outlives the app's runs.
public final class HeartRateDiary: @unchecked Sendable {
  private let lock = NSLock()
  private var kept: [Int] = []
  public init() {}
  public var rates: [Int] { lock.withLock { kept } }
  func add(_ rate: Int) { lock.withLock { kept.append(rate) } }
}

/// Keeps every heart rate that a strap sends, for as long as it is installed.
public final class HeartRateCollector: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private let diary: HeartRateDiary
  private var central: CBCentralManager!
  private var strap: CBPeripheral?

  public init(_ diary: HeartRateDiary) {
    self.diary = diary
    super.init()
    central = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: "collector"),
      options: [CBCentralManagerOptionRestoreIdentifierKey: "collector"])
  }

  public func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    strap = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
    strap?.delegate = self
  }

  public func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn, strap == nil else { return }
    central.scanForPeripherals(withServices: [CBUUID(string: "180D")])
  }

  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    central.stopScan()
    strap = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([CBUUID(string: "180D")])
  }

  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    central.connect(peripheral)
  }

  public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard let service = peripheral.services?.first else { return }
    peripheral.discoverCharacteristics([CBUUID(string: "2A37")], for: service)
  }

  public func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {
    guard let measurement = service.characteristics?.first else { return }
    peripheral.setNotifyValue(true, for: measurement)
  }

  public func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard error == nil, let value = characteristic.value, value.count >= 2 else { return }
    diary.add(Int(value[value.startIndex + 1]))
  }
}
