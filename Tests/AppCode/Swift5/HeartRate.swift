// swift-format-ignore-file: ReplaceForEachWithForLoop, AlwaysUseLowerCamelCase, NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

// The kind of code that is in tutorials and in most apps: one class that does everything, force-unwrapped manager,
// UUIDs as texts with 0x, dictionaries by UUID, flags out of Data.
import CoreBluetooth

public let heartRateService = CBUUID(string: "0x180D")
let heartRateMeasurement = CBUUID(string: "2A37")
let bodySensorLocation = CBUUID(string: "0x2a38")
let deviceInformation = CBUUID(string: "180a")

public class HeartRateMonitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  public static let shared = HeartRateMonitor()
  public var centralManager: CBCentralManager!
  private var monitor: CBPeripheral?
  private var placeholder = CBUUID()
  private var handlers: [CBUUID: (Data) -> Void] = [:]
  private var locations = ["Other", "Chest", "Wrist"]
  public private(set) var beatsPerMinute = 0
  fileprivate lazy var queue = DispatchQueue(label: "heart", attributes: [], target: .global(qos: .utility))

  public func begin() {
    let options: [String: Any] = [CBCentralManagerOptionShowPowerAlertKey: NSNumber(value: false)]
    centralManager = CBCentralManager(delegate: self, queue: queue, options: options)
    handlers[heartRateMeasurement] = { [weak self] data in self?.measured(data) }
    handlers[bodySensorLocation] = { [unowned self] data in
      print(data.first.map { Int($0) }.flatMap { self.locations.indices.contains($0) ? self.locations[$0] : nil } ?? "")
    }
  }

  public func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if #available(iOS 13.1, macOS 10.15, *) {
      guard CBCentralManager.authorization == .allowedAlways else { return }
    }
    if central.state == .poweredOn {
      centralManager.scanForPeripherals(withServices: [heartRateService])
    }
  }

  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    guard let connectable = advertisementData[CBAdvertisementDataIsConnectable] as? NSNumber, connectable.boolValue
    else { return }
    if let overflow = advertisementData[CBAdvertisementDataOverflowServiceUUIDsKey] as? [CBUUID] { print(overflow) }
    let power = (advertisementData[CBAdvertisementDataTxPowerLevelKey] as? NSNumber)?.intValue ?? 0
    let distance = pow(10.0, (Double(power) - RSSI.doubleValue) / 20.0)
    print(String(format: "%.1f m to %@", distance, peripheral.identifier.uuidString))
    monitor = peripheral
    monitor!.delegate = self
    centralManager.stopScan()
    centralManager.connect(monitor!)
  }

  public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    assert(peripheral === monitor && peripheral.isEqual(monitor))
    peripheral.discoverServices([heartRateService, deviceInformation])
  }

  public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard let services = peripheral.services else { return }
    for service in services { peripheral.discoverCharacteristics(nil, for: service) }
  }

  public func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?
  ) {
    service.characteristics?.filter { $0.properties.contains(.notify) }
      .forEach { peripheral.setNotifyValue(true, for: $0) }
    for characteristic in service.characteristics ?? [] where characteristic.properties.contains(.read) {
      peripheral.readValue(for: characteristic)
    }
  }

  public func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?)
  {
    switch characteristic.uuid {
    case heartRateMeasurement, bodySensorLocation:
      if let value = characteristic.value { handlers[characteristic.uuid]?(value) }
    default: NSLog("%@: %@", characteristic.uuid, characteristic)
    }
  }

  private func measured(_ data: Data) {
    let bytes = [UInt8](data)
    guard let flags = bytes.first else { return }
    let isLong = flags & 0x01 != 0
    let rest = data.dropFirst()
    guard rest.count >= (isLong ? 2 : 1) else { return }
    beatsPerMinute =
      isLong
      ? Int(rest.prefix(2).withUnsafeBytes { $0.loadUnaligned(as: UInt16.self) }.littleEndian)
      : Int(rest[rest.startIndex])
    NotificationCenter.default.post(name: Notification.Name("beat"), object: self, userInfo: ["bpm": beatsPerMinute])
  }
}
