import Foundation
import ProcessTesting
import Testing

@testable import Worlds

/// A lock's clock, and owners' phones whose own are wrong, with real processes.
@Suite("A lock's clock and its owners' phones", .serialized, .timeLimit(.minutes(20)))
struct LockClockCommandTests {
  private static let days = 3 * 86_400 + 3600

  /// Two owners at home, of whom the first has a guest, so that the lock's clock is set.
  private func household() async throws -> Household {
    let home = try await Household(phones: ["alice", "bob"])
    try await home.bringHome("alice")
    let invited = try await home.latchkey("alice", "guests", "invite", "Ben", "--until", "2098-12-31")
    #expect(invited.status == 0, "\(invited)")
    return home
  }

  /// What the agent shows its user, after what it had to do at the lock.
  private func alerts(_ home: Household, _ machine: String) async throws -> String {
    let door = try await home.latchkey(machine, "door")
    #expect(door.status == 0, "\(door)")
    return try await home.latchkey(machine, "alerts", "--once").output
  }

  @Test(
    "L5, attack 19: an owner's phone whose clock is days behind or ahead sets no lock's clock and invites nobody without a word",
    arguments: [("behind", "ahead of"), ("ahead", "behind")])
  func wrongClock(clock: String, lock: String) async throws {
    let home = try await household()
    try await home.restart("bob", clockAhead: clock == "ahead" ? Self.days : -Self.days)
    let invited = try await home.latchkey("bob", "guests", "invite", "Carl")
    #expect(
      invited.status == 1 && invited.errors.contains("Nobody is invited.")
        && invited.errors.contains("3 days \(lock) this phone's") && invited.errors.contains("latchkey guests clock"),
      "\(invited)")
    var log = try await home.latchkey("alice", "log")
    #expect(!log.output.contains("by bob"), "\(log)")

    let word = try await home.latchkey("bob", "guests", "clock")
    #expect(word.status == 0, "\(word)")
    log = try await home.latchkey("alice", "log", "--last", "1")
    #expect(log.output.contains("the clock was set to ") && log.output.contains("by bob"), "\(log)")
    let carl = try await home.latchkey("bob", "guests", "invite", "Carl")
    #expect(carl.status == 0, "\(carl)")

    // The first owner comes home, and is told that the two differ.
    try await home.restart("alice")
    let told = try await alerts(home, "alice")
    #expect(told.contains("3 days \(clock == "ahead" ? "ahead of" : "behind") this phone's"), "\(told)")
    let mended = try await home.latchkey("alice", "guests", "clock")
    #expect(mended.status == 0, "\(mended)")
    #expect(try await alerts(home, "alice") == "There are no alerts.\n")
  }

  @Test("L5: the lock's clock is looked at also on a link on which the phone's owner asks something first")
  func questionFirst() async throws {
    let home = try await household()
    try await home.restart("bob", clockAhead: Self.days)
    let wrong = try await home.latchkey("bob", "guests", "clock")
    #expect(wrong.status == 0, "\(wrong)")
    try await home.stop("alice")
    try await home.startDaemon("alice")
    try await home.hear("daemon.started", on: "alice")
    // It starts the agent, which answers before it does anything else at the lock.
    let door = try await home.latchkey("alice", "door")
    #expect(door.status == 0, "\(door)")
    let told = try await alerts(home, "alice")
    #expect(told.contains("3 days ahead of this phone's"), "\(told)")
  }

  @Test(
    "L8: an alert about a lock's clock is gone when that is right again, also if the agent was started anew meanwhile")
  func alertAfterRestart() async throws {
    let home = try await household()
    try await home.restart("bob", clockAhead: Self.days)
    let wrong = try await home.latchkey("bob", "guests", "clock")
    #expect(wrong.status == 0, "\(wrong)")
    try await home.restart("alice")
    let told = try await alerts(home, "alice")
    #expect(told.contains("3 days ahead of this phone's"), "\(told)")
    try await home.restart("bob")
    let right = try await home.latchkey("bob", "guests", "clock")
    #expect(right.status == 0, "\(right)")
    try home.killApp("alice")
    let opened = try await home.latchkey("alice", "open", "org.latchkey.agent")
    #expect(opened.status == 0, "\(opened)")
    for event in ["app.launched", "status.answered"] { try await home.hear(event, on: "alice") }
    #expect(try await alerts(home, "alice") == "There are no alerts.\n")
  }
}
