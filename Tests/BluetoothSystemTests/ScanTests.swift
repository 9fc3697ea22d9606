import AppLink
import BlueZ
import BluetoothTypes
import Foundation
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("A central scans, and learns names")
struct ScanTests {
  @Test("C2: a scan for all devices asks for near ones, or bluetoothd would hide those that are not discoverable")
  func scansForAnything() {
    func filter(of services: [BluetoothUUID]?, findsOverflow: Bool = true) -> DiscoveryFilter? {
      var configuration = BluetoothSystem.Configuration()
      if !findsOverflow { configuration.overflowCompany = nil }
      var desk = Desk(configuration: configuration)
      desk.appear()
      desk.open()
      desk.createCentral()
      desk.say(.central(Desk.central, .scan(ScanRequest(services: services))))
      return desk.requests.compactMap { asked in
        if case .setDiscoveryFilter(let filter) = asked.request { filter } else { nil }
      }.last
    }
    #expect(filter(of: nil)?.rssi == -127)
    // bluetoothd's filter would hide a device whose services are in the overflow area.
    #expect(filter(of: [Desk.service])?.uuids == [])
    #expect(filter(of: [Desk.service])?.rssi == -127)
    #expect(filter(of: [Desk.service], findsOverflow: false)?.uuids == [Desk.service])
    #expect(filter(of: [Desk.service], findsOverflow: false)?.rssi == nil)
  }

  /// The device has no bond, and the attempt to connect to it has failed.
  private func searching() -> Desk {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    desk.connect()
    if let call = desk.lastCall(.connect) {
      desk.handle(.daemon(.reply(call, .failure(.failed("le-connection-abort-by-local")))))
    }
    desk.forget()
    desk.pass(.seconds(1))
    return desk
  }

  private func asksOfDiscovery(_ desk: Desk) -> [BlueZ.Request] {
    desk.requests.map(\.request).filter { request in
      if case .setDiscoveryFilter = request { true } else { request == .startDiscovery || request == .stopDiscovery }
    }
  }

  private func search(reportsEach: Bool) -> BlueZ.Request {
    .setDiscoveryFilter(DiscoveryFilter(rssi: -127, transport: "le", duplicateData: reportsEach))
  }

  @Test("C3: a search that finds nothing for half a minute no longer has every advertisement reported")
  func patientSearch() {
    var desk = searching()
    #expect(asksOfDiscovery(desk) == [search(reportsEach: true), .startDiscovery])
    desk.forget()
    desk.pass(.seconds(29))
    #expect(asksOfDiscovery(desk).isEmpty)
    desk.pass(.seconds(1))
    // bluetoothd forgets all signals at the end, so a device is told of however strong it is.
    #expect(asksOfDiscovery(desk) == [.stopDiscovery, search(reportsEach: false), .startDiscovery])
    desk.forget()
    desk.pass(.seconds(86_400))
    #expect(asksOfDiscovery(desk).isEmpty)
    desk.change(["RSSI": .int16(-60)])
    #expect(desk.requests.map(\.request) == [.stopDiscovery, .connect])
  }

  @Test("C3: a search for a peripheral that was seen, and could not be connected, has every advertisement reported")
  func eagerAgain() throws {
    var desk = searching()
    desk.pass(.seconds(60))
    desk.change(["RSSI": .int16(-60)])
    let call = try #require(desk.lastCall(.connect))
    desk.forget()
    desk.handle(.daemon(.reply(call, .failure(.failed("le-connection-abort-by-local")))))
    desk.pass(.seconds(3))
    #expect(asksOfDiscovery(desk).starts(with: [search(reportsEach: true), .startDiscovery]))
  }

