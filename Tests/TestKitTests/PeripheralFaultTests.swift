import CoreBluetoothTestKit
import Foundation
import Testing

/// What a test does to its peripherals while an app uses them.
@Suite("Peripherals that change", .timeLimit(.minutes(20)))
struct PeripheralFaultTests {
  private static let app = "org.example.reader"

  private func home(_ services: [SimulatedService]) -> (SimulatedHome, SimulatedPeripheral) {
    let home = SimulatedHome(seed: 11)
    let meter = home.addPeripheral("meter", services: services)
    home.addMachine("phone", x: 2)
    home.install(Self.app, on: "phone", backgroundModes: []) { _ in MeterReader() }
    home.open(Self.app)
    return (home, meter)
  }

  private static let level = SimulatedService("180F", [SimulatedCharacteristic("2A19", [.read], value: Data([90]))])

  @Test("A peripheral hangs up, and can be connected to again")
  func hangsUp() async throws {
    let (home, _) = home([Self.level])
    #expect(
      await home.nextCall("didUpdateValueFor", to: Self.app, about: "2A19", within: .seconds(60))?.value == Data([90]))
    home.disconnect("meter")
    let lost = await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(5))
    #expect(lost?.error != nil, "\(home.transcript(of: Self.app))")
    #expect(await home.nextCall("didConnect", to: Self.app, within: .seconds(60)) != nil)
  }

  @Test("Other services are told to the app, and are what it finds")
  func newServices() async throws {
    let (home, meter) = home([Self.level])
    await home.nextCall("didUpdateValueFor", to: Self.app, within: .seconds(60))
    meter.setServices([
      Self.level, SimulatedService("FF10", [SimulatedCharacteristic("FF11", [.read], value: Data("2.0".utf8))]),
    ])
    let changed = await home.nextCall("didModifyServices", to: Self.app, within: .seconds(30))
    #expect(changed != nil, "\(home.transcript(of: Self.app))")
    let version = await home.nextCall("didUpdateValueFor", to: Self.app, about: "FF11", within: .seconds(30))
    #expect(version?.value == Data("2.0".utf8), "\(home.transcript(of: Self.app))")
    home.turnOff("meter")
    meter.setServices([Self.level])
    home.turnOn("meter")
    #expect(await home.nextCall("didConnect", to: Self.app, within: .seconds(120)) != nil)
    let found = await home.nextCall("didUpdateValueFor", to: Self.app, about: "FF11", within: .seconds(30))
    #expect(found == nil, "\(home.transcript(of: Self.app))")
  }

  @Test("A peripheral that does not advertise is not found, and its link stays")
  func advertising() async throws {
    let (home, meter) = home([Self.level])
    meter.isAdvertising = false
    #expect(await home.nextCall("didDiscover", to: Self.app, within: .seconds(60)) == nil)
    meter.isAdvertising = true
    await home.nextCall("didUpdateValueFor", to: Self.app, within: .seconds(60))
    meter.isAdvertising = false
    #expect(await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(60)) == nil)
    home.reboot("meter")
    #expect(await home.nextCall("didConnect", to: Self.app, within: .seconds(60)) == nil)
    #expect(!meter.isAdvertising)
  }

  @Test("An answer comes late, or never")
  func answers() async throws {
    let (home, meter) = home([Self.level])
    meter.answers = .after(.seconds(2))
    let found = await home.nextCall("didDiscoverCharacteristicsFor", to: Self.app, about: "180F", within: .seconds(60))
    let late = await home.nextCall("didUpdateValueFor", to: Self.app, about: "2A19", within: .seconds(60))
    #expect(late?.value == Data([90]))
    let delay = try #require(late).time - #require(found).time
    // bluetoothd reads a battery by itself before.
    #expect(delay > .seconds(2) && delay < .seconds(6), "\(home.transcript(of: Self.app))")
    meter.answers = .never
    home.disconnect("meter")
    let missing = await home.nextCall("didUpdateValueFor", to: Self.app, about: "2A19", within: .seconds(120))
    #expect((missing?.error as? CBATTError)?.code == .unlikelyError, "\(home.transcript(of: Self.app))")
    meter.answers = .atOnce
    home.disconnect("meter")
    let prompt = await home.nextCall("didUpdateValueFor", to: Self.app, about: "2A19", within: .seconds(120))
    #expect(prompt?.value == Data([90]), "\(home.transcript(of: Self.app))")
  }

  @Test("An app that keeps no peripheral is told nothing of its requests, and the log says why")
  func forgotten() async {
    let home = SimulatedHome(seed: 11)
    home.addPeripheral("meter", services: [Self.level])
    home.addMachine("phone", x: 2)
    home.install(Self.app, on: "phone", backgroundModes: []) { _ in ForgetfulApp() }
    home.open(Self.app)
    await home.advance(by: .seconds(60))
    #expect(
      home.calls(to: Self.app).map(\.method) == ["didUpdateState", "didDiscover"], "\(home.transcript(of: Self.app))")
    #expect(home.log(of: Self.app).misuses.count == 1)
  }

  @Test("A call that has been made already is not the next one; the transcript has a line for each")
  func nextCall() async throws {
    let (home, _) = home([Self.level])
    await home.advance(by: .seconds(60))
    #expect(await home.nextCall("didConnect", to: Self.app, within: .seconds(60)) == nil)
    home.turnOff("meter")
    await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(60))
    let lines = home.transcript(of: Self.app).split(separator: "\n")
    #expect(lines.count == home.calls(to: Self.app).count)
    #expect(
      lines.last?.hasSuffix("run 1 manager 1: didDisconnectPeripheral failed: CBErrorDomain 6") == true, "\(lines)")
  }

  @Test("A task sleeps by the home's clock; its sleep ends when it is cancelled, and when its app has ended")
  func sleeping() async throws {
    let home = SimulatedHome()
    home.addMachine("phone")
    let events = Events()
    home.install(Self.app, on: "phone", backgroundModes: []) { launch in
      let clock = launch.clock
      Task {
        try await Task.sleep(for: .seconds(3600), clock: clock.forTasks)
        events.add("slept \(clock.now >= .seconds(3600) && clock.now < .seconds(3602))")
        let short = Task { try await Task.sleep(for: .seconds(10), clock: clock.forTasks) }
        short.cancel()
        events.add(await short.result.isCancelled ? "cancelled" : "not cancelled")
        do {
          try await Task.sleep(for: .seconds(3600), clock: clock.forTasks)
          events.add("alive")
        } catch { events.add("ended \(error is CancellationError)") }
      }
      return NSObject()
    }
    home.open(Self.app)
    await home.advance(by: .seconds(3590))
    #expect(events.all == [])
    await home.advance(by: .seconds(20))
    #expect(events.all == ["slept true", "cancelled"])
    home.kill(Self.app)
    await home.advance(by: .seconds(3600)) { events.all.count == 3 }
    while events.all.count < 3 { await Task.yield() }
    #expect(events.all.last == "ended true")
  }
}

