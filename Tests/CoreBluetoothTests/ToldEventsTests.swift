import AppLink
import BluetoothTypes
import Foundation
import Testing

@testable import CoreBluetooth

@Suite("What a story records of a delegate's calls", .timeLimit(.minutes(20)))
struct ToldEventsTests {
  private static let ended = Event.Body.disconnected(
    Example.lock, error: nil, unixSeconds: 0, isReconnecting: false)
  private static let sighting = Event.Body.discovered(
    PeripheralSnapshot(identifier: Example.lock), AdvertisementData(), rssi: -60)

  @Test("H6: what was on its way when the app cancelled is not told, and the end that it asked for is known as that")
  func cancelled() async throws {
    let setup = try await CentralSetup()
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
    for _ in 1...2 {
      setup.manager.connect(peripheral)
      #expect(setup.manager.isTold(.connected(Example.explored())))
      #expect(!setup.manager.isAsked(Self.ended))
      setup.manager.cancelPeripheralConnection(peripheral)
      #expect(!setup.manager.isTold(.connected(Example.explored())))
      #expect(setup.manager.isTold(Self.ended) && setup.manager.isAsked(Self.ended))
      setup.system.emit(Self.ended)
      #expect(try await setup.recorder.calls.next() == "didDisconnect")
      #expect(!setup.manager.isAsked(Self.ended), "a second one would be one too many")
    }
  }

  @Test("H6: a connection that the app asked for again while it had it is known as that")
  func askedAgain() async throws {
    let setup = try await CentralSetup()
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
    setup.manager.connect(peripheral)
    #expect(!setup.manager.isAsked(.connected(Example.explored())))
    setup.system.emit(.connected(Example.explored()))
    #expect(try await setup.recorder.calls.next() == "didConnect")
    #expect(!setup.manager.isTold(.connected(Example.explored())), "nobody asked for a second one")
    setup.manager.connect(peripheral)
    #expect(setup.manager.isTold(.connected(Example.explored())))
    #expect(setup.manager.isAsked(.connected(Example.explored())))
  }

  @Test("H6: a discovery is told if a scan wants it, and once unless duplicates are allowed")
  func discovered() async throws {
    let setup = try await CentralSetup()
    #expect(!setup.manager.isTold(Self.sighting))
    setup.manager.scanForPeripherals(withServices: nil)
    #expect(setup.manager.isTold(Self.sighting))
    setup.system.emit(Self.sighting)
    #expect(try await setup.recorder.calls.next().hasPrefix("didDiscover"))
    #expect(!setup.manager.isTold(Self.sighting))
    let named = Event.Body.discovered(
      PeripheralSnapshot(identifier: Example.lock), AdvertisementData(localName: "Front door"), rssi: -60)
    for _ in 1...2 { #expect(setup.manager.isTold(named), "its name is news") }
    setup.system.emit(named)
    #expect(try await setup.recorder.calls.next().hasPrefix("didDiscover"))
    #expect(!setup.manager.isTold(named))
    setup.manager.scanForPeripherals(
      withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
    setup.system.emit(Self.sighting)
    #expect(try await setup.recorder.calls.next().hasPrefix("didDiscover"))
    #expect(setup.manager.isTold(Self.sighting))
    setup.manager.stopScan()
    #expect(!setup.manager.isTold(Self.sighting))
  }
}
