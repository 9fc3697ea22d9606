import AppLink
import BlueZ
import BluetoothTypes
import ProcessTesting
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("Central role")
struct CentralTests {
  @Test("C1: a new manager learns its state first, and nothing is restored")
  func stateFirst() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    #expect(desk.events.map(\.body) == [.stateChanged(.poweredOn)])
    #expect(desk.events.map(\.manager) == [Desk.central])
    #expect(desk.events.map(\.sequence.rawValue) == [1])
  }

  @Test("S1: a second manager with the same restore identifier is rejected, and told why")
  func duplicateIdentifier() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral("one")
    desk.forget()
    desk.say(.createManager(ManagerIdentifier(2), ManagerCreation(role: .central, restoreIdentifier: "one")))
    guard let event = desk.events.first, event.manager == ManagerIdentifier(2),
      case .managerRejected(let error) = event.body
    else {
      Issue.record("not rejected: \(desk.events)")
      return
    }
    #expect(error.message.contains("\"one\""))
  }

  @Test("C2: a scan for all devices asks for near ones, or bluetoothd would hide those that are not discoverable")
  func scansForAnything() {
    func filter(of services: [BluetoothUUID]?, findsOverflow: Bool = true) -> DiscoveryFilter? {
      var configuration = BluetoothSystem.Configuration()
      if !findsOverflow { configuration.overflowCompany = nil }
      var desk = Desk(configuration: configuration)
      desk.appear()
      desk.open()
      desk.createCentral()
      desk.say(.central(Desk.central, .scan(ScanRequest(services: services))))
      return desk.requests.compactMap { asked in
        if case .setDiscoveryFilter(let filter) = asked.request { filter } else { nil }
      }.last
    }
    #expect(filter(of: nil)?.rssi == -127)
    // bluetoothd's filter would hide a device whose services are in the overflow area.
    #expect(filter(of: [Desk.service])?.uuids == [])
    #expect(filter(of: [Desk.service])?.rssi == -127)
    #expect(filter(of: [Desk.service], findsOverflow: false)?.uuids == [Desk.service])
    #expect(filter(of: [Desk.service], findsOverflow: false)?.rssi == nil)
  }

  @Test(
    "C2: a scan tells of a peripheral once, and once more when the app was connected to it", arguments: [true, false])
  func discoveredAgain(_ isCancelled: Bool) {
    func sightings(_ desk: Desk) -> Int {
      desk.events.count { if case .discovered = $0.body { true } else { false } }
    }
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: [Desk.service]))))
    for signal in [-60, -61] as [Int16] { desk.change(["RSSI": .int16(signal)]) }
    #expect(sightings(desk) == 1)
    desk.connect()
    desk.linkUp()
    desk.change(["RSSI": .int16(-62)])
    #expect(sightings(desk) == 1, "it is connected")
    if isCancelled { desk.say(.central(Desk.central, .cancelConnection(desk.peer))) }
    desk.linkDown()
    // A device whose signal stays as it is is shown by a new discovery alone.
    let discoveries = desk.requests.map(\.request).filter { [.startDiscovery, .stopDiscovery].contains($0) }
    #expect(discoveries == [.startDiscovery, .stopDiscovery, .startDiscovery])
    for signal in [-63, -64] as [Int16] { desk.change(["RSSI": .int16(signal)]) }
    #expect(sightings(desk) == 2)
    // A request that was never fulfilled changes nothing.
    desk.connect()
    desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
    desk.change(["RSSI": .int16(-65)])
    #expect(sightings(desk) == 2)
  }

  /// What a scan for anything was told of the desk's peripheral: the name and the services of each discovery.
  private func sightings(_ desk: Desk) -> [[String]] {
    desk.events.compactMap { event in
      guard case .discovered(_, let data, _) = event.body else { return nil }
      return [data.localName ?? "-"] + data.serviceUUIDs.map(\.description)
    }
  }

  private func scanningForAnything(allowDuplicates: Bool = false) -> Desk {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: nil, allowDuplicates: allowDuplicates))))
    return desk
  }

  @Test(
    "C2: a peripheral is discovered once more when its name is heard, whose scan response was lost at first, and no more"
  )
  func nameHeardLater() {
    var desk = scanningForAnything()
    desk.change(["RSSI": .int16(-60)])
    #expect(sightings(desk).map { $0[0] } == ["-"])
    // The signal is as strong as before, so bluetoothd says nothing about it.
    desk.change(["Name": .string("Band")])
    #expect(sightings(desk).map { $0[0] } == ["-", "Band"])
    desk.change(["Name": .string("Band 2"), "RSSI": .int16(-70)])
    desk.change(["RSSI": .int16(-60)])
    #expect(sightings(desk).count == 2, "another name is no news")
  }

  @Test(
    "C2: so it is for each kind of data and for each service, and a device that names ever other ones is news no more")
  func dataHeardLater() {
    var desk = scanningForAnything()
    let first = "0000180d-0000-1000-8000-00805f9b34fb"
    let second = "0000180f-0000-1000-8000-00805f9b34fb"
    desk.change(["RSSI": .int16(-60), "UUIDs": .strings([first])])
    desk.change(["UUIDs": .strings([first, second])])
    #expect(sightings(desk).count == 2)
    for byte in [1, 2] as [UInt8] {
      desk.change(["ManufacturerData": .dictionary(key: "q", value: "v", [.uint16(76): .variant(.bytes([byte]))])])
    }
    #expect(sightings(desk).count == 3, "a changed counter is no news")
    for number in UInt16(0)..<100 {
      desk.change(["UUIDs": .strings([BluetoothUUID(0x2000 + number).description])])
    }
    #expect(sightings(desk).count < 40)
  }

  @Test(
    "B2: in the background a peripheral is one discovery, whatever it says later; the rest is told in the foreground")
  func nameHeardInBackground() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: [Desk.service]))))
    desk.leave()
    desk.change(["RSSI": .int16(-60)])
    desk.change(["Name": .string("Band")])
    desk.change(["RSSI": .int16(-70)])
    #expect(sightings(desk).map { $0[0] } == ["-"])
    desk.open()
    desk.change(["RSSI": .int16(-60)])
    #expect(sightings(desk).map { $0[0] } == ["-", "Band"])
  }

  @Test("C2: what was heard over a link is no advertisement")
  func nameReadOverLink() {
    var desk = scanningForAnything()
    desk.change(["RSSI": .int16(-60)])
    desk.linkUp()
    desk.change(["Name": .string("Heart Rate Band 7")])
    #expect(sightings(desk).count == 1)
  }

  @Test(
    "C2: a name that was read over a link takes precedence, and what is advertised keeps its own, also after a restart")
  func names() {
    func sighting(_ desk: Desk) -> [String?] {
      desk.events.lazy.compactMap { event -> [String?]? in
        if case .discovered(let snapshot, let advertisement, _) = event.body {
          [snapshot.name, advertisement.localName]
        } else {
          nil
        }
      }.last ?? []
    }
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: [Desk.service], allowDuplicates: true))))
    desk.change(["Name": .string("Band"), "RSSI": .int16(-60)])
    #expect(sighting(desk) == ["Band", "Band"])
    desk.say(.central(Desk.central, .connect(desk.peer, ConnectOptions())))
    desk.linkUp()
    desk.change(["Name": .string("Heart Rate Band 7")])
    #expect(desk.events.contains { $0.body == .nameChanged(desk.peer, "Heart Rate Band 7") })
    // It advertises while it is linked.
    desk.change(["Name": .string("Band"), "RSSI": .int16(-61)])
    #expect(sighting(desk) == ["Heart Rate Band 7", "Band"])
    desk.linkDown()
    for name in ["Band", "Busy band", "Band"] {
      desk.change(["Name": .string(name), "RSSI": .int16(-62)])
      #expect(sighting(desk) == ["Heart Rate Band 7", name])
    }
    #expect(desk.events.count { if case .nameChanged = $0.body { true } else { false } } == 1)

    desk.restartSystem()
    desk.appear()
    desk.launchAndAttach()
    desk.createCentral()
    desk.change(["Name": .string("Band"), "RSSI": .int16(-60)])
    #expect(sighting(desk) == ["Heart Rate Band 7", "Band"])
  }

  @Test("C3: connected peripherals are retrieved by a service, and none if no service is named")
  func retrievesConnected() {
    var desk = Desk()
    desk.connectAndSubscribe()
    func connected(_ services: [BluetoothUUID]) -> [PeerIdentifier] {
      desk.handle(
        .query(desk.link, .retrieveConnectedPeripherals(Desk.central, withServices: services), AnswerToken(9)))
      return desk.effects.lazy.compactMap { effect -> [PeerIdentifier]? in
        if case .queryReply(AnswerToken(9), .success(let found)) = effect { found.map(\.identifier) } else { nil }
      }.last ?? []
    }
    #expect(connected([Desk.service]) == [desk.peer])
    #expect(connected([]) == [])
  }

  @Test("C3: a request for a bonded device rests on one GattProfile1 registration, without a scan")
  func bondedRequest() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.forget()
    desk.connect()
    #expect(desk.asked(\.isProfileRegistration) == 1)
    #expect(desk.asked { $0 == .startDiscovery } == 0)
    #expect(desk.asked { $0 == .connect } == 0)
    let trusted = BlueZ.Request.setProperty(interface: InterfaceName.device, name: "Trusted", value: .bool(true))
    #expect(desk.asked { $0 == trusted } == 1)
    #expect(desk.system.nextDeadline == nil)
    desk.forget()
    desk.linkUp()
    #expect(desk.bodies == ["connected"])
  }

  @Test("Rule 5: a request is on disk before bluetoothd hears of it")
  func storedFirst() throws {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.forget()
    desk.connect()
    let store = try #require(desk.effects.firstIndex { if case .store(.put(.peripheral)) = $0 { true } else { false } })
    let ask = try #require(desk.effects.firstIndex { if case .bluez = $0 { true } else { false } })
    #expect(store < ask)
  }

  @Test("C3: an unbonded device is looked for, connected to when seen, and again after a failure")
  func unbondedRequest() {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    desk.forget()
    desk.connect()
    #expect(desk.asked { $0 == .connect } == 1)
    let call = desk.effects.lazy.compactMap { effect -> CallIdentifier? in
      if case .bluez(.call(let identifier, _, .connect)) = effect { identifier } else { nil }
    }.first
    desk.forget()
    desk.handle(.daemon(.reply(call!, .failure(.failed("le-connection-abort-by-local")))))
    desk.pass(.seconds(1))
    #expect(desk.asked { $0 == .startDiscovery } == 1)
    #expect(desk.asked { $0 == .connect } == 0)
    desk.forget()
    desk.change(["RSSI": .int16(-60)])
    #expect(desk.requests.map(\.request) == [.stopDiscovery, .connect])
    desk.linkUp()
    #expect(desk.bodies == ["connected"])
  }

  @Test("C3: cancelling ends the link, disarms the device and tells the app without an error")
  func cancel() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.forget()
    desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
    #expect(desk.asked { $0 == .disconnect } == 1)
    #expect(
      desk.asked {
        $0 == .setProperty(interface: InterfaceName.device, name: "Trusted", value: .bool(false))
      } == 1)
    guard case .disconnected(_, error: nil, _, false)? = desk.events.first?.body else {
      Issue.record("\(desk.events)")
      return
    }
    // The link that is about to end does not count as a new connection.
    desk.forget()
    desk.connect()
    #expect(desk.bodies.isEmpty)
    desk.linkDown()
    desk.linkUp()
    #expect(desk.bodies == ["connected"])
  }

  @Test("C4, C5: discovery shows what was asked for; reads, writes and values go through")
  func operations() {
    var desk = Desk()
    desk.connectAndSubscribe()
    #expect(desk.asked { $0 == .startNotify } == 1)
    desk.forget()
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(4), .readCharacteristic(0x0b))))
    desk.say(
      .central(
        Desk.central,
        .perform(
          desk.peer, OperationIdentifier(5),
          .writeCharacteristic(0x0b, value: [9], withResponse: true))))
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(6), .readCharacteristic(0x77))))
    desk.value([7, 7])
    let peer = desk.peer
    #expect(
      desk.events.map(\.body) == [
        .operationCompleted(peer, OperationIdentifier(4), .value([1, 2, 3])),
        .operationCompleted(peer, OperationIdentifier(5), .done),
        .operationCompleted(peer, OperationIdentifier(6), .failed(.att(.invalidHandle))),
        .valueUpdated(peer, characteristic: 0x0b, value: [7, 7]),
      ])
    #expect(desk.events.allSatisfy { $0.manager == Desk.central })
  }

  @Test("The echo of a read is not a notification, but another value is")
  func readEcho() throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.forget()
    desk.answersCalls = false
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(4), .readCharacteristic(0x0b))))
    desk.value([5])
    desk.value([6])
    let call = try #require(
      desk.effects.lazy.compactMap { effect -> CallIdentifier? in
        if case .bluez(.call(let identifier, _, .readValue)) = effect { identifier } else { nil }
      }.first)
    desk.handle(.daemon(.reply(call, .success(.bytes([6])))))
    #expect(desk.bodies == ["operationCompleted", "valueUpdated"])
  }

  @Test("An operation in progress when the link is lost ends with an error before the loss is reported")
  func operationAtLoss() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.answersCalls = false
    desk.forget()
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(4), .readCharacteristic(0x0b))))
    desk.linkDown()
    #expect(desk.bodies == ["operationCompleted", "disconnected"])
  }

  @Test("After bluetoothd's restart everything is asked for again, and the app's request holds")
  func bluetoothdRestart() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.loseAndAskAgain()
    desk.forget()
    desk.handle(.daemon(.vanished))
    #expect(desk.bodies == ["stateChanged"])
    desk.forget()
    desk.appear()
    #expect(desk.bodies == ["stateChanged"])
    #expect(desk.asked(\.isProfileRegistration) == 1)
    #expect(desk.asked { $0 == .startNotify } == 1)
    #expect(desk.asked { if case .registerAgent = $0 { true } else { false } } == 1)
    desk.forget()
    desk.linkUp()
    #expect(desk.bodies == ["connected"])
  }

  @Test("1,000 requests rest on one registration and no timer", .ownThread)
  func thousandRequests() {
    var desk = Desk()
    var objects: ManagedObjects = [WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]]
    for index in 0..<1000 {
      let address = DeviceAddress(bits: 0xC000_0000_0000 + UInt64(index), kind: .random)
      objects[WellKnown.firstAdapter.appending("dev_" + address.pathComponent)] = [
        InterfaceName.device: [
          "Address": .string(address.description), "AddressType": .string("random"), "Paired": .bool(true),
          "Bonded": .bool(true), "UUIDs": .strings([Desk.service.description]),
        ]
      ]
    }
    desk.handle(.daemon(.appeared(objects)))
    desk.open()
    desk.createCentral()
    desk.leave()
    // bluetoothd is slow to answer the first registration, and the others wait for it.
    desk.answersCalls = false
    for index in 0..<1000 {
      let address = DeviceAddress(bits: 0xC000_0000_0000 + UInt64(index), kind: .random)
      desk.say(.central(Desk.central, .connect(desk.system.identifier(for: address), ConnectOptions())))
    }
    #expect(desk.asked(\.isProfileRegistration) == 1)
    desk.answersCalls = true
    desk.settle()
    desk.pass(.seconds(60))
    #expect(desk.state == .suspended)
    desk.restartSystem()
    desk.handle(.daemon(.appeared(objects)))
    #expect(desk.asked(\.isProfileRegistration) == 1)
    #expect(desk.system.nextDeadline == nil)
  }

  @Test("C1: a request for a peripheral that has not been seen since latchkeyd's restart holds until it shows up")
  func seenBeforeTheRestart() {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    let peer = desk.peer
    desk.restartSystem()
    desk.appear(withDevice: false)
    desk.attach()
    desk.say(
      .resumeManager(
        Desk.central, ManagerCreation(role: .central, restoreIdentifier: "central"), ManagerView(state: .poweredOn)))
    desk.say(.central(Desk.central, .connect(peer, ConnectOptions())))
    #expect(desk.asked { $0 == .connect } == 0 && desk.bodies == [])
    desk.restartSystem()
    desk.appear(bonded: false)
    desk.change(["RSSI": .int16(-50)])
    #expect(desk.asked { $0 == .connect } == 1)
    #expect(desk.system.peers[peer]?.address == Desk.address)
    desk.linkUp()
    #expect(desk.system.held.holders(of: peer).first?.peripheral.isConnected == true)
  }
}
