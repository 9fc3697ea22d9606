import AppLink
import Foundation
import JournalEvents
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("Alerts")
struct AlertTests {
  /// An app that is suspended and asked to be announced.
  private func suspended(_ options: ConnectOptions, modes: [String] = []) -> Desk {
    var desk = Desk(modes: modes, displayName: "Thermo")
    desk.connectAndSubscribe()
    desk.say(.central(Desk.central, .connect(desk.peer, options)))
    desk.fallAsleep()
    #expect(desk.state == .suspended)
    desk.forget()
    return desk
  }

  private func texts(_ desk: Desk) -> [String] { desk.system.status.alerts.map(\.text) }

  @Test("F5: while the app is suspended, its user is shown a link that comes, one that goes, and a value")
  func peripherals() {
    var desk = suspended(
      ConnectOptions(notifyOnConnection: true, notifyOnDisconnection: true, notifyOnNotification: true))
    desk.change(["Name": .string("Kitchen\u{1B}[31m")])
    desk.value([1])
    #expect(texts(desk) == ["Kitchen [31m has sent a value."])
    desk.linkDown()
    #expect(texts(desk).last == "Kitchen [31m is no longer connected.")
    let alert = desk.system.status.alerts.last
    #expect(alert?.title == "Thermo")
    #expect(alert?.app == Desk.bundle)
    #expect(alert?.unixSeconds == desk.now.seconds)
    #expect(desk.recorded(.userAlert) == 2)
    #expect(desk.state == .suspended, "showing is not waking")
    desk.handle(.control(.openApp(bundleIdentifier: Desk.bundle), AnswerToken(0)))
    #expect(texts(desk).isEmpty, "the user has seen it")
    #expect(Set(desk.system.status.alerts.map(\.identifier)).count == desk.system.status.alerts.count)
  }

  @Test("F5: without the options, or in the foreground, nothing is shown")
  func unasked() {
    var desk = suspended(ConnectOptions())
    desk.value([1])
    desk.linkDown()
    #expect(texts(desk).isEmpty)
    var shown = Desk()
    shown.connectAndSubscribe()
    shown.say(.central(Desk.central, .connect(shown.peer, ConnectOptions(notifyOnDisconnection: true))))
    shown.linkDown()
    #expect(texts(shown).isEmpty)
  }

  @Test("F5: a peripheral that sends all the time is shown once in ten seconds, and once at a time")
  func chatty() {
    var desk = suspended(ConnectOptions(notifyOnNotification: true))
    for _ in 0..<200 {
      desk.value([1])
      desk.pass(.milliseconds(100))
    }
    #expect(texts(desk).count == 1)
    #expect(desk.recorded(.userAlert) == 2)
    #expect(desk.system.status.alerts.first?.identifier == 2)
  }

  @Test("F5: an app's own question is an alert until the app takes it back, whether it is opened or not")
  func question() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.say(.showAlert("Open the door?"))
    #expect(desk.system.status.alerts.map(\.text) == ["Open the door?"])
    #expect(desk.system.status.alerts.map(\.title) == [Desk.bundle])
    desk.handle(.control(.openApp(bundleIdentifier: Desk.bundle), AnswerToken(0)))
    #expect(texts(desk) == ["Open the door?"])
    desk.say(.showAlert(nil))
    #expect(texts(desk).isEmpty)
    desk.say(.showAlert("Once more?"))
    desk.handle(.control(.quitApp(bundleIdentifier: Desk.bundle), AnswerToken(0)))
    #expect(texts(desk).isEmpty)
  }

  @Test("F5: the list is bounded, and the newest stay")
  func bounded() {
    var alerts = Alerts()
    for number in 0..<100 {
      let peer = Alerts.Subject.peripheral(PeerIdentifier(UUID()), about: "connected")
      let isNews = alerts.add("\(number)", peer, app: "a", title: "a", at: .zero, unixSeconds: 0)
      #expect(isNews)
    }
    #expect(alerts.shown.count == SystemStatus.Limit.alerts)
    #expect(alerts.shown.last?.text == "99")
  }
}

@Suite("Memory")
struct MemoryTests {
  @Test("Memory pressure kills the app that has been suspended longest, one at a time, and no other")
  func oldestFirst() {
    var air = Air()
    let names = ["org.example.b", "org.example.a", "org.example.c"]
    air.add(
      "phone",
      apps: names.map { Air.app($0, modes: ["central"]) } + [
        Air.app("org.example.shown", modes: ["central"]), Air.app("org.example.always", keepAlive: true),
      ])
    for name in names + ["org.example.shown"] {
      air.open(name, on: "phone")
      air.createManager(.central, name, on: "phone")
    }
    for name in names {
      air.leave(name, on: "phone")
      air.pass(.seconds(10))
      #expect(air.state(name, on: "phone") == .suspended)
    }
    for count in 1...3 {
      if count == 2 { air.control("phone", .reclaimMemory) } else { air.tell("phone", .memoryPressure) }
      #expect(names.filter { air.state($0, on: "phone") == .notRunning } == Array(names.prefix(count)))
    }
    air.tell("phone", .memoryPressure)
    #expect(air.state("org.example.shown", on: "phone") == .foreground)
    #expect(air.state("org.example.always", on: "phone") == .foreground)
  }
}
