import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@testable import BluetoothSystem

/// Links that end within a moment, one after the other, for example because only one side has the bond.
@Suite("Brief links") struct BriefLinksTests {
  private func waiting(bonded: Bool = false) -> Desk {
    var desk = Desk()
    desk.appear(bonded: bonded)
    desk.open()
    desk.createCentral()
    desk.connect()
    return desk
  }

  /// The device is near, and each link to it ends after that time. The app asks again whenever it hears of an end, as apps do.
  /// - Returns: when the links came up.
  private func links(_ desk: inout Desk, lasting length: Duration, within duration: Duration) -> [Instant] {
    var links: [Instant] = []
    let end = desk.now + duration
    while desk.now < end {
      desk.change(["RSSI": .int16(-50)])
      if let call = desk.lastCall(.connect) {
        desk.forget()
        links.append(desk.now)
        desk.linkUp()
        desk.handle(.daemon(.reply(call, .success(.none))))
        desk.pass(length)
        desk.linkDown()
      }
      if desk.bodies.contains("disconnected") {
        desk.effects.removeAll { if case .event = $0 { true } else { false } }
        desk.connect()
      }
      desk.pass(.milliseconds(100))
    }
    return links
  }

  @Test("A8: a device that ends every link at once gets one in half a minute, and not five a second") func pauses() {
    var desk = waiting()
    let first = links(&desk, lasting: .milliseconds(150), within: .seconds(600))
    #expect(first.count < 40, "\(first.count) links")
    // Nobody hears of them, and nothing is worse after a day.
    desk.forget()
    let later = links(&desk, lasting: .milliseconds(150), within: .seconds(600))
    #expect((18...20).contains(later.count), "\(later.count) links")
    #expect(desk.bodies.isEmpty)
  }

  @Test("A8: the journal says once what may be the reason, and what to do") func advice() {
    var desk = waiting()
    var told = 0
    for _ in 0..<40 {
      _ = links(&desk, lasting: .milliseconds(150), within: .milliseconds(100))
      told += desk.recorded(.linksBrief)
      desk.effects.removeAll { if case .record = $0 { true } else { false } }
      desk.pass(.seconds(40))
    }
    #expect(told == 1)
  }

  @Test("A8: a link that lasts is told after a second, and ends the pauses") func recovery() {
    var desk = waiting()
    _ = links(&desk, lasting: .milliseconds(150), within: .seconds(120))
    desk.forget()
    desk.linkUp()
    desk.pass(.milliseconds(990))
    #expect(!desk.bodies.contains("connected"))
    desk.pass(.milliseconds(20))
    #expect(desk.bodies.contains("connected"))
    desk.linkDown()
    desk.connect()
    desk.forget()
    desk.linkUp()
    #expect(desk.bodies.contains("connected"), "the next one is told at once")
  }

  @Test("A8: who asks anew does not wait for the end of a pause") func askedAnew() {
    var desk = waiting()
    _ = links(&desk, lasting: .milliseconds(150), within: .seconds(120))
    desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
    desk.forget()
    desk.connect()
    desk.change(["RSSI": .int16(-50)])
    #expect(desk.asked { $0 == .connect } == 1)
  }

  @Test("A8: links that last a second, as at the edge of the range, are made as soon as they can be, and told")
  func edge() {
    var desk = waiting()
    let links = links(&desk, lasting: .milliseconds(1200), within: .seconds(130))
    #expect(links.count > 90, "\(links.count) links")
  }

  @Test("A8: an app that ends its own links at once gets the next as soon as it asks") func ownEnd() {
    var desk = waiting()
    for _ in 0..<30 {
      desk.change(["RSSI": .int16(-50)])
      #expect(desk.asked { $0 == .connect } == 1)
      desk.linkUp()
      desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
      desk.linkDown()
      desk.pass(.milliseconds(100))
      desk.forget()
      desk.connect()
    }
  }

  @Test("A8: a bonded device that ends every link at once is taken off the accept list for the pauses") func bonded() {
    var desk = waiting(bonded: true)
    for _ in 0..<BriefLinks.limit {
      #expect(desk.asked { $0 == .disconnect } == 0)
      desk.linkUp()
      desk.pass(.milliseconds(150))
      desk.linkDown()
      desk.connect()
      desk.pass(.milliseconds(500))
    }
    desk.linkUp()
    desk.pass(.milliseconds(150))
    desk.linkDown()
    #expect(desk.asked { $0 == .disconnect } >= 1)
    desk.forget()
    desk.pass(.seconds(3))
    #expect(desk.system.profile.armed.contains(desk.peer), "it is there again after the pause")
  }

  // MARK: The other side

