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

  private var cancellation: (PeerIdentifier) -> AppLink.Request {
    { .central(ManagerIdentifier(2), .cancelConnection($0)) }
  }

  @Test("C3, C6: cancelling leaves the link to a device that is subscribed to an app, until it no longer is")
  func cancelledWhileSubscribed() {
    for isLost in [false, true] {
      var desk = Desk.lock()
      let place = desk.attribute(0)
      connect(&desk)
      desk.callBack(1, place, .startNotify)
      desk.forget()
      desk.say(cancellation(desk.peer))
      #expect(desk.bodies == ["disconnected"])
      #expect(desk.asked { $0 == .disconnect } == 0)
      let distrust = BlueZ.Request.setProperty(interface: InterfaceName.device, name: "Trusted", value: .bool(false))
      #expect(desk.asked { $0 == distrust } == 1)
      desk.pass(.seconds(60))
      #expect(desk.asked { $0 == .disconnect } == 0)
      // Either way bluetoothd is not to connect the device by itself any more.
      if isLost { desk.linkDown() } else { desk.callBack(2, place, .stopNotify) }
      #expect(desk.bodies == ["disconnected", "unsubscribed"])
      #expect(desk.asked { $0 == .disconnect } == 1)
    }
  }

  @Test("C3, C6: a link that was left to a subscribed device is left to it by the next latchkeyd")
  func cancelledBeforeARestart() {
    var desk = Desk.lock()
    let place = desk.attribute(0)
    connect(&desk)
    desk.callBack(1, place, .startNotify)
    desk.say(cancellation(desk.peer))
    desk.restartSystem()
    desk.appear(connected: true)
    #expect(desk.asked { $0 == .disconnect } == 0)
  }

  @Test("F4, C6: an old loss that is handled late does not end a central's link", arguments: [true, false])
  func oldLoss(_ isSubscribed: Bool) {
    var desk = Desk.lock()
    let place = desk.attribute(0)
    connect(&desk)
    desk.settle()
    desk.linkDown()
    let loss = EventSequence(desk.lastSequence)
    desk.linkUp()
    if isSubscribed { desk.callBack(1, place, .startNotify) }
    desk.forget()
    desk.say(.handled(through: loss))
    desk.pass(.seconds(60))
    #expect(desk.asked { $0 == .disconnect } == 0)
    desk.linkDown()
    #expect(desk.asked { $0 == .disconnect } == 1, "bluetoothd is not to connect the device by itself any more")
  }
}
