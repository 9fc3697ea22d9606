import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing
import TimeTypes

@testable import BluetoothSystem

/// bluetoothd sometimes remembers a peer's services wrongly.
@Suite("Remembered GATT databases")
struct DatabaseTests {
  private static let serviceObject: DaemonMessage = .signal(
    .interfacesAdded(
      path: Desk.servicePath,
      [InterfaceName.gattService: ["UUID": .string(Desk.service.description), "Primary": .bool(true)]]))

  private static let characteristicObject: DaemonMessage = .signal(
    .interfacesAdded(
      path: Desk.characteristicPath,
      [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(Desk.characteristic.description), "Service": .path(Desk.servicePath),
          "Flags": .strings(["read", "write", "notify"]),
        ]
      ]))

  /// A lock that an app has explored, and that comes back without its service.
  private func comeBackEmpty() -> Desk {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    desk.serviceGoes()
    desk.connect()
    desk.forget()
    desk.linkUp()
    return desk
  }

  @Test("BlueZ 3: services that are resolved before their objects are there are waited for")
  func lateObjects() {
    var desk = comeBackEmpty()
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(7), .discoverServices([Desk.service]))))
    #expect(desk.bodies == ["connected"])
    desk.pass(.seconds(1))
    desk.handle(.daemon(Self.serviceObject))
    desk.handle(.daemon(Self.characteristicObject))
    #expect(desk.bodies == ["connected", "operationCompleted"])
    desk.pass(.seconds(60))
    #expect(desk.asked { $0 == .disconnect } == 0)
    #expect(desk.system.nextDeadline == nil)
  }

  @Test("BlueZ 7: services that stay away end the link, which is asked for again; after three times they are given up")
  func healing() {
    var desk = comeBackEmpty()
    for attempt in 1...3 {
      desk.forget()
      desk.pass(.seconds(5))
      #expect(desk.asked { $0 == .disconnect } == 1, "attempt \(attempt)")
      desk.linkDown()
      #expect(desk.bodies == ["disconnected"])
      desk.connect()
      #expect(desk.asked(\.isProfileRegistration) == 1, "armed again, whatever Disconnect did")
      desk.linkUp()
    }
    desk.forget()
    desk.pass(.seconds(600))
    #expect(desk.asked { $0 == .disconnect } == 0)
    #expect(
      desk.effects.contains {
        if case .record(.servicesGone, let fields) = $0 { fields[.advice] != nil } else { false }
      }
    )
    // An app finds what the device has now.
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(8), .discoverServices(nil))))
    #expect(desk.bodies == ["servicesModified", "operationCompleted"])
    desk.loseAndAskAgain()
    desk.linkUp()
    desk.forget()
    desk.pass(.seconds(600))
    #expect(desk.asked { $0 == .disconnect } == 0)
  }

  @Test("BlueZ 7: a device without a bond that was removed in vain is given up, though no app asks for it as it goes")
  func removedInVain() {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral(nil)
    desk.connect()
    desk.linkUp()
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(1), .discoverServices(nil))))
    desk.linkDown()
    desk.serviceGoes()
    let other: DaemonMessage = .signal(
      .interfacesAdded(
        path: Desk.devicePath.appending("service0001"),
        [InterfaceName.gattService: ["UUID": .string("00001801-0000-1000-8000-00805f9b34fb")]]))
    for attempt in 1...6 {
      desk.connect()
      desk.linkUp()
      desk.handle(.daemon(other))
      desk.forget()
      desk.pass(.seconds(10))
      #expect(desk.asked { $0 == .disconnect } == (attempt <= 2 ? 1 : 0), "attempt \(attempt)")
      #expect(desk.asked { $0 == .removeDevice(Desk.devicePath) } == (attempt == 3 ? 1 : 0), "attempt \(attempt)")
      desk.linkDown()
      guard attempt == 3 else { continue }
      desk.settle()
      desk.handle(
        .daemon(
          .signal(
            .interfacesRemoved(
              path: Desk.devicePath.appending("service0001"), [InterfaceName.gattService]))))
      desk.handle(.daemon(.signal(.interfacesRemoved(path: Desk.devicePath, [InterfaceName.device]))))
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
    }
  }

  // MARK: Discoveries that were cut short before an app had found anything

  /// An app's first link to a lock that announces a service, of which bluetoothd shows another one only.
  private func firstLink() -> Desk {
    var desk = Desk()
    desk.appear()
    desk.serviceGoes()
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(
            path: Desk.devicePath.appending("service0001"),
            [InterfaceName.gattService: ["UUID": .string("00001801-0000-1000-8000-00805f9b34fb")]]))))
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.forget()
    desk.linkUp()
    return desk
  }

  private func discover(_ uuids: [BluetoothUUID]?, _ desk: inout Desk) {
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(7), .discoverServices(uuids))))
  }

  @Test("BlueZ 7: a service that a peripheral announces and lacks is waited for if an app looks for it")
  func announced() {
    var desk = firstLink()
    // bluetoothd has removed it from its database, and from `UUIDs`.
    desk.change(["UUIDs": .strings(["00001801-0000-1000-8000-00805f9b34fb"])])
    discover([Desk.service], &desk)
    #expect(desk.bodies == ["connected"])
    desk.handle(.daemon(Self.serviceObject))
    #expect(desk.bodies == ["connected", "operationCompleted"])
    desk.pass(.seconds(60))
    #expect(desk.asked { $0 == .disconnect } == 0)
  }

  @Test("BlueZ 7: if an announced service stays away, three links are ended for it, and no more")
  func announcedInVain() {
    var desk = firstLink()
    for attempt in 1...5 {
      desk.forget()
      discover([Desk.service], &desk)
      desk.pass(.seconds(6))
      #expect(desk.asked { $0 == .disconnect } == (attempt <= 3 ? 1 : 0), "attempt \(attempt)")
      let found = desk.events.contains { event in
        if case .operationCompleted(_, _, .services([])) = event.body { true } else { false }
      }
      #expect(found == (attempt > 3))
      desk.loseAndAskAgain()
      desk.linkUp()
    }
  }

  @Test("BlueZ 7: a service without characteristics ends at most three links of an app that looks for certain ones")
  func emptyService() {
    var desk = firstLink()
    desk.handle(.daemon(Self.serviceObject))
    for attempt in 1...5 {
      discover([Desk.service], &desk)
      desk.forget()
      desk.say(
        .central(
          Desk.central,
          .perform(
            desk.peer, OperationIdentifier(8), .discoverCharacteristics([Desk.characteristic], service: 0x0a))))
      desk.pass(.seconds(6))
      #expect(desk.asked { $0 == .disconnect } == (attempt <= 3 ? 1 : 0), "attempt \(attempt)")
      let found = desk.events.contains { event in
        if case .operationCompleted(_, _, .characteristics(_, [])) = event.body { true } else { false }
      }
      #expect(found == (attempt > 3))
      desk.loseAndAskAgain()
      desk.linkUp()
    }
  }

  @Test("BlueZ 7: characteristics that come late are waited for")
  func lateCharacteristics() {
    var desk = firstLink()
    desk.handle(.daemon(Self.serviceObject))
    discover([Desk.service], &desk)
    desk.say(
      .central(
        Desk.central,
        .perform(desk.peer, OperationIdentifier(8), .discoverCharacteristics([Desk.characteristic], service: 0x0a))))
    desk.pass(.seconds(1))
    #expect(desk.bodies.count { $0 == "operationCompleted" } == 1)
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(
            path: Desk.characteristicPath,
            [
              InterfaceName.gattCharacteristic: [
                "UUID": .string(Desk.characteristic.description), "Service": .path(Desk.servicePath),
                "Flags": .strings(["read"]),
              ]
            ]))))
    #expect(desk.bodies.count { $0 == "operationCompleted" } == 2)
    desk.pass(.seconds(60))
    #expect(desk.asked { $0 == .disconnect } == 0)
  }

  @Test("BlueZ 7: an app that looks for any characteristics of an empty service is told at once that there are none")
  func emptyServiceOfAnybody() {
    var desk = firstLink()
    desk.handle(.daemon(Self.serviceObject))
    discover([Desk.service], &desk)
    desk.say(
      .central(
        Desk.central, .perform(desk.peer, OperationIdentifier(8), .discoverCharacteristics(nil, service: 0x0a))))
    let found = desk.events.contains { event in
      if case .operationCompleted(_, _, .characteristics(_, [])) = event.body { true } else { false }
    }
    #expect(found)
    desk.pass(.seconds(60))
    #expect(desk.asked { $0 == .disconnect } == 0)
  }

  @Test("BlueZ 7: an app that looks for any service, or for one that is not announced, is content with what there is")
  func notAnnounced() {
    for uuids in [nil, [BluetoothUUID(UInt16(0x1805))]] {
      var desk = firstLink()
      discover(uuids, &desk)
      #expect(desk.bodies == ["connected", "operationCompleted"])
      desk.pass(.seconds(60))
      #expect(desk.asked { $0 == .disconnect } == 0)
    }
  }

  @Test(
    "BlueZ 7: a characteristic to which bluetoothd can't subscribe, because it has found no configuration, is found anew",
    arguments: [true, false])
  func torn(_ hasConfiguration: Bool) throws {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.linkUp()
    if hasConfiguration {
      desk.handle(
        .daemon(
          .signal(
            .interfacesAdded(
              path: Desk.characteristicPath.appending("desc000c"),
              [InterfaceName.gattDescriptor: ["UUID": .string("00002902-0000-1000-8000-00805f9b34fb")]]))))
    }
    discover(nil, &desk)
    desk.say(
      .central(
        Desk.central, .perform(desk.peer, OperationIdentifier(8), .discoverCharacteristics(nil, service: 0x0a))))
    desk.forget()
    desk.answersCalls = false
    desk.say(
      .central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .setNotify(true, characteristic: 0x0b))))
    let call = try #require(desk.lastCall(.startNotify))
    desk.handle(.daemon(.reply(call, .failure(.notSupported))))
    desk.pass(.seconds(5))
    #expect(desk.asked { $0 == .disconnect } == (hasConfiguration ? 0 : 1))
  }

  @Test("BlueZ 7: a service that comes back without the characteristics that an app has found is found anew")
  func emptied() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    desk.handle(.daemon(.signal(.interfacesRemoved(path: Desk.characteristicPath, [InterfaceName.gattCharacteristic]))))
    desk.connect()
    desk.forget()
    desk.linkUp()
    // Nobody needs to write to it in vain first.
    desk.pass(.seconds(5))
    #expect(desk.asked { $0 == .disconnect } == 1)
  }

  @Test("C3: a request that is taken back while its link is made anew is taken off the accept list as well")
  func takenBackMeanwhile() {
    var desk = comeBackEmpty()
    desk.change(["Trusted": .bool(true)])
    desk.pass(.seconds(5))
    #expect(desk.asked { $0 == .disconnect } == 1)
    desk.connect()
    desk.forget()
    desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
    // `Disconnect` disarms only a device that is not trusted.
    #expect(
      desk.requests.map(\.request).suffix(2) == [
        .setProperty(interface: InterfaceName.device, name: "Trusted", value: .bool(false)), .disconnect,
      ])
  }

  @Test("C3: a request that is taken back while Bluetooth is off is taken off the accept list as well")
  func takenBackWhileOff() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.change(["Trusted": .bool(true)])
    desk.linkDown()
    desk.handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: WellKnown.firstAdapter, interface: InterfaceName.adapter, changed: ["Powered": .bool(false)],
            invalidated: []))))
    desk.connect()
    desk.forget()
    desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
    #expect(
      desk.requests.map(\.request).suffix(2) == [
        .setProperty(interface: InterfaceName.device, name: "Trusted", value: .bool(false)), .disconnect,
      ])
  }
}
