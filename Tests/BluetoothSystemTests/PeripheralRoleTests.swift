import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("Peripheral role")
struct PeripheralRoleTests {
  @Test("C6: an advertisement that is refused after bluetoothd's restart is tried again, though nothing else happens")
  func refusedAdvertisement() throws {
    @Sendable func isAdvertising(_ request: BlueZ.Request) -> Bool {
      if case .registerAdvertisement = request { true } else { false }
    }
    var desk = Desk.lock()
    desk.handle(.daemon(.vanished))
    desk.refuses = isAdvertising
    desk.appear()
    #expect(desk.asked(isAdvertising) == 2)
    desk.refuses = { _ in false }
    let alarm = try #require(desk.system.nextDeadline)
    desk.pass(alarm - desk.now)
    #expect(desk.asked(isAdvertising) == 3)
  }

  @Test("C6: a service is registered at a fixed handle, confirmed with its first credit, and advertised")
  func publish() {
    let desk = Desk.lock()
    #expect(desk.bodies == ["stateChanged", "serviceAdded", "updateCredit", "advertisingStarted"])
    guard
      case .registerApplication(let root, let objects)? = desk.requests.first(where: {
        $0.request.isServiceRegistration
      })?.request
    else {
      Issue.record("not registered")
      return
    }
    let service = objects[root.appending("service")]?[InterfaceName.gattService]
    #expect(service?["Handle"] == .uint16(0x0100))
    let flags = objects[desk.attribute(0)]?[InterfaceName.gattCharacteristic]?["Flags"]
    #expect(flags == .strings(["read", "encrypt-read", "notify", "encrypt-notify"]))
    let isDiscoverable = desk.requests.contains {
      if case .registerAdvertisement(_, let properties) = $0.request {
        properties["Discoverable"] == .bool(true)
      } else {
        false
      }
    }
    #expect(isDiscoverable, "bluetoothd tells nothing of who does not say that it may be found")
  }

  @Test("A1: what an app advertises is sent often enough to be heard while somebody walks up")
  func quickAdvertising() throws {
    func asked(_ desk: Desk) -> [[Value?]] {
      desk.requests.compactMap { call -> [Value?]? in
        guard case .registerAdvertisement(_, let properties) = call.request else { return nil }
        return [properties["MinInterval"], properties["MaxInterval"], properties["Duration"]]
      }
    }
    #expect(asked(Desk.lock()) == [[.uint32(152), .uint32(152), .uint16(1)]])
    #expect(asked(Desk.lock(advertisingMilliseconds: 760)) == [[.uint32(760), .uint32(760), .uint16(1)]])
  }

  @Test("S8: the handle and the service outlive the app, the daemon and bluetoothd")
  func outlives() {
    var desk = Desk.lock()
    desk.die()
    desk.handle(.daemon(.vanished))
    desk.restartSystem()
    desk.appear()
    #expect(desk.asked(\.isServiceRegistration) == 1)
    #expect(desk.asked { if case .registerAdvertisement = $0 { true } else { false } } == 1)
    desk.open()
    desk.createLock()
    #expect(desk.bodies == ["willRestoreState", "updateCredit", "stateChanged"])
    guard case .willRestorePeripheral(let restoration)? = desk.events.first?.body else { return }
    #expect(restoration.services == [Lock.definition])
    #expect(restoration.advertisement?.localName == "Door")
  }

  @Test("B4: a write wakes the app; its answer reaches bluetoothd")
  func write() throws {
    var desk = Desk.lock()
    desk.fallAsleep()
    #expect(desk.state == .suspended)
    let place = desk.attribute(1)
    desk.linkUp()
    desk.forget()
    desk.handle(
      .daemon(
        .callback(
          CallbackIdentifier(1), path: place,
          .writeValue([4], RemoteRequest(device: Desk.devicePath, mtu: 100, kind: .request)))))
    guard case .writeRequested(let request, let central, Lock.command, 0, [4], true)? = desk.events.first?.body
    else {
      Issue.record("\(desk.events)")
      return
    }
    #expect(central.maximumUpdateValueLength == 97)
    #expect(desk.answers.isEmpty)
    desk.say(.respond(request, result: nil, value: nil))
    #expect(desk.answers == [.success(.none)])
  }