  @Test(
    "C2: a scan tells of a peripheral once, and once more when the app was connected to it", arguments: [true, false])
  func discoveredAgain(_ isCancelled: Bool) {
    func sightings(_ desk: Desk) -> Int {
      desk.events.count { if case .discovered = $0.body { true } else { false } }
    }
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: [Desk.service]))))
    for signal in [-60, -61] as [Int16] { desk.change(["RSSI": .int16(signal)]) }
    #expect(sightings(desk) == 1)
    desk.connect()
    desk.linkUp()
    desk.change(["RSSI": .int16(-62)])
    #expect(sightings(desk) == 1, "it is connected")
    if isCancelled { desk.say(.central(Desk.central, .cancelConnection(desk.peer))) }
    desk.linkDown()
    // A new discovery shows at once what the present one shows only in the kernel's next round.
    let discoveries = desk.requests.map(\.request).filter { [.startDiscovery, .stopDiscovery].contains($0) }
    #expect(discoveries == [.startDiscovery, .stopDiscovery, .startDiscovery])
    for signal in [-63, -64] as [Int16] { desk.change(["RSSI": .int16(signal)]) }
    #expect(sightings(desk) == 2)
    // A request that was never fulfilled changes nothing.
    desk.connect()
    desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
    desk.change(["RSSI": .int16(-65)])
    #expect(sightings(desk) == 2)
  }

  /// What a scan for anything was told of the desk's peripheral: the name and the services of each discovery.
  private func sightings(_ desk: Desk) -> [[String]] {
    desk.events.compactMap { event in
      guard case .discovered(_, let data, _) = event.body else { return nil }
      return [data.localName ?? "-"] + data.serviceUUIDs.map(\.description)
    }
  }

  private func scanningForAnything(allowDuplicates: Bool = false) -> Desk {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: nil, allowDuplicates: allowDuplicates))))
    return desk
  }

  @Test(
    "C2: a peripheral is discovered once more when its name is heard, whose scan response was lost at first, and no more"
  )
  func nameHeardLater() {
    var desk = scanningForAnything()
    desk.change(["RSSI": .int16(-60)])
    #expect(sightings(desk).map { $0[0] } == ["-"])
    // The signal is as strong as before, so bluetoothd says nothing about it.
    desk.change(["Name": .string("Band")])
    #expect(sightings(desk).map { $0[0] } == ["-", "Band"])
    desk.change(["Name": .string("Band 2"), "RSSI": .int16(-70)])
    desk.change(["RSSI": .int16(-60)])
    #expect(sightings(desk).count == 2, "another name is no news")
  }

  @Test(
    "C2: so it is for each kind of data and for each service, and a device that names ever other ones is news no more")
  func dataHeardLater() {
    var desk = scanningForAnything()
    let first = "0000180d-0000-1000-8000-00805f9b34fb"
    let second = "0000180f-0000-1000-8000-00805f9b34fb"
    desk.change(["RSSI": .int16(-60), "UUIDs": .strings([first])])
    desk.change(["UUIDs": .strings([first, second])])
    #expect(sightings(desk).count == 2)
    for byte in [1, 2] as [UInt8] {
      desk.change(["ManufacturerData": .dictionary(key: "q", value: "v", [.uint16(76): .variant(.bytes([byte]))])])
    }
    #expect(sightings(desk).count == 3, "a changed counter is no news")
    for number in UInt16(0)..<100 {
      desk.change(["UUIDs": .strings([BluetoothUUID(0x2000 + number).description])])
    }
    #expect(sightings(desk).count < 40)
  }

  @Test(
    "B2: in the background a peripheral is one discovery, whatever it says later; the rest is told in the foreground")
  func nameHeardInBackground() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: [Desk.service]))))
    desk.leave()
    desk.change(["RSSI": .int16(-60)])
    desk.change(["Name": .string("Band")])
    desk.change(["RSSI": .int16(-70)])
    #expect(sightings(desk).map { $0[0] } == ["-"])
    desk.open()
    desk.change(["RSSI": .int16(-60)])
    #expect(sightings(desk).map { $0[0] } == ["-", "Band"])
  }

  @Test("C2: a scan that begins while another goes on believes nothing that bluetoothd has shown: it may have left")
  func secondScan() {
    var desk = scanningForAnything()
    desk.change(["RSSI": .int16(-60)])
    #expect(sightings(desk).count == 1)
    desk.pass(.seconds(3600))
    desk.forget()
    let other = ManagerIdentifier(2)
    desk.say(.createManager(other, ManagerCreation(role: .central, restoreIdentifier: "other")))
    desk.say(.central(other, .scan(ScanRequest(services: nil))))
    #expect(sightings(desk).isEmpty)
    // What is there is announced at once by a new discovery.
    #expect(asksOfDiscovery(desk).map { $0 == .startDiscovery || $0 == .stopDiscovery } == [true, false, true])
    desk.change(["RSSI": .int16(-60)])
    #expect(sightings(desk).count == 1)
  }

  @Test(
    "C2: an app that begins its scans without pause leaves others' scans time to hear, and has its own a second later")
  func scansWithoutPause() {
    var desk = scanningForAnything()
    desk.change(["RSSI": .int16(-60)])
    let other = ManagerIdentifier(2)
    desk.say(.createManager(other, ManagerCreation(role: .central, restoreIdentifier: "other")))
    func starts() -> Int { asksOfDiscovery(desk).count { $0 == .startDiscovery } }
    let before = starts()
    for _ in 0..<100 {
      desk.say(.central(other, .stopScan))
      desk.say(.central(other, .scan(ScanRequest(services: nil))))
      desk.pass(.milliseconds(20))
    }
    #expect((1...4).contains(starts() - before))
    let told = sightings(desk).count
    desk.pass(.seconds(2))
    desk.change(["RSSI": .int16(-61)])
    #expect(sightings(desk).count > told)
  }

  @Test("C2: what was heard over a link is no advertisement")
  func nameReadOverLink() {
    var desk = scanningForAnything()
    desk.change(["RSSI": .int16(-60)])
    desk.linkUp()
    desk.change(["Name": .string("Heart Rate Band 7")])
    #expect(sightings(desk).count == 1)
  }

  @Test(
    "C2: a name that was read over a link takes precedence, and what is advertised keeps its own, also after a restart")
  func names() {
    func sighting(_ desk: Desk) -> [String?] {
      desk.events.lazy.compactMap { event -> [String?]? in
        if case .discovered(let snapshot, let advertisement, _) = event.body {
          [snapshot.name, advertisement.localName]
        } else {
          nil
        }
      }.last ?? []
    }
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: [Desk.service], allowDuplicates: true))))
    desk.change(["Name": .string("Band"), "RSSI": .int16(-60)])
    #expect(sighting(desk) == ["Band", "Band"])
    desk.say(.central(Desk.central, .connect(desk.peer, ConnectOptions())))
    desk.linkUp()
    desk.change(["Name": .string("Heart Rate Band 7")])
    #expect(desk.events.contains { $0.body == .nameChanged(desk.peer, "Heart Rate Band 7") })
    // It advertises while it is linked.
    desk.change(["Name": .string("Band"), "RSSI": .int16(-61)])
    #expect(sighting(desk) == ["Heart Rate Band 7", "Band"])
    desk.linkDown()
    for name in ["Band", "Busy band", "Band"] {
      desk.change(["Name": .string(name), "RSSI": .int16(-62)])
      #expect(sighting(desk) == ["Heart Rate Band 7", name])
    }
    #expect(desk.events.count { if case .nameChanged = $0.body { true } else { false } } == 1)

    desk.restartSystem()
    desk.appear()
    desk.launchAndAttach()
    desk.createCentral()
    desk.change(["Name": .string("Band"), "RSSI": .int16(-60)])
    #expect(sighting(desk) == ["Heart Rate Band 7", "Band"])
  }

  @Test("C2: a scan remembers no more than the newest peripherals of a street that never ends")
  func endlessStreet() {
    func peer(_ number: UInt64) -> PeerIdentifier {
      PeerIdentifier(UUID(uuidString: String(format: "10000000-0000-0000-0000-%012llx", number))!)
    }
    var scan = Scan(ScanRequest(services: nil))
    func isNews(_ peer: PeerIdentifier) -> Bool { scan.takes(peer, AdvertisementData(), inForeground: true) }
    let neighbour = peer(1 << 40)
    var newsOfNeighbour = 0
    for number in UInt64(0)..<20_000 {
      _ = isNews(peer(number))
      if number.isMultiple(of: 1000), isNews(neighbour) { newsOfNeighbour += 1 }
    }
    #expect(newsOfNeighbour == 1, "what is heard again and again stays")
    #expect(!isNews(peer(19_999)))
    #expect(!isNews(peer(16_000)))
    #expect(isNews(peer(0)), "it was forgotten")
  }
}
