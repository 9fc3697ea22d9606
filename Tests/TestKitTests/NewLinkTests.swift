import CoreBluetoothTestKit
import Foundation
import Testing

/// Discovers services whenever it is connected and has none, as many apps do, and subscribes.
private final class Watcher: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private lazy var central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "watcher"))
  private var peripheral: CBPeripheral?

  override init() {
    super.init()
    _ = central
  }

  func cancel() {
    if let peripheral { central.cancelPeripheralConnection(peripheral) }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "FFE0")]) }
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

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    if peripheral.services == nil { peripheral.discoverServices(nil) }
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { central.connect(peripheral) }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] where characteristic.properties.contains(.notify) {
      peripheral.setNotifyValue(true, for: characteristic)
    }
  }
}

@Suite("A new link")
struct NewLinkTests {
  private static let app = "org.example.watcher"

  /// A home in which the app is subscribed.
  private func subscribed() async -> (SimulatedHome, SimulatedPeripheral) {
    let home = SimulatedHome(seed: 7)
    let sensor = home.addPeripheral(
      "sensor", services: [SimulatedService("FFE0", [SimulatedCharacteristic("FFE1", [.notify])])])
    home.addMachine("phone", x: 2)
    home.install(Self.app, on: "phone", backgroundModes: ["bluetooth-central"]) { _ in Watcher() }
    home.open(Self.app)
    await home.nextCall("didUpdateNotificationStateFor", to: Self.app, within: .seconds(60))
    return (home, sensor)
  }

  @Test("C4: after a lost link an app finds no services until it discovers them, and is told values again")
  func loss() async {
    let (home, sensor) = await subscribed()
    home.move("sensor", x: 1000)
    await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(60))
    home.move("sensor", x: 0)
    await home.nextCall("didUpdateNotificationStateFor", to: Self.app, within: .seconds(60))
    sensor.setValue(Data([8]), of: "FFE1")
    let value = await home.nextCall("didUpdateValueFor", to: Self.app, within: .seconds(10))
    #expect(value?.value == Data([8]), "\(home.transcript(of: Self.app))")
  }

  @Test("C4: after a cancelled connection an app finds no services until it discovers them")
  func cancellation() async {
    let (home, sensor) = await subscribed()
    let watcher = home.app(Self.app) as? Watcher
    home.run { watcher?.cancel() }
    await home.nextCall("didUpdateNotificationStateFor", to: Self.app, within: .seconds(60))
    sensor.setValue(Data([8]), of: "FFE1")
    let value = await home.nextCall("didUpdateValueFor", to: Self.app, within: .seconds(10))
    #expect(value?.value == Data([8]), "\(home.transcript(of: Self.app))")
  }
}
