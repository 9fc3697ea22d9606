import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

/// A peripheral manager in the state poweredOn, its delegate and its system.
struct PeripheralSetup {
  let system = ScriptedSystem()
  let recorder = PeripheralRecorder()
  let manager: CBPeripheralManager
  let characteristic = CBMutableCharacteristic(
    type: CBUUID(string: "2A19"), properties: [.read, .write, .notify], value: nil,
    permissions: [.readable, .writeable])
  let service = CBMutableService(type: CBUUID(string: "180F"), primary: true)
  let central = CentralSnapshot(identifier: Example.phone, maximumUpdateValueLength: 182)

  init(restoreIdentifier: String? = nil, restoring restoration: PeripheralRestoration? = nil) async throws {
    system.attach()
    let recorder = recorder
    manager = system.run {
      CBPeripheralManager(
        delegate: recorder, queue: DispatchQueue(label: "test.peripheral"),
        options: restoreIdentifier.map { [CBPeripheralManagerOptionRestoreIdentifierKey: $0] })
    }
    _ = try await nextCommand()
    if let restoration {
      system.emit(.willRestorePeripheral(restoration))
      _ = try await recorder.calls.next()
    }
    system.emit(.stateChanged(.poweredOn))
    _ = try await recorder.calls.next()
  }

  /// The app's mistakes, but that its delegate has `willRestoreState` without any use.
  var misuses: [String] { system.log.misuses.filter { !$0.contains("restore identifier, but") } }
  func ownMistake(_ line: LogCollector.Line) -> Bool { line.message.contains("restore identifier, but") }

  func nextCommand() async throws -> Request {
    while true {
      let request = try await system.requests.next()
      if case .handled = request { continue }
      return request
    }
  }

  /// Publishes the service. The library chooses the identifiers.
  func publish(credit: Int = 2) async throws -> ServiceDefinition {
    service.characteristics = [characteristic]
    manager.add(service)
    guard case .peripheral(_, .addService(let definition)) = try await nextCommand() else {
      throw Unexpected()
    }
    system.emit(.serviceAdded(definition.identifier, error: nil))
    system.emit(.updateCredit(credit))
    _ = try await recorder.calls.next()
    return definition
  }

  struct Unexpected: Error {}
}

