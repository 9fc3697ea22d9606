import AppLink
import BlueZ
import BusValue
import Testing
import TimeTypes

@testable import BluetoothSystem

/// A peer that lost its side of a bond just when it was made, for example because its bluetoothd was killed.
@Suite("Half-made bonds") struct HalfBondTests {
  /// An app has requested a peripheral. The link came up, and the two have just bonded.
  /// - Parameter speechMilliseconds: when after the bond the peer said something.
  private func justBonded(speechMilliseconds: Int? = nil) -> Desk {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.linkUp()
    desk.change(["Paired": .bool(true), "Bonded": .bool(true), "UUIDs": .strings([Desk.service.description])])
    if let speechMilliseconds {
      desk.pass(.milliseconds(speechMilliseconds))
      desk.value([1])
    }
    desk.linkDown()
    desk.forget()
    return desk
  }

  private func barrenLink(_ desk: inout Desk, reason: String? = nil) {
    desk.connect()
    desk.change(["Connected": .bool(true)])
    desk.pass(.milliseconds(50))
    if let reason {
      desk.handle(.daemon(.signal(.disconnected(path: Desk.devicePath, reason: reason, message: ""))))
    }
    desk.change(["Connected": .bool(false)])
    desk.pass(.seconds(2))
  }

  private func removals(_ desk: Desk) -> Int { desk.asked { $0 == .removeDevice(Desk.devicePath) } }

  @Test("A8: a bond that never carried a link is removed after three broken links, and the peer is searched for again")
  func healed() {
    var desk = justBonded()
    for _ in 0..<2 { barrenLink(&desk) }
    #expect(removals(desk) == 0)
    barrenLink(&desk)
    #expect(removals(desk) == 1)
    #expect(desk.recorded(.bondHalfMade) == 1)
    desk.forget()
    desk.handle(
      .daemon(.signal(.interfacesRemoved(path: Desk.devicePath, [InterfaceName.device]))))
    // As an app does after it has lost its link.
    desk.connect()
    desk.pass(.seconds(1))
    #expect(desk.asked { $0 == .startDiscovery } == 1)
    // The app is told of lost links, and continues to wait for the same peripheral.
    #expect(!desk.bodies.contains("failedToConnect"))
  }

  @Test("A8: a bond that never carried a link is removed as well if bluetoothd says that its key is refused")
  func healedWithReason() {
    var desk = justBonded()
    for _ in 0..<3 { barrenLink(&desk, reason: "org.bluez.Reason.Authentication") }
    #expect(removals(desk) == 1)
    #expect(desk.recorded(.pairingGone) == 0)
    let ends = desk.events.filter { event in
      switch event.body {
      case .failedToConnect: true
      case .disconnected(_, .coreBluetooth(.peerRemovedPairingInformation, _)?, _, _): true
      default: false
      }
    }
    #expect(ends.isEmpty)
  }

  @Test("A8: a restart of the system in between does not make it forget that the bond is new")
  func healedAfterRestart() {
    var desk = justBonded()
    desk.restartSystem()
    desk.appear()
    desk.attach()
    desk.createCentral()
    for _ in 0..<3 { barrenLink(&desk) }
    #expect(removals(desk) == 1)
  }

  @Test("A8: a bond that has carried a link stays, however often somebody with the peer's address refuses it")
  func spoofed() {
    var desk = justBonded()
    desk.linkUp()
    desk.linkDown()
    for _ in 0..<50 { barrenLink(&desk) }
    #expect(removals(desk) == 0)
    #expect(desk.recorded(.linkBarren) == 1)
  }

  @Test("A8: an older bond, or one that the user made, is never removed", arguments: [true, false])
  func foreign(_ isEarlier: Bool) {
    var desk = Desk()
    desk.appear(bonded: isEarlier)
    desk.open()
    desk.createCentral()
    desk.connect()
    if !isEarlier {
      desk.handle(.control(.attendPairings, AnswerToken(7)))
      desk.linkUp()
      desk.change(["Paired": .bool(true), "Bonded": .bool(true), "UUIDs": .strings([Desk.service.description])])
      desk.linkDown()
    }
    for _ in 0..<50 { barrenLink(&desk) }
    #expect(removals(desk) == 0)
  }

  @Test("A8: if pairing again does not help, the attempts become rarer")
  func backsOff() {
    var desk = justBonded()
    var links: [Int] = []
    for _ in 0..<4 {
      var count = 0
      while removals(desk) == 0 {
        barrenLink(&desk)
        count += 1
        guard count < 100 else { break }
      }
      links.append(count)
      desk.handle(
        .daemon(.signal(.interfacesRemoved(path: Desk.devicePath, [InterfaceName.device]))))
      desk.forget()
      desk.handle(
        .daemon(
          .signal(
            .interfacesAdded(
              path: Desk.devicePath,
              [
                InterfaceName.device: [
                  "Address": .string(Desk.address.description), "AddressType": .string("random"),
                  "Paired": .bool(false), "Bonded": .bool(false), "Connected": .bool(false),
                  "ServicesResolved": .bool(false), "Trusted": .bool(false),
                ]
              ]))))
      desk.connect()
      desk.linkUp()
      desk.change(["Paired": .bool(true), "Bonded": .bool(true), "UUIDs": .strings([Desk.service.description])])
      desk.linkDown()
    }
    #expect(links == [3, 6, 12, 24])
  }

  @Test(
    "A8: a peer that said something a second after the bond has it, and three short links at the edge of the range don't change that",
    arguments: [(500, true), (1000, false), (3000, false)])
  func spoke(_ milliseconds: Int, _ isRemoved: Bool) {
    var desk = justBonded(speechMilliseconds: milliseconds)
    for _ in 0..<12 { barrenLink(&desk) }
    #expect(removals(desk) == (isRemoved ? 1 : 0))
  }

  @Test("A8: links that come and go at the edge of the range are no sign of a half-made bond, once one was worn")
  func edge() {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.linkUp()
    desk.change(["Paired": .bool(true), "Bonded": .bool(true), "UUIDs": .strings([Desk.service.description])])
    desk.pass(.seconds(60))
    desk.linkDown()
    for _ in 0..<12 { barrenLink(&desk) }
    #expect(removals(desk) == 0)
  }

  @Test(
    "A8: a link that lasts proves its bond while it lasts: this system may be killed before it ends, and does not see how long it was",
    arguments: [false, true])
  func killedDuringTheLink(_ isFoundAgain: Bool) {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.linkUp()
    desk.change(["Paired": .bool(true), "Bonded": .bool(true), "UUIDs": .strings([Desk.service.description])])
    if !isFoundAgain { desk.pass(.seconds(6)) }
    desk.restartSystem()
    desk.appear(connected: isFoundAgain)
    desk.attach()
    desk.createCentral()
    if isFoundAgain {
      // The link is older than this run, which sees it last.
      desk.pass(.seconds(6))
      desk.restartSystem()
      desk.appear()
      desk.attach()
      desk.createCentral()
    }
    for _ in 0..<12 { barrenLink(&desk) }
    #expect(removals(desk) == 0)
  }
}
