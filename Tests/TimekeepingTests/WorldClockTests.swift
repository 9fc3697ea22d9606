import LatchkeyTime
import Testing

@Suite("The clock for apps")
struct WorldClockTests {
  @Test("H1: a sleep ends at its deadline and not before, and at once if that has passed")
  func sleeps() async throws {
    let clock = WorldClock()
    let beginning = clock.now
    try await Task.sleep(for: .milliseconds(5), clock: .world)
    #expect(beginning.duration(to: clock.now) >= .milliseconds(5))
    try await clock.sleep(until: beginning)
  }

  @Test("H1: a sleep ends with its task")
  func cancelled() async throws {
    let task = Task { try await Task.sleep(for: .seconds(100_000), clock: .world) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let sleeping = Task { try await WorldClock().sleep(until: WorldClock().now.advanced(by: .seconds(100_000))) }
    await Task.yield()
    sleeping.cancel()
    await #expect(throws: CancellationError.self) { try await sleeping.value }
  }
}
