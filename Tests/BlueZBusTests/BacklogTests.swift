import BlueZ
import BusTesting
import BusValue
import SystemBus
import Testing

@testable import BlueZBus

/// A client that sends thousands of messages does not keep the others waiting.
@Suite("A flood on the bus")
struct BacklogTests {
  @Test("H4: who sends little is served at once, and each client's messages keep their order")
  func shares() {
    var backlog = Backlog<Int>()
    var flood: [Int] = []
    for number in 0..<200 { flood += backlog.take(number, of: "flood") }
    #expect(flood == Array(0..<Backlog<Int>.share))
    #expect(backlog.take(1000, of: "other") == [1000])
    while backlog.needsPause { flood += backlog.pause() }
    #expect(flood == Array(0..<200))
    // After a pause a client has its share again.
    #expect(backlog.take(200, of: "flood") == [200])
  }

  @Test("H4: no client's messages wait without a limit")
  func limit() {
    var backlog = Backlog<Int>()
    var handled: [Int] = []
    let sent = Backlog<Int>.share + 2 * Backlog<Int>.limit
    for number in 0..<sent { handled += backlog.take(number, of: "flood") }
    #expect(handled.count >= sent - Backlog<Int>.limit)
    while backlog.needsPause { handled += backlog.pause() }
    #expect(handled == Array(0..<sent))
  }

  @Test("H4: a call is handled before the hundreds that another client has made earlier, which keep their order")
  func fairness() async throws {
    let bus = try PrivateBus()
    let session = BlueZServerSession(
      bus: try Bus(address: bus.address), sharesThread: false, logger: logger, objects: [:], isExperimental: false,
      time: nil, turns: nil, onEvent: { _ in })
    try session.start()
    let handled = Inbox<Int>()
    let count = 500
    // As if all had been read from the bus in one go.
    session.bus.enqueue { _ in
      for number in 0..<count { session.inTurn(of: ":1.1") { _ in handled.put(number) } }
      session.inTurn(of: ":1.2") { _ in handled.put(-1) }
    }
    var order: [Int] = []
    while order.count < count + 1 { order.append(try await handled.next()) }
    #expect(order.firstIndex(of: -1) == Backlog<Int>.share)
    #expect(order.filter { $0 >= 0 } == Array(0..<count))
    session.close()
  }
}
