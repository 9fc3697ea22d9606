import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("A home for tests of apps", .timeLimit(.minutes(20)))
struct HomeTests {
  private static let app = "org.example.app"

  private func home(
    seed: UInt64 = 5, _ launch: @escaping @Sendable (SimulatedLaunch) -> AnyObject
  ) -> (home: SimulatedHome, lamp: SimulatedPeripheral) {
    let home = SimulatedHome(seed: seed)
    let lamp = home.addPeripheral("lamp", services: [SimulatedService("\(lampService)", [])])
    home.addMachine("phone", x: 3)
    home.install(Self.app, on: "phone", backgroundModes: ["bluetooth-central"], launch: launch)
    home.open(Self.app)
    return (home, lamp)
  }

  private func calls(_ home: SimulatedHome) -> [String] { home.calls(to: Self.app).map { "\($0.time) \($0)" } }

  @Test(
    "Time waits for an app's tasks, its actors, its streams, its queues and managers made late, so that a seed gives the same run",
    arguments: ["tasks", "stream", "queue"])
  func waiting(_ kind: String) async {
    var runs: [[String]] = []
    for _ in 0..<3 {
      let (home, _) = home { launch in
        switch kind {
        case "tasks": TaskApp()
        case "stream": StreamApp()
        default: QueueApp(launch)
        }
      }
      await home.advance(by: .seconds(3600))
      if kind == "stream" {
        home.move("phone", x: 5000)
        await home.advance(by: .seconds(60))
        home.move("phone", x: 3)
        await home.advance(by: .seconds(600))
      }
      runs.append(calls(home))
    }
    #expect(runs[0].contains { $0.hasSuffix("didConnect") }, "\(runs[0])")
    if kind == "stream" { #expect(runs[0].filter { $0.hasSuffix("didConnect") }.count == 2, "\(runs[0])") }
    #expect(runs.allSatisfy { $0 == runs[0] }, "\(runs)")
    let found = runs[0].firstIndex { $0.hasSuffix("didDiscover") }
    #expect(found == 1, "\(runs[0])")
  }

  @Test("Time waits for a task whose thread the computer's other work holds up")
  func heldUpThread() async throws {
    let (home, _) = home { _ in HeldUpApp() }
    await home.advance(by: .seconds(3600))
    let calls = home.calls(to: Self.app)
    #expect(calls.map(\.method).prefix(2) == ["didUpdateState", "didDiscover"])
    #expect(try #require(calls.first).time < .seconds(1), "\(calls)")
    #expect(try #require(calls.last).time < .seconds(10), "\(calls)")
  }

  @Test("A task that waits for something in its thread keeps time from passing for a moment only")
  func stuckThread() async throws {
    let (home, _) = home { _ in StuckApp() }
    await home.advance(by: .seconds(3600))
    #expect(home.clock.now == .seconds(3600))
    (home.app(Self.app) as? StuckApp)?.release()
  }

  @Test("Time waits until a hold is released")
  func holding() async throws {
    let (home, _) = home { SlowApp($0) }
    await home.advance(by: .seconds(3600))
    let calls = home.calls(to: Self.app)
    #expect(calls.map(\.method) == ["didUpdateState", "didDiscover"])
    #expect(try #require(calls.last).time < .seconds(10), "\(calls)")
  }

  @Test("Time waits for what alarms, and the test itself, put on a manager's queue")
  func managerQueues() async {
    let rung = Rung()
    let (home, _) = home { launch in
      let app = SlowQueueApp()
      launch.clock.after(.seconds(10)) { app.workSlowly { rung.add(launch.clock.now) } }
      return app
    }
    await home.advance(by: .seconds(1))
    await home.advance(by: .seconds(60))
    (home.app(Self.app) as? SlowQueueApp)?.workSlowly { rung.add(home.clock.now) }
    await home.advance(by: .seconds(60))
    #expect(rung.times == [.seconds(10), .seconds(61)])
  }

  @Test("An app's alarms wait while it is suspended, and end with it")
  func alarms() async {
    let rung = Rung()
    let (home, _) = home { launch in TimerApp(launch) { rung.add($0) } }
    await home.advance(by: .seconds(1))
    await home.suspend(Self.app)
    #expect(home.isSuspended(Self.app))
    await home.advance(by: .seconds(600))
    #expect(rung.times.isEmpty)
    home.open(Self.app)
    await home.advance(by: .seconds(1))
    #expect(!home.isSuspended(Self.app))
    #expect(rung.times.count == 1)
    home.kill(Self.app)
    await home.advance(by: .seconds(8000))
    #expect(rung.times.count == 1)
  }

  @Test("A test runs code with the app's identity; the app's mistakes are seen")
  func identity() async throws {
    let (home, _) = home { _ in NSObject() }
    await home.advance(by: .seconds(5))
    home.setBluetooth("phone", isOn: false)
    let delegate = Quiet()
    let central = home.run { CBCentralManager(delegate: delegate, queue: DispatchQueue(label: "test")) }
    await home.advance(by: .seconds(5))
    #expect(central.state == .poweredOff)
    central.scanForPeripherals(withServices: nil)
    #expect(home.log(of: Self.app).misuses.count == 1)
    home.setBluetooth("phone", isOn: true)
    await home.advance(by: .seconds(5))
    #expect(central.state == .poweredOn)
    let peripheral = await home.run(as: Self.app) { () async -> CBPeripheralManager in
      await Task { CBPeripheralManager(delegate: nil, queue: DispatchQueue(label: "late")) }.value
    }
    await home.advance(by: .seconds(1))
    #expect(peripheral.state == .poweredOn)
    let calls = home.calls(to: Self.app)
    #expect(calls.allSatisfy { $0.method == "didUpdateState" })
    #expect(calls.map(\.manager).last == "2")
  }

  @Test("A peripheral answers as the test says: values, errors, writes and notifications")
  func behaviour() async throws {
    let home = SimulatedHome(seed: 2)
    let level = SimulatedCharacteristic("2A19", [.read, .notify], value: Data([90]))
    let secret = SimulatedCharacteristic("2A1A", .read, read: { throw CBATTError(.insufficientAuthorization) })
    let odd = SimulatedCharacteristic(
      "2A1B", .write,
      write: { value in
        if value == Data([13]) { throw CBATTError(.invalidAttributeValueLength) }
      })
    let lamp = home.addPeripheral("lamp", x: 1, services: [SimulatedService("180F", [level, secret, odd])])
    home.addMachine("phone")
    home.install(Self.app, on: "phone", backgroundModes: []) { _ in Explorer() }
    home.open(Self.app)
    await home.advance(by: .seconds(60))
    #expect(lamp.writes(to: "2A1B") == [Data([7])])
    #expect(lamp.value(of: "2A1B") == Data([7]))
    #expect(lamp.subscriberCount(of: "2A19") == 1)
    lamp.setValue(Data([80]), of: "2A19")
    await home.advance(by: .seconds(5))
    let calls = home.calls(to: Self.app)
    func ends(_ method: String, _ uuid: String) -> [SimulatedDelegateCall] {
      calls.filter { $0.method == method && $0.attribute == CBUUID(string: uuid) }
    }
    #expect(ends("didUpdateValueFor", "2A19").map(\.value) == [Data([90]), Data([80])])
    #expect((ends("didUpdateValueFor", "2A1A").first?.error as? CBATTError)?.code == .insufficientAuthorization)
    let writes = ends("didWriteValueFor", "2A1B")
    #expect(writes.map { ($0.error as? CBATTError)?.code } == [nil, .invalidAttributeValueLength])
    #expect(home.log(of: Self.app).misuses.isEmpty)
  }

  @Test("Bluetooth off, flight mode, no power, a walk: the app is told of each")
  func faults() async {
    let (home, _) = home { _ in StreamApp() }
    func connected() async -> Bool {
      await home.advance(by: .seconds(600)) { home.calls(to: Self.app).last?.method == "didConnect" }
    }
    #expect(await connected())
    home.block("phone", isOn: true)
    await home.advance(by: .seconds(5))
    #expect(home.calls(to: Self.app).last?.method == "didUpdateState")
    home.block("phone", isOn: false)
    #expect(await connected())
    home.turnOff("lamp")
    #expect(
      await home.advance(by: .seconds(120)) { home.calls(to: Self.app).last?.method == "didDisconnectPeripheral" })
    #expect(home.calls(to: Self.app).last?.error != nil)
    home.turnOn("lamp")
    #expect(await connected())
    home.walk("phone", x: 3000, over: .seconds(600))
    #expect(
      await home.advance(by: .seconds(700)) { home.calls(to: Self.app).last?.method == "didDisconnectPeripheral" })
    home.move("phone", x: 3)
    #expect(await connected())
    home.setBluetooth("phone", isOn: false)
    await home.advance(by: .seconds(5))
    #expect(home.calls(to: Self.app).last?.method == "didUpdateState")
  }

  @Test("A name that is not in the home ends the test with the names that are")
  func wrongNames() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let home = SimulatedHome()
      home.addMachine("phone")
      home.move("fone", x: 1)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("\"fone\"") && text.contains("phone"), "\(text)")
  }
}

