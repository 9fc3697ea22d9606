import CoreBluetoothTestKit
import Foundation
import Testing

/// An app that publishes a thermometer: a value that is read and notified, and a unit that is written.
private final class Thermometer: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  static let service = "1809"
  static let degrees = "2A1C"
  static let unit = "2A1D"
  private var manager: CBPeripheralManager?
  private var value: CBMutableCharacteristic?
  /// What it notifies of before it answers a read.
  var news: UInt8?

  override init() {
    super.init()
    manager = CBPeripheralManager(
      delegate: self, queue: DispatchQueue(label: "thermometer"),
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: "thermometer"])
  }

  func show(_ degrees: UInt8) {
    if let value { manager?.updateValue(Data([degrees]), for: value, onSubscribedCentrals: nil) }
  }

  func peripheralManager(_ manager: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    value = services.first?.characteristics?.first as? CBMutableCharacteristic
  }

  func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) {
    guard manager.state == .poweredOn, value == nil else { return }
    let value = CBMutableCharacteristic(
      type: CBUUID(string: Self.degrees), properties: [.read, .notify], value: nil, permissions: .readable)
    let unit = CBMutableCharacteristic(
      type: CBUUID(string: Self.unit), properties: [.write, .read], value: nil,
      permissions: [.writeable, .readEncryptionRequired])
    let service = CBMutableService(type: CBUUID(string: Self.service), primary: true)
    service.characteristics = [value, unit]
    self.value = value
    manager.add(service)
    manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
  }

  func peripheralManager(_ manager: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    if let news { show(news) }
    request.value = Data([21])
    manager.respond(to: request, withResult: .success)
  }

  func peripheralManager(_ manager: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    let isKnown = [Data("C".utf8), Data("F".utf8)].contains(requests[0].value)
    manager.respond(to: requests[0], withResult: isKnown ? .success : .invalidAttributeValueLength)
  }
}

/// A central that the test writes, and an app that publishes.
@Suite("A central's reads, writes and subscriptions", .timeLimit(.minutes(20)))
struct CentralAccessTests {
  private static let app = "org.example.thermometer"

  private func home() -> (SimulatedHome, SimulatedCentral) {
    let home = SimulatedHome(seed: 4)
    home.addMachine("desk")
    home.install(Self.app, on: "desk", backgroundModes: ["bluetooth-peripheral"]) { _ in Thermometer() }
    home.open(Self.app)
    return (home, home.addCentral("visitor", x: 2))
  }

  @Test("C6: a test's central reads, writes and subscribes, one after the other, and has the errors")
  func accesses() async {
    let (home, visitor) = home()
    let reading = visitor.read(Thermometer.degrees, of: Thermometer.service)
    let writing = visitor.write(Data("F".utf8), to: Thermometer.unit, of: Thermometer.service)
    let refused = visitor.write(Data("K2".utf8), to: Thermometer.unit, of: Thermometer.service)
    let missing = visitor.read("2AFF", of: Thermometer.service)
    let subscription = visitor.subscribe(to: Thermometer.degrees, of: Thermometer.service)
    await home.advance(by: .seconds(60)) { subscription.isDone }
    #expect(reading.value == Data([21]) && reading.error == nil)
    #expect(writing.isDone && writing.error == nil && writing.value == nil)
    #expect((refused.error as? CBATTError)?.code == .invalidAttributeValueLength)
    #expect(missing.isDone && missing.error != nil && missing.value == nil)
    #expect(subscription.isDone && subscription.error == nil)
    let thermometer = home.app(Self.app) as? Thermometer
    thermometer?.show(22)
    thermometer?.show(23)
    await home.advance(by: .seconds(2))
    #expect(visitor.values(of: Thermometer.degrees) == [Data([22]), Data([23])])

    let end = visitor.unsubscribe(from: Thermometer.degrees, of: Thermometer.service)
    await home.advance(by: .seconds(10)) { end.isDone }
    thermometer?.show(24)
    await home.advance(by: .seconds(2))
    #expect(visitor.values(of: Thermometer.degrees).count == 2)
    #expect(home.log(of: Self.app).misuses.isEmpty)
  }

