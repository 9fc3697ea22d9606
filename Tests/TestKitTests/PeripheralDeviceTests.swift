import CoreBluetoothTestKit
import Foundation
import Testing

/// A simulated peripheral as a device of its own: what it offers, advertises, and does when it is told something.
@Suite("A peripheral as a device") struct PeripheralDeviceTests {
  private static let app = "org.example.phone"

  private func open(in home: SimulatedHome, _ launch: @escaping @Sendable () -> AnyObject) {
    home.addMachine("phone", x: 2)
    home.install(Self.app, on: "phone", backgroundModes: ["bluetooth-central"]) { _ in launch() }
    home.open(Self.app)
  }

  @Test("C4: an app finds the services that the test has given, in their order, and no others")
  func services() async {
    let home = SimulatedHome(seed: 3)
    let name = SimulatedCharacteristic("2A29", .read, value: Data("Example".utf8))
    home.addPeripheral("tag", services: [SimulatedService("FF10", []), SimulatedService("180A", [name])])
    open(in: home) {
      Probe("FF10") { probe in
        probe.whenExplored = { probe, _, service in
          for characteristic in service.characteristics ?? [] { probe.note("\(service.uuid) \(characteristic.uuid)") }
          if service.characteristics?.isEmpty ?? true { probe.note("\(service.uuid)") }
        }
      }
    }
    await home.advance(by: .seconds(60)) { (home.app(Self.app) as? Probe)?.notes.count == 2 }
    let probe = home.app(Self.app) as? Probe
    #expect(probe?.notes == ["FF10", "180A 2A29"])
    #expect(probe?.peripheral?.services?.map(\.uuid.uuidString) == ["FF10", "180A"])
  }

  @Test("C1: an app that scans hears what a beacon advertises, and each new value if it takes duplicates")
  func beacon() async {
    let home = SimulatedHome(seed: 3)
    let beacon = home.addPeripheral("beacon", services: [SimulatedService("FEAA", [])])
    let frame = Data([0x10, 0xF0, 0x02] + "example/1".utf8)
    beacon.serviceData = [CBUUID(string: "FEAA"): frame]
    open(in: home) { Listener(for: "FEAA") }
    @Sendable func heard(_ value: Data) -> Bool { (home.app(Self.app) as? Listener)?.frames.contains(value) ?? false }
    #expect(await home.advance(by: .seconds(60)) { heard(frame) })
    let next = Data([0x20, 0x00, 0x0B, 0xB8, 0x15, 0x00])
    beacon.serviceData = [CBUUID(string: "FEAA"): next]
    #expect(await home.advance(by: .seconds(30)) { heard(next) })
    beacon.serviceData = [:]
    await home.advance(by: .seconds(30))
    home.turnOff("beacon")
    home.turnOn("beacon")
    beacon.serviceData = [CBUUID(string: "FEAA"): frame + [0]]
    #expect(await home.advance(by: .seconds(30)) { heard(frame + [0]) })
  }

  @Test("C1: a scan that takes duplicates hears a beacon again and again, also if its signal stays as it is")
  func steadyBeacon() async {
    let home = SimulatedHome(seed: 3)
    let beacon = home.addPeripheral("beacon", services: [SimulatedService("FEAA", [])])
    beacon.signal = .fixed(-60)
    open(in: home) { Listener(for: "FEAA") }
    var count = 0
    for _ in 0..<6 {
      await home.advance(by: .seconds(10))
      let before = count
      count = (home.app(Self.app) as? Listener)?.sightings.count ?? 0
      #expect(count - before >= 30, "\(home.clock.now)")
    }
  }

  @Test("C1: a peripheral is found by each of two long services, and by those alone that it is to advertise")
  func severalServices() async {
    let home = SimulatedHome(seed: 3)
    let serial = "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"
    let update = "8D53DC1D-1DB7-4CD3-868B-8A527460AA84"
    let device = home.addPeripheral("dev", services: [SimulatedService(serial, []), SimulatedService(update, [])])
    home.addMachine("phone", x: 2)
    func isFound(by service: String) async -> Bool {
      let app = "org.example.looker-\(service.prefix(4))"
      home.install(app, on: "phone", backgroundModes: []) { _ in Listener(for: service) }
      home.open(app)
      return await home.nextCall("didDiscover", to: app, within: .seconds(60)) != nil
    }
    #expect(await isFound(by: serial))
    #expect(await isFound(by: update))
    #expect(device.advertisedServices.map(\.uuidString) == [serial, update])
    device.advertisedServices = [CBUUID(string: update)]
    await home.advance(by: .seconds(120))
    home.addMachine("tablet", x: 1)
    for (app, service) in [("org.example.serial", serial), ("org.example.update", update)] {
      home.install(app, on: "tablet", backgroundModes: []) { _ in Listener(for: service) }
      home.open(app)
    }
    #expect(await home.nextCall("didDiscover", to: "org.example.update", within: .seconds(60)) != nil)
    #expect(home.calls(to: "org.example.serial").allSatisfy { $0.method != "didDiscover" })
  }

