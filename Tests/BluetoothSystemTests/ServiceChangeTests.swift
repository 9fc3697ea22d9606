import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing

@testable import BluetoothSystem

/// A peripheral's program starts anew and registers its services once more: bluetoothd gives them other handles.
@Suite("Services that move and services that are new")
struct ServiceChangeTests {
  private static let newPath = Desk.devicePath.appending("service0021")
  private static let other = BluetoothUUID(high: 0x1234_5678_0000_4000, low: 0x8000_0000_0000_0098)
  private static let third = BluetoothUUID(high: 0x1234_5678_0000_4000, low: 0x8000_0000_0000_0099)

  private func appears(_ uuid: BluetoothUUID, at path: ObjectPath = newPath, _ desk: inout Desk) {
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(
            path: path, [InterfaceName.gattService: ["UUID": .string(uuid.description), "Primary": .bool(true)]]))))
  }

  private func invalidated(_ desk: Desk) -> [[AttributeHandle]] {
    desk.events.compactMap { if case .servicesModified(_, let handles) = $0.body { handles } else { nil } }
  }

  private func found(_ desk: Desk) -> [AttributeHandle]? {
    desk.events.compactMap { event -> [AttributeHandle]? in
      guard case .operationCompleted(_, _, .services(let services)) = event.body else { return nil }
      return services.map(\.handle)
    }.last
  }

  private func discover(_ desk: inout Desk) {
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .discoverServices([Desk.service]))))
  }

  @Test("C7: a subscribed service that comes back elsewhere is invalid once, and a discovery finds it only where it is")
  func moved() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.forget()
    desk.serviceGoes()
    #expect(invalidated(desk) == [[0x0a]])
    discover(&desk)
    #expect(found(desk) == nil, "it may come back")
    appears(Desk.service, &desk)
    #expect(found(desk) == [0x21])
    #expect(invalidated(desk) == [[0x0a]], "it is told once")
    #expect(desk.system.held[desk.centralKey, desk.peer]?.services?.map(\.handle) == [0x21])
  }

  @Test("C7: a service that has moved while the peripheral was away is told as invalid on the next link")
  func movedWhileAway() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    desk.serviceGoes()
    desk.connect()
    appears(Desk.service, &desk)
    desk.forget()
    desk.linkUp()
    #expect(desk.bodies == ["connected", "servicesModified"])
    #expect(invalidated(desk) == [[0x0a]])
    discover(&desk)
    #expect(found(desk) == [0x21])
  }

  @Test("C7: what was kept for its subscription, shown with the next link, and has moved, is told as invalid there")
  func movedAfterALoss() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.serviceGoes()
    desk.loseAndAskAgain()
    desk.forget()
    desk.linkUp()
    appears(Desk.service, &desk)
    #expect(invalidated(desk) == [[0x0a]])
  }

  @Test("C7: a service that is back where it was keeps its subscription, and its return is told")
  func cameBack() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.forget()
    desk.serviceGoes()
    comesBack([(Desk.characteristicPath, Desk.characteristic, ["read", "write", "notify"])], &desk)
    #expect(invalidated(desk) == [[0x0a], []])
    #expect(desk.system.held[desk.centralKey, desk.peer]?.services?.first?.hasSubscription == true)
  }

  /// The service in its old place, with other characteristics than the one that was there.
  private func comesBack(
    _ characteristics: [(path: ObjectPath, uuid: BluetoothUUID, flags: [String])], _ desk: inout Desk
  ) {
    appears(Desk.service, at: Desk.servicePath, &desk)
    for (path, uuid, flags) in characteristics {
      desk.handle(
        .daemon(
          .signal(
            .interfacesAdded(
              path: path,
              [
                InterfaceName.gattCharacteristic: [
                  "UUID": .string(uuid.description), "Service": .path(Desk.servicePath), "Flags": .strings(flags),
                ]
              ]))))
    }
  }

  private func characteristics(_ desk: inout Desk) -> [CharacteristicSnapshot]? {
    discover(&desk)
    desk.say(
      .central(
        Desk.central, .perform(desk.peer, OperationIdentifier(10), .discoverCharacteristics(nil, service: 0x0a))))
    return desk.events.compactMap { event -> [CharacteristicSnapshot]? in
      guard case .operationCompleted(_, _, .characteristics(_, let found)) = event.body else { return nil }
      return found
    }.last
  }

  @Test(
    "C7: a subscribed service that is back in its place with other characteristics shows these alone, as they are now",
    arguments: [false, true])
  func otherCharacteristics(_ afterALoss: Bool) {
    var desk = Desk()
    desk.connectAndSubscribe()
    if afterALoss { desk.loseAndAskAgain() }
    desk.serviceGoes()
    let place = Desk.servicePath.appending("char000d")
    comesBack([(place, Self.other, ["read"])], &desk)
    if afterALoss { desk.linkUp() }
    #expect(characteristics(&desk) == [CharacteristicSnapshot(handle: 0x0d, uuid: Self.other, properties: .read)])
  }

  @Test("C7: a characteristic that has other properties after an update of the peripheral shows them")
  func otherProperties() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.loseAndAskAgain()
    desk.serviceGoes()
    comesBack([(Desk.characteristicPath, Desk.characteristic, ["read", "indicate"])], &desk)
    desk.linkUp()
    #expect(characteristics(&desk)?.map(\.properties) == [[.read, .indicate]])
  }

  @Test("C7: a service that is new on a link is told with nothing invalid, to those who have looked for services")
  func new() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.linkUp()
    desk.forget()
    appears(Self.other, &desk)
    #expect(invalidated(desk).isEmpty, "this app has not looked yet")
    discover(&desk)
    appears(Self.other, at: Desk.devicePath.appending("service0031"), &desk)
    #expect(invalidated(desk) == [[]])
  }

  @Test("C7: services that appear while a link is being resolved are not new")
  func beforeResolution() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.loseAndAskAgain()
    desk.linkBegins()
    desk.forget()
    appears(Self.other, &desk)
    desk.linkUp()
    #expect(invalidated(desk).isEmpty)
  }

  @Test("C7: a peripheral that takes a service away on a link keeps the link, and a discovery finds what is left")
  func takenAway() {
    var desk = Desk()
    desk.connectAndSubscribe()
    appears(Self.other, &desk)
    desk.forget()
    desk.serviceGoes()
    #expect(invalidated(desk) == [[0x0a]])
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .discoverServices(nil))))
    #expect(found(desk) == nil, "it may come back")
    desk.pass(.seconds(2))
    #expect(found(desk) == [0x21])
    desk.pass(.seconds(600))
    #expect(desk.asked { $0 == .disconnect } == 0)
    #expect(desk.bodies == ["servicesModified", "operationCompleted"])
    appears(Desk.service, at: Desk.devicePath.appending("service0031"), &desk)
    #expect(invalidated(desk) == [[0x0a], []], "it is new")
    discover(&desk)
    #expect(found(desk) == [0x21, 0x31])
  }

  @Test("C7: a service that comes after another was taken away is told, at once or when that is waited for no more")
  func inItsPlace() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.forget()
    desk.serviceGoes()
    appears(Self.other, &desk)
    #expect(invalidated(desk) == [[0x0a]], "the first one may come back")
    desk.pass(.seconds(2))
    #expect(invalidated(desk) == [[0x0a], []])
    appears(Self.third, at: Desk.devicePath.appending("service0031"), &desk)
    #expect(invalidated(desk) == [[0x0a], [], []])
    desk.pass(.seconds(600))
    #expect(invalidated(desk).count == 3)
    #expect(desk.asked { $0 == .disconnect } == 0)
  }

  @Test("C7: a service that was taken away on a link, and is missing on the next one, is looked for there")
  func missingAfterwards() {
    var desk = Desk()
    desk.connectAndSubscribe()
    appears(Self.other, &desk)
    desk.serviceGoes()
    desk.pass(.seconds(60))
    desk.loseAndAskAgain()
    desk.linkUp()
    desk.forget()
    desk.pass(.seconds(5))
    #expect(desk.asked { $0 == .disconnect } == 1)
  }

  @Test("C7: a service that does not come back is told as invalid when it is given up")
  func gone() {
    var desk = Desk()
    desk.connectAndSubscribe()
    appears(Self.other, &desk)
    desk.forget()
    desk.linkDown()
    desk.serviceGoes()
    for _ in 1...3 {
      desk.connect()
      desk.linkUp()
      desk.pass(.seconds(5))
      desk.linkDown()
    }
    desk.connect()
    desk.linkUp()
    desk.forget()
    desk.pass(.seconds(60))
    #expect(invalidated(desk) == [[0x0a]])
  }

  @Test("C7: a peripheral that comes back with a service it never had, in place of one that was found, keeps its link")
  func updated() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    desk.serviceGoes()
    appears(Self.other, &desk)
    desk.connect()
    desk.forget()
    desk.linkUp()
    #expect(invalidated(desk) == [[0x0a]])
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .discoverServices(nil))))
    #expect(found(desk) == [0x21])
    desk.pass(.seconds(600))
    #expect(desk.asked { $0 == .disconnect } == 0)
  }

  @Test("C7: of a peripheral with more than 64 services none are remembered, however it came by them")
  func manyServices() {
    let peer = PeerIdentifier(UUID())
    let few: Set = [BluetoothUUID(UInt16(0x0a))]
    let many = Set((1...65).map { BluetoothUUID(UInt16($0)) })
    var known = KnownServices()
    known.replace(many, on: peer)
    #expect(!known.isUpdated(peer, having: [BluetoothUUID(UInt16(0x1234))]))
    known.sees(few, on: peer)
    #expect(known.isUpdated(peer, having: many))
    known.sees(many, on: peer)
    #expect(!known.isUpdated(peer, having: [BluetoothUUID(UInt16(0x1234))]))
  }

  @Test("C7: a service that has moved while latchkeyd was away is told as invalid when the app resumes")
  func movedBeforeTheAppResumes() {
    var desk = Desk()
    desk.connectAndSubscribe()
    let last = EventSequence(desk.lastSequence)
    let services = desk.system.held[desk.centralKey, desk.peer]?.services
    let shown = PeripheralSnapshot(
      identifier: desk.peer, name: "Old name", state: .connected, services: services, mtu: 185)
    desk.restartSystem()
    desk.appear(connected: true)
    desk.change(["Name": .string("New name")])
    desk.serviceGoes()
    appears(Desk.service, &desk)
    desk.attach(lastEvent: last)
    Self.resume(&desk, showing: shown)
    #expect(invalidated(desk) == [[0x0a]])
    #expect(desk.events.contains { $0.body == .nameChanged(desk.peer, "New name") })
    #expect(desk.bodies.contains("disconnected") == false)
  }

  /// The app's library attached again, and says what it shows the app.
  private static func resume(_ desk: inout Desk, showing shown: PeripheralSnapshot) {
    desk.say(
      .resumeManager(
        Desk.central, ManagerCreation(role: .central, restoreIdentifier: "central"),
        ManagerView(state: .poweredOn, peripherals: [shown], connectOptions: [desk.peer: ConnectOptions()])))
  }

  @Test("C7: a service that is new while the app's connection to latchkeyd is cut is told when the app resumes")
  func newBeforeTheAppResumes() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.settle()
    let services = desk.system.held[desk.centralKey, desk.peer]?.services
    desk.handle(.detached(desk.link))
    appears(Self.other, &desk)
    desk.forget()
    desk.attach(lastEvent: EventSequence(desk.lastSequence))
    let shown = PeripheralSnapshot(identifier: desk.peer, state: .connected, services: services)
    Self.resume(&desk, showing: shown)
    #expect(invalidated(desk) == [[]])
  }

  @Test("C7: a service that goes while the app's connection to latchkeyd is cut is told once, when the app resumes")
  func goneBeforeTheAppResumes() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.settle()
    let services = desk.system.held[desk.centralKey, desk.peer]?.services
    desk.handle(.detached(desk.link))
    desk.serviceGoes()
    desk.forget()
    desk.attach(lastEvent: EventSequence(desk.lastSequence))
    let shown = PeripheralSnapshot(identifier: desk.peer, state: .connected, services: services)
    Self.resume(&desk, showing: shown)
    #expect(invalidated(desk) == [[0x0a]])
    appears(Desk.service, &desk)
    #expect(invalidated(desk) == [[0x0a], []], "it is new where it is now")
  }

  @Test("C3: an app that resumes is told the MTU of its link if it knows another")
  func otherMTU() {
    var desk = Desk()
    desk.connectAndSubscribe()
    let last = EventSequence(desk.lastSequence)
    let services = desk.system.held[desk.centralKey, desk.peer]?.services
    desk.restartSystem()
    desk.appear(connected: true)
    desk.handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: Desk.characteristicPath, interface: InterfaceName.gattCharacteristic,
            changed: ["MTU": .uint16(247)], invalidated: []))))
    desk.attach(lastEvent: last)
    func resume(_ mtu: Int) {
      let shown = PeripheralSnapshot(identifier: desk.peer, state: .connected, services: services, mtu: mtu)
      desk.say(
        .resumeManager(
          Desk.central, ManagerCreation(role: .central, restoreIdentifier: "central"),
          ManagerView(state: .poweredOn, peripherals: [shown], connectOptions: [desk.peer: ConnectOptions()])))
    }
    resume(185)
    #expect(desk.events.map(\.body) == [.mtuChanged(desk.peer, mtu: 247)])
    desk.handle(.detached(desk.link))
    desk.forget()
    desk.attach(lastEvent: EventSequence(desk.lastSequence))
    resume(247)
    #expect(desk.bodies == [])
  }
}

extension Desk {
  fileprivate var centralKey: ManagerKey { ManagerKey(app: Self.bundle, role: .central, restoreIdentifier: "central") }
}