  /// A lock, and a phone with a bond whose links have ended at once.
  private func lock(window: Bool) -> Desk {
    var desk = Desk(admitsCentrals: true)
    desk.appear(bonded: true)
    desk.open()
    desk.say(.createManager(Lock.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Lock.manager, .addService(Lock.definition)))
    desk.say(.admit(CentralAdmission(acceptsPairings: window, known: [desk.peer])))
    return desk
  }

  /// - Parameter signal: what the controller answers if it is asked for the link's signal.
  private func breakOff(_ desk: inout Desk, signal: Int8? = -50, because reason: String? = nil) {
    desk.linkSignal = signal
    desk.linkBegins()
    desk.pass(.milliseconds(150))
    if let reason {
      desk.handle(.daemon(.signal(.disconnected(path: Desk.devicePath, reason: reason, message: ""))))
    }
    desk.change(["Connected": .bool(false)])
    desk.pass(.seconds(1))
  }

  private func removals(_ desk: Desk) -> Int { desk.asked { $0 == .removeDevice(Desk.devicePath) } }

  @Test("L5: the bond of a phone that has lost it is removed while the lock's window is open, after three near links")
  func refusedBond() {
    var desk = lock(window: true)
    // Nobody asks for the signal before a link has broken off.
    breakOff(&desk)
    #expect(desk.asked { $0 == .readConnectionRSSI } == 0)
    for _ in 0..<2 { breakOff(&desk) }
    #expect(removals(desk) == 0)
    breakOff(&desk)
    #expect(removals(desk) == 1)
    #expect(desk.recorded(.bondLost) == 1)
  }

  @Test(
    "L5: a bond stays, though the window is open, if its links are lost at the edge of the range or may have been",
    arguments: [-90, -76, 0, 20, 127, nil] as [Int8?])
  func lostAtTheEdge(_ signal: Int8?) {
    var desk = lock(window: true)
    for _ in 0..<50 { breakOff(&desk, signal: signal) }
    #expect(removals(desk) == 0)
    #expect(desk.recorded(.linkBarren) == 1, "the journal says what may be wrong")
  }

  @Test("L5: links that are lost at the edge of the range count neither for nor against a bond that the phone has lost")
  func lostAndNear() {
    var desk = lock(window: true)
    breakOff(&desk)
    for _ in 0..<2 {
      breakOff(&desk)
      for _ in 0..<5 { breakOff(&desk, signal: -90) }
    }
    #expect(removals(desk) == 0)
    breakOff(&desk)
    #expect(removals(desk) == 1)
  }

  @Test(
    "L5: if bluetoothd says why links end, a refused key counts at any distance, and a lost signal at none",
    arguments: [
      ("Authentication", -90, 3), ("Authentication", nil, 3), ("Local", -50, 4), ("Remote", -50, 4),
      ("Local", -90, nil), ("Remote", -90, nil), ("Timeout", -50, nil), ("Unknown", -50, nil), ("Suspend", -50, nil),
    ] as [(String, Int8?, Int?)])
  func withReason(_ reason: String, _ signal: Int8?, _ limit: Int?) {
    var desk = lock(window: true)
    var links = 0
    while removals(desk) == 0, links < 20 {
      breakOff(&desk, signal: signal, because: "org.bluez.Reason.\(reason)")
      links += 1
    }
    #expect(links == limit ?? 20)
  }

  @Test("L5: with the window closed the bond stays; once the window opens, one more broken link removes it")
  func closedWindow() {
    var desk = lock(window: false)
    for _ in 0..<20 { breakOff(&desk) }
    #expect(removals(desk) == 0)
    desk.say(.admit(CentralAdmission(acceptsPairings: true)))
    #expect(removals(desk) == 0)
    breakOff(&desk)
    #expect(removals(desk) == 1)
  }

  @Test("T M7: strangers whose links break off leave nothing behind when bluetoothd forgets them") func strangers() {
    var desk = lock(window: false)
    let peer = desk.peer
    for _ in 0..<20 { breakOff(&desk) }
    #expect(desk.system.links[peer] != nil)
    desk.handle(.daemon(.signal(.interfacesRemoved(path: Desk.devicePath, [InterfaceName.device]))))
    #expect(desk.system.links[peer] == nil)
  }

  @Test("L5: a phone whose link lasts keeps its bond in the window") func goodBond() {
    var desk = lock(window: true)
    for _ in 0..<3 { breakOff(&desk) }
    desk.linkUp()
    desk.pass(.seconds(20))
    desk.linkDown()
    for _ in 0..<3 { breakOff(&desk) }
    #expect(removals(desk) == 0)
  }
}
