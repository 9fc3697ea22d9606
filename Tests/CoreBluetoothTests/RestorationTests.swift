import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("Restoration of a central manager", .timeLimit(.minutes(20)))
struct RestorationTests {
  private let restoration = CentralRestoration(
    peripherals: [
      Example.explored(.connecting, isNotifying: true),
      PeripheralSnapshot(identifier: Example.other, state: .connected),
    ],
    scan: ScanRequest(services: [Example.service], allowDuplicates: true))

  @Test("S10: willRestoreState comes first, then the state, then what happened")
  func order() async throws {
    let system = ScriptedSystem()
    let recorder = CentralRecorder()
    system.attach(AttachReply(centralsToRestore: ["door"]))
    let manager = system.run {
      CBCentralManager(
        delegate: recorder, queue: DispatchQueue(label: "test"),
        options: [CBCentralManagerOptionRestoreIdentifierKey: "door"])
    }
    #expect(
      try await system.requests.next()
        == .createManager(Example.manager, ManagerCreation(role: .central, restoreIdentifier: "door")))
    system.emit(.willRestoreCentral(restoration))
    system.emit(.stateChanged(.poweredOn))
    system.emit(.connected(Example.explored(isNotifying: true)))
    #expect(try await recorder.calls.next() == "willRestoreState")
    #expect(try await recorder.calls.next() == "state poweredOn")
    #expect(try await recorder.calls.next() == "didConnect")
    #expect(manager.state == .poweredOn)
  }

  @Test("S10: what comes in parts is restored at once, and parts of a system that went away count for nothing")
  func parts() async throws {
    let system = ScriptedSystem()
    let recorder = CentralRecorder()
    system.attach(AttachReply(centralsToRestore: ["door"]))
    let manager = system.run {
      CBCentralManager(
        delegate: recorder, queue: DispatchQueue(label: "test"),
        options: [CBCentralManagerOptionRestoreIdentifierKey: "door"])
    }
    let creation = ManagerCreation(role: .central, restoreIdentifier: "door")
    #expect(try await system.requests.next() == .createManager(Example.manager, creation))
    system.emit(.restoredPeripherals([PeripheralSnapshot(identifier: Example.other, state: .connecting)]))
    system.detach()
    system.attach()
    var next = try await system.requests.next()
    while case .handled = next { next = try await system.requests.next() }
    #expect(next == .createManager(Example.manager, creation))
    system.emit(.restoredPeripherals([Example.explored(.connecting)]))
    system.emit(.willRestoreCentral(CentralRestoration(peripherals: [])))
    #expect(try await recorder.calls.next() == "willRestoreState")
    let restored = recorder.restoration[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral]
    #expect(restored?.map(\.identifier) == [Example.lock.rawValue])
    #expect(manager.state == .unknown)
  }

  @Test("S10: with nothing to restore the state comes first")
  func nothingToRestore() async throws {
    let setup = try await CentralSetup(restoreIdentifier: "door")
    #expect(setup.recorder.restoration.isEmpty)
    #expect(setup.manager.state == .poweredOn)
  }

  @Test("S11: the dictionary has the documented keys and types")
  func dictionary() async throws {
    let setup = try await CentralSetup(restoreIdentifier: "door", restoring: restoration)
    let state = setup.recorder.restoration
    #expect(
      Set(state.keys) == [
        CBCentralManagerRestoredStatePeripheralsKey, CBCentralManagerRestoredStateScanServicesKey,
        CBCentralManagerRestoredStateScanOptionsKey,
      ])
    #expect((state[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.count == 2)
    #expect(state[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID] == [CBUUID(string: "180F")])
    let options = try #require(state[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any])
    #expect(options[CBCentralManagerScanOptionAllowDuplicatesKey] as? Bool == true)
    #expect(setup.manager.isScanning)
  }

  @Test("S4, S12: a restored peripheral carries its state, what was discovered, and what is subscribed to")
  func peripheral() async throws {
    let setup = try await CentralSetup(restoreIdentifier: "door", restoring: restoration)
    let peripherals = try await setup.recorder.restored.next()
    let lock = try #require(peripherals.first { $0.identifier == Example.lock.rawValue })
    #expect(lock.state == .connecting)
    #expect(lock.name == "Front door")
    let characteristic = try #require(lock.services?.first?.characteristics?.first)
    #expect(characteristic.isNotifying)
    #expect(characteristic.descriptors?.map(\.uuid) == [CBUUID(string: "2901")])
    #expect(characteristic.service?.peripheral === lock)
    #expect(peripherals.first { $0.identifier == Example.other.rawValue }?.state == .connected)

    // The system completes the request by itself. The objects are the same, and the subscription is still active.
    lock.delegate = setup.recorder
    setup.system.emit(.connected(Example.explored(isNotifying: true)))
    #expect(try await setup.recorder.calls.next() == "didConnect")
    #expect(lock.state == .connected)
    #expect(lock.services?.first?.characteristics?.first === characteristic)
    setup.system.emit(.valueUpdated(Example.lock, characteristic: 3, value: [1]))
    #expect(try await setup.recorder.calls.next() == "value [1]")
  }

  @Test("C3: connect to a restored connected peripheral asks the system, which answers at once")
  func connectRestoredConnected() async throws {
    let setup = try await CentralSetup(restoreIdentifier: "door", restoring: restoration)
    let other = try #require(try await setup.recorder.restored.next().first { $0.identifier == Example.other.rawValue })
    setup.manager.connect(other)
    #expect(other.state == .connected)
    #expect(try await setup.nextCommand() == .central(Example.manager, .connect(Example.other, ConnectOptions())))
    setup.system.emit(.connected(PeripheralSnapshot(identifier: Example.other, state: .connected)))
    #expect(try await setup.recorder.calls.next() == "didConnect")
  }

  @Test("S10, C3: an app that repeats its request while the connection is on its way is told of it once")
  func connectRestoredConnecting() async throws {
    let setup = try await CentralSetup(restoreIdentifier: "door", restoring: restoration)
    let lock = try #require(try await setup.recorder.restored.next().first { $0.identifier == Example.lock.rawValue })
    #expect(lock.state == .connecting)
    setup.manager.connect(lock)
    let connected = PeripheralSnapshot(identifier: Example.lock, state: .connected)
    setup.system.emit(.connected(connected))
    // The answer to the repeated request.
    setup.system.emit(.connected(connected))
    setup.system.emit(.disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: false))
    #expect(try await setup.recorder.calls.next() == "didConnect")
    #expect(try await setup.recorder.calls.next().hasPrefix("didDisconnect"))
    setup.manager.connect(lock)
    setup.system.emit(.connected(connected))
    #expect(try await setup.recorder.calls.next() == "didConnect")
    // A request for what is connected already is answered, as on Apple's systems.
    setup.manager.connect(lock)
    setup.system.emit(.connected(connected))
    #expect(try await setup.recorder.calls.next() == "didConnect")
  }

  @Test("S9: launch options list the restore identifiers, and only where there are any")
  func launchOptions() async throws {
    let system = ScriptedSystem()
    system.attach(AttachReply(centralsToRestore: ["door", "car"]))
    let options = system.run { ApplicationLaunch.options() }
    #expect(options?[.bluetoothCentrals] as? [String] == ["door", "car"])
    #expect(options?[.bluetoothPeripherals] == nil)
    #expect(options?.count == 1)
  }

  @Test("S9: an app that the system refuses has no launch options")
  func refusedLaunch() async throws {
    let system = ScriptedSystem()
    system.refuse(AppLinkError(.unknownApp, "unknown"))
    #expect(system.run { ApplicationLaunch.options() } == nil)
  }

  @Test("S1: the second manager with one identifier stays unsupported, and the log says why")
  func duplicateIdentifier() async throws {
    let setup = try await CentralSetup(restoreIdentifier: "door")
    let recorder = CentralRecorder()
    let second = setup.system.run {
      CBCentralManager(
        delegate: recorder, queue: DispatchQueue(label: "second"),
        options: [CBCentralManagerOptionRestoreIdentifierKey: "door"])
    }
    #expect(try await recorder.calls.next() == "state unsupported")
    #expect(second.state == .unsupported)
    #expect(setup.system.log.misuses.contains { $0.contains("\"door\"") })
    #expect(setup.manager.state == .poweredOn)
  }

  @Test("S1: an identifier is free again when its manager is gone, also for the other role at any time")
  func identifierIsFreed() async throws {
    let system = ScriptedSystem()
    system.attach()
    let options = [CBCentralManagerOptionRestoreIdentifierKey: "door"]
    let queue = DispatchQueue(label: "test")
    do {
      let first = system.run { CBCentralManager(delegate: nil, queue: queue, options: options) }
      _ = try await system.requests.next()
      #expect(first.state == .unknown)
    }
    let second = system.run { CBCentralManager(delegate: nil, queue: queue, options: options) }
    #expect(try await system.requests.next() == .destroyManager(Example.manager))
    #expect(
      try await system.requests.next()
        == .createManager(ManagerIdentifier(2), ManagerCreation(role: .central, restoreIdentifier: "door")))
    #expect(second.state == .unknown)
    #expect(system.log.misuses.isEmpty)
  }
}
