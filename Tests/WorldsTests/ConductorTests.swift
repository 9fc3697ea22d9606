import CSystemd
import Foundation
import Glibc
import ProcessTesting
import Testing
import TimeTypes
import Timekeeping

@testable import Worlds

@Suite("The conductor moves real processes through time", .serialized, .ownThread, .timeLimit(.minutes(20)))
struct ConductorTests {
  @Test("Alarms of several processes ring in the order of time, and at one moment in the order of starting")
  func order() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    // Started one after the other, so that the order is known.
    for name in ["a", "b", "c"] { try world.puppet(name, everyMilliseconds: name == "c" ? 1500 : 1000, count: 3) }
    try world.conductor.run(until: Instant.zero + .seconds(10))
    #expect(
      world.lines == [
        "a 1000000000", "b 1000000000", "c 1500000000", "a 2000000000", "b 2000000000", "a 3000000000",
        "b 3000000000", "c 3000000000", "c 4500000000",
      ])
    #expect(world.conductor.now == Instant.zero + .seconds(10))
  }

  @Test("At one moment, what belongs to no machine rings first, and then machine by machine, whoever was started first")
  func machines() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    // Two machines may start a process at the same time, and then it is chance which was first.
    for machine in ["phone", "door", nil] {
      let environment = machine.map { ["LATCHKEY_MACHINE=\($0)"] } ?? []
      try world.spawn(
        PuppetWorld.puppetPath, [machine ?? "air", "1000", "2", world.file], environment: environment)
      try world.conductor.settle()
    }
    try world.conductor.run(until: Instant.zero + .seconds(2))
    #expect(
      world.lines == [
        "air 1000000000", "door 1000000000", "phone 1000000000", "air 2000000000", "door 2000000000",
        "phone 2000000000",
      ])
  }

  @Test("A step never goes beyond its limit, and reports which process was woken")
  func limit() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    let pid = try world.puppet("a", everyMilliseconds: 1000, count: 1)
    let conductor = world.conductor
    #expect(try conductor.advance(limit: Instant.zero + .milliseconds(999)) == .reachedLimit)
    #expect(conductor.now == Instant.zero + .milliseconds(999))
    #expect(conductor.nextDeadline == Instant.zero + .seconds(1))
    #expect(try conductor.advance(limit: Instant.zero + .seconds(1)) == .woke(pid))
    #expect(try conductor.advance(limit: Instant.zero + .seconds(1)) == .reachedLimit)
    #expect(world.lines == ["a 1000000000"])
    #expect(try conductor.advance(limit: .zero) == .reachedLimit)
    #expect(conductor.now == Instant.zero + .seconds(1), "time never goes back")
  }

  @Test("A stopped process's alarm waits, and rings at once when the process is continued")
  func stopped() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    let pid = try world.puppet("a", everyMilliseconds: 1000, count: 1)
    try world.puppet("b", everyMilliseconds: 2000, count: 1)
    try world.conductor.settle()
    kill(pid, SIGSTOP)
    try world.conductor.run(until: Instant.zero + .seconds(86400 * 5))
    #expect(world.lines == ["b 2000000000"])
    kill(pid, SIGCONT)
    try world.conductor.run(until: Instant.zero + .seconds(86400 * 6))
    #expect(world.lines.last == "a \(86400 * 5 * 1_000_000_000)")
  }

  @Test("Grandchildren whose parent has ended belong to the world")
  func orphans() async {
    // In a process of its own, because nobody in this one would wait for the orphans that it adopted.
    await #expect(processExitsWith: .success) {
      try #require(latchkey_become_subreaper() == 0)
      let world = try PuppetWorld()
      defer { world.end() }
      // The shell in between waits until its children are seen, and then leaves them behind.
      let puppet = PuppetWorld.puppetPath
      let shell = try world.spawn(
        "/bin/sh", ["-c", "\(puppet) x 500 2 \(world.file) & \(puppet) y 700 1 \(world.file) & kill -STOP $$; exit 0"])
      try world.conductor.settle()
      #expect(world.conductor.processIdentifiers.count == 3)
      kill(shell, SIGCONT)
      try world.conductor.run(until: Instant.zero + .seconds(2))
      #expect(world.lines == ["x 500000000", "y 700000000", "x 1000000000"])
      #expect(world.conductor.processIdentifiers.count == 2)
    }
  }

  @Test("A process that never rests is named when the limit is over")
  func busy() throws {
    let world = try PuppetWorld()
    let pid = try world.spawn(PuppetWorld.puppetPath, ["spin"])
    defer {
      kill(pid, SIGKILL)
      world.end()
    }
    let error = try #require(throws: ConductorError.self) {
      try world.conductor.settle(limit: .milliseconds(300))
    }
    guard case .neverQuiet(_, let thread?, _) = error else {
      Issue.record("nobody is named: \(error)")
      return
    }
    #expect(thread.pid == pid)
    #expect(error.description.contains("world-puppet"))
  }

  @Test("A process that is killed takes its alarm with it")
  func killed() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    let pid = try world.puppet("a", everyMilliseconds: 1000, count: 5)
    try world.puppet("b", everyMilliseconds: 1000, count: 2)
    let stopped = try world.conductor.run(until: Instant.zero + .seconds(10)) { world.lines.count >= 2 }
    #expect(stopped)
    kill(pid, SIGKILL)
    try world.conductor.run(until: Instant.zero + .seconds(10))
    #expect(world.lines == ["a 1000000000", "b 1000000000", "b 2000000000"])
    #expect(world.conductor.processIdentifiers.count == 1)
  }

  @Test("A4: a death is noticed before time moves on, although the reaping process looks asleep in the kernel")
  func reaping() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    // A soft limit on descriptors is inherited. The more there are, the longer it takes.
    try world.spawn(
      "/bin/sh", ["-c", "ulimit -n $(ulimit -Hn); exec \(PuppetWorld.puppetPath) reaper 15000 \(world.file)"])
    try world.conductor.settle()
    let child = try #require(world.lines.first?.split(separator: " ").last.flatMap { pid_t($0) })
    for number in 0..<15000 {
      var status = stat()
      // Now the kernel has an entry for each, and removes all of them when the child is reaped.
      lstat("/proc/\(child)/fd/\(number)", &status)
    }
    try world.conductor.settle()
    kill(child, SIGKILL)
    try world.conductor.run(until: Instant.zero + .seconds(60))
    #expect(world.lines.last == "reaped 0")
  }

  @Test("A4: what a thread sets off before it ends is waited for, though nobody has seen the thread")
  func endedThreads() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    let (there, back) = (world.file + ".there", world.file + ".and-back")
    for fifo in [there, back] { try #require(mkfifo(fifo, 0o600) == 0) }
    for (source, target) in [(there, back), (back, there)] {
      try world.spawn(PuppetWorld.puppetPath, ["relay", "10000", world.file, source, target])
    }
    try world.conductor.settle(limit: .seconds(300))
    #expect(world.lines == ["relayed", "relayed"])
  }

  @Test("A4: time waits for what the orchestrator itself has yet to read or to take note of")
  func ownWork() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    try world.puppet("a", everyMilliseconds: 1000, count: 1)
    var asked = 0
    world.conductor.ownWork = [
      { nil },
      {
        asked += 1
        return asked < 50 ? "unread lines" : nil
      },
    ]
    try world.conductor.run(until: Instant.zero + .seconds(2)) {
      #expect(asked >= 50)
      return false
    }
    world.conductor.ownWork = [{ "unread lines" }]
    let error = #expect(throws: ConductorError.self) {
      try world.conductor.settle(limit: .milliseconds(20))
    }
    #expect(error?.description.hasSuffix("unread lines") == true)
    world.conductor.ownWork = []
  }

  @Test("A2: a process whose alarm is always past is named after a bounded number of rounds")
  func past() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    let pid = try world.spawn(PuppetWorld.puppetPath, ["past"])
    let error = #expect(throws: ConductorError.self) { try world.conductor.run(until: Instant.zero + .seconds(60)) }
    #expect(
      error
        == .timeStandsStill(
          at: Instant.zero + .seconds(2), pid: pid, processName: "world-puppet", machine: nil,
          alarm: Instant.zero + .seconds(1)))
    #expect(error?.description.contains("0d 00:00:01.000, which is past") == true)
  }

  @Test("A2: while the world does not rest, a progress line names the busy process")
  func signOfLife() throws {
    let world = try PuppetWorld()
    let pid = try world.spawn(PuppetWorld.puppetPath, ["spin"])
    defer {
      kill(pid, SIGKILL)
      world.end()
    }
    var signs: [String] = []
    world.conductor.signOfLife = { signs.append($0) }
    world.conductor.signOfLifeInterval = .milliseconds(20)
    #expect(throws: ConductorError.self) { try world.conductor.settle(limit: .milliseconds(300)) }
    #expect(signs.count > 2)
    #expect(signs.last?.contains("process \(pid) (world-puppet)") == true)
  }

  @Test("When the conductor goes away every process of its world ends by itself, with status 0")
  func end() throws {
    let world = try PuppetWorld()
    try world.puppet("a", everyMilliseconds: 1000, count: 1)
    try world.puppet("b", everyMilliseconds: 1000, count: 1)
    try world.conductor.settle()
    #expect(world.end() == [0, 0])
  }

  @Test("A process in no living world says so")
  func noWorld() throws {
    #expect(throws: ClockError.self) { try SharedClock(directory: "/nonexistent/world") }
  }

  @Test("Ten processes with thirty alarms each: every one rings once, in the order of time and of starting")
  func many() throws {
    let world = try PuppetWorld()
    defer { world.end() }
    for number in 0..<10 { try world.puppet("p\(number)", everyMilliseconds: 100, count: 30) }
    try world.conductor.run(until: Instant.zero + .seconds(4))
    #expect(
      world.lines == (1...30).flatMap { round in (0..<10).map { "p\($0) \(round * 100_000_000)" } })
  }
}
