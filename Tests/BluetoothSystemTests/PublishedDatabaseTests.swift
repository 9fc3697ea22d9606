import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing
import TimeTypes

@testable import BluetoothSystem

/// What latchkeyd does, on a machine that publishes, about centrals that remember this machine's services wrongly.
@Suite("GATT databases that centrals remember")
struct PublishedDatabaseTests {
  private func lock() -> Desk {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.say(.createManager(Desk.central, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Desk.central, .addService(Lock.definition)))
    desk.say(
      .peripheral(
        Desk.central, .startAdvertising(AdvertisementRequest(localName: "Door", serviceUUIDs: [Desk.service]))))
    desk.forget()
    return desk
  }

  private func marks(_ desk: Desk) -> [ManagedObjects] {
    desk.requests.compactMap {
      if case .registerApplication(let root, let objects) = $0.request, root.text.contains("marks") {
        objects
      } else {
        nil
      }
    }
  }

  @Test("BlueZ 7: a bonded central's short link at which nothing was asked changes this machine's Database Hash")
  func marked() {
    var desk = lock()
    desk.linkUp()
    desk.pass(.seconds(3))
    desk.linkDown()
    desk.linkUp()
    desk.pass(.seconds(3))
    desk.linkDown()
    let found = marks(desk)
    #expect(found.count == 2)
    #expect(found.first != found.last, "each differs from the one before")
    desk.restartSystem()
    desk.appear()
    #expect(marks(desk).count == 1, "and outlives the daemon")
  }

  @Test("A central that asks for something, or stays, or is not bonded, leaves the database as it is", arguments: 0...2)
  func unmarked(how: Int) {
    var desk = Desk()
    desk.appear(bonded: how != 2)
    desk.open()
    desk.say(.createManager(Desk.central, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Desk.central, .addService(Lock.definition)))
    let offer = desk.requests.compactMap { request -> ObjectPath? in
      guard case .registerApplication(let root, _) = request.request else { return nil }
      return root.appending("service").appending("characteristic0")
    }.last
    desk.linkUp()
    if how == 0, let offer { desk.handle(.daemon(.callback(CallbackIdentifier(1), path: offer, .startNotify))) }
    desk.pass(how == 1 ? .seconds(11) : .seconds(3))
    desk.linkDown()
    #expect(marks(desk).isEmpty)
  }

  @Test("BlueZ 7: of two linked centrals, another one's subscription shows no life")
  func anothersSubscription() throws {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.say(.createManager(Desk.central, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Desk.central, .addService(Lock.definition)))
    let offer = try #require(
      desk.requests.compactMap { request -> ObjectPath? in
        guard case .registerApplication(let root, _) = request.request else { return nil }
        return root.appending("service").appending("characteristic0")
      }.last)
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(
            path: WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_02"),
            [
              InterfaceName.device: [
                "Address": .string("C0:FF:EE:00:00:02"), "AddressType": .string("random"), "Bonded": .bool(true),
                "Connected": .bool(true),
              ]
            ]))))
    desk.linkUp()
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: offer, .startNotify)))
    desk.pass(.seconds(3))
    desk.linkDown()
    #expect(marks(desk).count == 1)
  }

  @Test("No central is invited before the app's services are in bluetoothd's database")
  func advertisedLast() throws {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.answersCalls = false
    desk.say(.createManager(Desk.central, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Desk.central, .addService(Lock.definition)))
    desk.say(
      .peripheral(
        Desk.central, .startAdvertising(AdvertisementRequest(localName: "Door", serviceUUIDs: [Desk.service]))))
    func isAdvertising(_ desk: Desk) -> Bool {
      desk.asked { if case .registerAdvertisement = $0 { true } else { false } } == 1
    }
    #expect(!isAdvertising(desk))
    let call = try #require(
      desk.effects.lazy.compactMap { effect -> CallIdentifier? in
        if case .bluez(.call(let identifier, _, let request)) = effect, request.isServiceRegistration {
          identifier
        } else {
          nil
        }
      }.first)
    desk.handle(.daemon(.reply(call, .success(.none))))
    #expect(isAdvertising(desk))
  }
}
