import AppLink
import BlueZ
import BluetoothTypes
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("What the user is shown")
struct StatusTests {
  private func app(_ desk: Desk) throws -> AppStatus { try #require(desk.system.status.apps.first) }

  @Test(
    "A request is shown since it was made, a connection since its link came up, with the signal that was last heard")
  func since() throws {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.pass(.seconds(10))
    desk.connect()
    let address = Desk.address.description
    let requested = PeerStatus(identifier: desk.peer, address: address, isConnected: false, sinceUnixSeconds: 10)
    #expect(try app(desk).peers == [requested])
    #expect(try app(desk).pendingConnections == 1)
    #expect(desk.system.status.links.isEmpty)

    desk.pass(.seconds(5))
    desk.change(["Name": .string("Front\u{1B}[31m door"), "RSSI": .int16(-80)])
    desk.linkUp()
    var connected = PeerStatus(
      identifier: desk.peer, name: "Front [31m door", address: address, isConnected: true, sinceUnixSeconds: 15,
      signalDBm: -80)
    #expect(try app(desk).peers == [connected], "a device's name can't control the terminal")
    #expect(desk.system.status.links == [connected])

    // What an app reads is shown. Nothing is read for the status.
    desk.answersCalls = false
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(1), .readRSSI)))
    let call = try #require(desk.lastCall(.readConnectionRSSI))
    desk.handle(.daemon(.reply(call, .success(.rssi(-61)))))
    connected.signalDBm = -61
    #expect(desk.system.status.links == [connected])

    desk.pass(.seconds(5))
    desk.linkDown()
    #expect(desk.system.status.links.isEmpty)
    #expect(try app(desk).peers.isEmpty, "the request is over with its link")
  }

  @Test("What is older than the system is shown without a time")
  func older() throws {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.restartSystem()
    let address = Desk.address.description
    let peer = desk.peer
    #expect(
      try app(desk).peers == [PeerStatus(identifier: peer, address: address, isConnected: false)])
    desk.pass(.seconds(1))
    desk.appear(connected: true)
    #expect(
      desk.system.status.links == [PeerStatus(identifier: peer, address: address, isConnected: true)])
  }

  @Test("Whether an app scans, advertises and publishes is shown, and a scan that can find nothing is none")
  func activity() throws {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    #expect(try app(desk).activity == AppActivity())
    desk.say(.central(Desk.central, .scan(ScanRequest(services: nil))))
    #expect(try app(desk).activity.isScanning)
    let manager = ManagerIdentifier(2)
    desk.say(.createManager(manager, ManagerCreation(role: .peripheral, restoreIdentifier: "p")))
    desk.say(.peripheral(manager, .startAdvertising(AdvertisementRequest(localName: "Door", serviceUUIDs: []))))
    #expect(try app(desk).activity == AppActivity(isScanning: true, isAdvertising: true))
    desk.leave()
    #expect(try !app(desk).activity.isScanning, "in the background, a scan without a filter finds nothing")
  }

  @Test("The lists are limited, and say how much they leave out")
  func limits() throws {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    for number in 1...40 {
      let address = DeviceAddress(bits: UInt64(0xC000_0000_0000 + number), kind: .random)
      let path = WellKnown.firstAdapter.appending("dev_\(address.pathComponent)")
      desk.handle(
        .daemon(
          .signal(
            .interfacesAdded(
              path: path,
              [
                InterfaceName.device: [
                  "Address": .string(address.description), "AddressType": .string("random"),
                  "Name": .string(String(repeating: "é", count: 1000)),
                ]
              ]))))
      desk.say(.central(Desk.central, .connect(desk.system.identifier(for: address), ConnectOptions())))
    }
    let status = try app(desk)
    #expect(status.pendingConnections == 40)
    #expect(status.peers.count == 32 && status.peersLeftOut == 8)
    #expect(status.peers.allSatisfy { ($0.name?.utf8.count ?? 0) <= 248 })
  }
}