  @Test("A request that the app does not answer is answered by the system within 5 s, and the app is told")
  func expired() {
    var desk = Desk.lock()
    let place = desk.attribute(0)
    desk.linkUp()
    desk.forget()
    desk.callBack(1, place, .readValue(RemoteRequest(device: Desk.devicePath, mtu: 100)))
    desk.pass(.milliseconds(4499))
    #expect(desk.answers.isEmpty)
    desk.pass(.milliseconds(1))
    #expect(desk.answers.count == 1)
    #expect(desk.bodies == ["readRequested", "requestExpired"])
  }

  @Test("A static value is answered by the system, from its offset on")
  func staticValue() {
    var desk = Desk.lock()
    let place = desk.attribute(2)
    desk.forget()
    for offset in [UInt16(0), 2, 9] {
      desk.handle(
        .daemon(
          .callback(
            CallbackIdentifier(UInt64(offset)), path: place,
            .readValue(RemoteRequest(device: Desk.devicePath, offset: offset, mtu: 100)))))
    }
    #expect(desk.answers.prefix(2) == [.success(.bytes([1, 2, 3])), .success(.bytes([3]))])
    #expect(desk.events.isEmpty)
  }

  @Test("A bonded central's subscription is reported again when its link comes back, and ends with the link")
  func remembered() {
    var desk = Desk.lock()
    let place = desk.attribute(0)
    desk.linkUp()
    desk.forget()
    desk.callBack(1, place, .startNotify)
    #expect(desk.bodies == ["subscribed"])
    desk.linkDown()
    desk.linkUp()
    #expect(desk.bodies == ["subscribed", "unsubscribed", "subscribed"])
    desk.callBack(2, place, .stopNotify)
    desk.linkDown()
    desk.linkUp()
    #expect(desk.bodies == ["subscribed", "unsubscribed", "subscribed", "unsubscribed"])
  }