  @Test("C1: the data of a manufacturer are beside a long service and a name, and can be taken back")
  func manufacturer() async {
    let home = SimulatedHome(seed: 3)
    let service = "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"
    let tag = home.addPeripheral("tag", services: [SimulatedService(service, [])])
    // Eighteen bytes with their length and type: there is room for them in the answer to a scan alone.
    let data = Data([0x99, 0x04] + (1...14).map { UInt8($0) })
    tag.manufacturerData = data
    open(in: home) { Listener(for: service) }
    @Sendable func sightings() -> [Listener.Sighting] { (home.app(Self.app) as? Listener)?.sightings ?? [] }
    let whole = Listener.Sighting(name: "tag", manufacturer: data)
    #expect(await home.advance(by: .seconds(60)) { sightings().contains(whole) })
    #expect(tag.manufacturerData == data)
    tag.manufacturerData = nil
    // One that has not heard the tag before.
    let other = "org.example.tablet"
    home.addMachine("tablet", x: 1)
    home.install(other, on: "tablet", backgroundModes: []) { _ in Listener(for: service) }
    home.open(other)
    @Sendable func others() -> Set<Listener.Sighting> { Set((home.app(other) as? Listener)?.sightings ?? []) }
    let bare = Listener.Sighting(name: "tag", manufacturer: nil)
    #expect(await home.advance(by: .seconds(60)) { others().contains(bare) })
    #expect(others().allSatisfy { $0.manufacturer == nil })
  }

  @Test("C5: a peripheral does what it is told, and answers by a notification after the write")
  func commands() async {
    let home = SimulatedHome(seed: 3)
    let adapter = home.addPeripheral(
      "adapter",
      services: [
        SimulatedService(
          "FFF0", [SimulatedCharacteristic("FFF1", .notify), SimulatedCharacteristic("FFF2", .write)])
      ])
    adapter.whenWritten("FFF2") { adapter, command in
      guard command != Data("ATZ".utf8) else { throw CBATTError(CBATTError.Code(rawValue: 0x80) ?? .unlikelyError) }
      adapter.setValue(command + Data(">".utf8), of: "FFF1")
    }
    open(in: home) {
      Probe("FFF0") { probe in
        probe.whenExplored = { probe, peripheral, _ in
          guard let answers = probe.kept[CBUUID(string: "FFF1")], let commands = probe.kept[CBUUID(string: "FFF2")]
          else { return }
          peripheral.setNotifyValue(true, for: answers)
          for command in ["ATI", "ATZ"] {
            peripheral.writeValue(Data(command.utf8), for: commands, type: .withResponse)
          }
        }
      }
    }
    await home.nextCall("didWriteValueFor", to: Self.app, within: .seconds(60))
    await home.advance(by: .seconds(5))
    let calls = home.calls(to: Self.app)
    let told = calls.filter { ["didWriteValueFor", "didUpdateValueFor"].contains($0.method) }
    #expect(told.map(\.method) == ["didWriteValueFor", "didUpdateValueFor", "didWriteValueFor"])
    #expect(told[1].value == Data("ATI>".utf8))
    #expect((told[2].error as? CBATTError)?.code.rawValue == 0x80)
    #expect(adapter.writes(to: "FFF2") == [Data("ATI".utf8)])
  }
}

/// Notes what it hears, of advertisements alone.
private final class Listener: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  struct Sighting: Hashable {
    var name: String?
    var manufacturer: Data?
  }

  private let lock = NSLock()
  private var heard: [Sighting] = []
  private var data: [Data] = []
  private let service: CBUUID
  private var central: CBCentralManager?
  var sightings: [Sighting] { lock.withLock { heard } }
  /// The data of the service.
  var frames: [Data] { lock.withLock { data } }

  init(for service: String) {
    self.service = CBUUID(string: service)
    super.init()
    central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "listener"))
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    central.scanForPeripherals(withServices: [service], options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi: NSNumber
  ) {
    let sighting = Sighting(
      name: advertisementData[CBAdvertisementDataLocalNameKey] as? String,
      manufacturer: advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data)
    let services = advertisementData[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data] ?? [:]
    lock.withLock {
      heard.append(sighting)
      if let frame = services[service] { data.append(frame) }
    }
  }
}
