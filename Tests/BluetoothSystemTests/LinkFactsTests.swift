import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing
import TimeTypes

@testable import BluetoothSystem

/// What apps are told about links beside their own requests.
@Suite("Facts about links")
struct LinkFactsTests {
  private func errors(_ desk: Desk) -> [PeerError?] {
    desk.events.compactMap { event -> PeerError?? in
      if case .disconnected(_, let error, _, _) = event.body { .some(error) } else { nil }
    }
  }

  private func ended(_ reason: String?) -> PeerError? {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.forget()
    if let reason {
      desk.handle(.daemon(.signal(.disconnected(path: Desk.devicePath, reason: reason, message: "why"))))
    }
    desk.linkDown()
    return errors(desk).first ?? nil
  }

  @Test("C3: a link that the peer ended is told as 7, and one that was lost as 6")
  func reasons() {
    let code: (PeerError?) -> PeerError.Code? = { error in
      if case .coreBluetooth(let code, _) = error { code } else { nil }
    }
    #expect(code(ended("org.bluez.Reason.Remote")) == .peripheralDisconnected)
    #expect(code(ended("org.bluez.Reason.Local")) == .peripheralDisconnected)
    #expect(code(ended("org.bluez.Reason.Timeout")) == .connectionTimeout)
    #expect(code(ended(nil)) == .connectionTimeout, "bluetoothd up to 5.82 gives no reason")
  }

  @Test("C3: the reason of one link is not told of the next one")
  func nextLink() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.handle(
      .daemon(.signal(.disconnected(path: Desk.devicePath, reason: "org.bluez.Reason.Remote", message: ""))))
    desk.loseAndAskAgain()
    desk.linkUp()
    desk.forget()
    desk.linkDown()
    guard case .coreBluetooth(let code, _) = errors(desk).first ?? nil else {
      Issue.record("not told: \(desk.events)")
      return
    }
    #expect(code == .connectionTimeout)
  }

  // MARK: Connection events

  private func connectionEvents(_ desk: Desk) -> [Bool] {
    desk.events.compactMap { if case .connectionEvent(_, let isConnected) = $0.body { isConnected } else { nil } }
  }

  private func watching(_ watch: ConnectionWatch?) -> Desk {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .watchConnections(watch)))
    desk.forget()
    return desk
  }

  @Test("C2: connection events tell of links that the app did not ask for, by service and by identifier")
  func connectionEventsOfOthers() {
    var desk = watching(ConnectionWatch(services: [Desk.service]))
    desk.linkUp()
    #expect(connectionEvents(desk) == [true])
    desk.change(["RSSI": .int16(-50)])
    desk.linkDown()
    #expect(connectionEvents(desk) == [true, false])
    let peer = desk.peer
    var other = watching(ConnectionWatch(peripherals: [peer]))
    other.linkUp()
    #expect(connectionEvents(other) == [true])
    var none = watching(ConnectionWatch(services: [BluetoothUUID(UInt16(0x180F))]))
    none.linkUp()
    #expect(connectionEvents(none) == [])
  }

  @Test("C2: a link from before the registration is no event, but its end is; no events follow a withdrawal")
  func registration() {
    var desk = Desk()
    desk.appear(connected: true)
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .watchConnections(ConnectionWatch(services: [Desk.service]))))
    #expect(connectionEvents(desk) == [])
    desk.linkDown()
    #expect(connectionEvents(desk) == [false])
    desk.say(.central(Desk.central, .watchConnections(nil)))
    desk.linkUp()
    #expect(connectionEvents(desk) == [false])
  }

  @Test("C2: too many services are refused, and what was watched stays")
  func limits() {
    var desk = watching(ConnectionWatch(services: [Desk.service]))
    let many = (0..<10_000).map { BluetoothUUID(UInt16(truncatingIfNeeded: $0)) }
    desk.say(.central(Desk.central, .watchConnections(ConnectionWatch(services: many))))
    #expect(desk.recorded(.requestMisplaced) == 1)
    desk.linkUp()
    #expect(connectionEvents(desk) == [true])
  }

  // MARK: Solicited services

  @Test("C2: a peripheral that solicits a service is found by a scan for it, and its advertisement says so")
  func solicited() throws {
    let wanted = BluetoothUUID(UInt16(0x1805))
    let long = Desk.service
    for type in [UInt8(0x14), 0x15] {
      var desk = Desk()
      desk.appear(bonded: false)
      desk.open()
      desk.createCentral()
      desk.say(
        .central(Desk.central, .scan(ScanRequest(services: nil, solicitedServices: [type == 0x14 ? wanted : long]))))
      let filter = desk.requests.compactMap { asked in
        if case .setDiscoveryFilter(let filter) = asked.request { filter } else { nil }
      }.last
      #expect(filter?.uuids == [], "bluetoothd's filter does not know solicited services")
      desk.change(["RSSI": .int16(-60)])
      #expect(!desk.bodies.contains("discovered"))
      let bytes = type == 0x14 ? wanted.littleEndianBytes + [0xFF] : long.littleEndianBytes
      desk.change([
        "RSSI": .int16(-61),
        "AdvertisingData": .dictionary(key: "y", value: "v", [.byte(type): .variant(.bytes(bytes))]),
      ])
      let advertisements = desk.events.compactMap { event -> AdvertisementData? in
        if case .discovered(_, let advertisement, _) = event.body { advertisement } else { nil }
      }
      #expect(try #require(advertisements.first).solicitedServiceUUIDs == [type == 0x14 ? wanted : long])
    }
  }

  // MARK: The length of updates

  private func published() -> Desk {
    var desk = Desk()
    desk.appear(connected: true)
    desk.open()
    desk.say(.createManager(Desk.central, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Desk.central, .addService(Lock.definition)))
    return desk
  }

  private func lengths(_ desk: Desk) -> [Int] {
    desk.events.compactMap {
      if case .subscribed(let central, _) = $0.body { central.maximumUpdateValueLength } else { nil }
    }
  }

  private func subscribe(_ desk: inout Desk) {
    let roots = desk.requests.compactMap { asked -> ObjectPath? in
      if case .registerApplication(let root, _) = asked.request, asked.request.isServiceRegistration {
        root
      } else {
        nil
      }
    }
    guard let root = roots.last else {
      Issue.record("no service is registered")
      return
    }
    let path = root.appending("service").appending("characteristic0")
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: path, .startNotify)))
  }

  @Test("C7: a subscriber's first update has the length that every link takes, or that its own attributes show")
  func firstLength() {
    var desk = published()
    subscribe(&desk)
    #expect(lengths(desk) == [20])
    var known = published()
    known.handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: Desk.characteristicPath, interface: InterfaceName.gattCharacteristic, changed: ["MTU": .uint16(185)],
            invalidated: []))))
    subscribe(&known)
    #expect(lengths(known) == [182])
  }
}
