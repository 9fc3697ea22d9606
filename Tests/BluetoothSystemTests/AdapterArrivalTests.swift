import AppLink
import BlueZ
import BusValue
import Testing
import TimeTypes

@testable import BluetoothSystem

/// bluetoothd appears before its adapter does, and the adapter before it has power.
@Suite("The adapter's arrival") struct AdapterArrivalTests {
  private func states(_ desk: Desk) -> [AppLink.ManagerState] {
    desk.events.compactMap { if case .stateChanged(let state) = $0.body { state } else { nil } }
  }

  private func power(_ isOn: Bool, _ desk: inout Desk) {
    desk.handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: WellKnown.firstAdapter, interface: InterfaceName.adapter, changed: ["Powered": .bool(isOn)],
            invalidated: []))))
  }

  private func add(_ properties: Properties, _ desk: inout Desk) {
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(path: WellKnown.firstAdapter, [InterfaceName.adapter: properties]))))
  }

  @Test("A14: after a boot the app hears poweredOn, and nothing of the moments before") func boot() {
    var desk = Desk()
    desk.open()
    desk.createCentral()
    desk.handle(.daemon(.appeared([:])))
    desk.pass(.seconds(2))
    add(["Powered": .bool(false)], &desk)
    desk.pass(.seconds(1))
    power(true, &desk)
    #expect(states(desk) == [.poweredOn])
  }

  @Test("A14: after bluetoothd's restart the app hears resetting and poweredOn") func restart() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.handle(.daemon(.vanished))
    desk.handle(.daemon(.appeared([:])))
    add(["Powered": .bool(false)], &desk)
    power(true, &desk)
    #expect(states(desk) == [.poweredOn, .resetting, .poweredOn])
  }

  @Test("A14: signals that arrive before bluetoothd's objects are known are ignored") func early() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.handle(.daemon(.vanished))
    add(["Powered": .bool(false)], &desk)
    desk.handle(.daemon(.appeared([WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]])))
    desk.pass(.seconds(10))
    #expect(states(desk) == [.poweredOn, .resetting, .poweredOn])
  }

  @Test("C4: an adapter that is pulled out while the agent is being registered leaves no machine without an agent")
  func pulled() throws {
    var desk = Desk()
    desk.answersCalls = false
    desk.handle(.daemon(.appeared([WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]])))
    let call = try #require(desk.lastCall { if case .registerAgent = $0 { true } else { false } })
    desk.handle(.daemon(.signal(.interfacesRemoved(path: WellKnown.firstAdapter, [InterfaceName.adapter]))))
    desk.handle(.daemon(.reply(call, .success(.none))))
    #expect(desk.recorded(.agentRegistered) == 1)
  }

  @Test("A14: a missing adapter is reported after a while") func none() {
    var desk = Desk()
    desk.open()
    desk.createCentral()
    desk.handle(.daemon(.appeared([:])))
    desk.pass(.seconds(4))
    #expect(states(desk).isEmpty)
    desk.pass(.seconds(2))
    #expect(states(desk) == [.unsupported])
    #expect(desk.system.nextDeadline.map { $0 > desk.now } ?? true)
  }

  @Test("A14: an adapter that is off for a reason is off at once", arguments: [true, false]) func off(_ isBlocked: Bool)
  {
    var desk = Desk()
    desk.open()
    desk.createCentral()
    if !isBlocked { desk.handle(.control(.setBluetooth(on: false), AnswerToken(1))) }
    var properties: Properties = ["Powered": .bool(false)]
    if isBlocked { properties["PowerState"] = .string("off-blocked") }
    desk.handle(.daemon(.appeared([WellKnown.firstAdapter: [InterfaceName.adapter: properties]])))
    #expect(states(desk) == [.poweredOff])
    desk.handle(
      .daemon(.signal(.interfacesRemoved(path: WellKnown.firstAdapter, [InterfaceName.adapter]))))
    desk.pass(.seconds(60))
    #expect(states(desk) == [.poweredOff])
  }

  @Test("A14: an adapter that gets no power is off, after a while") func powerless() {
    var desk = Desk()
    desk.open()
    desk.createCentral()
    desk.handle(.daemon(.appeared([WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(false)]]])))
    desk.pass(.seconds(10))
    #expect(states(desk) == [.poweredOff])
  }
}
