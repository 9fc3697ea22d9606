import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("The system goes away and comes back", .timeLimit(.minutes(20)))
struct SystemRestartTests {
  @Test("S8: the manager comes back with the state that its delegate knows, and the delegate does not notice")
  func resume() async throws {
    let setup = try await CentralSetup(restoreIdentifier: "door")
    let peripheral = try await setup.connectExplored(isNotifying: true)
    setup.manager.scanForPeripherals(withServices: nil)
    _ = try await setup.nextCommand()
    setup.system.emit(
      .discovered(PeripheralSnapshot(identifier: Example.other), AdvertisementData(), rssi: -50))
    _ = try await setup.recorder.calls.next()
    setup.system.detach()
    setup.system.attach()
    guard case .resumeManager(Example.manager, let creation, let view) = try await setup.nextCommand() else {
      Issue.record("the manager was not resumed")
      return
    }
    #expect(creation == ManagerCreation(role: .central, restoreIdentifier: "door"))
    #expect(view.state == .poweredOn)
    #expect(view.peripherals == [Example.explored(isNotifying: true)])
    #expect(view.connectOptions == [Example.lock: ConnectOptions()])
    #expect(view.scan == ScanRequest(services: nil))
    #expect(view.discovered == [Example.other])
    #expect(setup.system.attachments.last?.lastEvent == EventSequence(3))
    #expect(setup.recorder.calls.pending.isEmpty)
    #expect(peripheral.state == .connected)
  }

  @Test("S8: what was under way to the delegate is part of the view")
  func viewAfterDelivery() async throws {
    let queue = DispatchQueue(label: "test.held")
    let setup = try await CentralSetup(queue: queue)
    let peripheral = try await setup.connectExplored()
    let isHeld = DispatchSemaphore(value: 0)
    queue.async { isHeld.wait() }
    setup.system.emit(
      .disconnected(
        Example.lock, error: .coreBluetooth(.connectionTimeout, message: "gone"), unixSeconds: 0,
        isReconnecting: false))
    setup.system.detach()
    setup.system.attach()
    isHeld.signal()
    #expect(try await setup.recorder.calls.next() == "didDisconnect failed")
    guard case .resumeManager(_, _, let view) = try await setup.nextCommand() else {
      Issue.record("the manager was not resumed")
      return
    }
    #expect(view.peripherals.isEmpty)
    #expect(peripheral.state == .disconnected)
  }

  @Test("S8: an event that comes again after a restart is not delivered twice")
  func duplicates() async throws {
    let setup = try await CentralSetup()
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
    // Set before anything is emitted, because the name may be delivered at once.
    peripheral.delegate = setup.recorder
    setup.manager.connect(peripheral)
    let event = Event(sequence: EventSequence(2), manager: Example.manager, body: .connected(Example.explored()))
    setup.system.emit(event)
    #expect(try await setup.recorder.calls.next() == "didConnect")
    setup.system.detach()
    setup.system.attach()
    setup.system.emit(event)
    setup.system.emit(
      Event(sequence: EventSequence(3), manager: Example.manager, body: .nameChanged(Example.lock, "next")))
    #expect(try await setup.recorder.calls.next() == "name next")
  }

  @Test("C5: reads and subscriptions are asked for again; a write's outcome is unknown and it is never repeated")
  func operationsInFlight() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
    peripheral.readValue(for: characteristic)
    peripheral.setNotifyValue(true, for: characteristic)
    for _ in 0..<3 { _ = try #require(try await setup.nextOperation()) }
    setup.system.detach()
    setup.system.attach()
    guard case .resumeManager = try await setup.nextCommand() else {
      Issue.record("the manager was not resumed")
      return
    }
    #expect(try await setup.recorder.calls.next() == "didWrite failed")
    #expect((setup.recorder.error as? CBError)?.code == .unknown)
    let (read, first) = try #require(try await setup.nextOperation())
    #expect(first == .readCharacteristic(3))
    let (_, second) = try #require(try await setup.nextOperation())
    #expect(second == .setNotify(true, characteristic: 3))
    setup.complete(read, .value([4]))
    #expect(try await setup.recorder.calls.next() == "value [4]")
  }

