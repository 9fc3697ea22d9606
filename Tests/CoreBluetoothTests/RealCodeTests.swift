import AppCodeSwift5
import AppCodeSwift6
import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

/// What stood in the way of apps and libraries for iOS. `Tests/AppCode` has the code that is compiled here.
@Suite("Code for iOS", .timeLimit(.minutes(20)))
struct RealCodeTests {
  @Test(
    "C8: a UUID is read in each form that apps write",
    arguments: [
      "180D", "180d", "0x180D", "0x180d", "0X180D", "0000180D", "0x0000180d", "0000180D-0000-1000-8000-00805F9B34FB",
      "0000180d00001000800000805f9b34fb", "0x0000180D00001000800000805F9B34FB",
      "0x0000180D-0000-1000-8000-00805F9B34FB",
    ])
  func uuidTexts(_ text: String) { #expect(CBUUID(string: text).uuidString == "180D") }

  @Test("C8: a text that is nearly a UUID ends the program, and the message says what to write")
  func badTexts() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = CBUUID(string: "0x180D-0000-1000-8000-00805F9B34FB")
    }
    #expect(errorText(result).contains("0x180D-0000-1000-8000-00805F9B34FB"))
    #expect(errorText(result).contains("hexadecimal"))
  }

  @Test("C8: a UUID without a value is a placeholder that equals no attribute's")
  func placeholder() {
    #expect(CBUUID() == CBUUID())
    #expect(CBUUID().uuidString == "00000000-0000-0000-0000-000000000000")
    #expect(CBUUID() != CBUUID(string: "0000"))
  }

  @Test("C8: an actor whose executor is its manager's queue is entered by the delegate's calls")
  func queueActor() async throws {
    let system = ScriptedSystem()
    system.attach()
    let beacons = Beacons()
    let state = system.run { Task { await beacons.begin() } }
    _ = try await system.requests.next()
    system.emit(.stateChanged(.poweredOn))
    #expect(await state.value == .poweredOn)
  }

  @Test("C8: descriptions of a peripheral and of a value are Apple's")
  func descriptions() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    #expect(peripheral.description.hasSuffix("name = Front door, mtu = 185, state = connected>"))
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    #expect(characteristic.description.contains("value = (null), notifying = NO"))
    setup.system.emit(.valueUpdated(Example.lock, characteristic: 3, value: [0, 0x55]))
    _ = try await setup.recorder.calls.next()
    #expect(characteristic.description.contains("value = {length = 2, bytes = 0x0055}, "))
    setup.system.emit(.valueUpdated(Example.lock, characteristic: 3, value: Array(0..<32)))
    _ = try await setup.recorder.calls.next()
    #expect(
      characteristic.description.contains(
        "{length = 32, bytes = 0x00010203 04050607 08090a0b 0c0d0e0f ... 18191a1b 1c1d1e1f }"))
  }

  @Test("C8: properties are read by their names, as older libraries do")
  func valuesByKey() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored(isNotifying: true)
    #expect(peripheral.oldIdentifier == Example.lock.rawValue)
    #expect(peripheral.value(forKey: "identifier") as? UUID == Example.lock.rawValue)
    #expect(peripheral.value(forKey: "name") as? String == "Front door")
    #expect(peripheral.value(forKey: "state") as? NSNumber == 2)
    #expect(peripheral.isConnectedByKey)
    let service = try #require((peripheral.value(forKey: "services") as? [CBService])?.first)
    #expect(service.value(forKey: "UUID") as? CBUUID == CBUUID(string: "180F"))
    #expect(service.value(forKeyPath: "peripheral.identifier") as? UUID == Example.lock.rawValue)
    let characteristic = try #require((service.value(forKey: "characteristics") as? [CBCharacteristic])?.first)
    #expect(characteristic.value(forKey: "isNotifying") as? Bool == true)
    #expect(characteristic.value(forKey: "value") == nil)
    #expect(setup.manager.value(forKey: "state") as? Int == 5)
    #expect(setup.system.run { peripheral.value(forKey: "colour") } == nil)
    #expect(setup.system.log.misuses.contains { $0.contains("\"colour\"") && $0.contains("CBPeripheral") })
  }

  @Test("C8: every number is an ATT error code, also those of applications")
  func applicationErrors() {
    for number in Array(0...0xFF) + [-1, 0x1_0000] { #expect(CBATTError.Code(rawValue: number)?.rawValue == number) }
    #expect(Set((0...0xFF).compactMap { CBATTError.Code(rawValue: $0) }).count == 0x100)
    #expect(CBATTError.Code(rawValue: 14) == .unlikelyError)
    #expect(text(for: .wrongCheckSum) == "application error 0x81")
    #expect(text(for: .insufficientEncryption) == "not trusted")
    let error: any Error = CBATTError(.wrongCheckSum)
    #expect((error as NSError).code == 0x81)
    #expect((error as? CBATTError)?.code == .wrongCheckSum)
    #expect(text(for: error) == "application error 0x81")
    #expect(BluetoothFailure.peer(.wrongCheckSum).localizedDescription == "the peer answered 129")
  }

  @Test("C8: an NSError of Core Bluetooth's domains is cast, caught and matched as CBError and CBATTError")
  func errorsFromNSError() throws {
    func caught(_ error: any Error) -> String {
      do { throw error } catch CBError.connectionTimeout {
        return "time"
      } catch let error as CBATTError {
        return "ATT \(error.errorCode)"
      } catch { return "other" }
    }
    let timeout = NSError(domain: CBErrorDomain, code: 6, userInfo: [NSLocalizedDescriptionKey: "no answer"])
    let error = try #require((timeout as any Error) as? CBError)
    #expect(error.code == .connectionTimeout)
    #expect(error.localizedDescription == "no answer")
    #expect(caught(timeout) == "time")
    #expect(caught(NSError(domain: CBATTErrorDomain, code: 0x81)) == "ATT 129")
    #expect(caught(NSError(domain: NSPOSIXErrorDomain, code: 6)) == "other")
    #expect((timeout as any Error) as? CBATTError == nil)
    // There and back.
    let thrown: any Error = CBATTError(.readNotPermitted)
    #expect((((thrown as NSError) as any Error) as? CBATTError)?.code == .readNotPermitted)
  }

  @Test("C8: an app's own error code reaches the central, and comes back as an error of that code")
  func applicationErrorsOverTheLink() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
    let (identifier, _) = try #require(try await setup.nextOperation())
    setup.complete(identifier, .failed(.att(ATTError(rawValue: 0x81))))
    #expect(try await setup.recorder.calls.next() == "didWrite failed")
    #expect((setup.recorder.error as? CBATTError)?.code == .wrongCheckSum)
  }

  @Test("C8: a heart rate app runs as written, with its shared manager, texts with 0x and forced casts")
  func heartRate() async throws {
    let system = ScriptedSystem()
    system.attach()
    let app = HeartRateMonitor()
    system.run { app.begin() }
    func command() async throws -> Request {
      while true {
        let request = try await system.requests.next()
        if case .handled = request { continue }
        return request
      }
    }
    _ = try await command()
    let service = try #require(BluetoothUUID("180D"))
    let measurement = try #require(BluetoothUUID("2A37"))
    system.emit(.stateChanged(.poweredOn))
    #expect(try await command() == .central(Example.manager, .scan(ScanRequest(services: [service]))))
    system.emit(
      .discovered(
        PeripheralSnapshot(identifier: Example.lock), AdvertisementData(serviceUUIDs: [service], isConnectable: true),
        rssi: -60))
    #expect(try await command() == .central(Example.manager, .stopScan))
    #expect(try await command() == .central(Example.manager, .connect(Example.lock, ConnectOptions())))
    system.emit(.connected(PeripheralSnapshot(identifier: Example.lock, state: .connected)))
    func operation() async throws -> OperationIdentifier? {
      guard case .central(_, .perform(_, let identifier, _)) = try await command() else { return nil }
      return identifier
    }
    func complete(_ result: OperationResult) async throws {
      system.emit(.operationCompleted(Example.lock, try #require(try await operation()), result))
    }
    try await complete(.services([ServiceSnapshot(handle: 1, uuid: service)]))
    try await complete(
      .characteristics(of: 1, [CharacteristicSnapshot(handle: 3, uuid: measurement, properties: .notify)]))
    try await complete(.notifying(true))
    system.emit(.valueUpdated(Example.lock, characteristic: 3, value: [1, 0x2C, 0x01]))
    while case .handled(let through) = try await system.requests.next(), through.rawValue < 7 {}
    #expect(app.beatsPerMinute == 300)
  }

  @Test("C8: a subclass of a manager inherits its initializers, those without arguments and with a queue")
  func subclasses() async throws {
    let system = ScriptedSystem()
    system.attach()
    let (peripherals, powered) = system.run {
      (SharedPeripheralManager(), PoweredCentralManager(delegate: nil, queue: DispatchQueue(label: "test")))
    }
    var roles: Set<Role> = []
    while roles.count < 2 {
      if case .createManager(_, let creation) = try await system.requests.next() { roles.insert(creation.role) }
    }
    #expect(peripherals.state == .unknown)
    powered.scanForPeripherals(withServices: nil)
    #expect(powered.isScanning)
    #expect(powered.state == .poweredOn)
  }

  @Test("C8: a wrapper for async/await runs as written")
  func asyncWrapper() async throws {
    let system = ScriptedSystem()
    system.attach()
    let central = system.run { Central() }
    var states = central.states.makeAsyncIterator()
    system.emit(.stateChanged(.poweredOn))
    #expect(await states.next() == .poweredOn)
    var sightings = await central.sightings(of: [heartRateService]).makeAsyncIterator()
    system.emit(
      .discovered(
        PeripheralSnapshot(identifier: Example.lock, name: "Chest"), AdvertisementData(isConnectable: true), rssi: -60))
    let found = try #require(await sightings.next())
    #expect(found.name == "Chest")
    #expect(found.signal == -60)
    async let connection: Void = central.connect(found.peripheral)
    while true { if case .central(_, .connect) = try await system.requests.next() { break } }
    system.emit(.connected(PeripheralSnapshot(identifier: Example.lock, state: .connected)))
    try await connection
    await central.disconnect(found.peripheral)
  }
}
