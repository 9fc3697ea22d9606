import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing
import TimeTypes

@testable import BluetoothSystem

/// bluetoothd's known bugs, each with its number in docs/bluez.md.
@Suite("Faults of bluetoothd")
struct BluetoothdFaultTests {
  private func waiting(bonded: Bool = true) -> Desk {
    var desk = Desk()
    desk.appear(bonded: bonded)
    desk.open()
    desk.createCentral()
    desk.forget()
    desk.connect()
    return desk
  }

  private func appeared(_ desk: inout Desk, connected: Bool) {
    desk.restartSystem()
    desk.forget()
    desk.answersCalls = false
    desk.appear(connected: connected)
  }

  // MARK: Connecting

  @Test("BlueZ 1: a failed Connect is tried again when the device is heard, ever more rarely, never at once")
  func abortByLocal() throws {
    var desk = waiting(bonded: false)
    var waits: [Duration] = []
    for _ in 0..<9 {
      let start = desk.now
      desk.change(["RSSI": .int16(-60)])
      while desk.lastCall(.connect) == nil, desk.now < start + .seconds(200) {
        desk.pass(.seconds(1))
        desk.change(["RSSI": .int16(-60)])
      }
      let call = try #require(desk.lastCall(.connect))
      waits.append(desk.now - start)
      desk.forget()
      desk.handle(.daemon(.reply(call, .failure(.failed("le-connection-abort-by-local")))))
    }
    #expect(waits == [.zero] + [1, 2, 4, 8, 16, 32, 64, 64].map { .seconds($0) })
  }

