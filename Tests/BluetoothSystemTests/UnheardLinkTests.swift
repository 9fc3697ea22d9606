import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@testable import BluetoothSystem

/// bluetoothd connected or disconnected without a signal.
@Suite("Links that bluetoothd did not report")
struct UnheardLinkTests {
  private static let read = BlueZ.Request.getAllProperties(interface: InterfaceName.device)

  private func waiting(bonded: Bool = true) -> Desk {
    var desk = Desk()
    desk.appear(bonded: bonded)
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.answersCalls = false
    return desk
  }

  private func answer(_ desk: inout Desk, _ request: BlueZ.Request, _ reply: Reply) throws {
    let call = try #require(desk.lastCall(request))
    desk.forget()
    desk.handle(.daemon(.reply(call, .success(reply))))
  }

  private func device(connected: Bool) -> Properties {
    ["Connected": .bool(connected), "ServicesResolved": .bool(connected), "RSSI": .int16(-60)]
  }

  @Test("BlueZ 21: after a Connect that succeeds without a report of the link, the device is read and the app is told")
  func connectSucceeds() throws {
    var desk = waiting(bonded: false)
    try answer(&desk, .connect, .none)
    #expect(desk.bodies.isEmpty)
    try answer(&desk, Self.read, .properties(device(connected: true)))
    #expect(desk.bodies == ["connected"])
    #expect(desk.recorded(.linkUnheard) == 1)
  }

  @Test("BlueZ 21: a Connect that succeeds and has made no link is tried again, as ever")
  func connectWithoutLink() throws {
    var desk = waiting(bonded: false)
    try answer(&desk, .connect, .none)
    try answer(&desk, Self.read, .properties(device(connected: false)))
    #expect(desk.requests.isEmpty && desk.bodies.isEmpty, "what was read is no sighting")
    desk.answersCalls = true
    desk.change(["RSSI": .int16(-60)])
    desk.pass(.seconds(1))
    desk.change(["RSSI": .int16(-60)])
    #expect(desk.lastCall(.connect) != nil)
  }

  @Test("BlueZ 21: if a device that counts as away does what needs a link, it is read once", arguments: [true, false])
  func signOfLife(isValue: Bool) throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.loseAndAskAgain()
    desk.answersCalls = false
    desk.forget()
    for _ in 0..<3 {
      if isValue { desk.value([7]) } else { desk.change(["ServicesResolved": .bool(true)]) }
    }
    #expect(desk.asked { $0 == Self.read } == 1)
    try answer(&desk, Self.read, .properties(device(connected: true)))
    #expect(desk.bodies == ["connected"])
    desk.forget()
    desk.value([8])
    #expect(desk.bodies == ["valueUpdated"])
    #expect(desk.requests.isEmpty)
  }

  @Test("BlueZ 21: an advertisement, or the end of a link, does not indicate a link")
  func noSignOfLife() {
    var desk = waiting()
    desk.linkUp()
    desk.forget()
    desk.change(["Connected": .bool(false)])
    desk.change(["ServicesResolved": .bool(false)])
    desk.change(["RSSI": .int16(-60)])
    #expect(desk.asked { $0 == Self.read } == 0)
  }

  @Test("BlueZ 21: bonded devices that are waited for are read again by one call, ever more rarely, without an alarm")
  func rereading() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.forget()
    var waits: [Duration] = []
    var last = desk.now
    // The watchdog wakes the shell this often.
    for _ in 0..<86400 / 5 {
      #expect(desk.system.nextDeadline == nil, "nothing wakes the system for this")
      desk.pass(.seconds(5))
      guard desk.asked({ $0 == .getManagedObjects }) > 0 else { continue }
      #expect(desk.requests.count == 1)
      waits.append(desk.now - last)
      last = desk.now
      desk.forget()
    }
    #expect(Array(waits.prefix(8)) == [15, 30, 60, 120, 240, 480, 960, 960].map { .seconds($0) })
    #expect(waits.max() == .seconds(960))
  }

  @Test("BlueZ 21: an unreported link of a bonded device is found")
  func found() throws {
    var desk = waiting()
    desk.handle(
      .daemon(.reply(try #require(desk.lastCall(where: \.isProfileRegistration)), .success(.none))))
    desk.pass(.seconds(15))
    let objects: ManagedObjects = [Desk.devicePath: [InterfaceName.device: device(connected: true)]]
    try answer(&desk, .getManagedObjects, .objects(objects))
    #expect(desk.bodies == ["connected"])
    #expect(desk.recorded(.linkUnheard) == 1)
    desk.forget()
    desk.pass(.seconds(86400))
    #expect(desk.asked { $0 == .getManagedObjects } == 0, "nobody is waited for")
  }

  @Test("BlueZ 21: a new request, or a lost link, has bonded devices read soon again")
  func soonAgain() throws {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.pass(.seconds(86400))
    desk.linkUp()
    desk.loseAndAskAgain()
    desk.forget()
    desk.pass(.seconds(15))
    #expect(desk.asked { $0 == .getManagedObjects } == 1)
  }

  @Test("BlueZ 21: a Disconnect that is answered, and a link that stays, have the device read")
  func disconnectAnswered() throws {
    var desk = waiting()
    desk.linkUp()
    desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
    try answer(&desk, .disconnect, .none)
    try answer(&desk, Self.read, .properties(device(connected: false)))
    #expect(desk.system.bluez.device(desk.peer)?.isConnected == false)
    #expect(desk.recorded(.linkUnheard) == 1)
  }
}
