import CoreBluetoothTestKit
import Foundation
import Observation
import Testing

/// A view model as apps with SwiftUI have it.
@MainActor @Observable
private final class RateModel: NSObject {
  private(set) var rates: [UInt8] = []
  @ObservationIgnored private var central: CBCentralManager?
  @ObservationIgnored private var strap: CBPeripheral?

  override init() {
    super.init()
    central = CBCentralManager(
      delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "rates"])
  }

  private func take(_ peripheral: CBPeripheral) {
    strap = peripheral
    peripheral.delegate = self
  }
}

extension RateModel: @MainActor CBCentralManagerDelegate {
  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.forEach(take)
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn, strap == nil else { return }
    central.scanForPeripherals(withServices: [CBUUID(string: "180D")])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi: NSNumber
  ) {
    take(peripheral)
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices(nil)
  }
}

extension RateModel: @MainActor CBPeripheralDelegate {
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard let rate = characteristic.value?.last else { return }
    // Later, on the main queue: a home that does not wait for that queue shows the value before.
    DispatchQueue.main.async { MainActor.assumeIsolated { self.rates.append(rate) } }
  }
}

@Suite("A view model of the main actor", .timeLimit(.minutes(20)))
struct ViewModelTests {
  private func check() async {
    let home = SimulatedHome(seed: 7)
    let rate = SimulatedCharacteristic("2A37", [.read, .notify])
    let strap = home.addPeripheral("strap", services: [SimulatedService("180D", [rate])])
    home.addMachine("phone", x: 2)
    let app = "org.example.rates"
    home.install(app, on: "phone", backgroundModes: ["bluetooth-central"]) { launch in
      launch.onMainActor { RateModel() }
    }
    home.open(app)
    let isSubscribed = await home.nextCall("didUpdateNotificationStateFor", to: app, within: .seconds(60))
    #expect(isSubscribed != nil, "\(home.transcript(of: app))")
    strap.setValue(Data([0, 72]), of: "2A37")
    await home.advance(by: .seconds(1))
    let model = home.app(app) as? RateModel
    #expect(await model?.rates == [72])

    await home.suspend(app)
    home.kill(app)
    strap.setValue(Data([0, 64]), of: "2A37")
    await home.advance(by: .seconds(5))
    let restored = home.app(app) as? RateModel
    #expect(restored !== model)
    #expect(await restored?.rates == [64])
    #expect(home.log(of: app).misuses.isEmpty)
  }

  @Test("H6: a view model is made on the main actor, is restored there, and time waits for the main queue")
  func elsewhere() async { await check() }

  @Test("H6: so it is in a test of the main actor")
  @MainActor func onMainActor() async { await check() }
}
