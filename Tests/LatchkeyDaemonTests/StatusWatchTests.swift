import AppLink
import Testing
import TimeTypes

@testable import LatchkeyDaemon

/// Asks a watch one thing after the other.
private final class Watching {
  private var watch = StatusWatch()

  func begin(_ status: SystemStatus) { watch.begin(status) }
  func end() { watch.end() }
  var isWatched: Bool { watch.isWatched }
  func mayHaveChanged(at now: Instant) -> Bool { watch.mayHaveChanged(at: now) }
  func takeNewDeadline() -> Instant? { watch.takeNewDeadline() }
  func takeDeadline(at now: Instant) -> Bool { watch.takeDeadline(at: now) }
  func compare(_ status: SystemStatus, at now: Instant) -> UInt64? { watch.compare(status, at: now) }
}

@Suite("Changes of the status, for those that watch")
struct StatusWatchTests {
  private func status(_ launches: Int, awake seconds: Double? = nil) -> SystemStatus {
    SystemStatus(
      bluetooth: .poweredOn, apps: [AppStatus(bundleIdentifier: "a", state: .background, launches: launches)],
      wakes: seconds.map { seconds in
        [
          WakeRecord(
            app: "a", because: .event(.connected), unixSeconds: 1, seconds: seconds, told: Int(seconds), said: 0,
            outcome: nil)
        ]
      } ?? [])
  }

  private func at(milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

  @Test("Nothing is compared while nobody watches")
  func unwatched() {
    let watch = Watching()
    #expect(!watch.mayHaveChanged(at: .zero))
    watch.begin(status(1))
    watch.end()
    #expect(!watch.isWatched && !watch.mayHaveChanged(at: .zero))
    #expect(watch.compare(status(2), at: .zero) == nil)
  }

  @Test("The first change is told at once, those that follow within 250 ms together, and the last state always")
  func together() {
    let watch = Watching()
    watch.begin(status(0))
    #expect(watch.mayHaveChanged(at: at(milliseconds: 1000)))
    #expect(watch.compare(status(1), at: at(milliseconds: 1000)) == 1)
    #expect(!watch.mayHaveChanged(at: at(milliseconds: 1001)))
    #expect(watch.takeNewDeadline() == at(milliseconds: 1250))
    // The alarm is set once.
    #expect(!watch.mayHaveChanged(at: at(milliseconds: 1002)))
    #expect(watch.takeNewDeadline() == nil)
    #expect(!watch.takeDeadline(at: at(milliseconds: 1249)))
    #expect(watch.takeDeadline(at: at(milliseconds: 1250)))
    #expect(watch.compare(status(5), at: at(milliseconds: 1250)) == 2)
    // Nothing is due once everything is told.
    #expect(!watch.takeDeadline(at: at(milliseconds: 9000)))
    #expect(watch.mayHaveChanged(at: at(milliseconds: 9000)))
    #expect(watch.compare(status(5), at: at(milliseconds: 9000)) == nil)
  }

  @Test("That an app is still awake is no change; that it sleeps is one")
  func awake() {
    let watch = Watching()
    watch.begin(status(1, awake: 1))
    #expect(watch.compare(status(1, awake: 7), at: .zero) == nil)
    #expect(watch.compare(status(1), at: .zero) == 1)
  }
}