  @Test("C6: a central's read has the answer, and what the app notifies of meanwhile is a value of the subscription")
  func notifiedDuringRead() async {
    let (home, visitor) = home()
    let subscription = visitor.subscribe(to: Thermometer.degrees, of: Thermometer.service)
    await home.advance(by: .seconds(60)) { subscription.isDone }
    (home.app(Self.app) as? Thermometer)?.news = 20
    let reading = visitor.read(Thermometer.degrees, of: Thermometer.service)
    await home.advance(by: .seconds(60)) { reading.isDone }
    await home.advance(by: .seconds(2))
    #expect(reading.value == Data([21]))
    #expect(visitor.values(of: Thermometer.degrees) == [Data([20])])
  }

  @Test("C6: writes without response are sent as there is room, all of them and in order")
  func withoutResponse() async {
    let home = SimulatedHome(seed: 4)
    let box = home.addPeripheral(
      "box", services: [SimulatedService("FF10", [SimulatedCharacteristic("FF11", .writeWithoutResponse)])])
    let visitor = home.addCentral("visitor", x: 2)
    let values = (0..<300).map { Data([UInt8($0 / 256), UInt8($0 % 256)]) }
    let writings = values.map { visitor.write($0, to: "FF11", of: "FF10", type: .withoutResponse) }
    await home.advance(by: .seconds(120)) { writings.allSatisfy(\.isDone) }
    await home.advance(by: .seconds(10))
    #expect(writings.allSatisfy { $0.error == nil })
    #expect(box.writes(to: "FF11") == values)
  }

  @Test("W1: an app that was killed is launched by a central's read, and answers it")
  func launched() async {
    let (home, visitor) = home()
    let subscription = visitor.subscribe(to: Thermometer.degrees, of: Thermometer.service)
    await home.advance(by: .seconds(60)) { subscription.isDone }
    await home.suspend(Self.app)
    home.kill(Self.app)
    await home.advance(by: .seconds(86_400))
    #expect(!home.isRunning(Self.app))
    let reading = visitor.read(Thermometer.degrees, of: Thermometer.service)
    await home.advance(by: .seconds(60)) { reading.isDone }
    #expect(reading.value == Data([21]))
    let calls = home.calls(to: Self.app).filter { $0.launch == 2 }
    #expect(calls.map(\.method).prefix(3) == ["willRestoreState", "didUpdateState", "didReceiveRead"])
    (home.app(Self.app) as? Thermometer)?.show(19)
    await home.advance(by: .seconds(2))
    #expect(visitor.values(of: Thermometer.degrees) == [Data([19])])
  }

  @Test("C6: a central waits for a peripheral that is away, is told of a link that is lost, and makes the next")
  func lost() async {
    let (home, visitor) = home()
    home.move("visitor", x: 3000)
    let reading = visitor.read(Thermometer.degrees, of: Thermometer.service)
    await home.advance(by: .seconds(600))
    #expect(!reading.isDone)
    home.move("visitor", x: 2)
    await home.advance(by: .seconds(120)) { reading.isDone }
    #expect(reading.value == Data([21]))
    visitor.disconnect()
    await home.advance(by: .seconds(5))
    let again = visitor.write(
      Data("C".utf8), to: Thermometer.unit, of: Thermometer.service, type: .withResponse)
    await home.advance(by: .seconds(120)) { again.isDone }
    #expect(again.isDone && again.error == nil)
  }

  @Test("C3: a central that is refused is told so, and goes on with its next wish")
  func refusedConnection() async {
    let home = SimulatedHome(seed: 4)
    let level = SimulatedCharacteristic("2A19", .read, value: Data([90]))
    let lamp = home.addPeripheral("lamp", services: [SimulatedService("FF10", [level])])
    let visitor = home.addCentral("visitor", x: 2)
    lamp.connections = .refused(.connectionFailed)
    let refused = visitor.read("2A19", of: "FF10")
    await home.advance(by: .seconds(60)) { refused.isDone }
    #expect((refused.error as? CBError)?.code == .connectionFailed)
    lamp.connections = .accepted
    let reading = visitor.read("2A19", of: "FF10")
    await home.advance(by: .seconds(60)) { reading.isDone }
    #expect(reading.value == Data([90]))
  }
}