  @Test("S7: bluetoothd tells of the first subscriber alone; another's first request shows it, and it is remembered")
  func secondSubscriber() {
    let other = WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_02")
    func second(isLinked: Bool) -> BluetoothSystem.Event {
      .daemon(
        .signal(
          .propertiesChanged(
            path: other, interface: InterfaceName.device, changed: ["Connected": .bool(isLinked)], invalidated: [])))
    }
    func read(_ number: UInt64, _ place: ObjectPath) -> BluetoothSystem.Event {
      .daemon(
        .callback(CallbackIdentifier(number), path: place, .readValue(RemoteRequest(device: other, mtu: 100))))
    }
    var desk = Desk.lock()
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(
            path: other,
            [
              InterfaceName.device: [
                "Address": .string("C0:FF:EE:00:00:02"), "AddressType": .string("random"), "Paired": .bool(true),
                "Bonded": .bool(true), "Connected": .bool(true),
              ]
            ]))))
    let place = desk.attribute(0)
    desk.forget()
    desk.handle(read(1, place))
    #expect(desk.bodies == ["readRequested"], "nobody has subscribed yet")
    desk.handle(second(isLinked: false))
    desk.linkUp()
    desk.callBack(2, place, .startNotify)
    desk.handle(second(isLinked: true))
    desk.forget()
    desk.handle(read(3, place))
    desk.handle(read(4, place))
    #expect(desk.bodies == ["subscribed", "readRequested", "readRequested"])
    desk.forget()
    desk.handle(second(isLinked: false))
    desk.handle(second(isLinked: true))
    #expect(desk.bodies.filter { $0.contains("subscribed") } == ["unsubscribed", "subscribed"])
  }

  @Test("C6: a value for a central that has left in the meantime goes to no other central", arguments: [true, false])
  func valueForOne(isHere: Bool) {
    var desk = Desk.lock()
    let place = desk.attribute(0)
    desk.linkUp()
    desk.callBack(1, place, .startNotify)
    let other = DeviceAddress("C0:FF:EE:00:00:02", kind: .random)!
    let peer = isHere ? desk.peer : desk.system.identifier(for: other)
    desk.forget()
    desk.say(.peripheral(Lock.manager, .updateValue(Lock.offer, value: [7], centrals: [peer])))
    let sent = desk.effects.contains(.bluez(.valueChanged(path: place, value: [7])))
    #expect(sent == isHere)
    // Whether or not it was sent, the credit comes back.
    for _ in 0..<7 { desk.say(.peripheral(Lock.manager, .updateValue(Lock.offer, value: [8], centrals: [peer]))) }
    #expect(desk.bodies == ["updateCredit"])
  }

  @Test("S7, B4: a central that comes back while the app is dead relaunches it; restored state shows what it knew")
  func subscribedWhileDead() {
    var desk = Desk.lock()
    let place = desk.attribute(0)
    desk.linkUp()
    desk.callBack(1, place, .startNotify)
    desk.linkDown()
    desk.die()
    desk.forget()
    desk.linkUp()
    #expect(desk.launches == [LaunchOptions(reason: .restore, centrals: [], peripherals: ["lock"])])
    desk.launchAndAttach()
    desk.createLock()
    #expect(desk.bodies == ["willRestoreState", "updateCredit", "stateChanged", "subscribed"])
    guard case .willRestorePeripheral(let restoration)? = desk.events.first?.body else { return }
    #expect(restoration.subscriptions.isEmpty)
  }

  @Test("A suspended app is woken and told that a central left while the daemon was away")
  func leftWhileDaemonAway() {
    var desk = Desk.lock()
    let place = desk.attribute(0)
    desk.linkUp()
    desk.callBack(1, place, .startNotify)
    desk.fallAsleep()
    #expect(desk.state == .suspended)
    let last = EventSequence(desk.lastSequence)
    let peer = desk.peer
    desk.restartSystem()
    desk.appear(connected: false)
    #expect(desk.state == .background, "woken")
    desk.attach(lastEvent: last)
    desk.resumeLock(subscriber: peer)
    #expect(desk.bodies.filter { $0.contains("subscribed") } == ["unsubscribed"])
  }

  @Test("A subscription made after the daemon's restart is reported as new, though the app still has an old one")
  func subscribedAnew() {
    var desk = Desk.lock()
    let place = desk.attribute(0)
    desk.linkUp()
    desk.callBack(1, place, .startNotify)
    let last = EventSequence(desk.lastSequence)
    let peer = desk.peer
    desk.restartSystem()
    desk.appear(connected: true)
    desk.attach(lastEvent: last)
    desk.resumeLock(subscriber: peer)
    #expect(desk.bodies.filter { $0.contains("subscribed") } == [])
    desk.callBack(2, desk.attribute(0), .startNotify)
    #expect(desk.bodies.filter { $0.contains("subscribed") } == ["unsubscribed", "subscribed"])
  }

  @Test("F3: without the mode, in the background, a dynamic value gets an ATT error at once and nothing is advertised")
  func foregroundOnly() {
    var desk = Desk(modes: [])
    desk.appear()
    desk.open()
    desk.say(.createManager(Lock.manager, ManagerCreation(role: .peripheral)))
    desk.say(.peripheral(Lock.manager, .addService(Lock.definition)))
    desk.say(.peripheral(Lock.manager, .startAdvertising(AdvertisementRequest(serviceUUIDs: [Desk.service]))))
    let place = desk.attribute(0)
    desk.leave()
    desk.forget()
    desk.pass(.seconds(6))
    desk.callBack(1, place, .readValue(RemoteRequest(device: Desk.devicePath, mtu: 100)))
    #expect(desk.answers.count == 1)
    #expect(desk.events.isEmpty)
  }

  @Test("The agent accepts Just Works only for a device that an app uses")
  func pairing() {
    var desk = Desk()
    desk.appear()
    let confirmation = DaemonMessage.callback(
      CallbackIdentifier(1), path: BluetoothSystem.agentPath, .requestAuthorization(device: Desk.devicePath))
    desk.handle(.daemon(confirmation))
    #expect(desk.answers == [.failure(.rejected)])
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.handle(.daemon(confirmation))
    #expect(desk.answers == [.failure(.rejected), .success(.none)])
  }

  @Test("C6: an answer to a request of the last latchkeyd answers none of this one")
  func answerOfTheLastSystem() throws {
    var desk = Desk.lock()
    func ask(_ number: UInt64) throws -> RemoteRequestIdentifier {
      desk.forget()
      let read = RemoteRequest(device: Desk.devicePath, mtu: 185)
      let root = try #require(desk.system.publishing.services.values.first?.paths[Lock.offer])
      desk.callBack(number, root, .readValue(read))
      return try #require(
        desk.events.compactMap { event in
          if case .readRequested(let identifier, _, _, _) = event.body { identifier } else { nil }
        }.last)
    }
    desk.linkUp()
    let old = try ask(1)
    let last = EventSequence(desk.lastSequence)
    desk.restartSystem()
    desk.appear(connected: true)
    desk.attach(lastEvent: last)
    desk.resumeLock(subscriber: desk.peer)
    let new = try ask(2)
    desk.say(.respond(old, result: nil, value: [1]))
    #expect(desk.answers.isEmpty)
    desk.say(.respond(new, result: nil, value: [2]))
    #expect(desk.answers == [.success(.bytes([2]))])
  }
}
