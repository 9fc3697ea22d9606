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
  static let manager = ManagerIdentifier(1)
  static let offer = LocalAttributeIdentifier(UUID())
  static let command = LocalAttributeIdentifier(UUID())
  static let definition = ServiceDefinition(
    identifier: LocalAttributeIdentifier(UUID()), uuid: Desk.service,
    characteristics: [
      CharacteristicDefinition(
        identifier: offer, uuid: Desk.characteristic, properties: [.read, .notify, .notifyEncryptionRequired],
        permissions: [.readable, .readEncryptionRequired]),
      CharacteristicDefinition(
        identifier: command, uuid: BluetoothUUID(UInt16(0x2A00)), properties: [.write],
        permissions: [.writeable, .writeEncryptionRequired]),
      CharacteristicDefinition(
        identifier: LocalAttributeIdentifier(UUID()), uuid: BluetoothUUID(UInt16(0x2A01)), properties: [.read],
        permissions: .readable,
        value: [1, 2, 3]),
    ])

  private func lock(advertisingMilliseconds: UInt32? = nil, withDevice: Bool = true) -> Desk {
    var desk = Desk(advertisingMilliseconds: advertisingMilliseconds)
    desk.appear(withDevice: withDevice)
    desk.open()
    desk.say(.createManager(Self.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Self.manager, .addService(Self.definition)))
    desk.say(
      .peripheral(
        Self.manager, .startAdvertising(AdvertisementRequest(localName: "Door", serviceUUIDs: [Desk.service]))))
    return desk
  }

  private func root(_ desk: Desk) -> ObjectPath? {
    for (_, request) in desk.requests.reversed() {
      if case .registerApplication(let root, _) = request { return root }
    }
    return nil
  }

  private func path(_ desk: Desk, _ index: Int) -> ObjectPath {
    (root(desk) ?? .root).appending("service").appending("characteristic\(index)")
  }

  private func answers(_ desk: Desk) -> [Result<CallbackReply, BlueZError>] {
    desk.effects.compactMap { if case .bluez(.answer(_, let result)) = $0 { result } else { nil } }
  }

  @Test("C6: an advertisement that is refused after bluetoothd's restart is tried again, though nothing else happens")
  func refusedAdvertisement() throws {
    @Sendable func isAdvertising(_ request: BlueZ.Request) -> Bool {
      if case .registerAdvertisement = request { true } else { false }
    }
    var desk = lock()
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
    let desk = lock()
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
    let flags = objects[path(desk, 0)]?[InterfaceName.gattCharacteristic]?["Flags"]
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
    #expect(asked(lock()) == [[.uint32(152), .uint32(152), .uint16(1)]])
    #expect(asked(lock(advertisingMilliseconds: 760)) == [[.uint32(760), .uint32(760), .uint16(1)]])
  }

  @Test("S8: the handle and the service outlive the app, the daemon and bluetoothd")
  func outlives() {
    var desk = lock()
    desk.die()
    desk.handle(.daemon(.vanished))
    desk.restartSystem()
    desk.appear()
    #expect(desk.asked(\.isServiceRegistration) == 1)
    #expect(desk.asked { if case .registerAdvertisement = $0 { true } else { false } } == 1)
    desk.open()
    desk.say(.createManager(Self.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    #expect(desk.bodies == ["willRestoreState", "updateCredit", "stateChanged"])
    guard case .willRestorePeripheral(let restoration)? = desk.events.first?.body else { return }
    #expect(restoration.services == [Self.definition])
    #expect(restoration.advertisement?.localName == "Door")
  }

  @Test("B4: a write wakes the app; its answer reaches bluetoothd")
  func write() throws {
    var desk = lock()
    desk.leave()
    desk.settle()
    desk.pass(.seconds(3))
    #expect(desk.state == .suspended)
    let place = path(desk, 1)
    desk.linkUp()
    desk.forget()
    desk.handle(
      .daemon(
        .callback(
          CallbackIdentifier(1), path: place,
          .writeValue([4], RemoteRequest(device: Desk.devicePath, mtu: 100, kind: .request)))))
    guard case .writeRequested(let request, let central, Self.command, 0, [4], true)? = desk.events.first?.body
    else {
      Issue.record("\(desk.events)")
      return
    }
    #expect(central.maximumUpdateValueLength == 97)
    #expect(answers(desk).isEmpty)
    desk.say(.respond(request, result: nil, value: nil))
    #expect(answers(desk) == [.success(.none)])
  }

  @Test("A request that the app does not answer is answered by the system within 5 s, and the app is told")
  func expired() {
    var desk = lock()
    let place = path(desk, 0)
    desk.linkUp()
    desk.forget()
    desk.handle(
      .daemon(
        .callback(CallbackIdentifier(1), path: place, .readValue(RemoteRequest(device: Desk.devicePath, mtu: 100)))))
    desk.pass(.milliseconds(4499))
    #expect(answers(desk).isEmpty)
    desk.pass(.milliseconds(1))
    #expect(answers(desk).count == 1)
    #expect(desk.bodies == ["readRequested", "requestExpired"])
  }

  @Test("A static value is answered by the system, from its offset on")
  func staticValue() {
    var desk = lock()
    let place = path(desk, 2)
    desk.forget()
    for offset in [UInt16(0), 2, 9] {
      desk.handle(
        .daemon(
          .callback(
            CallbackIdentifier(UInt64(offset)), path: place,
            .readValue(RemoteRequest(device: Desk.devicePath, offset: offset, mtu: 100)))))
    }
    #expect(answers(desk).prefix(2) == [.success(.bytes([1, 2, 3])), .success(.bytes([3]))])
    #expect(desk.events.isEmpty)
  }

  @Test("A bonded central's subscription is reported again when its link comes back, and ends with the link")
  func remembered() {
    var desk = lock()
    let place = path(desk, 0)
    desk.linkUp()
    desk.forget()
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: place, .startNotify)))
    #expect(desk.bodies == ["subscribed"])
    desk.linkDown()
    desk.linkUp()
    #expect(desk.bodies == ["subscribed", "unsubscribed", "subscribed"])
    desk.handle(.daemon(.callback(CallbackIdentifier(2), path: place, .stopNotify)))
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
    var desk = lock()
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
    let place = path(desk, 0)
    desk.forget()
    desk.handle(read(1, place))
    #expect(desk.bodies == ["readRequested"], "nobody has subscribed yet")
    desk.handle(second(isLinked: false))
    desk.linkUp()
    desk.handle(.daemon(.callback(CallbackIdentifier(2), path: place, .startNotify)))
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

  /// The lock's app is connected to the device as well.
  private func connect(_ desk: inout Desk) {
    let central = ManagerIdentifier(2)
    desk.say(.createManager(central, ManagerCreation(role: .central)))
    desk.say(.central(central, .connect(desk.peer, ConnectOptions())))
    desk.linkUp()
    desk.forget()
  }

  private func device(_ address: String, isLinked: Bool) -> BluetoothSystem.Event {
    .daemon(
      .signal(
        .interfacesAdded(
          path: WellKnown.firstAdapter.appending("dev_" + address.replacing(":", with: "_")),
          [
            InterfaceName.device: [
              "Address": .string(address), "AddressType": .string("random"), "Connected": .bool(isLinked),
            ]
          ])))
  }

  @Test("C6: a device to which the app is connected subscribes over the same link, gets values, and unsubscribes")
  func bothRoles() {
    var desk = lock()
    let place = path(desk, 0)
    connect(&desk)
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: place, .startNotify)))
    #expect(desk.bodies == ["subscribed"])
    let peer = desk.peer
    desk.say(.peripheral(Self.manager, .updateValue(Self.offer, value: [7], centrals: [peer])))
    #expect(desk.effects.contains(.bluez(.valueChanged(path: place, value: [7]))))
    desk.handle(.daemon(.callback(CallbackIdentifier(2), path: place, .stopNotify)))
    #expect(desk.bodies == ["subscribed", "unsubscribed"])
  }

  @Test(
    "C6: if another central is linked, a device to which the app is connected subscribes only if it has the same service",
    arguments: [true, false])
  func bothRolesAmongOthers(_ hasService: Bool) {
    var desk = lock(withDevice: hasService)
    let place = path(desk, 0)
    if !hasService { desk.handle(device(Desk.address.description, isLinked: false)) }
    connect(&desk)
    let other = "C0:FF:EE:00:00:02"
    desk.handle(device(other, isLinked: true))
    desk.forget()
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: place, .startNotify)))
    let subscribers = desk.events.compactMap { event in
      if case .subscribed(let central, _) = event.body { central.identifier } else { nil }
    }
    let second = desk.system.identifier(for: DeviceAddress(other, kind: .random)!)
    let first = desk.peer
    #expect(Set(subscribers) == (hasService ? [first, second] : [second]))
  }

  @Test("C6: a value for a central that has left in the meantime goes to no other central", arguments: [true, false])
  func valueForOne(isHere: Bool) {
    var desk = lock()
    let place = path(desk, 0)
    desk.linkUp()
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: place, .startNotify)))
    let other = DeviceAddress("C0:FF:EE:00:00:02", kind: .random)!
    let peer = isHere ? desk.peer : desk.system.identifier(for: other)
    desk.forget()
    desk.say(.peripheral(Self.manager, .updateValue(Self.offer, value: [7], centrals: [peer])))
    let sent = desk.effects.contains(.bluez(.valueChanged(path: place, value: [7])))
    #expect(sent == isHere)
    // Whether or not it was sent, the credit comes back.
    for _ in 0..<7 { desk.say(.peripheral(Self.manager, .updateValue(Self.offer, value: [8], centrals: [peer]))) }
    #expect(desk.bodies == ["updateCredit"])
  }

  @Test("S7, B4: a central that comes back while the app is dead relaunches it; restored state shows what it knew")
  func subscribedWhileDead() {
    var desk = lock()
    let place = path(desk, 0)
    desk.linkUp()
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: place, .startNotify)))
    desk.linkDown()
    desk.die()
    desk.forget()
    desk.linkUp()
    #expect(desk.launches == [LaunchOptions(reason: .restore, centrals: [], peripherals: ["lock"])])
    desk.launchAndAttach()
    desk.say(.createManager(Self.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    #expect(desk.bodies == ["willRestoreState", "updateCredit", "stateChanged", "subscribed"])
    guard case .willRestorePeripheral(let restoration)? = desk.events.first?.body else { return }
    #expect(restoration.subscriptions.isEmpty)
  }

  @Test("A suspended app is woken and told that a central left while the daemon was away")
  func leftWhileDaemonAway() {
    var desk = lock()
    let place = path(desk, 0)
    desk.linkUp()
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: place, .startNotify)))
    desk.leave()
    desk.settle()
    desk.pass(.seconds(3))
    #expect(desk.state == .suspended)
    let last = EventSequence(desk.lastSequence)
    let peer = desk.peer
    desk.restartSystem()
    desk.appear(connected: false)
    #expect(desk.state == .background, "woken")
    desk.attach(lastEvent: last)
    let view = ManagerView(
      state: .poweredOn, services: [Self.definition],
      advertisement: AdvertisementRequest(localName: "Door", serviceUUIDs: [Desk.service]),
      subscriptions: [Self.offer: [peer]])
    desk.say(
      .resumeManager(Self.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock"), view))
    #expect(desk.bodies.filter { $0.contains("subscribed") } == ["unsubscribed"])
  }

  @Test("A subscription made after the daemon's restart is reported as new, though the app still has an old one")
  func subscribedAnew() {
    var desk = lock()
    let place = path(desk, 0)
    desk.linkUp()
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: place, .startNotify)))
    let last = EventSequence(desk.lastSequence)
    let peer = desk.peer
    desk.restartSystem()
    desk.appear(connected: true)
    desk.attach(lastEvent: last)
    let view = ManagerView(
      state: .poweredOn, services: [Self.definition],
      advertisement: AdvertisementRequest(localName: "Door", serviceUUIDs: [Desk.service]),
      subscriptions: [Self.offer: [peer]])
    desk.say(
      .resumeManager(Self.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock"), view))
    #expect(desk.bodies.filter { $0.contains("subscribed") } == [])
    desk.handle(.daemon(.callback(CallbackIdentifier(2), path: path(desk, 0), .startNotify)))
    #expect(desk.bodies.filter { $0.contains("subscribed") } == ["unsubscribed", "subscribed"])
  }

  @Test("F3: without the mode, in the background, a dynamic value gets an ATT error at once and nothing is advertised")
  func foregroundOnly() {
    var desk = Desk(modes: [])
    desk.appear()
    desk.open()
    desk.say(.createManager(Self.manager, ManagerCreation(role: .peripheral)))
    desk.say(.peripheral(Self.manager, .addService(Self.definition)))
    desk.say(.peripheral(Self.manager, .startAdvertising(AdvertisementRequest(serviceUUIDs: [Desk.service]))))
    let place = path(desk, 0)
    desk.leave()
    desk.forget()
    desk.pass(.seconds(6))
    desk.handle(
      .daemon(
        .callback(CallbackIdentifier(1), path: place, .readValue(RemoteRequest(device: Desk.devicePath, mtu: 100)))))
    #expect(answers(desk).count == 1)
    #expect(desk.events.isEmpty)
  }

  @Test("The agent accepts Just Works only for a device that an app uses")
  func pairing() {
    var desk = Desk()
    desk.appear()
    let confirmation = DaemonMessage.callback(
      CallbackIdentifier(1), path: BluetoothSystem.agentPath, .requestAuthorization(device: Desk.devicePath))
    desk.handle(.daemon(confirmation))
    #expect(answers(desk) == [.failure(.rejected)])
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .connect(desk.peer, ConnectOptions())))
    desk.handle(.daemon(confirmation))
    #expect(answers(desk) == [.failure(.rejected), .success(.none)])
  }
}
