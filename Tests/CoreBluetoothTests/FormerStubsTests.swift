import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

/// A delegate as it was written for iOS 7.
private final class OldDelegate: NSObject, CBPeripheralDelegate, @unchecked Sendable {
  let calls = Inbox<String>()
  @available(*, deprecated)
  func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?) {
    calls.put("\(peripheral.rssi ?? 0) \(error == nil)")
  }
}

private final class Listener: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  let calls = Inbox<String>()
  func centralManagerDidUpdateState(_ central: CBCentralManager) { calls.put("state \(central.state)") }
  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
  ) { calls.put("\(event) \(peripheral.identifier == Example.lock.rawValue) \(peripheral.state)") }
}

@Suite("What were stubs", .timeLimit(.minutes(20)))
struct FormerStubsTests {
  private func next(_ system: ScriptedSystem) async throws -> Request {
    while true {
      let request = try await system.requests.next()
      if case .handled = request { continue }
      return request
    }
  }

  @Test("C5: a delegate that has only the older method is told of the signal with that one")
  func oldSignal() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let old = OldDelegate()
    peripheral.delegate = old
    peripheral.readRSSI()
    let (identifier, _) = try #require(try await setup.nextOperation())
    setup.complete(identifier, .rssi(-55))
    #expect(try await old.calls.next() == "-55 true")
  }

  @Test("C2: connection events are asked for, told, and asked for again when the system is back")
  func connectionEvents() async throws {
    let system = ScriptedSystem()
    let listener = Listener()
    system.attach()
    let manager = system.run { CBCentralManager(delegate: listener, queue: DispatchQueue(label: "test")) }
    _ = try await next(system)
    system.emit(.stateChanged(.poweredOn))
    #expect(try await listener.calls.next() == "state poweredOn")
    manager.registerForConnectionEvents(options: [
      .serviceUUIDs: [CBUUID(string: "180F")], .peripheralUUIDs: [Example.lock.rawValue],
    ])
    let watch = ConnectionWatch(services: [Example.service], peripherals: [Example.lock])
    #expect(try await next(system) == .central(Example.manager, .watchConnections(watch)))
    system.emit(.connectionEvent(PeripheralSnapshot(identifier: Example.lock), isConnected: true))
    #expect(try await listener.calls.next() == "peerConnected true disconnected")
    system.emit(.connectionEvent(PeripheralSnapshot(identifier: Example.lock), isConnected: false))
    #expect(try await listener.calls.next() == "peerDisconnected true disconnected")
    system.detach()
    system.attach()
    guard case .resumeManager = try await next(system) else {
      Issue.record("the manager was not brought back")
      return
    }
    #expect(try await next(system) == .central(Example.manager, .watchConnections(watch)))
    manager.registerForConnectionEvents()
    #expect(try await next(system) == .central(Example.manager, .watchConnections(nil)))
  }

  @Test("C2: options of a wrong type end the app and name the option")
  func wrongOptions() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let system = ScriptedSystem()
      let manager = system.run { CBCentralManager(delegate: nil, queue: nil) }
      manager.registerForConnectionEvents(options: [.serviceUUIDs: "180F"])
    }
    #expect(errorText(result).contains("serviceUUIDs"))
    let alert = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let system = ScriptedSystem()
      _ = system.run {
        CBCentralManager(delegate: nil, queue: nil, options: [CBCentralManagerOptionShowPowerAlertKey: ["yes"]])
      }
    }
    #expect(errorText(alert).contains(CBCentralManagerOptionShowPowerAlertKey))
  }

  @Test("C1: the user is told that Bluetooth is off if the app wants that, until it is on")
  func powerAlert() async throws {
    let system = ScriptedSystem()
    let recorder = CentralRecorder()
    system.attach()
    let manager = system.run {
      CBCentralManager(
        delegate: recorder, queue: DispatchQueue(label: "test"),
        options: [CBCentralManagerOptionShowPowerAlertKey: true])
    }
    _ = try await next(system)
    system.emit(.stateChanged(.poweredOff))
    guard case .showAlert(let text?) = try await next(system) else {
      Issue.record("no alert")
      return
    }
    #expect(text.contains("latchkey bluetooth on"))
    system.emit(.stateChanged(.poweredOn))
    #expect(try await next(system) == .showAlert(nil))
    system.emit(.stateChanged(.poweredOff))
    #expect(try await recorder.calls.next() == "state poweredOff")
    #expect(try await recorder.calls.next() == "state poweredOn")
    #expect(try await recorder.calls.next() == "state poweredOff")
    while case .handled(let through) = try await system.requests.next(), through.rawValue < 3 {}
    #expect(system.requests.pending == [], "a user who switches it off knows that it is off")
    withExtendedLifetime(manager) {}
  }

  @Test("C1: without the option, and beside an alert of the app's own, nothing is shown")
  func noPowerAlert() async throws {
    for ownAlert in [nil, "Low battery"] {
      let system = ScriptedSystem()
      let recorder = CentralRecorder()
      system.attach()
      let manager = system.run {
        if let ownAlert { UserAlert.show(ownAlert) }
        return CBPeripheralManager(
          delegate: nil, queue: DispatchQueue(label: "test"),
          options: ownAlert == nil ? nil : [CBPeripheralManagerOptionShowPowerAlertKey: true])
      }
      system.emit(.stateChanged(.poweredOff))
      var alerts: [Request] = []
      while true {
        let request = try await system.requests.next()
        if case .showAlert = request { alerts.append(request) }
        if case .handled = request { break }
      }
      #expect(alerts.allSatisfy { $0 == .showAlert(ownAlert) })
      _ = (manager, recorder)
    }
  }
}
