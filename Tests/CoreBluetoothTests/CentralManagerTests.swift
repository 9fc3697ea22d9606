import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("A central manager", .timeLimit(.minutes(20)))
struct CentralManagerTests {
  @Test("C1: there are no callbacks inside init, and the state comes on the manager's queue")
  func stateComesOnTheQueue() async throws {
    let queue = DispatchQueue(label: "test.queue")
    let isHeld = DispatchSemaphore(value: 0)
    queue.async { isHeld.wait() }
    let system = ScriptedSystem()
    let recorder = CentralRecorder()
    system.attach()
    let manager = system.run { CBCentralManager(delegate: recorder, queue: queue) }
    #expect(manager.state == .unknown)
    #expect(try await system.requests.next() == .createManager(Example.manager, ManagerCreation(role: .central)))
    system.emit(.stateChanged(.poweredOn))
    #expect(recorder.calls.pending.isEmpty)
    #expect(manager.state == .unknown)
    isHeld.signal()
    #expect(try await recorder.calls.next() == "state poweredOn")
    #expect(manager.state == .poweredOn)
    #expect(try await system.requests.next() == .handled(through: EventSequence(1)))
  }

  @Test("C1: an app without a usable Info.plist gets unsupported, and the log names the key")
  func missingInfoPlist() async throws {
    let system = ScriptedSystem(missingInfoPlist: "/x/Info.plist has no CFBundleIdentifier")
    let recorder = CentralRecorder()
    let manager = system.run { CBCentralManager(delegate: recorder, queue: DispatchQueue(label: "test")) }
    #expect(try await recorder.calls.next() == "state unsupported")
    #expect(manager.state == .unsupported)
    #expect(system.log.lines.contains { $0.level == .critical && $0.message.contains("CFBundleIdentifier") })
  }

  @Test("C1: an app that the system does not know is unauthorized")
  func refused() async throws {
    let system = ScriptedSystem()
    let recorder = CentralRecorder()
    let manager = system.run { CBCentralManager(delegate: recorder, queue: DispatchQueue(label: "test")) }
    system.refuse(AppLinkError(.unknownApp, "put its Info.plist into the apps folder"))
    #expect(try await recorder.calls.next() == "state unauthorized")
    #expect(manager.state == .unauthorized)
  }

