import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@testable import BluetoothSystem

/// bluetoothd connects one peripheral without a bond at a time, so several that are wanted take turns.
@Suite("Turns of peripherals without a bond")
struct ConnectionTurnsTests {
  private static func path(_ number: Int) -> ObjectPath {
    WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_1\(number)")
  }

  /// A desk at which an app asks for peripherals that bluetoothd knows and that have no bond.
  private static func desk(requests count: Int) -> Desk {
    var desk = Desk()
    var objects: ManagedObjects = [:]
    for number in 0..<count {
      objects[path(number)] = [
        InterfaceName.device: [
          "Address": .string(address(number).description), "AddressType": .string("random"), "Paired": .bool(false),
          "Bonded": .bool(false), "Connected": .bool(false), "ServicesResolved": .bool(false), "Trusted": .bool(false),
          "UUIDs": .strings([]),
        ]
      ]
    }
    desk.appear(withDevice: false, others: objects)
    desk.open()
    desk.createCentral()
    desk.forget()
    for number in 0..<count { desk.request(number) }
    return desk
  }

  fileprivate static func address(_ number: Int) -> DeviceAddress {
    DeviceAddress("C0:FF:EE:00:00:1\(number)", kind: .random)!
  }

  @Test("C3: a silent peripheral gives way to another one after its turn, and is looked for beside the others")
  func silentGivesWay() throws {
    var desk = Self.desk(requests: 2)
    #expect(desk.connects == [Self.path(0)])
    desk.pass(.milliseconds(4900))
    #expect(desk.connects == [Self.path(0)])
    desk.forget()
    desk.pass(.milliseconds(200))
    let ended = desk.requests.filter { $0.request == .disconnect }.map(\.path)
    #expect(ended == [Self.path(0)])
    #expect(desk.connects == [Self.path(1)])
    desk.pass(.seconds(1))
    #expect(desk.asked { $0 == .startDiscovery } == 1)
    // The first one is seen, and has its turn as soon as the second one has had its own.
    desk.forget()
    desk.see(0)
    desk.pass(.seconds(4))
    #expect(desk.connects == [Self.path(0)])
    desk.show(0, ["Connected": .bool(true), "ServicesResolved": .bool(true)])
    #expect(desk.bodies == ["connected"])
  }

  @Test("C3: a lone peripheral without a bond is waited for as long as bluetoothd tries")
  func lonePeripheral() {
    var desk = Self.desk(requests: 1)
    desk.pass(.seconds(59))
    #expect(desk.connects == [Self.path(0)])
    #expect(desk.asked { $0 == .disconnect } == 0)
  }

  @Test("C3: a peripheral that begins to wait late ends a turn that has been long enough")
  func lateComer() {
    var desk = Self.desk(requests: 2)
    desk.cancel(1)
    desk.pass(.seconds(30))
    #expect(desk.connects == [Self.path(0)])
    desk.forget()
    desk.request(1)
    #expect(desk.connects == [Self.path(1)])
  }

  @Test("C3: a peripheral that a scan has seen has a longer turn, and comes before those that may be far away")
  func sightedFirst() {
    var desk = Self.desk(requests: 4)
    desk.pass(.milliseconds(6100))
    #expect(desk.connects == [Self.path(0), Self.path(1)])
    // The scan that looks for the first one sees the last one.
    desk.see(3)
    desk.forget()
    desk.pass(.seconds(19))
    #expect(desk.connects == [Self.path(3)])
    desk.pass(.seconds(6))
    #expect(desk.connects == [Self.path(3), Self.path(2)])
  }

  @Test("C3: two peripherals that are seen and never answer do not keep a third one from its turn")
  func nobodyStarves() {
    var desk = Self.desk(requests: 3)
    for number in 0..<3 { desk.see(number) }
    var turns: [ObjectPath] = []
    for _ in 0..<60 {
      desk.forget()
      desk.pass(.seconds(5))
      turns += desk.connects
      for number in 0..<3 { desk.see(number) }
    }
    for number in 0..<3 { #expect(turns.prefix(6).contains(Self.path(number)), "\(turns)") }
    for number in 0..<3 { #expect(turns.count { $0 == Self.path(number) } >= 3, "\(turns)") }
  }

  @Test("C3: however often a peripheral at the edge of the range was tried in vain, it is soon looked for again")
  func edgeOfTheRange() throws {
    var desk = Self.desk(requests: 1)
    for _ in 0..<20 {
      let connect = try #require(desk.lastCall(.connect))
      desk.pass(.seconds(41))
      desk.forget()
      desk.handle(.daemon(.reply(connect, .failure(.failed("le-connection-abort-by-local")))))
      // A new attempt begins at most every 64 s, and this one has lasted for 41 s.
      for _ in 0..<23 where desk.asked({ $0 == .startDiscovery }) == 0 { desk.pass(.seconds(1)) }
      #expect(desk.asked { $0 == .startDiscovery } == 1)
      desk.see(0)
    }
  }

  @Test("C3: a link that comes up as its turn ends is told to no app, and the peripheral is connected later")
  func linkAtTheEndOfTheTurn() {
    var desk = Self.desk(requests: 2)
    desk.pass(.milliseconds(4900))
    desk.forget()
    // bluetoothd has the link before it hears that the turn is over.
    desk.answersCalls = false
    desk.pass(.milliseconds(200))
    desk.show(0, ["Connected": .bool(true)])
    #expect(desk.bodies == [])
    desk.show(0, ["Connected": .bool(false)])
    #expect(desk.bodies == [])
    desk.answersCalls = true
    desk.show(1, ["Connected": .bool(true), "ServicesResolved": .bool(true)])
    #expect(desk.bodies == ["connected"])
    desk.pass(.seconds(3))
    desk.see(0)
    #expect(desk.connects.last == Self.path(0))
    desk.show(0, ["Connected": .bool(true), "ServicesResolved": .bool(true)])
    #expect(desk.bodies == ["connected", "connected"])
  }
}

extension Desk {
  fileprivate var connects: [ObjectPath] { requests.filter { $0.request == .connect }.map(\.path) }

  fileprivate func peer(_ number: Int) -> PeerIdentifier {
    system.bluez.devices[WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_1\(number)")]!.peer
  }

  fileprivate mutating func request(_ number: Int) {
    say(.central(Self.central, .connect(peer(number), ConnectOptions())))
  }

  fileprivate mutating func cancel(_ number: Int) { say(.central(Self.central, .cancelConnection(peer(number)))) }

  fileprivate mutating func show(_ number: Int, _ properties: Properties) {
    let path = WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_1\(number)")
    handle(
      .daemon(
        .signal(
          .propertiesChanged(path: path, interface: InterfaceName.device, changed: properties, invalidated: []))))
  }

  fileprivate mutating func see(_ number: Int) { show(number, ["RSSI": .int16(-60)]) }
}
