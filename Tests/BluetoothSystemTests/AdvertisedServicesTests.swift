import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Testing

@testable import BluetoothSystem

@Suite("Which of a peripheral's services it advertises")
struct AdvertisedServicesTests {
  private static let advertised = BluetoothUUID(0x180D as UInt16)
  private static let found = BluetoothUUID(0x180F as UInt16)

  private func lastShown(_ desk: Desk) -> [BluetoothUUID]? {
    desk.events.lazy.compactMap { event -> [BluetoothUUID]? in
      if case .discovered(_, let advertisement, _) = event.body { advertisement.serviceUUIDs } else { nil }
    }.last
  }

  private func uuids(_ services: [BluetoothUUID]) -> Properties { ["UUIDs": .strings(services.map(\.description))] }

  /// The peripheral was seen, linked and explored, and the link is gone again.
  private func explored(seenBefore: Bool) -> Desk {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    if seenBefore {
      desk.say(.central(Desk.central, .scan(ScanRequest(services: nil, allowDuplicates: true))))
      desk.change(uuids([Self.advertised]).merging(["RSSI": .int16(-60)]) { $1 })
      #expect(lastShown(desk) == [Self.advertised])
    }
    desk.connect()
    desk.linkUp()
    desk.change(uuids([Self.advertised, Self.found]))
    desk.linkDown()
    desk.forget()
    return desk
  }

  private func sight(_ desk: inout Desk, _ rssi: Int16) { desk.change(["RSSI": .int16(rssi)]) }

  @Test("C2: a service that was found over a link is not shown as advertised")
  func foundOverLink() {
    var desk = explored(seenBefore: true)
    sight(&desk, -61)
    #expect(lastShown(desk) == [Self.advertised])
  }

  @Test("C2: latchkeyd that starts again remembers what was found over a link")
  func remembered() {
    var desk = explored(seenBefore: true)
    desk.restartSystem()
    var objects: ManagedObjects = [WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]]
    objects[Desk.devicePath] = [
      InterfaceName.device: [
        "Address": .string(Desk.address.description), "AddressType": .string("random"), "Connected": .bool(false),
      ].merging(uuids([Self.advertised, Self.found])) { $1 }
    ]
    desk.handle(.daemon(.appeared(objects)))
    desk.launchAndAttach()
    desk.createCentral()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: nil, allowDuplicates: true))))
    sight(&desk, -62)
    #expect(lastShown(desk) == [Self.advertised])
  }

  @Test(
    "C2: a scan for a service that was found over a link is told of it: bluetoothd would not say that it is advertised")
  func askedFor() {
    var desk = explored(seenBefore: true)
    desk.say(.central(Desk.central, .scan(ScanRequest(services: [Self.found]))))
    sight(&desk, -61)
    #expect(lastShown(desk)?.contains(Self.found) == true)
  }

  @Test("C2: of a peripheral that was not seen without a link nobody knows what it advertises, so all is shown")
  func unseen() {
    var desk = explored(seenBefore: false)
    desk.say(.central(Desk.central, .scan(ScanRequest(services: nil))))
    sight(&desk, -61)
    #expect(lastShown(desk) == [Self.advertised, Self.found])
  }

  @Test("C2: an object that bluetoothd makes for an advertisement has what is advertised, whatever was found before")
  func seenAnew() {
    var desk = explored(seenBefore: true)
    desk.handle(.daemon(.signal(.interfacesRemoved(path: Desk.devicePath, [InterfaceName.device]))))
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(
            path: Desk.devicePath,
            [
              InterfaceName.device: [
                "Address": .string(Desk.address.description), "AddressType": .string("random"), "RSSI": .int16(-50),
              ].merging(uuids([Self.advertised, Self.found])) { $1 }
            ]))))
    #expect(lastShown(desk) == [Self.advertised, Self.found])
  }
}