  @Test("C5: a write that was asked for while the system was away is handed over when it is back")
  func writeWhileAway() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    setup.system.detach()
    peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
    setup.system.attach()
    guard case .resumeManager = try await setup.nextCommand() else {
      Issue.record("the manager was not resumed")
      return
    }
    let (write, operation) = try #require(try await setup.nextOperation())
    #expect(operation == .writeCharacteristic(3, value: [1], withResponse: true))
    setup.complete(write, .done)
    #expect(try await setup.recorder.calls.next() == "didWrite")
  }

  @Test("C3: a cancellation that the system did not confirm is confirmed by the library")
  func cancellationInFlight() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    setup.manager.cancelPeripheralConnection(peripheral)
    _ = try await setup.nextCommand()
    setup.system.detach()
    setup.system.attach()
    #expect(try await setup.recorder.calls.next() == "didDisconnect")
    guard case .resumeManager(_, _, let view) = try await setup.nextCommand() else {
      Issue.record("the manager was not resumed")
      return
    }
    #expect(view.peripherals.isEmpty)
    #expect(peripheral.state == .disconnected)
  }

  @Test("C6: a peripheral manager comes back with what it publishes; what was not confirmed is asked for again")
  func peripheralManager() async throws {
    let setup = try await PeripheralSetup()
    let definition = try await setup.publish()
    setup.system.emit(.subscribed(setup.central, definition.characteristics[0].identifier))
    _ = try await setup.recorder.calls.next()
    setup.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Front door"])
    _ = try await setup.nextCommand()
    setup.system.detach()
    setup.system.attach()
    guard case .resumeManager(_, _, let view) = try await setup.nextCommand() else {
      Issue.record("the manager was not resumed")
      return
    }
    #expect(view.services == [definition])
    #expect(view.subscriptions == [definition.characteristics[0].identifier: [Example.phone]])
    #expect(view.advertisement == nil)
    #expect(
      try await setup.nextCommand()
        == .peripheral(Example.manager, .startAdvertising(AdvertisementRequest(localName: "Front door"))))
  }

  @Test("C1: a manager made while the system is away is created when it comes")
  func createdWhileAway() async throws {
    let system = ScriptedSystem()
    let recorder = CentralRecorder()
    let manager = system.run { CBCentralManager(delegate: recorder, queue: DispatchQueue(label: "test")) }
    system.attach()
    #expect(try await system.requests.next() == .createManager(Example.manager, ManagerCreation(role: .central)))
    // The system went away before it sent anything. The manager is created again, because nothing was delivered.
    system.detach()
    system.attach()
    #expect(try await system.requests.next() == .createManager(Example.manager, ManagerCreation(role: .central)))
    #expect(manager.state == .unknown)
  }

  @Test("C2, S8: a manager that was told of more peripherals than a message holds shows the newest of them")
  func toldOfMany() async throws {
    let setup = try await CentralSetup()
    setup.manager.scanForPeripherals(withServices: nil)
    _ = try await setup.nextCommand()
    func peer(_ number: Int) -> PeerIdentifier {
      PeerIdentifier(UUID(uuidString: String(format: "30000000-0000-0000-0000-%012x", number))!)
    }
    let count = 9000
    for number in 0..<count {
      setup.system.emit(.discovered(PeripheralSnapshot(identifier: peer(number)), AdvertisementData(), rssi: -50))
      _ = try await setup.recorder.calls.next()
    }
    setup.system.detach()
    setup.system.attach()
    guard case .resumeManager(_, _, let view) = try await setup.nextCommand() else {
      Issue.record("the manager was not resumed")
      return
    }
    #expect(view.discovered.count == 4096)
    #expect(Set(view.discovered).isSuperset(of: (count - 4096..<count).map(peer)))
  }

  @Test("C3: a cancellation followed by a new request while the system is away is confirmed, and the link is a new one")
  func cancelledAndAskedAnewWhileAway() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    setup.system.detach()
    setup.manager.cancelPeripheralConnection(peripheral)
    setup.manager.connect(peripheral)
    #expect(peripheral.state == .connecting)
    setup.system.attach()
    guard case .resumeManager(_, _, let view) = try await setup.nextCommand() else {
      Issue.record("the manager was not resumed")
      return
    }
    try #require(view.peripherals.isEmpty, "the system is to end the old link")
    #expect(try await setup.nextCommand() == .central(Example.manager, .connect(Example.lock, ConnectOptions())))
    #expect(try await setup.recorder.calls.next() == "didDisconnect")
    #expect(peripheral.state == .connecting)
    setup.system.emit(.connected(Example.explored()))
    #expect(try await setup.recorder.calls.next() == "didConnect")
  }
}