@Suite("A peripheral manager", .timeLimit(.minutes(20)))
struct PeripheralManagerTests {
  @Test("C6: services are published as they are, and taken back")
  func publish() async throws {
    let setup = try await PeripheralSetup()
    setup.characteristic.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Bolt")]
    let definition = try await setup.publish()
    #expect(definition.uuid == Example.service)
    #expect(definition.isPrimary)
    let member = try #require(definition.characteristics.first)
    #expect(member.properties == [.read, .write, .notify])
    #expect(member.permissions == [.readable, .writeable])
    #expect(
      member.descriptors == [DescriptorDefinition(uuid: BluetoothUUID(0x2901 as UInt16), value: Array("Bolt".utf8))])
    setup.manager.remove(setup.service)
    #expect(try await setup.nextCommand() == .peripheral(Example.manager, .removeService(definition.identifier)))
  }

  @Test("C6: what can't be published is refused with the reason")
  func refusals() async throws {
    let setup = try await PeripheralSetup()
    let cached = CBMutableCharacteristic(
      type: CBUUID(string: "2A19"), properties: [.read, .write], value: Data([1]), permissions: [.readable])
    setup.service.characteristics = [cached]
    setup.manager.add(setup.service)
    #expect(try await setup.recorder.calls.next() == "didAdd 180F failed")
    #expect((setup.recorder.error as? CBError)?.code == .invalidParameters)
    let outer = CBMutableService(type: CBUUID(string: "1801"), primary: true)
    outer.includedServices = [setup.service]
    setup.manager.add(outer)
    #expect(try await setup.recorder.calls.next() == "didAdd 1801 failed")
    #expect(setup.misuses.count == 2)
  }

  @Test("C6: advertising starts once, and says what it can't advertise")
  func advertise() async throws {
    let setup = try await PeripheralSetup()
    setup.manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Front door",
      CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "180F")],
      CBAdvertisementDataTxPowerLevelKey: 4,
    ])
    #expect(
      try await setup.nextCommand()
        == .peripheral(
          Example.manager,
          .startAdvertising(AdvertisementRequest(localName: "Front door", serviceUUIDs: [Example.service]))))
    #expect(setup.system.log.lines.contains { $0.message.contains(CBAdvertisementDataTxPowerLevelKey) })
    #expect(!setup.manager.isAdvertising)
    setup.system.emit(.advertisingStarted(error: nil))
    #expect(try await setup.recorder.calls.next() == "didStartAdvertising")
    #expect(setup.manager.isAdvertising)
    setup.manager.startAdvertising(nil)
    #expect(try await setup.recorder.calls.next() == "didStartAdvertising failed")
    #expect((setup.recorder.error as? CBError)?.code == .alreadyAdvertising)
    setup.manager.stopAdvertising()
    #expect(try await setup.nextCommand() == .peripheral(Example.manager, .stopAdvertising))
    #expect(!setup.manager.isAdvertising)
  }

  @Test("C6: what is refused is told after the answers to what the app asked for before", arguments: [true, false])
  func orderOfRefusals(_ isAnswered: Bool) async throws {
    let setup = try await PeripheralSetup()
    setup.manager.startAdvertising(nil)
    setup.manager.startAdvertising(nil)
    setup.manager.add(setup.service)
    setup.manager.add(setup.service)
    guard case .peripheral(_, .startAdvertising) = try await setup.nextCommand(),
      case .peripheral(_, .addService(let definition)) = try await setup.nextCommand()
    else { throw PeripheralSetup.Unexpected() }
    if isAnswered {
      setup.system.emit(.serviceAdded(definition.identifier, error: nil))
      #expect(try await setup.recorder.calls.next() == "didAdd 180F")
      #expect(try await setup.recorder.calls.next() == "didAdd 180F failed")
      setup.system.emit(.advertisingStarted(error: nil))
      #expect(try await setup.recorder.calls.next() == "didStartAdvertising")
    } else {
      // There will be no answer.
      setup.manager.removeAllServices()
      #expect(try await setup.recorder.calls.next() == "didAdd 180F failed")
      setup.manager.stopAdvertising()
    }
    #expect(try await setup.recorder.calls.next() == "didStartAdvertising failed")
  }

  @Test("C6: the log says which services have no room in the advertisement")
  func room() async throws {
    let setup = try await PeripheralSetup()
    let services = (1...3).map { CBUUID(string: "1A2B3C4D-0000-4000-8000-00000000000\($0)") }
    setup.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: services])
    guard case .peripheral(_, .startAdvertising(let request)) = try await setup.nextCommand() else {
      throw PeripheralSetup.Unexpected()
    }
    #expect(request.serviceUUIDs.count == 3, "in the background all of them are found")
    let warnings = setup.system.log.lines.filter { $0.level == .warning }.map(\.message)
    #expect(warnings.count == 1 && services.map { warnings[0].contains("\($0)") } == [false, true, true])
  }

  @Test(
    "C6: the end of the radio ends advertising and services, and both can be requested again",
    arguments: [AppLink.ManagerState.poweredOff, .resetting])
  func powerCycle(_ state: AppLink.ManagerState) async throws {
    let setup = try await PeripheralSetup()
    let published = try await setup.publish()
    setup.manager.startAdvertising(nil)
    _ = try await setup.nextCommand()
    setup.system.emit(.advertisingStarted(error: nil))
    #expect(try await setup.recorder.calls.next() == "didStartAdvertising")
    let subscribed = try #require(published.characteristics.first).identifier
    setup.system.emit(.subscribed(setup.central, subscribed))
    #expect(try await setup.recorder.calls.next() == "didSubscribe 2A19")
    #expect(setup.characteristic.subscribedCentrals?.count == 1)
    setup.system.emit(.stateChanged(state))
    _ = try await setup.recorder.calls.next()
    #expect(!setup.manager.isAdvertising)
    #expect(setup.characteristic.subscribedCentrals == [])
    setup.system.emit(.stateChanged(.poweredOn))
    _ = try await setup.recorder.calls.next()
    #expect(!setup.manager.isAdvertising)
    // Like every app when it hears that Bluetooth is on.
    setup.manager.add(setup.service)
    setup.manager.startAdvertising(nil)
    #expect(try await setup.nextCommand() == .peripheral(Example.manager, .stopAdvertising))
    #expect(try await setup.nextCommand() == .peripheral(Example.manager, .removeAllServices))
    guard case .peripheral(_, .addService(let definition)) = try await setup.nextCommand() else {
      throw PeripheralSetup.Unexpected()
    }
    #expect(try await setup.nextCommand() == .peripheral(Example.manager, .startAdvertising(AdvertisementRequest())))
    setup.system.emit(.serviceAdded(definition.identifier, error: nil))
    setup.system.emit(.advertisingStarted(error: nil))
    #expect(try await setup.recorder.calls.next() == "didAdd 180F")
    #expect(try await setup.recorder.calls.next() == "didStartAdvertising")
    #expect(setup.manager.isAdvertising)
  }

  @Test("S5: what was restored is there when Bluetooth is off at the relaunch, and goes on when it is on")
  func restoredWhileOff() async throws {
    let system = ScriptedSystem()
    let recorder = PeripheralRecorder()
    system.attach()
    let manager = system.run {
      CBPeripheralManager(
        delegate: recorder, queue: DispatchQueue(label: "test.restored"),
        options: [CBPeripheralManagerOptionRestoreIdentifierKey: "door"])
    }
    system.emit(
      .willRestorePeripheral(
        PeripheralRestoration(services: [], advertisement: AdvertisementRequest())))
    system.emit(.stateChanged(.poweredOff))
    #expect(try await recorder.calls.next() == "willRestoreState")
    #expect(try await recorder.calls.next() == "state poweredOff")
    #expect(!manager.isAdvertising)
    system.emit(.stateChanged(.poweredOn))
    #expect(try await recorder.calls.next() == "state poweredOn")
    #expect(manager.isAdvertising)
  }

  @Test("C6: reads and writes are answered, each once")
  func requests() async throws {
    let setup = try await PeripheralSetup()
    let identifier = try await setup.publish().characteristics[0].identifier
    let first = RemoteRequestIdentifier(7)
    setup.system.emit(.readRequested(first, setup.central, identifier, offset: 1))
    let read = try await setup.recorder.reads.next()
    #expect(read.offset == 1)
    #expect(read.characteristic === setup.characteristic)
    #expect(read.central.maximumUpdateValueLength == 182)
    read.value = Data([5])
    setup.manager.respond(to: read, withResult: .success)
    #expect(try await setup.nextCommand() == .respond(first, result: nil, value: [5]))
    setup.manager.respond(to: read, withResult: .success)
    #expect(setup.misuses.count == 1)

    let second = RemoteRequestIdentifier(8)
    setup.system.emit(
      .writeRequested(second, setup.central, identifier, offset: 0, value: [1], withResponse: true))
    let write = try await setup.recorder.writes.next()
    #expect(write.map(\.value) == [Data([1])])
    #expect(write[0].central === read.central)
    setup.manager.respond(to: write[0], withResult: .insufficientAuthorization)
    #expect(try await setup.nextCommand() == .respond(second, result: .insufficientAuthorization, value: nil))
  }

  @Test("C6: a request that expired is not answered any more")
  func expiry() async throws {
    let setup = try await PeripheralSetup()
    let identifier = try await setup.publish().characteristics[0].identifier
    setup.system.emit(.readRequested(RemoteRequestIdentifier(7), setup.central, identifier, offset: 0))
    let read = try await setup.recorder.reads.next()
    setup.system.emit(.requestExpired(RemoteRequestIdentifier(7)))
    setup.system.emit(.stateChanged(.poweredOn))
    _ = try await setup.recorder.calls.next()
    setup.manager.respond(to: read, withResult: .success)
    setup.manager.stopAdvertising()
    setup.manager.removeAllServices()
    #expect(try await setup.nextCommand() == .peripheral(Example.manager, .removeAllServices))
  }

  @Test("C6: values are pushed as long as there is credit, and the app learns when it may go on")
  func push() async throws {
    let setup = try await PeripheralSetup()
    let identifier = try await setup.publish(credit: 2).characteristics[0].identifier
    // There are no subscribers: nothing is sent, and no credit is spent.
    #expect(setup.manager.updateValue(Data([0]), for: setup.characteristic, onSubscribedCentrals: nil))
    setup.system.emit(.subscribed(setup.central, identifier))
    #expect(try await setup.recorder.calls.next() == "didSubscribe 2A19")
    #expect(setup.characteristic.subscribedCentrals?.map(\.identifier) == [Example.phone.rawValue])
    #expect(setup.manager.updateValue(Data([1]), for: setup.characteristic, onSubscribedCentrals: nil))
    #expect(
      try await setup.nextCommand() == .peripheral(Example.manager, .updateValue(identifier, value: [1], centrals: nil))
    )
    let subscribers = setup.characteristic.subscribedCentrals
    #expect(setup.manager.updateValue(Data([2]), for: setup.characteristic, onSubscribedCentrals: subscribers))
    #expect(
      try await setup.nextCommand()
        == .peripheral(Example.manager, .updateValue(identifier, value: [2], centrals: [Example.phone])))
    #expect(!setup.manager.updateValue(Data([3]), for: setup.characteristic, onSubscribedCentrals: nil))
    setup.system.emit(.updateCredit(1))
    #expect(try await setup.recorder.calls.next() == "isReady")
    #expect(setup.manager.updateValue(Data([3]), for: setup.characteristic, onSubscribedCentrals: nil))
    setup.system.emit(.unsubscribed(setup.central, identifier))
    #expect(try await setup.recorder.calls.next() == "didUnsubscribe 2A19")
    #expect(setup.characteristic.subscribedCentrals?.isEmpty == true)
  }

  @Test("C6: a value for some subscribers is sent, and the log says once that it reaches all of them")
  func subset() async throws {
    let setup = try await PeripheralSetup()
    let identifier = try await setup.publish(credit: 3).characteristics[0].identifier
    let second = CentralSnapshot(identifier: Example.other, maximumUpdateValueLength: 182)
    for central in [setup.central, second] {
      setup.system.emit(.subscribed(central, identifier))
      _ = try await setup.recorder.calls.next()
    }
    let all = try #require(setup.characteristic.subscribedCentrals)
    #expect(setup.manager.updateValue(Data([1]), for: setup.characteristic, onSubscribedCentrals: all))
    let lines = setup.system.log.lines.filter { !setup.ownMistake($0) }
    #expect(lines.allSatisfy { $0.level < .warning })
    for value in UInt8(2)...3 {
      #expect(setup.manager.updateValue(Data([value]), for: setup.characteristic, onSubscribedCentrals: [all[0]]))
    }
    for (value, centrals) in [(UInt8(1), [Example.phone, Example.other]), (2, [Example.phone]), (3, [Example.phone])] {
      #expect(
        try await setup.nextCommand()
          == .peripheral(Example.manager, .updateValue(identifier, value: [value], centrals: centrals)))
    }
    #expect(setup.system.log.lines.count { $0.level == .warning && $0.message.contains("all 2 subscribers") } == 1)
  }

  @Test("C6: a value for centrals that are not subscribed is not sent, and costs no credit")
  func strangers() async throws {
    let setup = try await PeripheralSetup()
    let identifier = try await setup.publish(credit: 1).characteristics[0].identifier
    let second = CentralSnapshot(identifier: Example.other, maximumUpdateValueLength: 182)
    for central in [setup.central, second] {
      setup.system.emit(.subscribed(central, identifier))
      _ = try await setup.recorder.calls.next()
    }
    let gone = try #require(setup.characteristic.subscribedCentrals?.first)
    setup.system.emit(.unsubscribed(setup.central, identifier))
    _ = try await setup.recorder.calls.next()
    for centrals in [[gone], []] {
      #expect(setup.manager.updateValue(Data([1]), for: setup.characteristic, onSubscribedCentrals: centrals))
    }
    #expect(setup.manager.updateValue(Data([2]), for: setup.characteristic, onSubscribedCentrals: nil))
    #expect(
      try await setup.nextCommand() == .peripheral(Example.manager, .updateValue(identifier, value: [2], centrals: nil))
    )
  }

  @Test("S11: a peripheral manager restores what it published, who is subscribed and what it advertised")
  func restoration() async throws {
    let identifier = LocalAttributeIdentifier(UUID())
    let definition = ServiceDefinition(
      identifier: LocalAttributeIdentifier(UUID()), uuid: Example.service,
      characteristics: [
        CharacteristicDefinition(
          identifier: identifier, uuid: BluetoothUUID(0x2A19 as UInt16), properties: [.read, .notify],
          permissions: [.readable])
      ])
    let restoration = PeripheralRestoration(
      services: [definition], advertisement: AdvertisementRequest(localName: "Front door"),
      subscriptions: [identifier: [CentralSnapshot(identifier: Example.phone, maximumUpdateValueLength: 100)]])
    let setup = try await PeripheralSetup(restoreIdentifier: "lock", restoring: restoration)
    let state = setup.recorder.restoration
    #expect(
      Set(state.keys) == [
        CBPeripheralManagerRestoredStateServicesKey, CBPeripheralManagerRestoredStateAdvertisementDataKey,
      ])
    let services = try #require(state[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService])
    let characteristic = try #require(services.first?.characteristics?.first as? CBMutableCharacteristic)
    #expect(characteristic.subscribedCentrals?.map(\.identifier) == [Example.phone.rawValue])
    #expect(characteristic.service === services[0])
    let advertisement = state[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any]
    #expect(advertisement?[CBAdvertisementDataLocalNameKey] as? String == "Front door")
    #expect(setup.manager.isAdvertising)
    setup.system.emit(.updateCredit(1))
    setup.system.emit(.stateChanged(.poweredOn))
    _ = try await setup.recorder.calls.next()
    #expect(setup.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: nil))
    #expect(
      try await setup.nextCommand() == .peripheral(Example.manager, .updateValue(identifier, value: [1], centrals: nil))
    )
  }
}
