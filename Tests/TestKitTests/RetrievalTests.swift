import CoreBluetoothTestKit
import Foundation
import Testing

/// An app that keeps a peripheral's identifier, as in its settings.
@Suite("Retrieved peripherals", .timeLimit(.minutes(20)))
struct RetrievalTests {
  private final class Settings: @unchecked Sendable {
    private let lock = NSLock()
    private var stored: UUID?
    var identifier: UUID? {
      get { lock.withLock { stored } }
      set { lock.withLock { stored = newValue } }
    }
  }

  @Test("C3: an app without restoration finds its peripheral, with its name, by an identifier from a day before")
  func kept() async throws {
    let home = SimulatedHome(seed: 6)
    let level = SimulatedCharacteristic("2A19", [.read, .notify])
    home.addPeripheral("scales", services: [SimulatedService("FF10", [level])])
    home.addMachine("phone", x: 2)
    let app = "org.example.scales"
    let settings = Settings()
    home.install(app, on: "phone", backgroundModes: []) { _ in
      Probe("FF10") { probe in
        probe.whenConnected = { probe, peripheral in
          settings.identifier = peripheral.identifier
          peripheral.discoverServices(nil)
        }
        guard let identifier = settings.identifier else { return }
        probe.whenOn = { probe, central in
          probe.peripheral = central.retrievePeripherals(withIdentifiers: [identifier]).first
          probe.note("\(probe.peripheral?.identifier == identifier)")
          probe.note(probe.peripheral?.name ?? "no name")
          probe.peripheral.map { central.connect($0) }
        }
      }
    }
    home.open(app)
    await home.nextCall("didConnect", to: app, within: .seconds(60))
    home.kill(app)
    home.move("scales", x: 3000)
    await home.advance(by: .seconds(86_400))
    home.open(app)
    await home.advance(by: .seconds(60))
    let probe = try #require(home.app(app) as? Probe)
    #expect(probe.notes == ["true", "scales"])
    home.move("scales", x: 0)
    #expect(await home.nextCall("didConnect", to: app, within: .seconds(60)) != nil, "\(home.transcript(of: app))")
  }
}
