// A process of a simulated world, for tests of the world's clock. `world-puppet NAME INTERVAL_MS COUNT FILE` has COUNT
// alarms, and appends `NAME NANOSECONDS` to FILE at each; then it waits for the end of the world. `world-puppet spin` is
// never idle. `world-puppet past` sets its alarms for a second ago. `world-puppet reaper COUNT FILE` starts a child that
// holds COUNT files open, appends `ready CHILD`, waits for the child's end, reaps it, and appends `reaped NANOSECONDS`.
// `world-puppet relay COUNT FILE IN OUT` passes COUNT bytes on from one FIFO to the other, each by a thread that ends at once, and
// appends `relayed`. It begins by itself if IN is shorter than OUT.
import CSystemd
import Glibc
import Synchronization
import Threads
import TimeTypes
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

/// Starts a child, and waits for its end as latchkeyd waits for an app's.
func reap(filesHeld: String, file: String) throws {
  let clock = try ProcessClock.fromEnvironment()
  var ends: [Int32] = [-1, -1]
  guard latchkey_pipe(&ends) == 0 else { exit(71) }
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
  let words: [String] = [CommandLine.arguments[0], "hold", filesHeld]
  var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
  var child: pid_t = 0
  guard posix_spawn(&child, "/proc/self/exe", &actions, nil, &arguments, environ) == 0 else { exit(71) }
  close(ends[1])
  var byte: UInt8 = 0
  guard read(ends[0], &byte, 1) == 1 else { exit(71) }
  append("ready \(child)", to: file)
  var poller = pollfd(fd: latchkey_pidfd_open(child), events: Int16(POLLIN), revents: 0)
  while poll(&poller, 1, -1) != 1 {}
  var status: Int32 = 0
  while waitpid(child, &status, 0) != child {}
  append("reaped \(clock.now.nanoseconds)", to: file)
}

func append(_ line: String, to path: String) {
  let file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
  _ = (line + "\n").withCString { write(file, $0, strlen($0)) }
  close(file)
}

/// Its folder in /proc is large, so reaping it takes long.
func hold(_ count: Int32) -> Never {
  for _ in 0..<count where dup(0) < 0 { break }
  var byte: UInt8 = 0x0A
  _ = write(1, &byte, 1)
  while true { pause() }
}

/// What wakes the next process is gone before anyone can see it.
func relay(_ count: Int, file: String, from source: String, to target: String) throws {
  _ = try ProcessClock.fromEnvironment()
  let (input, output) = (open(source, O_RDWR | O_CLOEXEC), open(target, O_RDWR | O_CLOEXEC))
  guard input >= 0, output >= 0 else { exit(71) }
  func pass() throws {
    try DetachedThread.start {
      var byte: UInt8 = 0x0A
      _ = write(output, &byte, 1)
    }
  }
  if source.count < target.count { try pass() }
  var byte: UInt8 = 0
  for _ in 0..<count where read(input, &byte, 1) == 1 { try pass() }
  append("relayed", to: file)
}

let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "spin": while true { sched_yield() }
case "hold": hold(Int32(arguments[2]) ?? 0)
case "reaper":
  try reap(filesHeld: arguments[2], file: arguments[3])
  while true { pause() }
case "relay":
  try relay(Int(arguments[2]) ?? 0, file: arguments[3], from: arguments[4], to: arguments[5])
  while true { pause() }
case "past":
  let clock = try ProcessClock.fromEnvironment()
  let alarm = Mutex<(any Alarm)?>(nil)
  let made = clock.makeAlarm { alarm.withLock { $0?.set(clock.now - .seconds(1)) } }
  alarm.withLock { $0 = made }
  made.set(clock.now + .seconds(2))
  while true { pause() }
default: break
}
guard arguments.count == 5, let interval = Int(arguments[2]), let count = Int(arguments[3]) else { exit(64) }
let file = open(arguments[4], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
try Ticker(name: arguments[1], interval: .milliseconds(interval), count: count, file: file).start()
while true { pause() }
