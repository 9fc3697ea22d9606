// swift-format-ignore-file: AlwaysUseLowerCamelCase, ReplaceForEachWithForLoop

// The code of a plain iOS app, as its developer would write it: one import, both roles, restoration, every call. It
// must compile unchanged.
import CoreBluetooth

final class ThermometerBrowser: NSObject {
  static let serviceUUID = CBUUID(string: "1809")
  static let measurementUUID = CBUUID(string: "00002A1C-0000-1000-8000-00805F9B34FB")
  private let restoreIdentifier = "thermometers"
  private lazy var central = CBCentralManager(
    delegate: self, queue: DispatchQueue(label: "bluetooth", qos: .userInitiated),
    options: [
      CBCentralManagerOptionRestoreIdentifierKey: restoreIdentifier,
      CBCentralManagerOptionShowPowerAlertKey: true,
    ])
  private var peripherals: [UUID: CBPeripheral] = [:]
  private var pendingWrites: [CBCharacteristic: [Data]] = [:]
  private var names = [CBPeripheral: String]()
  var onError: ((Error) -> Void)?

  func start() {
    guard central.state == .poweredOn, !central.isScanning else { return }
    if CBManager.authorization == .denied || CBCentralManager.authorization == .restricted { return }
    let known = central.retrievePeripherals(withIdentifiers: Array(peripherals.keys))
    let connected = central.retrieveConnectedPeripherals(withServices: [Self.serviceUUID])
    for peripheral in known + connected where peripheral.state == .disconnected {
      central.connect(
        peripheral,
        options: [
          CBConnectPeripheralOptionNotifyOnDisconnectionKey: true,
          CBConnectPeripheralOptionEnableAutoReconnect: NSNumber(value: true),
          CBConnectPeripheralOptionStartDelayKey: 2,
        ])
    }
    central.scanForPeripherals(
      withServices: [Self.serviceUUID], options: [CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: false)])
    if CBCentralManager.supports(.extendedScanAndConnect) { NSLog("extended") }
    central.registerForConnectionEvents(options: [.serviceUUIDs: [Self.serviceUUID]])
  }

  func stop() {
    central.stopScan()
    peripherals.values.forEach(central.cancelPeripheralConnection)
    peripherals.removeAll()
  }

  private func flush(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
    let type: CBCharacteristicWriteType =
      characteristic.properties.contains(.writeWithoutResponse) ? .withoutResponse : .withResponse
    while let next = pendingWrites[characteristic]?.first, peripheral.canSendWriteWithoutResponse {
      peripheral.writeValue(
        next.prefix(peripheral.maximumWriteValueLength(for: type)), for: characteristic, type: type)
      pendingWrites[characteristic]?.removeFirst()
    }
  }
}

extension ThermometerBrowser: CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    switch central.state {
    case .poweredOn: start()
    case .poweredOff, .resetting, .unauthorized, .unknown, .unsupported: peripherals.removeAll()
    @unknown default: break
    }
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    if let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] {
      for peripheral in restored {
        peripheral.delegate = self
        peripherals[peripheral.identifier] = peripheral
      }
    }
    let services = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID]
    let options = dict[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
    print(services ?? [], options ?? [:])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    guard RSSI.intValue > -80, peripherals[peripheral.identifier] == nil else { return }
    let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? peripheral.name ?? "unnamed"
    let services = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
    let isConnectable = advertisementData[CBAdvertisementDataIsConnectable] as? Bool ?? false
    let manufacturer = advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data
    let serviceData = advertisementData[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data]
    NSLog("%@ %@", name, peripheral)
    guard isConnectable, services.contains(Self.serviceUUID) || manufacturer != nil || serviceData != nil else {
      return
    }
    names[peripheral] = name
    peripherals[peripheral.identifier] = peripheral
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.delegate = self
    if let services = peripheral.services, !services.isEmpty {
      services.forEach { peripheral.discoverCharacteristics(nil, for: $0) }
    } else {
      peripheral.discoverServices([Self.serviceUUID])
    }
    peripheral.readRSSI()
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
    if let error = error as? CBError, error.code == .connectionLimitReached { onError?(error) }
    if let error = error as NSError?, error.domain == CBErrorDomain { onError?(error) }
  }

  func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
    guard let error else { return }
    switch error {
    case CBError.connectionTimeout, CBError.peripheralDisconnected: central.connect(peripheral, options: nil)
    case let error as CBError where error.code == .peerRemovedPairingInformation: onError?(error)
    default: onError?(error)
    }
  }
}

