import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("Endless answers", .serialized, .timeLimit(.minutes(5)))
struct EndlessAnswersTests {
  enum Command: String, CaseIterable { case connect, discoverServices, subscribe, readRSSI }

  /// An app that asks again whenever it is answered. The system answers these commands without the radio.
  private final class Asker: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    private let command: Command
    private var central: CBCentralManager!
    private var peripheral: CBPeripheral?

    init(_ command: Command) {
      self.command = command
      super.init()
      central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "asker"))
    }
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
      if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "FFE0")]) }
    }
    func centralManager(
      _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
      rssi: NSNumber
    ) {
      central.stopScan()
      self.peripheral = peripheral
      peripheral.delegate = self
      central.connect(peripheral)
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
      switch command {
      case .connect: central.connect(peripheral)
      case .readRSSI: peripheral.readRSSI()
      case .discoverServices, .subscribe: peripheral.discoverServices(nil)
      }
    }
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI signal: NSNumber, error: (any Error)?) {
      peripheral.readRSSI()
    }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
      if command == .discoverServices { return peripheral.discoverServices(nil) }
      for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    }
    func peripheral(
      _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) { for found in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: found) } }
    func peripheral(
      _ peripheral: CBPeripheral, didUpdateNotificationStateFor found: CBCharacteristic, error: (any Error)?
    ) { peripheral.setNotifyValue(true, for: found) }
  }

  @Test("H6: time passes for an app that asks again at each answer", arguments: Command.allCases)
  func answers(_ command: Command) async {
    let home = SimulatedHome(seed: 3)
    home.addPeripheral("sensor", services: [SimulatedService("FFE0", [SimulatedCharacteristic("FFE1", .notify)])])
    home.addMachine("phone", x: 1)
    home.install("org.example.asker", on: "phone", backgroundModes: []) { _ in Asker(command) }
    home.open("org.example.asker")
    await home.advance(by: .seconds(3))
    #expect(home.calls(to: "org.example.asker").count > 1000)
    // The events that wait end with the app, and another process begins anew.
    home.kill("org.example.asker")
    home.open("org.example.asker")
    #expect(await home.nextCall("didConnect", to: "org.example.asker", within: .seconds(60)) != nil)
  }
}