extension Result<Void, any Error> {
  fileprivate var isCancelled: Bool { if case .failure(is CancellationError) = self { true } else { false } }
}

private final class Events: @unchecked Sendable {
  private let lock = NSLock()
  private var list: [String] = []
  var all: [String] { lock.withLock { list } }
  func add(_ event: String) { lock.withLock { list.append(event) } }
}

/// Connects to what it finds, and again whenever a connection ends, but does not keep it.
private final class ForgetfulApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private var manager: CBCentralManager?

  override init() {
    super.init()
    manager = CBCentralManager(delegate: self, queue: DispatchQueue(label: "forgetful"))
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "180F")]) }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    central.stopScan()
    central.connect(peripheral)
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { central.connect(peripheral) }
}

/// Reads whatever the meter has, and again after each change and each loss.
private final class MeterReader: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private var manager: CBCentralManager?
  private var meter: CBPeripheral?

  override init() {
    super.init()
    manager = CBCentralManager(delegate: self, queue: DispatchQueue(label: "meter reader"))
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "180F")]) }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    central.stopScan()
    meter = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices(nil)
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { central.connect(peripheral) }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] where characteristic.properties.contains(.read) {
      peripheral.readValue(for: characteristic)
    }
  }
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    peripheral.discoverServices(nil)
  }
}
