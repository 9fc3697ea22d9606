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

  @Test("C3: a request that is made and taken back while the link ends leaves no device on the accept list")
  func askedAgainAndCancelledWhileEnding() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
    desk.forget()
    desk.connect()
    #expect(desk.asked(\.isProfileRegistration) == 1, "the device is put on the list again")
    desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
    #expect(desk.asked { $0 == .disconnect } == 1)
    desk.change(["RSSI": .int16(-50)])
    #expect(desk.asked { $0 == .disconnect } == 1, "once")
  }

  @Test(
    "C3: a device that no app asks for again after its link was lost leaves the accept list", arguments: [true, false])
  func lostForGood(isHeard: Bool) {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    #expect(desk.asked { $0 == .disconnect } == 0)
    // It has heard of the loss, or the manager that has not heard of it is gone.
    if isHeard { desk.settle() } else { desk.say(.destroyManager(Desk.central)) }
    #expect(desk.asked { $0 == .disconnect } == 1)
    #expect(desk.asked { $0 == .set(\Device1.trusted, to: false) } == 1)
  }

  @Test("C3: a device that an app asks for again at the loss stays on the accept list")
  func lostAndAskedAgain() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.loseAndAskAgain()
    desk.settle()
    #expect(desk.asked { $0 == .disconnect } == 0)
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

  @Test("C3: a cancellation of a request that is not held is answered, unless the end of the request is on its way")
  func needlessCancellation() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.settle()
    desk.forget()
    let cancellation = AppLink.Request.central(Desk.central, .cancelConnection(desk.peer))
    desk.say(cancellation)
    #expect(desk.bodies == ["disconnected"])
    desk.say(cancellation)
    #expect(desk.bodies == ["disconnected"], "the answer is on its way")
    desk.settle()
    desk.connect()
    desk.linkUp()
    desk.linkDown()
    desk.forget()
    desk.say(cancellation)
    #expect(desk.bodies == [], "the loss is on its way")
  }
}
