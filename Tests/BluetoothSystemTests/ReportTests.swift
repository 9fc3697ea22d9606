import AppLink
import JournalEvents
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("What apps report to their users")
struct ReportTests {
  private func desk() -> Desk {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.forget()
    return desk
  }

  private func journaled(_ desk: Desk) -> [[JournalField: String]] {
    desk.effects.compactMap { if case .record(.userReport, let fields) = $0 { fields } else { nil } }
  }

  @Test("H7: a door's state is shown since it changed, and stays when the app repeats it or ends")
  func states() {
    var desk = desk()
    desk.pass(.seconds(10))
    let began = desk.now.seconds
    desk.say(.report(AppReport(.state, subject: "Front door", text: "locked")))
    desk.pass(.seconds(10))
    desk.say(.report(AppReport(.state, subject: "Front door", text: "locked")))
    desk.say(.report(AppReport(.knownState, subject: "Front door", text: "locked")))
    let state = ReportedState(app: Desk.bundle, subject: "Front door", text: "locked", sinceUnixSeconds: began)
    #expect(desk.system.status.states == [state])
    desk.die()
    #expect(desk.system.status.states == [state], "the door is as it was")
    desk.launchAndAttach()
    desk.say(.report(AppReport(.knownState, subject: "Front door", text: "unlocked")))
    #expect(desk.system.status.states.first?.text == "unlocked")
    #expect(desk.system.status.states.first?.sinceUnixSeconds == nil, "nobody knows since when")
    #expect(journaled(desk).isEmpty)
  }

  @Test("H7: the last movements are shown with their time, and are in the journal, on one line and bounded")
  func movements() {
    var desk = desk()
    desk.say(
      .report(
        AppReport(
          .movement, subject: "Do\u{1B}[31mor\n" + String(repeating: "x", count: 100),
          text: "unlocked\u{202E} by hand" + String(repeating: "ä", count: 1000))))
    let shown = desk.system.status.movements
    #expect(shown.count == 1)
    #expect(shown.first?.subject.hasPrefix("Do [31mor x") == true && shown.first?.subject.utf8.count == 64)
    #expect(shown.first?.text.hasPrefix("unlocked  by hand") == true)
    #expect((shown.first?.text.utf8.count ?? 0) <= 256)
    #expect(shown.first?.unixSeconds == desk.now.seconds)
    #expect(journaled(desk) == [[.app: Desk.bundle, .about: shown[0].subject, .text: shown[0].text]])
    desk.forget()
    desk.say(.report(AppReport(.movement, subject: "", text: "x")))
    desk.say(.report(AppReport(.state, subject: "x", text: "")))
    #expect(desk.system.status.movements.count == 1 && desk.system.status.states.isEmpty)
    #expect(journaled(desk).isEmpty)
  }

  @Test("H7: an app that reports without end fills neither the memory nor the journal")
  func flood() {
    var desk = desk()
    for number in 1...1000 {
      desk.say(.report(AppReport(.movement, subject: "Door", text: "turn \(number)")))
      desk.say(.report(AppReport(.state, subject: "Door \(number)", text: "locked")))
    }
    let status = desk.system.status
    #expect(status.movements.map(\.text) == (981...1000).map { "turn \($0)" })
    #expect(status.states.map(\.subject) == (993...1000).map { "Door \($0)" })
    #expect(journaled(desk).count == 20)
    desk.forget()
    desk.pass(.seconds(6))
    for number in 1...3 { desk.say(.report(AppReport(.movement, subject: "Door", text: "late \(number)"))) }
    #expect(journaled(desk).map { $0[.text] } == ["late 1"])
    #expect(journaled(desk).first?[.untold] == "980")
  }

  @Test("H7: a report neither keeps an app awake nor counts as what it did in a wake")
  func quiet() {
    var desk = desk()
    desk.leave()
    desk.settle()
    for _ in 1...12 {
      desk.pass(.seconds(1))
      if desk.state != .suspended { desk.say(.report(AppReport(.movement, subject: "Door", text: "locked"))) }
    }
    #expect(desk.state == .suspended)
  }
}
