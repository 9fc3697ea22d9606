import AppLink
import BlueZ
import BluetoothTypes
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("Whether an app may use Bluetooth")
struct AuthorizationTests {
  private func allow(_ desk: inout Desk, _ isAllowed: Bool) {
    desk.handle(.control(.allowApp(bundleIdentifier: Desk.bundle, isAllowed: isAllowed), AnswerToken(50)))
  }

  private func isDenied(_ desk: Desk) -> Bool? {
    desk.stored.records.values.compactMap { if case .app(let record) = $0 { record.isDenied } else { nil } }.first
  }

  private func heldRequests(_ desk: Desk) -> Int { desk.stored.records.keys.count { $0.kind == .peripheral } }

  private func states(_ desk: Desk) -> [ManagerState] {
    desk.events.compactMap { if case .stateChanged(let state) = $0.body { state } else { nil } }
  }

  @Test("C1: the user's no ends the app's requests, on the air and on disk, and its manager is unauthorized")
  func no() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: [Desk.service]))))
    desk.forget()
    allow(&desk, false)
    #expect(states(desk) == [.unauthorized])
    #expect(desk.asked { $0 == .disconnect } == 1)
    #expect(desk.asked { $0 == .stopDiscovery } == 1)
    #expect(desk.recorded(.appAuthorization) == 1)
    #expect(isDenied(desk) == true)
    #expect(heldRequests(desk) == 0)
    #expect(desk.system.status.apps.first?.isAllowed == false)
    desk.linkDown()
    desk.forget()
    desk.pass(.seconds(3600))
    #expect(desk.requests.isEmpty, "nothing is asked of the radio: \(desk.requests)")
  }

  @Test("C1: requests of an app that may not use Bluetooth are refused, each with its answer")
  func refused() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    allow(&desk, false)
    desk.forget()
    desk.connect()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: nil))))
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(4), .readRSSI)))
    #expect(desk.bodies == ["failedToConnect", "operationCompleted"])
    #expect(desk.requests.isEmpty)
    #expect(heldRequests(desk) == 0)
    desk.say(.createManager(ManagerIdentifier(2), ManagerCreation(role: .central)))
    #expect(states(desk) == [.unauthorized], "a manager that is made later is told the same")
  }

  @Test("C1: a no survives latchkeyd, and an app that may not is not launched for anything")
  func durable() {
    var desk = Desk.asleep()
    desk.die()
    allow(&desk, false)
    desk.linkDown()
    desk.restartSystem()
    desk.appear(connected: true)
    desk.value([1])
    desk.pass(.seconds(60))
    #expect(desk.launches.isEmpty)
    desk.open()
    desk.createCentral()
    #expect(states(desk) == [.unauthorized])
    #expect(!desk.bodies.contains("willRestoreState"))
  }

  @Test("C1: after a yes the manager is told that Bluetooth is on, and may ask again")
  func yes() {
    var desk = Desk()
    desk.connectAndSubscribe()
    allow(&desk, false)
    desk.linkDown()
    desk.forget()
    allow(&desk, true)
    #expect(states(desk) == [.poweredOn])
    #expect(isDenied(desk) == false)
    desk.connect()
    desk.linkUp()
    #expect(desk.bodies == ["stateChanged", "connected"])
    desk.forget()
    allow(&desk, true)
    #expect(desk.recorded(.appAuthorization) == 0, "a yes that is no news changes nothing")
  }

  @Test("C1: a no to an app that there is not is refused, and names those that there are")
  func unknownApp() throws {
    var desk = Desk()
    desk.handle(.control(.allowApp(bundleIdentifier: "org.example.other", isAllowed: false), AnswerToken(9)))
    let replies = desk.effects.compactMap { effect -> AppLinkError? in
      if case .controlReply(_, .failure(let error)) = effect { error } else { nil }
    }
    #expect(try #require(replies.first).message.contains(Desk.bundle))
  }
}
