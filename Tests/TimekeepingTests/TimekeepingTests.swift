import Synchronization
import Testing
import TimeTypes
import Timekeeping

@Suite("Clocks and alarms")
struct TimekeepingTests {
  @Test("A clock moved by hand rings alarms in order, each at its own time")
  func manualOrder() {
    let clock = ManualClock()
    let rung = Mutex<[String]>([])
    for (name, seconds) in [("late", 30.0), ("early", 10), ("middle", 20), ("also early", 10)] {
      clock.makeAlarm { rung.withLock { $0.append("\(name) \(clock.now.seconds)") } }.set(.zero + .seconds(seconds))
    }
    #expect(clock.nextDeadline == .zero + .seconds(10))
    clock.advance(to: .zero + .seconds(25))
    #expect(rung.withLock { $0 } == ["early 10.0", "also early 10.0", "middle 20.0"])
    #expect(clock.now == .zero + .seconds(25))
    clock.advance(to: .zero + .seconds(5))
    #expect(clock.now == .zero + .seconds(25), "time never goes back")
  }

  @Test("An alarm set while one rings rings in the same move, also for now; one that is stopped doesn't")
  func manualReentrance() {
    let clock = ManualClock()
    let count = Mutex(0)
    let stopped = clock.makeAlarm { count.withLock { $0 += 1000 } }
    stopped.set(.zero + .seconds(2))
    let again = Mutex<(any Alarm)?>(nil)
    let alarm = clock.makeAlarm {
      stopped.set(nil)
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number < 5 { again.withLock { $0 }?.set(clock.now + .seconds(number == 1 ? 0 : 1)) }
    }
    again.withLock { $0 = alarm }
    alarm.set(.zero + .seconds(1))
    clock.advance(by: .seconds(3))
    // Twice at 1 s, once at 2 s and once at 3 s. The fifth is due at 4 s.
    #expect(count.withLock { $0 } == 4)
    #expect(clock.nextDeadline == .zero + .seconds(4))
    again.withLock { $0 = nil }
  }

  @Test("An alarm set for the past rings in the next move and not before")
  func manualPast() {
    let clock = ManualClock(now: .zero + .seconds(100))
    let count = Mutex(0)
    clock.makeAlarm { count.withLock { $0 += 1 } }.set(.zero + .seconds(1))
    #expect(count.withLock { $0 } == 0)
    clock.ring()
    #expect(count.withLock { $0 } == 1)
    #expect(clock.now == .zero + .seconds(100))
  }

  @Test("A clock that leaps rings what is due soon at once, at its time, and waits for what is not")
  func leapingClock() {
    let base = ManualClock(now: .zero + .seconds(100))
    let clock = LeapingClock(base, over: .milliseconds(50))
    let rung = Mutex<[String]>([])
    func alarm(_ name: String) -> any Alarm {
      clock.makeAlarm { rung.withLock { $0.append("\(name) \(clock.now.seconds)") } }
    }
    let (near, far) = (alarm("near"), alarm("far"))
    far.set(clock.now + .seconds(10))
    near.set(clock.now + .milliseconds(30))
    #expect(rung.withLock { $0 } == ["near 100.03"])
    #expect(base.now == .zero + .seconds(100))
    near.set(clock.now - .seconds(1))
    #expect(clock.now == .zero + .milliseconds(100_030), "time never goes back")
    near.set(clock.now + .milliseconds(50))
    #expect(rung.withLock { $0 } == ["near 100.03", "near 100.03", "near 100.08"])
    base.advance(by: .seconds(10))
    #expect(rung.withLock { $0.last } == "far 110.08")
    // An alarm that waits is no longer due after it is stopped, or set for another time.
    near.set(clock.now + .seconds(1))
    near.set(nil)
    far.set(clock.now + .seconds(1))
    far.set(clock.now + .milliseconds(20))
    base.advance(by: .seconds(2))
    #expect(rung.withLock { $0.count } == 5)
    #expect(rung.withLock { $0.last } == "far 110.1")
    #expect(abs(clock.unixSeconds - base.unixSeconds - 0.1) < 1e-6)
  }

  @Test("The machine's clock rings by itself, in order, and an alarm that is set again rings once")
  func bootClock() async throws {
    let clock = try BootClock()
    let (rings, continuation) = AsyncStream<String>.makeStream()
    let second = clock.makeAlarm { continuation.yield("second") }
    let first = clock.makeAlarm { continuation.yield("first") }
    let moved = clock.makeAlarm { continuation.yield("moved") }
    let start = clock.now
    moved.set(start)
    moved.set(start + .seconds(3600))
    second.set(start + .milliseconds(30))
    first.set(start + .milliseconds(10))
    var iterator = rings.makeAsyncIterator()
    var heard: [String] = []
    // The first may have rung before it was set anew, as with any running clock.
    while heard.last != "second", let next = await iterator.next() { heard.append(next) }
    #expect(heard.filter { $0 != "moved" } == ["first", "second"])
    #expect(clock.now - start >= .milliseconds(30))
    #expect(clock.unixSeconds > 1_700_000_000)
  }

  @Test("A point in time is written as days and a time of day")
  func description() {
    let instant = Instant(nanoseconds: 353_587_250_000_000)
    #expect(instant.description == "4d 02:13:07.250")
  }
}
