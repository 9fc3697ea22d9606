import AppLink
import BlueZ
import JournalEvents
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("The ledger of wakes")
struct WakeLedgerTests {
  private func entries(_ desk: Desk) -> [[JournalField: String]] {
    desk.effects.compactMap { if case .record(.wakeEnded, let fields) = $0 { fields } else { nil } }
  }

  @Test("W3: a wake is recorded: why, how long, what the app received and sent, how it ended")
  func wake() {
    var desk = Desk.asleep()
    #expect(desk.system.status.wakes.isEmpty, "the user's own use of the app is no wake")
    desk.pass(.seconds(100))
    let began = desk.now.seconds
    desk.value([1])
    #expect(
      desk.system.status.wakes == [
        WakeRecord(
          app: Desk.bundle, because: .event(.valueUpdated), unixSeconds: began, seconds: 0, told: 1, said: 0,
          outcome: nil)
      ])
    desk.pass(.seconds(1))
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .readCharacteristic(0x0b))))
    desk.settle()
    desk.pass(.seconds(60))
    #expect(
      desk.system.status.wakes == [
        WakeRecord(
          app: Desk.bundle, because: .event(.valueUpdated), unixSeconds: began, seconds: 10, told: 2, said: 1,
          outcome: "suspended")
      ])
    #expect(
      entries(desk) == [
        [
          .app: Desk.bundle, .because: "valueUpdated", .milliseconds: "10000", .told: "2", .said: "1",
          .outcome: "suspended",
        ]
      ])
  }

  @Test("W3: a relaunch is recorded, from the start of the process to its end")
  func relaunch() {
    var desk = Desk.asleep()
    desk.die()
    desk.linkDown()
    desk.pass(.seconds(5))
    desk.launchAndAttach()
    desk.pass(.seconds(1))
    desk.die(how: "signal 11")
    #expect(
      entries(desk).map { [$0[.because], $0[.milliseconds], $0[.outcome]] } == [
        ["disconnected", "6000", "signal 11"]
      ])
  }

  @Test("W3, W2: the ledger records an overrun, and that the user opened the app in the meantime")
  func outcomes() {
    var desk = Desk.asleep()
    desk.value([1])
    desk.pass(.seconds(11))
    desk.value([2])
    desk.handle(.control(.openApp(bundleIdentifier: Desk.bundle), AnswerToken(9)))
    #expect(entries(desk).map { $0[.outcome] } == ["overran", "opened"])
  }

  @Test("W3: a wake that began before a restart of the system continues in the ledger after it")
  func adopted() {
    var desk = Desk.asleep()
    desk.value([1])
    desk.restartSystem()
    #expect(desk.system.status.wakes.map(\.because) == [.adopted])
  }

  @Test("W3: the ledger survives latchkeyd")
  func survives() {
    var desk = Desk.asleep()
    desk.value([1])
    desk.settle()
    desk.pass(.seconds(60))
    desk.value([1])
    desk.pass(.seconds(60))
    let wakes = desk.system.status.wakes
    #expect(wakes.map(\.outcome) == ["suspended", "overran"])
    desk.restartSystem()
    #expect(desk.system.status.wakes == wakes)
  }

  @Test("W3: the last twenty wakes of an app are kept, and all are in the journal")
  func bounded() {
    var desk = Desk.asleep()
    for number in UInt8(0)..<30 {
      desk.value([number])
      desk.settle()
      desk.pass(.seconds(60))
    }
    #expect(desk.system.status.wakes.count == 20)
    #expect(entries(desk).count == 30)
    #expect(desk.system.status.wakes.map(\.unixSeconds) == desk.system.status.wakes.map(\.unixSeconds).sorted())
  }
}
