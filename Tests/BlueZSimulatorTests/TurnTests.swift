import BlueZ
import BlueZSimulator
import BusTesting
import Logging
import ProcessTesting
import Synchronization
import Testing
import TimeTypes
import Timekeeping

/// Time that stands still, and tells of each alarm that is set for now.
private final class RestingClock: TimeSource {
  private struct Due: Alarm {
    let clock: RestingClock
    let handler: @Sendable () -> Void
    func set(_ deadline: Instant?) {
      guard let deadline, deadline <= clock.now else { return }
      clock.due.put(handler)
    }
  }

  let due = Inbox<@Sendable () -> Void>()
  var now: Instant { .zero + .seconds(1) }
  var unixSeconds: Double { 0 }
  func makeAlarm(_ handler: @escaping @Sendable () -> Void) -> any Alarm { Due(clock: self, handler: handler) }
}

/// The simulator of a world, over a bus.
@Suite("A world's simulator answers when the world rests", .timeLimit(.minutes(20))) struct TurnTests {
  @Test("A4: each call of a client waits for an alarm of its own, also a call for an object's properties")
  func waits() async throws {
    let bus = try PrivateBus()
    let clock = RestingClock()
    let lines = Inbox<SimulatorLine>()
    let simulator = BlueZSimulator(
      machines: [SimulatorMachine(name: "door", busAddress: bus.address.text)], seed: 1, time: clock,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), takesTurns: true,
      onLine: { lines.put($0) })
    let thread = OwnThread()
    let running = Task(executorPreference: thread) {
      defer { thread.stop() }
      try await simulator.run()
    }
    while try await lines.next() != .ready {}

    let talker = try Talker(address: bus.address.text)
    // A command is obeyed at once: the conductor waits for it.
    simulator.send(SimulatorRequest(id: 1, command: .move(machine: "door", x: 1, y: 1)))
    while try await lines.next() != .reply(SimulatorReply(id: 1, error: nil)) {}
    // bluetoothd's objects come as the answer to one call.
    try await clock.due.next()()
    try await talker.until { $0.isPresent }
    let first = talker.begin(WellKnown.firstAdapter, .startDiscovery)
    let second = talker.begin(WellKnown.firstAdapter, .stopDiscovery)
    try await clock.due.next()()
    try await talker.until { $0.replies[first] != nil }
    #expect(talker.replies[second] == nil)
    try await clock.due.next()()
    try await talker.until { $0.replies[second] != nil }
    simulator.stop()
    try await running.value
  }
}
