import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

/// A delegate that opted in to restoration by name but does not implement it.
private final class Forgetful: NSObject, CBCentralManagerDelegate, CBPeripheralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {}
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
}

@Suite("Misuse", .timeLimit(.minutes(20)))
struct MisuseTests {
  @Test("S14: a restore identifier without willRestoreState ends the app and names both")
  func noWillRestoreState() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let system = ScriptedSystem()
      system.attach()
      let delegate = Forgetful()
      let manager = system.run {
        CBCentralManager(
          delegate: delegate, queue: DispatchQueue(label: "test"),
          options: [CBCentralManagerOptionRestoreIdentifierKey: "front-door"])
      }
      system.emit(.willRestoreCentral(CentralRestoration(peripherals: [])))
      // Limited by the suite's time limit.
      _ = try await Inbox<Void>().next()
      withExtendedLifetime(manager) {}
    }
    #expect(errorText(result).contains("front-door"))
    #expect(errorText(result).contains("centralManager(_:willRestoreState:)"))
  }

  @Test("S14: a peripheral manager's restore identifier without willRestoreState ends the app and names both")
  func noWillRestoreStatePeripheral() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let system = ScriptedSystem()
      system.attach()
      let delegate = Forgetful()
      let manager = system.run {
        CBPeripheralManager(
          delegate: delegate, queue: DispatchQueue(label: "test"),
          options: [CBPeripheralManagerOptionRestoreIdentifierKey: "front-door"])
      }
      system.emit(
        .willRestorePeripheral(PeripheralRestoration(services: [], advertisement: nil)))
      _ = try await Inbox<Void>().next()
      withExtendedLifetime(manager) {}
    }
    #expect(errorText(result).contains("front-door"))
    #expect(errorText(result).contains("peripheralManager(_:willRestoreState:)"))
  }

  @Test("S14: a restore identifier without its background mode ends the app and names both")
  func noBackgroundMode() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let system = ScriptedSystem(backgroundModes: ["bluetooth-peripheral"])
      _ = system.run {
        CBCentralManager(
          delegate: nil, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "front-door"])
      }
    }
    #expect(errorText(result).contains("front-door"))
    #expect(errorText(result).contains("bluetooth-central"))
  }

  @Test("S14: connect options of the wrong type end the app and name the key")
  func wrongOptionType() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let setup = try await CentralSetup()
      setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
      let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
      setup.manager.connect(peripheral, options: [CBConnectPeripheralOptionNotifyOnConnectionKey: "yes"])
    }
    #expect(errorText(result).contains("kCBConnectOptionNotifyOnConnection"))
  }

  @Test("S14: a command while not poweredOn is logged and ignored")
  func notPoweredOn() async throws {
    let setup = try await CentralSetup()
    setup.system.emit(.stateChanged(.poweredOff))
    #expect(try await setup.recorder.calls.next() == "state poweredOff")
    setup.manager.scanForPeripherals(withServices: nil)
    #expect(!setup.manager.isScanning)
    #expect(setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue]).isEmpty)
    #expect(setup.misuses.count == 2)
    #expect(setup.misuses[0].contains("scanForPeripherals"))
    #expect(!setup.system.requests.pending.contains { if case .central(_, .scan) = $0 { true } else { false } })
  }

  @Test("S14: a command to a peripheral that is not connected is logged and ignored")
  func notConnected() async throws {
    let setup = try await CentralSetup()
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
    peripheral.discoverServices(nil)
    #expect(setup.misuses.count == 1)
    #expect(setup.misuses[0].contains("discoverServices"))
  }

  @Test("S14: cancelling the connection of a peripheral that no app uses is logged")
  func cancelUnused() async throws {
    let setup = try await CentralSetup()
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
    setup.manager.cancelPeripheralConnection(peripheral)
    #expect(setup.misuses.count == 1)
    #expect(peripheral.state == .disconnected)
  }

  @Test("S14: restored state for a manager without a restore identifier is logged, and the delegate is not called")
  func restorationWithoutIdentifier() async throws {
    let setup = try await CentralSetup()
    setup.system.emit(.willRestoreCentral(CentralRestoration(peripherals: [])))
    setup.system.emit(.stateChanged(.poweredOff))
    #expect(try await setup.recorder.calls.next() == "state poweredOff")
    #expect(setup.misuses.count == 1)
  }

  @Test("S14: a delegate with willRestoreState whose manager has no restore identifier is logged, for both roles")
  func uselessRestoration() async throws {
    let central = try await CentralSetup()
    #expect(
      central.system.log.misuses.count {
        $0.contains("CentralRecorder has centralManager(_:willRestoreState:)") && $0.contains("no restore identifier")
      } == 1)
    let peripheral = try await PeripheralSetup()
    #expect(peripheral.system.log.misuses.count { $0.contains("peripheralManager(_:willRestoreState:)") } == 1)
    #expect(try await CentralSetup(restoreIdentifier: "door").system.log.misuses.isEmpty)

    let system = ScriptedSystem()
    system.attach()
    let (delegate, queue) = (Forgetful(), DispatchQueue(label: "test"))
    let manager = system.run { CBCentralManager(delegate: delegate, queue: queue) }
    _ = try await system.requests.next()
    system.emit(.stateChanged(.poweredOn))
    _ = try await system.requests.next()
    #expect(manager.state == .poweredOn && system.log.misuses.isEmpty)
  }

  @Test("S14: what is restored while a manager has no delegate is logged, because nobody is told of it, for both roles")
  func restoredWithoutDelegate() async throws {
    for isCentral in [true, false] {
      let system = ScriptedSystem()
      system.attach()
      let queue = DispatchQueue(label: "test")
      let manager: CBManager = system.run {
        isCentral
          ? CBCentralManager(
            delegate: nil, queue: queue, options: [CBCentralManagerOptionRestoreIdentifierKey: "door"])
          : CBPeripheralManager(
            delegate: nil, queue: queue, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "door"])
      }
      _ = try await system.requests.next()
      system.emit(
        isCentral
          ? .willRestoreCentral(CentralRestoration(peripherals: []))
          : .willRestorePeripheral(PeripheralRestoration(services: [], advertisement: nil)))
      system.emit(.stateChanged(.poweredOn))
      while manager.state != .poweredOn { _ = try await system.requests.next() }
      #expect(system.log.misuses.count { $0.contains("has no delegate") } == 1, "\(system.log.misuses)")
    }
  }

  @Test("S1: a manager that the system rejects is unsupported, and the log has the system's words")
  func rejected() async throws {
    let setup = try await CentralSetup()
    setup.system.emit(.managerRejected(AppLinkError(.limitReached, "64 managers are enough")))
    #expect(try await setup.recorder.calls.next() == "state unsupported")
    #expect(setup.misuses.contains { $0.contains("64 managers are enough") })
  }
}
