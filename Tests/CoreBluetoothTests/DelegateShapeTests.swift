import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

/// Delegates as libraries build them: proxies that pass calls on, and classes above classes.
@Suite("Shapes of delegates", .timeLimit(.minutes(20)))
struct DelegateShapeTests {
  /// Has no optional method at all.
  private final class Silent: NSObject, CBCentralManagerDelegate, CBPeripheralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
  }

  /// Passes everything on to another delegate, which may lack it.
  private final class Proxy: NSObject, CBCentralManagerDelegate, CBPeripheralManagerDelegate, @unchecked Sendable {
    let calls = Inbox<String>()
    let requests = Inbox<CBATTRequest>()
    private let behind = Silent()

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
      behind.centralManagerDidUpdateState(central)
      calls.put("state")
    }
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
      behind.centralManager(central, willRestoreState: dict)
      calls.put("willRestoreState")
    }
    func centralManager(
      _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
      behind.centralManager(central, didDisconnectPeripheral: peripheral, error: error)
      calls.put("didDisconnect")
    }
    func centralManager(
      _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
      isReconnecting: Bool, error: (any Error)?
    ) { calls.put("didDisconnect with a time") }
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) { calls.put("state") }
    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
      calls.put("didAdd")
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
      behind.peripheralManager(peripheral, didReceiveRead: request)
      requests.put(request)
    }
  }

  @Test("S1, C8: a delegate that passes willRestoreState on to one without it is restored")
  func proxyIsRestored() async throws {
    let system = ScriptedSystem()
    system.attach()
    let proxy = Proxy()
    let manager = system.run {
      CBCentralManager(
        delegate: proxy, queue: DispatchQueue(label: "test"),
        options: [CBCentralManagerOptionRestoreIdentifierKey: "front-door" as NSString])
    }
    var snapshot = Example.explored()
    snapshot.state = .connected
    system.emit(.willRestoreCentral(CentralRestoration(peripherals: [snapshot])))
    #expect(try await proxy.calls.next() == "willRestoreState")
    system.emit(.stateChanged(.poweredOn))
    #expect(try await proxy.calls.next() == "state")
    system.emit(.disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: false))
    system.emit(.stateChanged(.poweredOff))
    #expect(try await proxy.calls.next() == "didDisconnect")
    #expect(try await proxy.calls.next() == "state", "the other method is not called as well")
    withExtendedLifetime(manager) {}
  }

  @Test("P2, C8: a read that a delegate passes on stays open until the app answers it")
  func proxyAnswers() async throws {
    let system = ScriptedSystem()
    system.attach()
    let proxy = Proxy()
    let manager = system.run { CBPeripheralManager(delegate: proxy, queue: DispatchQueue(label: "test")) }
    system.emit(.stateChanged(.poweredOn))
    #expect(try await proxy.calls.next() == "state")
    let characteristic = CBMutableCharacteristic(
      type: CBUUID(string: "2A19"), properties: .read, value: nil, permissions: .readable)
    let service = CBMutableService(type: CBUUID(string: "180F"), primary: true)
    service.characteristics = [characteristic]
    manager.add(service)
    var definition: ServiceDefinition?
    while definition == nil {
      if case .peripheral(_, .addService(let added)) = try await system.requests.next() { definition = added }
    }
    let added = try #require(definition)
    system.emit(.serviceAdded(added.identifier, error: nil))
    #expect(try await proxy.calls.next() == "didAdd")
    let central = CentralSnapshot(identifier: Example.phone, maximumUpdateValueLength: 20)
    system.emit(
      .readRequested(
        RemoteRequestIdentifier(1), central, try #require(added.characteristics.first).identifier, offset: 0))
    let request = try await proxy.requests.next()
    request.value = Data([7])
    manager.respond(to: request, withResult: .success)
    while true {
      guard case .respond(_, let result, let value) = try await system.requests.next() else { continue }
      #expect(result == nil)
      #expect(value == [7])
      break
    }
    #expect(system.log.misuses.isEmpty)
  }

  private class Base: NSObject, CBCentralManagerDelegate {
    let calls = Inbox<String>()
    func centralManagerDidUpdateState(_ central: CBCentralManager) { calls.put("state \(central.state)") }
  }
  private final class Derived: Base, @unchecked Sendable {
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { calls.put("didConnect") }
  }

  @Test("C8: a delegate's method that only a subclass declares can't be called, and the log says what to do, once")
  func inheritedConformance() async throws {
    let system = ScriptedSystem()
    system.attach()
    let delegate = Derived()
    let manager = system.run { CBCentralManager(delegate: delegate, queue: DispatchQueue(label: "test")) }
    system.emit(.stateChanged(.poweredOn))
    #expect(try await delegate.calls.next() == "state poweredOn")
    for _ in 1...2 { system.emit(.connected(PeripheralSnapshot(identifier: Example.lock, state: .connected))) }
    system.emit(.stateChanged(.poweredOff))
    #expect(try await delegate.calls.next() == "state poweredOff")
    let hints = system.log.lines.filter { $0.message.contains("centralManager(_:didConnect:)") }
    #expect(hints.count == 1)
    #expect(hints.first?.message.contains("Declare it in Base") == true)
    withExtendedLifetime(manager) {}
  }

  @Test(
    "C8: texts are Booleans in the options of managers and scans, as NSString makes them on iOS",
    arguments: ["YES", "1", "true"])
  func textsAsFlags(_ text: String) async throws {
    let system = ScriptedSystem()
    system.attach()
    let recorder = CentralRecorder()
    let manager = system.run {
      CBCentralManager(
        delegate: recorder, queue: DispatchQueue(label: "test"),
        options: [CBCentralManagerOptionShowPowerAlertKey: text, CBCentralManagerScanOptionAllowDuplicatesKey: "NO"])
    }
    let server = system.run {
      CBPeripheralManager(delegate: nil, queue: nil, options: [CBPeripheralManagerOptionShowPowerAlertKey: "NO"])
    }
    system.emit(.stateChanged(.poweredOn))
    #expect(try await recorder.calls.next() == "state poweredOn")
    manager.scanForPeripherals(withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: "NO"])
    let repeated = [CBCentralManagerScanOptionAllowDuplicatesKey: text as NSString]
    manager.scanForPeripherals(withServices: nil, options: repeated)
    var allowed: [Bool] = []
    while allowed.count < 2 {
      if case .central(_, .scan(let scan)) = try await system.requests.next() { allowed.append(scan.allowDuplicates) }
    }
    #expect(allowed == [false, true])
    withExtendedLifetime(server) {}
  }

  @Test("S14, C8: numbers are Booleans in every option, as NSNumber makes them on iOS")
  func numbersAsFlags() async throws {
    let system = ScriptedSystem()
    system.attach()
    let recorder = CentralRecorder()
    let manager = system.run {
      CBCentralManager(
        delegate: recorder, queue: DispatchQueue(label: "test"), options: [CBCentralManagerOptionShowPowerAlertKey: 1])
    }
    system.emit(.stateChanged(.poweredOn))
    #expect(try await recorder.calls.next() == "state poweredOn")
    manager.scanForPeripherals(withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: 1])
    system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = try #require(manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue]).first)
    manager.connect(
      peripheral,
      options: [
        CBConnectPeripheralOptionNotifyOnConnectionKey: 1, CBConnectPeripheralOptionNotifyOnDisconnectionKey: 0,
        CBConnectPeripheralOptionNotifyOnNotificationKey: true as AnyObject,
      ])
    var requests: [Request] = []
    while requests.count < 2 {
      let request = try await system.requests.next()
      if case .central = request { requests.append(request) }
    }
    var options = ConnectOptions()
    options.notifyOnConnection = true
    options.notifyOnNotification = true
    #expect(requests.first == .central(Example.manager, .scan(ScanRequest(services: nil, allowDuplicates: true))))
    #expect(requests.last == .central(Example.manager, .connect(Example.lock, options)))
  }
}
