// A process of a simulated world, for tests of the world's clock: `world-puppet NAME INTERVAL_MS COUNT FILE` rings
// COUNT times and appends `NAME NANOSECONDS` to FILE each time; then it waits for the world's end. `world-puppet spin`
// never rests.
import Glibc
import Synchronization
import Timekeeping

final class Ticker: Sendable {
  private let name: String
  private let interval: Duration
  private let file: Int32
  private let clock: any TimeSource
  private let left: Mutex<Int>
  private let alarm = Mutex<(any Alarm)?>(nil)

  init(name: String, interval: Duration, count: Int, file: Int32) throws {
    self.name = name
    self.interval = interval
    self.file = file
    clock = try ProcessClock.fromEnvironment()
    left = Mutex(count)
  }

  func start() {
    alarm.withLock { $0 = clock.makeAlarm { [self] in ring() } }
    next()
  }

  private func next() { alarm.withLock { $0?.set(clock.now + interval) } }

  private func ring() {
    let line = "\(name) \(clock.now.nanoseconds)\n"
    _ = line.withCString { write(file, $0, strlen($0)) }
    let isLast = left.withLock { left in
      left -= 1
      return left <= 0
    }
    if !isLast { next() }
  }
}

let arguments = CommandLine.arguments
if arguments.count == 2, arguments[1] == "spin" { while true { sched_yield() } }
guard arguments.count == 5, let interval = Int(arguments[2]), let count = Int(arguments[3]) else { exit(64) }
let file = open(arguments[4], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
try Ticker(name: arguments[1], interval: .milliseconds(interval), count: count, file: file).start()
while true { pause() }
