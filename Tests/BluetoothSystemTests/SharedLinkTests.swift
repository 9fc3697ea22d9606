import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Testing

@testable import BluetoothSystem

@Suite("An app in both roles over one link")
struct SharedLinkTests {
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
    var desk = Desk.lock()
    let place = desk.attribute(0)
    connect(&desk)
    desk.callBack(1, place, .startNotify)
    #expect(desk.bodies == ["subscribed"])
    let peer = desk.peer
    desk.say(.peripheral(Lock.manager, .updateValue(Lock.offer, value: [7], centrals: [peer])))
    #expect(desk.effects.contains(.bluez(.valueChanged(path: place, value: [7]))))
    desk.callBack(2, place, .stopNotify)
    #expect(desk.bodies == ["subscribed", "unsubscribed"])
  }

  @Test(
    "C6: if another central is linked, a device to which the app is connected subscribes only if it has the same service",
    arguments: [true, false])
  func bothRolesAmongOthers(_ hasService: Bool) {
    var desk = Desk.lock(withDevice: hasService)
    let place = desk.attribute(0)
    if !hasService { desk.handle(device(Desk.address.description, isLinked: false)) }
    connect(&desk)
    let other = "C0:FF:EE:00:00:02"
    desk.handle(device(other, isLinked: true))
    desk.forget()
    desk.callBack(1, place, .startNotify)
    let subscribers = desk.events.compactMap { event in
      if case .subscribed(let central, _) = event.body { central.identifier } else { nil }
    }
    let second = desk.system.identifier(for: DeviceAddress(other, kind: .random)!)
    let first = desk.peer
    #expect(Set(subscribers) == (hasService ? [first, second] : [second]))
  }
}