private final class Rung: @unchecked Sendable {
  private let lock = NSLock()
  private var list: [Duration] = []
  var times: [Duration] { lock.withLock { list } }
  func add(_ time: Duration) { lock.withLock { list.append(time) } }
}

/// An app that does its own work on its manager's queue, slowly.
private final class SlowQueueApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private let queue = DispatchQueue(label: "slow")
  private var central: CBCentralManager?

  override init() {
    super.init()
    central = CBCentralManager(delegate: self, queue: queue)
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {}

  func workSlowly(_ done: @escaping @Sendable () -> Void) {
    queue.async {
      Thread.sleep(forTimeInterval: 0.05)
      self.queue.async {
        Thread.sleep(forTimeInterval: 0.05)
        done()
      }
    }
  }
}

private final class Quiet: NSObject, CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {}
}

/// Reads and writes everything that it finds.
private final class Explorer: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private var central: CBCentralManager?
  private var lamp: CBPeripheral?

  override init() {
    super.init()
    central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "explorer"))
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    central.scanForPeripherals(withServices: [CBUUID(string: "180F")])
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
    peripheral.discoverServices(nil)
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] {
      if characteristic.properties.contains(.read) { peripheral.readValue(for: characteristic) }
      if characteristic.properties.contains(.notify) { peripheral.setNotifyValue(true, for: characteristic) }
      if characteristic.properties.contains(.write) {
        for value in [UInt8(7), 13] { peripheral.writeValue(Data([value]), for: characteristic, type: .withResponse) }
      }
    }
  }
}
