import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing
import TimeTypes

@testable import BluetoothSystem

/// What apps ask for in the first moments of a link (docs/bluez.md, "The first moments of a link").
@Suite("Links that come up")
struct LinkCapacityTests {
  private static let long = [UInt8](repeating: 7, count: 106)

  /// An app that knows its peripheral, whose link has just come up once more.
  private func linkBegins() -> Desk {
    var desk = Desk()
    desk.connectAndSubscribe()
    begin(&desk)
    return desk
  }

  private func begin(_ desk: inout Desk) {
    desk.mtu = nil
    desk.loseAndAskAgain()
    desk.forget()
    desk.linkBegins()
  }

  private func writes(_ desk: Desk) -> [Int] {
    desk.requests.compactMap { if case .writeValue(let value, _) = $0.request { value.count } else { nil } }
  }

  private func write(_ desk: inout Desk, _ value: [UInt8], _ number: UInt64 = 10) {
    desk.say(
      .central(
        Desk.central,
        .perform(
          desk.peer, OperationIdentifier(number),
          .writeCharacteristic(0x0b, value: value, withResponse: true))))
  }

  @Test("C5: a write of more than 20 bytes waits until the MTU is agreed on, and those behind it wait too")
  func longWrite() {
    var desk = linkBegins()
    write(&desk, Self.long)
    write(&desk, [1], 11)
    desk.pass(.milliseconds(100))
    desk.mtu = 23
    desk.pass(.milliseconds(100))
    #expect(writes(desk) == [])
    desk.mtu = 517
    desk.pass(.milliseconds(20))
    #expect(writes(desk) == [106, 1])
  }

  @Test("C5: a short write and a read wait until the attribute protocol works")
  func shortWrite() {
    var desk = linkBegins()
    write(&desk, [UInt8](repeating: 1, count: 20))
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(11), .readCharacteristic(0x0b))))
    desk.pass(.milliseconds(100))
    #expect(writes(desk) == [] && desk.asked { $0 == .readValue(offset: 0) } == 0)
    desk.mtu = 23
    desk.pass(.milliseconds(40))
    #expect(writes(desk) == [20] && desk.asked { $0 == .readValue(offset: 0) } == 1)
  }

  @Test("C5: resolved services end every wait, whatever bluetoothd shows")
  func resolved() {
    var desk = linkBegins()
    write(&desk, Self.long)
    desk.pass(.milliseconds(100))
    desk.change(["ServicesResolved": .bool(true)])
    #expect(writes(desk) == [106])
    #expect(desk.system.capacities.keys.isEmpty)
    #expect(desk.system.nextDeadline == nil || desk.system.nextDeadline! > desk.now + .seconds(1))
  }

  @Test("C5: nothing is asked while nothing waits, except once when services are resolved")
  func restfulLink() {
    func asked(_ desk: Desk) -> Int {
      desk.asked { $0 == .getAllProperties(interface: InterfaceName.gattCharacteristic) }
    }
    var desk = linkBegins()
    desk.mtu = 517
    // Nothing is known of the peripheral yet.
    desk.pass(.seconds(1))
    desk.change(["ServicesResolved": .bool(true)])
    begin(&desk)
    desk.pass(.seconds(1))
    #expect(asked(desk) == 0)
    desk.mtu = 185
    desk.change(["ServicesResolved": .bool(true)])
    #expect(asked(desk) == 1)
  }

  @Test("C7: a connection begins with the MTU that the last one had, also for a restored app after a restart")
  func remembered() throws {
    func snapshot(_ desk: Desk) -> Int? {
      desk.events.reversed().compactMap { event -> Int? in
        switch event.body {
        case .connected(let snapshot): snapshot.mtu
        case .willRestoreCentral(let restoration): restoration.peripherals.first?.mtu
        default: nil
        }
      }.first
    }
    var desk = linkBegins()
    #expect(snapshot(desk) == 23)
    desk.mtu = 517
    desk.change(["ServicesResolved": .bool(true)])
    #expect(desk.bodies.contains("mtuChanged"), "the app takes it for 23")
    begin(&desk)
    #expect(snapshot(desk) == 517)
    desk.die()
    desk.restartSystem()
    desk.mtu = nil
    desk.appear()
    desk.linkBegins()
    desk.launchAndAttach()
    desk.createCentral()
    #expect(snapshot(desk) == 517)
    desk.mtu = 185
    desk.change(["ServicesResolved": .bool(true)])
    #expect(desk.bodies.last == "mtuChanged", "this link has another one")
  }

  @Test("C7: another MTU wakes no app")
  func wakesNobody() {
    var desk = Desk.asleep()
    desk.system.tell(desk.system.managers.keys.first!, .mtuChanged(desk.peer, mtu: 100))
    desk.pass(.seconds(1))
    #expect(desk.state == .suspended)
    desk.value([1])
    #expect(desk.bodies.contains("mtuChanged"))
  }
}

