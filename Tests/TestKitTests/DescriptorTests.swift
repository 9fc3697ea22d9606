import CoreBluetoothTestKit
import Foundation
import Testing

/// What the test says of a peripheral's characteristics, as a central finds it.
@Suite("A peripheral's descriptors and encryption")
struct DescriptorTests {
  private static let app = "org.example.phone"

  private func home(_ characteristic: SimulatedCharacteristic) -> (SimulatedHome, SimulatedPeripheral) {
    let home = SimulatedHome(seed: 5)
    let lamp = home.addPeripheral("lamp", services: [SimulatedService("\(lampService)", [characteristic])])
    home.addMachine("phone", x: 1)
    home.install(Self.app, on: "phone", backgroundModes: []) { _ in Explorer() }
    home.open(Self.app)
    return (home, lamp)
  }

  @Test("C4: a central reads the descriptors that the test has given, beside the one that the system makes")
  func descriptors() async throws {
    let format = Data([4, 0, 0, 0x27, 1, 0, 0])
    let (home, _) = home(
      SimulatedCharacteristic(
        "2A37", [.read, .notify],
        descriptors: [SimulatedDescriptor(userDescription: "Rate"), SimulatedDescriptor("2904", value: format)]))
    #expect(await home.advance(by: .seconds(120)) { (home.app(Self.app) as? Explorer)?.values.count == 3 })
    let explorer = try #require(home.app(Self.app) as? Explorer)
    #expect(explorer.values["2901"] as? String == "Rate")
    #expect(explorer.values["2904"] as? Data == format)
    #expect(explorer.values["2902"] as? NSNumber == 0)
    #expect(home.log(of: Self.app).misuses.isEmpty)
  }

  @Test("A service that can't be published ends the test with the reason")
  func unpublishable() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let home = SimulatedHome()
      let extended = SimulatedDescriptor("2900", value: Data([1, 0]))
      home.addPeripheral(
        "lamp", services: [SimulatedService("FFE0", [SimulatedCharacteristic("FFE1", .read, descriptors: [extended])])])
      await home.advance(by: .seconds(10))
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("\"lamp\"") && text.contains("FFE0") && text.contains("2900"), "\(text)")
  }

  @Test("C5: a central pairs before it reads, writes and subscribes, if the characteristic requires encryption")
  func encryption() async throws {
    for requiresEncryption in [false, true] {
      let (home, lamp) = home(
        SimulatedCharacteristic(
          "2A37", [.read, .write, .notify, .indicate], value: Data([1]), requiresEncryption: requiresEncryption))
      #expect(await home.advance(by: .seconds(120)) { lamp.subscriberCount(of: "2A37") == 1 })
      #expect(lamp.writes(to: "2A37") == [Data([7])])
      let isPaired = home.journal.contains { $0.contains("paired with") }
      #expect(isPaired == requiresEncryption, "\(home.journal)")
    }
  }
}

/// Reads all descriptors, writes, and subscribes.
private final class Explorer: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private var found: [String: Any] = [:]
  var values: [String: Any] { lock.withLock { found } }
  private var manager: CBCentralManager?
  private var lamp: CBPeripheral?

  override init() {
    super.init()
    manager = CBCentralManager(delegate: self, queue: DispatchQueue(label: "explorer"))
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [lampService]) }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    central.stopScan()
    lamp = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([lampService])
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] { peripheral.discoverDescriptors(for: characteristic) }
  }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    for descriptor in characteristic.descriptors ?? [] { peripheral.readValue(for: descriptor) }
    peripheral.readValue(for: characteristic)
    if characteristic.properties.contains(.write) {
      peripheral.writeValue(Data([7]), for: characteristic, type: .withResponse)
    }
    peripheral.setNotifyValue(true, for: characteristic)
  }
  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
    lock.withLock { found[descriptor.uuid.uuidString] = descriptor.value }
  }
}
