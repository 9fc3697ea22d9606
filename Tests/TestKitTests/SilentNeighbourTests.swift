import CoreBluetoothTestKit
import Foundation
import Testing

/// An app that connects to whatever it finds.
private final class CollectorApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private var central: CBCentralManager?
  private var peripherals: [CBPeripheral] = []
  private let lock = NSLock()
  private var names: [String] = []
  /// Those that were connected, in their order.
  var connected: [String] { lock.withLock { names } }

  func begin() { central = CBCentralManager(delegate: self, queue: nil) }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "180F")]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    peripherals.append(peripheral)
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    lock.withLock { names.append(peripheral.name ?? "") }
  }
}

@Suite("Peripherals that keep silent beside others", .timeLimit(.minutes(5)))
struct SilentNeighbourTests {
  @Test("C3: peripherals that never answer hold up one that does for one turn each at the most", arguments: [1, 2, 3])
  func silentNeighbours(_ silent: Int) async throws {
    let home = SimulatedHome(seed: UInt64(20 + silent))
    let level = SimulatedCharacteristic("2A19", [.read], value: Data([90]))
    let neighbours = (1...silent).map { number in
      home.addPeripheral("silent \(number)", services: [SimulatedService("180F", [level])])
    }
    for neighbour in neighbours { neighbour.connections = .unanswered }
    home.addMachine("phone", x: 2)
    let bundle = "org.example.collector"
    let app = CollectorApp()
    home.install(bundle, on: "phone", backgroundModes: []) { _ in
      app.begin()
      return app
    }
    home.open(bundle)
    await home.advance(by: .seconds(30)) { home.calls(to: bundle).count { $0.method == "didDiscover" } == silent }
    home.addPeripheral("meter", services: [SimulatedService("180F", [level])])
    #expect(await home.nextCall("didDiscover", to: bundle, within: .seconds(10)) != nil)
    let limit: Duration = .seconds(20 * silent + 5)
    await home.nextCall("didConnect", to: bundle, within: limit)
    #expect(app.connected == ["meter"], "\(home.transcript(of: bundle))")
    // The silent ones are tried for ever, and each is connected once it answers.
    await home.advance(by: .seconds(600))
    for neighbour in neighbours {
      neighbour.connections = .accepted
      await home.nextCall("didConnect", to: bundle, within: .seconds(600))
      #expect(app.connected.last == neighbour.name, "\(home.transcript(of: bundle))")
    }
  }
}
