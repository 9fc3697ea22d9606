import CoreBluetoothTestKit
import Foundation
import Testing

private let serviceUUID = CBUUID(string: "7A5E0001-0000-4C61-7463-686B65790000")
private let valueUUID = CBUUID(string: "7A5E0002-0000-4C61-7463-686B65790000")

/// A peripheral app: one service with a readable, writable, notified value.
private final class Bell: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private let calls: Inbox<String>
  private var manager: CBPeripheralManager!
  private var characteristic: CBMutableCharacteristic?

  init(_ calls: Inbox<String>) {
    self.calls = calls
    super.init()
    manager = CBPeripheralManager(
      delegate: self, queue: DispatchQueue(label: "bell"),
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: "bell"])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    calls.put("willRestoreState")
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
    characteristic = services?.first?.characteristics?.first as? CBMutableCharacteristic
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    calls.put("state \(peripheral.state)")
    guard peripheral.state == .poweredOn, characteristic == nil else { return }
    let value = CBMutableCharacteristic(
      type: valueUUID, properties: [.read, .write, .notify], value: nil, permissions: [.readable, .writeable])
    let service = CBMutableService(type: serviceUUID, primary: true)
    service.characteristics = [value]
    characteristic = value
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [serviceUUID]])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    calls.put("write \(Array(requests[0].value ?? Data()))")
    peripheral.respond(to: requests[0], withResult: .success)
    guard let characteristic else { return }
    _ = peripheral.updateValue(Data([42]), for: characteristic, onSubscribedCentrals: nil)
  }
}

/// A central app: finds the bell, subscribes and rings it at each connection, and requests the next connection at
/// each loss.
private final class Visitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private let calls: Inbox<String>
  private var manager: CBCentralManager!
  private var bell: CBPeripheral?

  init(_ calls: Inbox<String>) {
    self.calls = calls
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: "visitor"),
      options: [CBCentralManagerOptionRestoreIdentifierKey: "visitor"])
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    bell = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
    bell?.delegate = self
    calls.put("willRestoreState \(bell.map { "\($0.state)" } ?? "nothing")")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    calls.put("state \(central.state)")
    if central.state == .poweredOn, bell == nil { central.scanForPeripherals(withServices: [serviceUUID]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    calls.put("didDiscover")
    central.stopScan()
    bell = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    calls.put("didConnect")
    if let known = peripheral.services?.first?.characteristics?.first {
      peripheral.writeValue(Data([1]), for: known, type: .withResponse)
    } else {
      peripheral.discoverServices([serviceUUID])
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    calls.put("didDisconnect")
    central.connect(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard let service = peripheral.services?.first else { return calls.put("no service") }
    peripheral.discoverCharacteristics([valueUUID], for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    guard let value = service.characteristics?.first else { return calls.put("no characteristic") }
    peripheral.setNotifyValue(true, for: value)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    calls.put("notifying \(characteristic.isNotifying)")
    peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    calls.put("value \(Array(characteristic.value ?? Data()))")
  }
}

@Suite("A simulated home", .timeLimit(.minutes(20)))
struct SimulatedHomeTests {
  private let home = SimulatedHome(seed: 7)
  private let bellCalls = Inbox<String>()
  private let visitorCalls = Inbox<String>()

  init() {
    home.addMachine("door")
    home.addMachine("phone", x: 2)
    home.install("org.example.bell", on: "door", backgroundModes: ["bluetooth-peripheral"]) { [bellCalls] _ in
      Bell(bellCalls)
    }
    home.install("org.example.visitor", on: "phone", backgroundModes: ["bluetooth-central"]) { [visitorCalls] _ in
      Visitor(visitorCalls)
    }
    home.open("org.example.bell")
    home.open("org.example.visitor")
  }

  @Test("C2–C6: a central finds a peripheral, subscribes, writes and is notified, over the simulated radio")
  func conversation() async {
    await home.advance(by: .seconds(60))
    let calls = visitorCalls.pending
    #expect(calls.prefix(4) == ["state poweredOn", "didDiscover", "didConnect", "notifying true"])
    #expect(calls.contains("value [42]"), "\(home.journal.joined(separator: "\n"))")
    #expect(bellCalls.pending.contains("write [1]"))
  }

  @Test("An app's alarm on the home's clock rings at its time, unless it is taken back")
  func alarmsOfApps() async throws {
    let home = SimulatedHome(seed: 3)
    let rung = Inbox<Duration>()
    let clock = home.clock
    clock.after(.seconds(20)) { rung.put(clock.now) }
    clock.after(.seconds(10)) {
      rung.put(clock.now)
      clock.after(.seconds(5)) { rung.put(clock.now) }
    }
    let cancelled = clock.after(.seconds(12)) { rung.put(.zero) }
    await home.advance(by: .seconds(11))
    cancelled.cancel()
    await home.advance(by: .seconds(60))
    #expect(rung.pending == [.seconds(10), .seconds(15), .seconds(20)])
    #expect(clock.now == .seconds(71))
  }

  @Test("The page about restoration shows the test that runs")
  func page() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    func text(_ path: String) throws -> String {
      try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
    let page = try text("Sources/CoreBluetoothTestKit/CoreBluetoothTestKit.docc/Restoration.md")
    let code = try text("Tests/TestKitTests/RestorationTests.swift")
    #expect(
      page.contains("```swift\n" + code + "```\n"), "copy Tests/TestKitTests/RestorationTests.swift into the page")
    // Without the imports and the attribute, as people count.
    let body = code.split(separator: "\n").drop { !$0.hasPrefix("func ") }
    #expect(body.count <= 30)
  }

  @Test("The page about L2CAP channels shows the test that runs")
  func channelPage() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    func text(_ path: String) throws -> String {
      try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
    let page = try text("Sources/CoreBluetoothTestKit/CoreBluetoothTestKit.docc/Channels.md")
    let code = try text("Tests/TestKitTests/ChannelPageTests.swift")
    #expect(
      page.contains("```swift\n" + code + "```\n"), "copy Tests/TestKitTests/ChannelPageTests.swift into the page")
  }

  @Test("S10: an app that was killed is launched when its peripheral comes back, and is restored first")
  func relaunch() async throws {
    await home.advance(by: .seconds(60))
    home.move("phone", x: 5000)
    await home.advance(by: .seconds(60))
    #expect(visitorCalls.pending.last == "didDisconnect")
    let before = visitorCalls.pending.count
    home.kill("org.example.visitor")
    await home.advance(by: .seconds(3600))
    home.restartSystem("phone")
    await home.advance(by: .seconds(3600))
    #expect(home.launchCount("org.example.visitor") == 1)
    home.move("phone", x: 2)
    await home.advance(by: .seconds(120))
    let after = Array(visitorCalls.pending.dropFirst(before))
    #expect(home.launchCount("org.example.visitor") == 2)
    #expect(
      after.prefix(3) == ["willRestoreState connecting", "state poweredOn", "didConnect"],
      "\(home.journal.joined(separator: "\n"))")
  }
}
