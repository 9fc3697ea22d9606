import AppLink
import AppLinkBus
import Foundation
import Synchronization
import Testing
import Timekeeping

@testable import BluetoothSystem
@testable import LatchkeyDaemon

/// What several apps of a machine say at one moment of a world.
@Suite("Turns of a world's apps") struct AppTurnsTests {
  private static let said: [(name: String, text: String)] = [
    (":1.5", "one, first"), (":1.7", "two"), (":1.5", "one, second"), (":1.6", "three"),
  ]

  private func handled(_ order: [Int]) -> [String] {
    let clock = ManualClock()
    let turns = AppTurns(time: clock)
    let handled = Mutex<[String]>([])
    for index in order {
      let (name, text) = Self.said[index]
      turns.add(.request(AppConnection(name: name), .showAlert(text))) { handled.withLock { $0.append(text) } }
    }
    #expect(handled.withLock { $0.isEmpty }, "before the world rests")
    while clock.nextDeadline != nil { clock.ring() }
    return handled.withLock { $0 }
  }

  @Test("A4: what several apps say at one moment is handled in one order, whoever was faster")
  func order() {
    for order in [[0, 1, 2, 3], [1, 3, 0, 2], [3, 0, 2, 1], [0, 2, 1, 3]] {
      #expect(handled(order) == ["one, first", "three", "two", "one, second"])
    }
  }

  @Test("A4: what the managers of one app say on queues of their own is handled manager by manager, in one order")
  func managers() {
    let app = AppConnection(name: ":1.5")
    let central = ManagerIdentifier(1)
    let peripheral = ManagerIdentifier(2)
    let said: [(request: Request, text: String)] = [
      (.central(central, .stopScan), "scan"), (.peripheral(peripheral, .stopAdvertising), "advertising"),
      (.respond(RemoteRequestIdentifier(7), result: nil, value: nil), "answer"),
    ]
    for order in [[0, 1, 2], [1, 0, 2], [1, 2, 0]] {
      let clock = ManualClock()
      let turns = AppTurns(time: clock)
      let handled = Mutex<[String]>([])
      func say(_ request: Request, _ text: String) {
        turns.add(.request(app, request)) { handled.withLock { $0.append(text) } }
      }
      say(.destroyManager(ManagerIdentifier(3)), "other")
      clock.ring()
      let central = CentralSnapshot(identifier: PeerIdentifier(UUID()), maximumUpdateValueLength: 20)
      turns.willSend(
        Event(
          sequence: EventSequence(1), manager: peripheral,
          body: .readRequested(RemoteRequestIdentifier(7), central, LocalAttributeIdentifier(UUID()), offset: 0)),
        to: app)
      for index in order { say(said[index].request, said[index].text) }
      while clock.nextDeadline != nil { clock.ring() }
      #expect(handled.withLock { $0 } == ["other", "scan", "advertising", "answer"])
    }
  }

  @Test("A4: what an app had said comes before its end, whatever was noticed first")
  func end() {
    let clock = ManualClock()
    let turns = AppTurns(time: clock)
    let handled = Mutex<[String]>([])
    // An app whose connection has not said yet which app it is has the connection's name.
    let process = ProcessIdentity(processIdentifier: 1)
    turns.add(.detached(AppConnection(name: ":1.5"))) { handled.withLock { $0.append("gone") } }
    turns.add(.ended(ProcessEnd(bundleIdentifier: ":1.5", process: process, how: "exited"))) {
      handled.withLock { $0.append("ended") }
    }
    turns.add(.request(AppConnection(name: ":1.5"), .showAlert("last"))) { handled.withLock { $0.append("asked") } }
    while clock.nextDeadline != nil { clock.ring() }
    #expect(handled.withLock { $0 } == ["asked", "ended", "gone"])
  }
}