  @Test("C2: one discovery for each peripheral, or one for each advertisement, with what it says")
  func discovery() async throws {
    let setup = try await CentralSetup()
    setup.manager.scanForPeripherals(withServices: [CBUUID(string: "180F")])
    #expect(setup.manager.isScanning)
    #expect(try await setup.nextCommand() == .central(Example.manager, .scan(ScanRequest(services: [Example.service]))))
    let advertisement = AdvertisementData(
      localName: "Front door", serviceUUIDs: [Example.service], serviceData: [Example.service: [7]],
      manufacturerData: [0x004C: [1, 2]], transmitPowerLevel: -4)
    let sighting = PeripheralSnapshot(identifier: Example.lock, name: "Front door")
    for rssi in [Int8(-60), -50] {
      setup.system.emit(.discovered(sighting, advertisement, rssi: rssi))
    }
    setup.system.emit(
      .discovered(PeripheralSnapshot(identifier: Example.other), advertisement, rssi: -40))
    #expect(try await setup.recorder.calls.next() == "didDiscover -60")
    #expect(try await setup.recorder.calls.next() == "didDiscover -40")
    let dictionary = setup.recorder.advertisement
    #expect(dictionary[CBAdvertisementDataLocalNameKey] as? String == "Front door")
    #expect(dictionary[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "180F")])
    #expect(
      dictionary[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data] == [CBUUID(string: "180F"): Data([7])])
    #expect(dictionary[CBAdvertisementDataManufacturerDataKey] as? Data == Data([0x4C, 0, 1, 2]))
    #expect(dictionary[CBAdvertisementDataTxPowerLevelKey] as? NSNumber == -4)
    #expect(dictionary[CBAdvertisementDataIsConnectable] as? Bool == true)
    setup.manager.stopScan()
    #expect(!setup.manager.isScanning)
  }

  @Test("C3: connect, connected, lost: the states are those the delegate hears of")
  func connection() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    #expect(peripheral.state == .connected)
    #expect(peripheral.name == "Front door")
    #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 182)
    #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 512)
    setup.system.emit(
      .disconnected(
        Example.lock, error: .coreBluetooth(.connectionTimeout, message: "gone"), unixSeconds: 0,
        isReconnecting: false))
    #expect(try await setup.recorder.calls.next() == "didDisconnect failed")
    #expect((setup.recorder.error as? CBError)?.code == .connectionTimeout)
    #expect(peripheral.state == .disconnected)
  }

  @Test("C3: a cancelled request ends with didDisconnect, and a connection on its way is not reported")
  func cancel() async throws {
    let setup = try await CentralSetup()
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
    setup.manager.connect(peripheral, options: [CBConnectPeripheralOptionStartDelayKey: 3])
    #expect(
      try await setup.nextCommand()
        == .central(Example.manager, .connect(Example.lock, ConnectOptions(startDelaySeconds: 3))))
    #expect(peripheral.state == .connecting)
    setup.manager.cancelPeripheralConnection(peripheral)
    #expect(try await setup.nextCommand() == .central(Example.manager, .cancelConnection(Example.lock)))
    setup.system.emit(.connected(Example.explored()))
    setup.system.emit(
      .disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: false))
    #expect(try await setup.recorder.calls.next() == "didDisconnect")
    #expect(peripheral.state == .disconnected)
  }

  /// A peripheral that the app connects to, cancels, and connects to again, while nothing has happened yet.
  private func askAgainAfterCancelling(_ setup: CentralSetup) async throws -> CBPeripheral {
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
    setup.manager.connect(peripheral)
    setup.manager.cancelPeripheralConnection(peripheral)
    setup.manager.connect(peripheral)
    for _ in 1...3 { _ = try await setup.nextCommand() }
    return peripheral
  }

  @Test("C3: what was on its way when the app cancelled and asked again is not reported, and the new request is")
  func cancelAndConnect() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await askAgainAfterCancelling(setup)
    setup.system.emit(.connected(Example.explored()))
    setup.system.emit(.disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: false))
    #expect(try await setup.recorder.calls.next() == "didDisconnect")
    #expect(peripheral.state == .connecting)
    setup.system.emit(.connected(Example.explored()))
    #expect(try await setup.recorder.calls.next() == "didConnect")
    #expect(peripheral.state == .connected)
  }

  @Test("C3: a failure that was on its way when the app cancelled and asked again leaves the new request as it is")
  func failureBeforeNewRequest() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await askAgainAfterCancelling(setup)
    setup.system.emit(.failedToConnect(Example.lock, .coreBluetooth(.connectionFailed, message: "It failed.")))
    #expect(try await setup.recorder.calls.next() == "didFailToConnect failed")
    #expect(peripheral.state == .connecting)
    setup.system.detach()
    setup.system.attach()
    guard case .resumeManager(_, _, let view) = try await setup.nextCommand() else {
      Issue.record("the manager was not resumed")
      return
    }
    #expect(view.peripherals.map(\.state) == [.connecting])
  }

  @Test(
    "C3: a loss that reconnects by itself and was on its way when the app cancelled is not reported, and the peripheral ends disconnected"
  )
  func cancelDuringReconnection() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    setup.manager.cancelPeripheralConnection(peripheral)
    #expect(try await setup.nextCommand() == .central(Example.manager, .cancelConnection(Example.lock)))
    setup.system.emit(
      .disconnected(
        Example.lock, error: .coreBluetooth(.connectionTimeout, message: "gone"), unixSeconds: 0, isReconnecting: true))
    setup.system.emit(.disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: false))
    #expect(try await setup.recorder.calls.next() == "didDisconnect")
    setup.system.emit(.nameChanged(Example.lock, "Back door"))
    #expect(try await setup.recorder.calls.next() == "name Back door")
    #expect(peripheral.state == .disconnected)
    setup.manager.connect(peripheral)
    setup.system.emit(.connected(Example.explored()))
    #expect(try await setup.recorder.calls.next() == "didConnect")
  }

  @Test("C3: dropping the last reference to a peripheral cancels its pending request")
  func abandon() async throws {
    let setup = try await CentralSetup()
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    do {
      let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
      setup.manager.connect(peripheral)
    }
    #expect(try await setup.nextCommand() == .central(Example.manager, .connect(Example.lock, ConnectOptions())))
    #expect(try await setup.nextCommand() == .central(Example.manager, .cancelConnection(Example.lock)))
    #expect(setup.misuses.count == 1)
  }

  @Test("C3: of a request that ended with the last reference to its peripheral, the delegate is told nothing")
  func abandonedSilently() async throws {
    let setup = try await CentralSetup()
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    do {
      let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
      setup.manager.connect(peripheral)
    }
    for _ in 1...2 { _ = try await setup.nextCommand() }
    setup.system.emit(.disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: false))
    setup.system.emit(.stateChanged(.poweredOff))
    #expect(try await setup.recorder.calls.next() == "state poweredOff")
  }

  @Test("S3: with a restore identifier the request is held although nothing refers to the peripheral")
  func heldRequest() async throws {
    let setup = try await CentralSetup(restoreIdentifier: "door")
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    weak var weakly: CBPeripheral?
    do {
      let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
      weakly = peripheral
      setup.manager.connect(peripheral)
    }
    _ = try await setup.nextCommand()
    #expect(weakly != nil)
    setup.system.emit(.connected(Example.explored()))
    #expect(try await setup.recorder.calls.next() == "didConnect")
  }

  @Test("C3: one object for one peripheral, and it is equal to no other peripheral's")
  func identity() async throws {
    let setup = try await CentralSetup()
    for _ in 0..<2 {
      setup.system.answerNextQuery { _ in
        .success([PeripheralSnapshot(identifier: Example.lock), PeripheralSnapshot(identifier: Example.other)])
      }
    }
    let first = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue, Example.other.rawValue])
    let second = setup.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180F")])
    #expect(first[0] === second[0])
    #expect(first[1] === second[1])
    #expect(first[0] != first[1])
    #expect(Set(first + second).count == 2)
  }

  @Test("C3: a delegate with only the newer disconnect method is told by it")
  func newerDisconnect() async throws {
    final class Newer: NSObject, CBCentralManagerDelegate {
      let calls = Inbox<String>()
      func centralManagerDidUpdateState(_ central: CBCentralManager) {}
      func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
        isReconnecting: Bool, error: (any Error)?
      ) { calls.put("\(timestamp) \(isReconnecting) \(peripheral.state)") }
    }
    let setup = try await CentralSetup()
    let newer = Newer()
    let peripheral = try await setup.connectExplored()
    setup.manager.delegate = newer
    setup.system.emit(
      .disconnected(
        Example.lock, error: .coreBluetooth(.connectionTimeout, message: "gone"), unixSeconds: 978_307_210,
        isReconnecting: true))
    #expect(try await newer.calls.next() == "10.0 true connecting")
    #expect(peripheral.state == .connecting)
  }

  @Test("C3: a delegate with both disconnect methods is told by the older one only")
  func bothDisconnects() async throws {
    final class Both: NSObject, CBCentralManagerDelegate {
      let calls = Inbox<String>()
      func centralManagerDidUpdateState(_ central: CBCentralManager) { calls.put("state") }
      func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
      ) { calls.put("older") }
      func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
        isReconnecting: Bool, error: (any Error)?
      ) { calls.put("newer") }
    }
    let setup = try await CentralSetup()
    let both = Both()
    _ = try await setup.connectExplored()
    setup.manager.delegate = both
    setup.system.emit(
      .disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: false))
    setup.system.emit(.stateChanged(.poweredOff))
    #expect(try await both.calls.next() == "older")
    #expect(try await both.calls.next() == "state")
  }

  @Test("C8: a delegate isolated to the main actor is called there")
  @MainActor func mainActorDelegate() async throws {
    let system = ScriptedSystem()
    let delegate = MainActorDelegate()
    system.attach()
    let manager = system.run { CBCentralManager(delegate: delegate, queue: nil) }
    _ = try await system.requests.next()
    system.emit(.stateChanged(.poweredOn))
    #expect(try await delegate.states.next() == .poweredOn)
    #expect(manager.state == .poweredOn)
  }

  @Test(
    "C2: a scan ends with the radio, for the system too; another can be asked for",
    arguments: [AppLink.ManagerState.poweredOff, .resetting])
  func scanOverPowerCycle(_ state: AppLink.ManagerState) async throws {
    let setup = try await CentralSetup()
    setup.manager.scanForPeripherals(withServices: [CBUUID(string: "180F")])
    _ = try await setup.nextCommand()
    setup.system.emit(.stateChanged(state))
    _ = try await setup.recorder.calls.next()
    #expect(!setup.manager.isScanning)
    setup.system.emit(.stateChanged(.poweredOn))
    _ = try await setup.recorder.calls.next()
    setup.manager.scanForPeripherals(withServices: nil)
    #expect(try await setup.nextCommand() == .central(Example.manager, .stopScan))
    #expect(try await setup.nextCommand() == .central(Example.manager, .scan(ScanRequest(services: nil))))
  }

  @Test("S2: a scan that was restored while Bluetooth is off goes on when it is on")
  func restoredScanWhileOff() async throws {
    let system = ScriptedSystem()
    let recorder = CentralRecorder()
    system.attach()
    let manager = system.run {
      CBCentralManager(
        delegate: recorder, queue: DispatchQueue(label: "test.restored"),
        options: [CBCentralManagerOptionRestoreIdentifierKey: "door"])
    }
    system.emit(
      .willRestoreCentral(
        CentralRestoration(peripherals: [], scan: ScanRequest(services: [Example.service]))))
    for state in [AppLink.ManagerState.poweredOff, .poweredOn] { system.emit(.stateChanged(state)) }
    for call in ["willRestoreState", "state poweredOff", "state poweredOn"] {
      #expect(try await recorder.calls.next() == call)
    }
    #expect(manager.isScanning)
  }
}

@MainActor
final class MainActorDelegate: NSObject, @MainActor CBCentralManagerDelegate {
  let states = Inbox<CBManagerState>()
  private(set) var count = 0

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    count += 1
    states.put(central.state)
  }
}