extension ThermometerBrowser: CBPeripheralDelegate {
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard error == nil else { return }
    for service in peripheral.services ?? [] where service.uuid == Self.serviceUUID && service.isPrimary {
      peripheral.discoverIncludedServices(nil, for: service)
      peripheral.discoverCharacteristics([Self.measurementUUID], for: service)
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    for characteristic in service.characteristics ?? [] {
      if characteristic.properties.contains(.read) { peripheral.readValue(for: characteristic) }
      if !characteristic.properties.isDisjoint(with: [.notify, .indicate]), !characteristic.isNotifying {
        peripheral.setNotifyValue(true, for: characteristic)
      }
      peripheral.discoverDescriptors(for: characteristic)
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: Error?)
  {
    characteristic.descriptors?.forEach { peripheral.readValue(for: $0) }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: Error?) {
    switch descriptor.uuid.uuidString {
    case CBUUIDCharacteristicUserDescriptionString: print(descriptor.value as? String ?? "")
    case CBUUIDClientCharacteristicConfigurationString: print((descriptor.value as? NSNumber)?.uint16Value ?? 0)
    default: print(descriptor.value as? Data ?? Data())
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
    if let error = error as? CBATTError {
      switch error.code {
      case .insufficientEncryption, .insufficientAuthentication: onError?(error)
      default: break
      }
      return
    }
    guard let value = characteristic.value, let flags = value.first else { return }
    print(flags, characteristic.service?.peripheral?.identifier as NSUUID? as Any)
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
    flush(peripheral, characteristic)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
  ) { print(characteristic.isNotifying) }

  func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: Error?) { print(RSSI) }
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    peripheral.discoverServices(invalidatedServices.map { $0.uuid })
  }
  func peripheralDidUpdateName(_ peripheral: CBPeripheral) { names[peripheral] = peripheral.name }
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    pendingWrites.keys.forEach { flush(peripheral, $0) }
  }
  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: Error?) {
    guard let channel, let stream = channel.inputStream else { return }
    stream.open()
    print(channel.psm, channel.peer.identifier)
  }
}

/// The peripheral side, in a class that lives on the main actor.
@MainActor
final class ThermometerSimulator: NSObject, @MainActor CBPeripheralManagerDelegate {
  private var manager: CBPeripheralManager!
  private let measurement = CBMutableCharacteristic(
    type: ThermometerBrowser.measurementUUID, properties: [.notify, .read, .write], value: nil,
    permissions: [.readable, .writeEncryptionRequired])
  private var value = Data([0])
  private var listeners: [CBCentral] = []

  override init() {
    super.init()
    manager = CBPeripheralManager(
      delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "simulator"])
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let service = CBMutableService(type: ThermometerBrowser.serviceUUID, primary: true)
    measurement.descriptors = [
      CBMutableDescriptor(type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "Temperature")
    ]
    service.characteristics = [measurement]
    peripheral.removeAllServices()
    peripheral.add(service)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    for case let characteristic as CBMutableCharacteristic in services.flatMap({ $0.characteristics ?? [] }) {
      listeners += characteristic.subscribedCentrals ?? []
    }
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    guard error == nil, !peripheral.isAdvertising else { return }
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Thermometer", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
    ])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
    if let error { NSLog("%@", error.localizedDescription) }
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    listeners.append(central)
    peripheral.setDesiredConnectionLatency(.low, for: central)
    push()
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) { listeners.removeAll { $0 == central } }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    guard request.offset <= value.count else {
      peripheral.respond(to: request, withResult: .invalidOffset)
      return
    }
    request.value = value.subdata(in: request.offset..<value.count)
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    guard let first = requests.first else { return }
    for request in requests where request.characteristic.uuid == measurement.uuid { value = request.value ?? value }
    peripheral.respond(to: first, withResult: CBATTError.Code.success)
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { push() }

  private func push() {
    let length = listeners.map(\.maximumUpdateValueLength).min() ?? 20
    if !manager.updateValue(value.prefix(length), for: measurement, onSubscribedCentrals: nil) { NSLog("full") }
  }
}

/// What runs at launch, with a `UIApplication` of the app's own: a stand-in for UIKit's.
enum UIApplication {
  struct LaunchOptionsKey: RawRepresentable, Hashable {
    let rawValue: String
    static let bluetoothCentrals = Self(rawValue: UIApplicationLaunchOptionsBluetoothCentralsKey)
    static let bluetoothPeripherals = Self(rawValue: UIApplicationLaunchOptionsBluetoothPeripheralsKey)
  }
}

func launchThermometers(options: [UIApplication.LaunchOptionsKey: Any]?) -> [String] {
  (options?[.bluetoothCentrals] as? [String] ?? [])
    + (options?[UIApplication.LaunchOptionsKey.bluetoothPeripherals] as? [String] ?? [])
}

public func launchThermometers() -> [String] {
  let options = ApplicationLaunch.options().map { options in
    Dictionary(
      uniqueKeysWithValues: options.map { (UIApplication.LaunchOptionsKey(rawValue: $0.key.rawValue), $0.value) })
  }
  return launchThermometers(options: options)
}

/// Managers can be subclassed, as mocks do.
class MockCentralManager: CBCentralManager, @unchecked Sendable {
  override var state: CBManagerState { .poweredOn }
  override func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {}
}
