import CoreBluetoothTestKit
import Foundation
import Testing

/// An app that writes as long as it may.
private final class Uploader: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private lazy var central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "uploader"))
  private var peripheral: CBPeripheral?
  private var characteristic: CBCharacteristic?

  override init() {
    super.init()
    _ = central
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "FFE0")]) }
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
    peripheral.discoverServices(nil)
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    characteristic = service.characteristics?.first { $0.uuid == CBUUID(string: "FFE1") }
    write()
  }
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { write() }
  private func write() {
    guard let peripheral, let characteristic else { return }
    while peripheral.canSendWriteWithoutResponse {
      peripheral.writeValue(Data([1]), for: characteristic, type: .withoutResponse)
    }
  }
}

@Suite("Endless writes") struct EndlessWritesTests {
  @Test("C5: time passes for an app that writes without response as long as it may", .timeLimit(.minutes(1)))
  func endless() async throws {
    let home = SimulatedHome(seed: 2)
    let device = home.addPeripheral(
      "device", services: [SimulatedService("FFE0", [SimulatedCharacteristic("FFE1", [.writeWithoutResponse])])])
    home.addMachine("phone", x: 1)
    home.install("uploader", on: "phone", backgroundModes: ["bluetooth-central"]) { _ in Uploader() }
    home.open("uploader")
    await home.advance(by: .seconds(4))
    #expect(device.writes(to: "FFE1").count > 100)
  }
}