  @Test("BlueZ 2: a temporary device that vanishes before the next try is scanned for")
  func temporaryDeviceVanishes() throws {
    var desk = waiting(bonded: false)
    let call = try #require(desk.lastCall(.connect))
    desk.handle(.daemon(.reply(call, .failure(.unknownObject(Desk.devicePath)))))
    desk.handle(.daemon(.signal(.interfacesRemoved(path: Desk.devicePath, [InterfaceName.device]))))
    desk.forget()
    desk.pass(.seconds(1))
    #expect(desk.asked { $0 == .startDiscovery } == 1)
    #expect(desk.lastCall(.connect) == nil)
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(
            path: Desk.devicePath,
            [
              InterfaceName.device: [
                "Address": .string(Desk.address.description), "AddressType": .string("random"), "RSSI": .int16(-50),
              ]
            ]))))
    #expect(desk.lastCall(.connect) != nil)
  }

  @Test("BlueZ 4: another's attempt that does not end is cancelled, after the time that an attempt takes")
  func inProgressForever() throws {
    var desk = waiting(bonded: false)
    let first = try #require(desk.lastCall(.connect))
    desk.handle(.daemon(.reply(first, .failure(.inProgress))))
    desk.forget()
    desk.pass(.seconds(44))
    #expect(desk.requests.isEmpty)
    desk.pass(.seconds(1))
    let second = try #require(desk.lastCall(.connect))
    #expect(desk.asked { $0 == .disconnect } == 0)
    desk.handle(.daemon(.reply(second, .failure(.inProgress))))
    #expect(desk.asked { $0 == .disconnect } == 1)
    desk.forget()
    desk.pass(.seconds(4))
    #expect(desk.lastCall(.connect) != nil)
  }

  @Test("BlueZ 6: a Connect that is never answered delays others for at most a minute")
  func connectUnanswered() {
    var desk = waiting(bonded: false)
    desk.forget()
    desk.pass(.seconds(59))
    #expect(desk.requests.isEmpty)
    desk.pass(.seconds(1))
    #expect(desk.asked { $0 == .disconnect } == 1)
    desk.change(["RSSI": .int16(-60)])
    desk.pass(.seconds(2))
    desk.change(["RSSI": .int16(-60)])
    #expect(desk.lastCall(.connect) != nil)
  }

  // MARK: Dead links

  @Test("BlueZ 5: a link that is there when the system starts is adopted")
  func ghostLink() {
    var desk = waiting()
    appeared(&desk, connected: true)
    desk.answersCalls = true
    desk.attach()
    desk.say(.createManager(Desk.central, ManagerCreation(role: .central, restoreIdentifier: "central")))
    #expect(desk.bodies.filter { $0 == "connected" }.count == 1)
    #expect(desk.asked { $0 == .disconnect } == 0)
  }

  @Test("BlueZ 6: a link that bluetoothd believes in and the controller does not know is ended, ever more rarely")
  func phantomLink() throws {
    var desk = waiting()
    appeared(&desk, connected: true)
    let probe = try #require(desk.lastCall(.readConnectionRSSI))
    desk.forget()
    desk.handle(.daemon(.reply(probe, .failure(.notConnected))))
    #expect(desk.asked { $0 == .disconnect } == 1)
    // It is not answered, and the link stays.
    desk.pass(.seconds(3600))
    let asked = desk.asked { $0 == .disconnect }
    #expect(asked > 2 && asked <= 10, "\(asked)")
    #expect(desk.recorded(.linkStuck) == asked - 1)
  }

  @Test(
    "A controller that can't tell leaves an adopted link alone",
    arguments: ["open hci0: Address family not supported", ""])
  func probeFails(message: String) throws {
    var desk = waiting()
    appeared(&desk, connected: true)
    let probe = try #require(desk.lastCall(.readConnectionRSSI))
    desk.handle(.daemon(.reply(probe, message.isEmpty ? .success(.rssi(-50)) : .failure(.failed(message)))))
    desk.pass(.seconds(600))
    #expect(desk.asked { $0 == .disconnect } == 0)
  }

  @Test("BlueZ 6: a link whose services are never resolved is ended, and asked for again")
  func neverResolved() {
    var desk = waiting()
    desk.forget()
    desk.change(["Connected": .bool(true)])
    desk.pass(.seconds(44))
    #expect(desk.asked { $0 == .disconnect } == 0)
    desk.pass(.seconds(1))
    #expect(desk.asked { $0 == .disconnect } == 1)
    desk.loseAndAskAgain()
    #expect(desk.asked(\.isProfileRegistration) >= 1)
  }

  @Test("BlueZ 6: an operation that bluetoothd never answers fails, and ends the link")
  func operationUnanswered() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.answersCalls = false
    desk.forget()
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .readCharacteristic(0x0b))))
    desk.pass(.seconds(39))
    #expect(desk.bodies.isEmpty)
    desk.pass(.seconds(1))
    #expect(desk.bodies == ["operationCompleted", "disconnected"])
    #expect(desk.asked { $0 == .disconnect } == 1)
  }

  // MARK: Lost auto-connect

  @Test("BlueZ 9: a device is armed again after it was paired")
  func pairedLater() {
    var desk = waiting(bonded: false)
    desk.change(["Connected": .bool(true), "ServicesResolved": .bool(true)])
    desk.forget()
    desk.change(["UUIDs": .strings([Desk.service.description])])
    desk.change(["Paired": .bool(true), "Bonded": .bool(true)])
    #expect(desk.asked(\.isProfileRegistration) == 1)
  }

  @Test("BlueZ 10: a device that goes by its identity after pairing is the same peripheral, and armed by it")
  func identityAddress() {
    var desk = waiting()
    let peer = desk.peer
    desk.linkUp()
    desk.forget()
    desk.change(["Address": .string("C0:11:22:33:44:55"), "AddressType": .string("public")])
    #expect(desk.asked(\.isProfileRegistration) == 1)
    desk.restartSystem()
    #expect(desk.system.identifier(for: DeviceAddress("C0:11:22:33:44:55", kind: .public)!) == peer)
  }

  @Test(
    "BlueZ 11: a bonded device that another client's discovery hears is connected to without waiting for the kernel")
  func foreignDiscovery() {
    var desk = waiting()
    desk.forget()
    desk.change(["RSSI": .int16(-60)])
    #expect(desk.lastCall(.connect) == nil, "nobody discovers")
    desk.handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: WellKnown.firstAdapter, interface: InterfaceName.adapter, changed: ["Discovering": .bool(true)],
            invalidated: []))))
    desk.change(["RSSI": .int16(-61)])
    #expect(desk.lastCall(.connect) != nil)
    #expect(desk.asked { $0 == .startDiscovery } == 0)
  }

  @Test("BlueZ 12: after the machine slept everything is asked for again, and links are looked at")
  func sleep() {
    var desk = waiting()
    desk.forget()
    desk.handle(.resumedFromSleep)
    #expect(desk.asked(\.isProfileRegistration) == 1)
    desk.linkUp()
    desk.forget()
    desk.handle(.resumedFromSleep)
    #expect(desk.asked { $0 == .readConnectionRSSI } == 1)
  }

  @Test("BlueZ 13: while rfkill blocks the adapter nothing is asked; when it is free, once")
  func rfkill() {
    var desk = waiting()
    func adapter(_ desk: inout Desk, _ changed: Properties) {
      desk.handle(
        .daemon(
          .signal(
            .propertiesChanged(
              path: WellKnown.firstAdapter, interface: InterfaceName.adapter, changed: changed, invalidated: []))))
    }
    adapter(&desk, ["Powered": .bool(false), "PowerState": .string("off-blocked")])
    desk.forget()
    desk.pass(.seconds(86400))
    #expect(desk.requests.isEmpty)
    adapter(&desk, ["PowerState": .string("off")])
    desk.pass(.seconds(3600))
    #expect(desk.requests.count == 1)
    desk.forget()
    adapter(&desk, ["Powered": .bool(true), "PowerState": .string("on")])
    #expect(desk.asked(\.isProfileRegistration) == 1)
  }

  @Test("BlueZ 16: a bluetoothd that dies while a subscription is pending is asked for it again")
  func diesDuringStartNotify() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    desk.handle(.daemon(.vanished))
    desk.answersCalls = false
    desk.appear()
    #expect(desk.asked { $0 == .startNotify } == 2)
    desk.handle(.daemon(.vanished))
    desk.answersCalls = true
    desk.forget()
    desk.appear()
    #expect(desk.asked { $0 == .startNotify } == 1)
  }

  @Test(
    "BlueZ 16: a subscription that fails with its link is asked for again on the next, where its failure is heard later"
  )
  func failsWithItsLink() throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    desk.handle(.daemon(.vanished))
    desk.answersCalls = false
    desk.forget()
    desk.appear()
    let call = try #require(desk.lastCall(.startNotify))
    desk.linkUp()
    desk.linkDown()
    desk.handle(.daemon(.reply(call, .failure(.failed("Operation failed with ATT error: 0x0e")))))
    desk.forget()
    desk.linkUp()
    #expect(desk.asked { $0 == .startNotify } == 1)
  }

  @Test("C5: a subscription whose link was lost before its answer is asked for again on the next link")
  func unansweredWithItsLink() throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    desk.handle(.daemon(.vanished))
    desk.answersCalls = false
    desk.appear()
    let call = try #require(desk.lastCall(.startNotify))
    desk.connect()
    desk.linkUp()
    desk.linkDown()
    desk.answersCalls = true
    desk.forget()
    desk.connect()
    desk.linkUp()
    desk.say(
      .central(Desk.central, .perform(desk.peer, OperationIdentifier(4), .setNotify(true, characteristic: 0x0b))))
    #expect(desk.asked { $0 == .startNotify } == 1)
    #expect(desk.bodies.last == "operationCompleted")
    // An answer that comes so late is of no interest.
    desk.handle(.daemon(.reply(call, .failure(.failed("Not connected")))))
    desk.value([7])
    #expect(desk.bodies.last == "valueUpdated")
  }

  @Test("BlueZ 15: a subscription is renewed on every link, because bluetoothd may have forgotten it without a word")
  func forgottenSubscription() {
    var desk = Desk()
    desk.connectAndSubscribe()
    for _ in 1...3 {
      desk.linkDown()
      desk.forget()
      desk.linkUp()
      #expect(desk.asked { $0 == .startNotify } == 1)
    }
  }

  @Test("BlueZ 20: a device that somebody else's Disconnect may have disarmed is armed again")
  func foreignDisconnect() {
    var desk = waiting()
    desk.linkUp()
    desk.forget()
    desk.loseAndAskAgain()
    #expect(desk.asked(\.isProfileRegistration) == 1)
  }

  // MARK: Missing keys

  private func barrenLink(_ desk: inout Desk, reason: String? = nil) {
    desk.change(["Connected": .bool(true)])
    desk.pass(.milliseconds(200))
    if let reason {
      desk.handle(.daemon(.signal(.disconnected(path: Desk.devicePath, reason: reason, message: ""))))
    }
    desk.change(["Connected": .bool(false)])
    desk.connect()
  }

  @Test("BlueZ 17: three links refused for want of a key end the request with CBError.peerRemovedPairingInformation")
  func keyMissing() {
    var desk = waiting()
    barrenLink(&desk, reason: "org.bluez.Reason.Authentication")
    barrenLink(&desk, reason: "org.bluez.Reason.Authentication")
    desk.forget()
    desk.change(["Connected": .bool(true)])
    desk.handle(
      .daemon(
        .signal(.disconnected(path: Desk.devicePath, reason: "org.bluez.Reason.Authentication", message: ""))))
    let codes = desk.events.compactMap { event -> PeerError.Code? in
      if case .disconnected(_, .coreBluetooth(let code, _)?, _, _) = event.body { code } else { nil }
    }
    #expect(codes == [.peerRemovedPairingInformation])
    #expect(desk.recorded(.pairingGone) == 1)
  }

  @Test("BlueZ 17: links that break off for an unknown reason wake no app after the third, and keep the request")
  func barrenLinks() {
    var desk = waiting()
    for _ in 0..<3 { barrenLink(&desk) }
    #expect(desk.recorded(.linkBarren) == 1)
    desk.forget()
    for _ in 0..<5 { barrenLink(&desk) }
    #expect(desk.bodies.isEmpty)
    #expect(desk.requests.isEmpty, "bluetoothd is asked for nothing")
    desk.linkUp()
    #expect(desk.bodies == ["connected"])
    desk.loseAndAskAgain()
    desk.forget()
    desk.change(["Connected": .bool(true)])
    #expect(desk.bodies == ["connected"])
  }

  // MARK: The peripheral side

  @Test("A request that is open when its central's link is lost is answered at once: left open it kills bluetoothd")
  func requestOpenAtLoss() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.say(.createManager(Desk.central, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Desk.central, .addService(Lock.definition)))
    let offer = desk.requests.compactMap { request -> ObjectPath? in
      guard case .registerApplication(let root, _) = request.request else { return nil }
      return root.appending("service").appending("characteristic0")
    }.last
    desk.linkUp()
    desk.forget()
    desk.handle(
      .daemon(
        .callback(
          CallbackIdentifier(1), path: offer ?? .root, .readValue(RemoteRequest(device: Desk.devicePath, mtu: 100)))))
    desk.linkDown()
    let answers = desk.effects.count { if case .bluez(.answer) = $0 { true } else { false } }
    #expect(answers == 1)
    #expect(desk.bodies == ["readRequested", "requestExpired"])
    #expect(desk.effects.contains { if case .record(.requestAbandoned, _) = $0 { true } else { false } })
    desk.pass(.seconds(10))
    #expect(desk.effects.count { if case .bluez(.answer) = $0 { true } else { false } } == 1)
  }
}
