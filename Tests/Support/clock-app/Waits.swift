import Foundation
import Glibc

/// Every way of waiting that the system's libraries have, each with a time of its own.
struct Waits {
  let count: Int

  func begin() {
    beginTimers()
    beginTasks()
    beginThreads()
  }

  /// Runs the main run loop, in turns.
  func runMainLoop() {
    for number in 1...count {
      RunLoop.main.run(until: Date(timeIntervalSinceNow: 1900))
      Self.ended("loop", number)
    }
  }

  /// Says that the wait with this number is over.
  private static func ended(_ way: String, _ number: Int) { record("waited", ["way": way, "number": number]) }

  // MARK: Timers

  private func beginTimers() {
    let count = count
    nonisolated(unsafe) var fired = 0
    _ = Timer.scheduledTimer(withTimeInterval: 600, repeats: true) { timer in
      fired += 1
      Self.ended("timer", fired)
      if fired == count { timer.invalidate() }
    }
    nonisolated(unsafe) var handled = 0
    nonisolated(unsafe) let source = DispatchSource.makeTimerSource(queue: .main)
    source.schedule(deadline: .now() + 900, repeating: 900)
    source.setEventHandler {
      handled += 1
      Self.ended("source", handled)
      if handled == count { source.cancel() }
    }
    source.resume()
    nonisolated(unsafe) let wall = DispatchSource.makeTimerSource(queue: .main)
    nonisolated(unsafe) var walls = 0
    wall.schedule(wallDeadline: .now() + 950, repeating: 950)
    wall.setEventHandler {
      walls += 1
      Self.ended("wall", walls)
      if walls == count { wall.cancel() }
    }
    wall.resume()
    after(1)
  }

  private func after(_ number: Int) {
    guard number <= count else { return }
    DispatchQueue.main.asyncAfter(deadline: .now() + 1000) {
      Self.ended("after", number)
      after(number + 1)
    }
  }

  // MARK: Tasks

  private func beginTasks() {
    let count = count
    Task {
      for number in 1...count {
        try await Task.sleep(for: .seconds(1100))
        Self.ended("task", number)
      }
    }
    Task {
      for number in 1...count {
        try await Task.sleep(until: .now + .seconds(1200), clock: .suspending)
        Self.ended("suspending", number)
      }
    }
    Task {
      for number in 1...count {
        let took = try await ContinuousClock().measure { try await Task.sleep(nanoseconds: 1_300_000_000_000) }
        // As long as it took by the clock that it was measured by.
        if took.components.seconds == 1300 { Self.ended("continuous", number) }
      }
    }
  }

  // MARK: Threads

  private func beginThreads() {
    thread("sleep") { Thread.sleep(forTimeInterval: 1400) }
    thread("usleep") { usleep(1_450_000_000) }
    thread("semaphore") { _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 1500) }
    let group = DispatchGroup()
    group.enter()
    thread("group") { _ = group.wait(timeout: .now() + 1600) }
    let item = DispatchWorkItem {}
    thread("item") { _ = item.wait(timeout: .now() + 1650) }
    thread("condition") {
      let condition = NSCondition()
      condition.lock()
      _ = condition.wait(until: Date(timeIntervalSinceNow: 1700))
      condition.unlock()
    }
    let held = NSLock()
    held.lock()
    thread("lock") { _ = held.lock(before: Date(timeIntervalSinceNow: 1800)) }
    thread("poll") { _ = poll(nil, 0, 2_000_000) }
    thread("select") {
      var limit = timeval(tv_sec: 2100, tv_usec: 0)
      _ = select(0, nil, nil, nil, &limit)
    }
    // `Process.waitUntilExit` would look after its child twenty times a second.
    thread("child") {
      let texts: [String] = ["sleep", "2300"]
      var words = texts.map { strdup($0) } + [nil]
      defer { for word in words { free(word) } }
      var child: pid_t = 0
      guard posix_spawn(&child, "/bin/sleep", nil, nil, &words, environ) == 0 else { exit(1) }
      waitpid(child, nil, 0)
    }
    // Two threads, of which one wakes the other before its time is over.
    let signalled = DispatchSemaphore(value: 0)
    thread("signaller") {
      Thread.sleep(forTimeInterval: 2400)
      signalled.signal()
    }
    thread("signalled") { if signalled.wait(timeout: .now() + 100_000) == .timedOut { exit(1) } }
  }

  private func thread(_ way: String, _ wait: @escaping () -> Void) {
    nonisolated(unsafe) let wait = wait
    let count = count
    Thread {
      for number in 1...count {
        wait()
        Self.ended(way, number)
      }
    }.start()
  }
}

/// Loops that ask again and again whether a second has passed, with waits that may end too soon or take no time.
enum Impatience {
  static func begin() {
    run("nothing") { _ in usleep(0) }
    run("condition") { end in
      let condition = NSCondition()
      condition.lock()
      _ = condition.wait(until: end)
      condition.unlock()
    }
    run("semaphore") { _ in _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .microseconds(1)) }
    run("loop") { end in _ = RunLoop.current.run(mode: .default, before: end) }
    run("question") { _ in }
  }

  private static func run(_ way: String, _ wait: @escaping @Sendable (Date) -> Void) {
    Thread {
      // No time that a timer can have: a third of a nanosecond is lost.
      let end = Date(timeIntervalSinceNow: 0.000_333_333_333)
      while Date() < end { wait(end) }
      record("patient", ["way": way])
    }.start()
  }
}