/// The same for values that an app sends to subscribers.
@Suite("Values at the beginning of a link")
struct EarlyValueTests {
  private static let manager = Lock.manager
  private static let offer = Lock.offer

  /// An app with a bonded subscriber that has just come back.
  private func back() -> Desk {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.say(.createManager(Self.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Self.manager, .addService(Lock.definition)))
    desk.linkUp()
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: place(desk), .startNotify)))
    #expect(desk.bodies.contains("subscribed"))
    desk.linkDown()
    desk.pass(.seconds(1))
    desk.forget()
    desk.linkBegins()
    #expect(desk.bodies == ["subscribed"])
    return desk
  }

  private func place(_ desk: Desk) -> ObjectPath {
    desk.system.publishing.services[Lock.definition.identifier]?.paths[Self.offer] ?? .root
  }

  private func send(_ desk: inout Desk, _ count: Int) {
    let value = [UInt8](repeating: 1, count: count)
    desk.say(.peripheral(Self.manager, .updateValue(Self.offer, value: value, centrals: nil)))
  }

  private func sent(_ desk: Desk) -> [Int] {
    desk.effects.compactMap { if case .bluez(.valueChanged(_, let value)) = $0 { value.count } else { nil } }
  }

  @Test("C6: a value waits until the link carries it whole; those behind it wait too")
  func waits() {
    var desk = back()
    send(&desk, 18)
    send(&desk, 19)
    send(&desk, 2)
    desk.pass(.milliseconds(100))
    #expect(sent(desk) == [])
    desk.mtu = 23
    desk.pass(.milliseconds(20))
    #expect(sent(desk) == [18], "what fits goes as soon as somebody hears it")
    desk.mtu = 517
    desk.pass(.milliseconds(20))
    #expect(sent(desk) == [18, 19, 2])
  }

  @Test("C6: a central without a bond that comes back soon, and is still known to bluetoothd, subscribes with its MTU")
  func stranger() {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.say(.createManager(Self.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Self.manager, .addService(Lock.definition)))
    desk.mtu = 23
    desk.linkBegins()
    desk.mtu = 517
    desk.change(["ServicesResolved": .bool(true)])
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: place(desk), .startNotify)))
    #expect(
      desk.events.compactMap { event -> Int? in
        if case .subscribed(let central, _) = event.body { central.maximumUpdateValueLength } else { nil }
      } == [512])
  }

  @Test("C6: a request of the central shows what its link carries")
  func request() {
    var desk = back()
    send(&desk, 100)
    #expect(sent(desk) == [])
    desk.handle(
      .daemon(
        .callback(
          CallbackIdentifier(2), path: place(desk), .readValue(RemoteRequest(device: Desk.devicePath, mtu: 185)))))
    #expect(sent(desk) == [100])
  }

  @Test("C6: after five seconds a value goes out in any case, and there is no more credit until then")
  func patience() {
    var desk = back()
    for _ in 0..<16 { send(&desk, 100) }
    desk.pass(.milliseconds(4900))
    #expect(sent(desk) == [] && !desk.bodies.contains("updateCredit"))
    desk.pass(.milliseconds(200))
    #expect(sent(desk).count == 16 && desk.bodies.contains("updateCredit"))
  }

  @Test("C6: a value whose receivers are gone is sent to nobody")
  func gone() {
    var desk = back()
    send(&desk, 100)
    desk.linkDown()
    #expect(sent(desk) == [])
    desk.mtu = 517
    desk.linkBegins()
    desk.pass(.seconds(6))
    #expect(sent(desk) == [])
  }

  @Test("C6: a relaunched app has its credit before everything that it may answer with a value")
  func creditFirst() {
    var desk = back()
    desk.leave()
    desk.die()
    desk.linkDown()
    desk.forget()
    desk.linkBegins()
    desk.launchAndAttach()
    desk.say(.createManager(Self.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    #expect(desk.bodies.prefix(3) == ["willRestoreState", "updateCredit", "stateChanged"])
    #expect(desk.bodies.last == "subscribed")
  }
}
