import CoreBluetoothTestKit
import Foundation
import Testing

/// Asks for a service, and subscribes to its characteristic or writes to it without response.
private final class Feeder: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private lazy var central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "feeder"))
  private let service: CBUUID
  private var peripheral: CBPeripheral?

  init(_ service: String) {
    self.service = CBUUID(string: service)
    super.init()
    _ = central
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [service]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi: NSNumber
  ) {
    self.peripheral = peripheral
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.delegate = self
    peripheral.discoverServices([service])
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] {
      if characteristic.properties.contains(.notify) {
        peripheral.setNotifyValue(true, for: characteristic)
      } else {
        peripheral.writeValue(Data([1]), for: characteristic, type: .withoutResponse)
      }
    }
  }
}

/// Sends updates until there is no room.
private final class Fountain: NSObject, CBPeripheralManagerDelegate {
  private lazy var manager = CBPeripheralManager(delegate: self, queue: DispatchQueue(label: "fountain"))
  private let water = CBMutableCharacteristic(
    type: CBUUID(string: "FFE1"), properties: .notify, value: nil, permissions: .readable)

  override init() {
    super.init()
    _ = manager
  }

  func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) {
    guard manager.state == .poweredOn else { return }
    let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
    service.characteristics = [water]
    manager.add(service)
    manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
  }

  func peripheralManager(
    _ manager: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    while manager.updateValue(Data([7]), for: water, onSubscribedCentrals: nil) {}
  }
}

@Suite("An app is told that it may go on, and the test sees it")
struct ReadinessTests {
  @Test("The calls have peripheralIsReady(toSendWriteWithoutResponse:)")
  func writes() async throws {
    let home = SimulatedHome(seed: 5)
    let bowl = home.addPeripheral(
      "bowl", services: [SimulatedService("FFE0", [SimulatedCharacteristic("FFE1", [.writeWithoutResponse])])])
    home.addMachine("phone", x: 1)
    home.install("org.example.feeder", on: "phone", backgroundModes: []) { _ in Feeder("FFE0") }
    home.open("org.example.feeder")
    let ready = await home.nextCall("isReady", to: "org.example.feeder", within: .seconds(60))
    #expect(ready?.peer != nil, "\(home.transcript(of: "org.example.feeder"))")
    await home.advance(by: .seconds(1))
    #expect(bowl.writes(to: "FFE1") == [Data([1])])
  }

  @Test("The calls have peripheralManagerIsReady(toUpdateSubscribers:)")
  func updates() async throws {
    let home = SimulatedHome(seed: 5)
    home.addMachine("park")
    home.addMachine("phone", x: 1)
    home.install("org.example.fountain", on: "park", backgroundModes: [], keepAlive: true) { _ in Fountain() }
    home.install("org.example.feeder", on: "phone", backgroundModes: []) { _ in Feeder("FFE0") }
    home.open("org.example.feeder")
    let ready = await home.nextCall("isReady", to: "org.example.fountain", within: .seconds(60))
    #expect(ready != nil, "\(home.transcript(of: "org.example.fountain"))")
  }
}
