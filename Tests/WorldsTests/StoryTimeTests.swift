import Foundation
import Glibc
import ProcessTesting
import Testing
import TimeTypes

@testable import Worlds

@Suite(
  "A program that knows nothing of its world has the world's time", .serialized, .ownThread, .timeLimit(.minutes(20)))
struct StoryTimeTests {
  private static let library = PuppetWorld.programs.appendingPathComponent(Executables.storyTimeLibrary).path
  private static let preload = ["LD_PRELOAD=\(library)"]

  @Test("Timers ring, are copied, disarmed, closed and inherited as the kernel's, and a signal ends a sleep")
  func rare() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    let puppet = PuppetWorld.programs.appendingPathComponent("timer-puppet").path
    try world.spawn(puppet, [world.file], environment: Self.preload)
    try world.conductor.run(until: Instant.zero + .seconds(100_000))
    #expect(
      world.lines == [
        "began 0 1", "unset 0 0", "interval 3500 3", "left 3500 500", "disarmed 9500 0", "past 9500 1", "copy 10500 1",
        "closed 13500 0", "number 13500 1", "child 15500 -1", "parent 15500 3", "timer 18500 1", "disturbed 22500 6",
        "select 25500 0", "select-left 25500 0", "epoll 27500 0",
        "day 86400000 0",
      ])
  }

  @Test("A stopped program's sleep ends when it is continued, and time passes meanwhile")
  func stopped() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    let pid = try world.spawn(
      "/bin/sh", ["-c", "sleep 10; date -u +%s >>\(world.file)"], environment: Self.preload)
    try world.conductor.settle()
    let all = world.conductor.processIdentifiers
    #expect(all.count == 2 && all.contains(pid))
    for each in all { kill(each, SIGSTOP) }
    try world.conductor.run(until: Instant.zero + .seconds(1000))
    #expect(world.lines == [])
    for each in all { kill(each, SIGCONT) }
    try world.conductor.run(until: Instant.zero + .seconds(2000))
    #expect(world.lines == ["\(Conductor.unixSecondsAtZero + 1000)"])
  }

  @Test("Outside a world the library passes everything on")
  func outside() async throws {
    let began = Date()
    let outcome = try await TestProcess.run(
      "/bin/sh", ["-c", "export LD_PRELOAD=\(Self.library); sleep 0.01; date -u +%s"])
    let shown = try #require(Double(outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect(abs(shown - began.timeIntervalSince1970) < 60)
  }
}
