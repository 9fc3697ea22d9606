import AppLink
import BlueZ
import BluetoothTypes
import FoundationEssentials
import Testing

@testable import BluetoothSystem

/// A system bus has 128 places for answers to all of latchkeyd's calls, and bluetoothd answers some calls never.
@Suite("Operations that are never answered")
struct UnansweredOperationTests {
  /// The app reads what it may not, on each of so many links.
  private static func read(_ desk: inout Desk, links: Int) {
    for number in 0..<UInt64(links) {
      desk.answersCalls = true
      desk.connect()
      desk.linkUp()
      desk.pass(.seconds(60))
      desk.answersCalls = false
      desk.say(
        .central(Desk.central, .perform(desk.peer, OperationIdentifier(100 + number), .readCharacteristic(0x0b))))
      desk.linkDown()
      desk.pass(.seconds(300))
    }
  }

  @Test("C5: an app that reads what it may not, on every link, leaves room for the others, and is told why")
  func everyLink() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    desk.forget()
    Self.read(&desk, links: 40)
    #expect(desk.asked { if case .readValue = $0 { true } else { false } } == 24)
    #expect(desk.recorded(.operationsRefused) == 1)
    let results = desk.events.compactMap { event -> OperationResult? in
      if case .operationCompleted(_, let identifier, let result) = event.body, identifier.rawValue >= 100 {
        result
      } else {
        nil
      }
    }
    #expect(results.count == 40)
    guard case .failed(let error)? = results.last else {
      Issue.record("the last read did not fail")
      return
    }
    #expect("\(error)".contains("restart bluetooth.service"))
    desk.handle(.daemon(.vanished))
    desk.answersCalls = true
    desk.appear()
    desk.forget()
    Self.read(&desk, links: 2)
    #expect(desk.asked { if case .readValue = $0 { true } else { false } } == 2, "a new bluetoothd begins anew")
  }

  @Test("C5: an operation that is answered late takes no place")
  func answeredLate() throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    desk.forget()
    for _ in 0..<40 {
      Self.read(&desk, links: 1)
      let call = try #require(desk.lastCall { if case .readValue = $0 { true } else { false } })
      desk.handle(.daemon(.reply(call, .failure(.failed("Not connected")))))
    }
    #expect(desk.asked { if case .readValue = $0 { true } else { false } } == 40)
  }

  @Test("C5: where many operations are unanswered, an app that left none may still ask")
  func shares() {
    var calls = PendingCalls()
    let peer = PeerIdentifier(UUID())
    for app in 0..<6 {
      for _ in 0..<16 {
        _ = calls.add(.operation(peer))
        calls.giveUp(.operation(peer), of: "app\(app)")
      }
    }
    #expect((0..<6).allSatisfy { !calls.hasRoom(for: "app\($0)") })
    #expect(calls.hasRoom(for: "another"))
    #expect(calls.count == 0)
    calls.dropGivenUp()
    #expect(calls.hasRoom(for: "app0"))
  }
}
