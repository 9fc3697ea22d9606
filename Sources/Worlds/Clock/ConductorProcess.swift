import Glibc

/// A thread of the world that was not asleep when it was checked.
package struct BusyThread: Sendable, Hashable, CustomStringConvertible {
  package let pid: pid_t
  package let processName: String
  package let thread: pid_t
  package let threadName: String
  /// The kernel's state letter (proc_pid_stat(5)). `S` for a thread that slept only in between, or that is marked
  /// asleep while it works in the kernel.
  package let state: Character
  /// The name of its machine in the story, if it has one.
  package var machine: String?

  package var description: String {
    "process \(pid) (\(processName)\(machine.map { " on \($0)" } ?? "")), thread \(thread) (\(threadName)), state \(state)"
  }
}

/// One process of the world, watched through /proc.
///
/// Its folder and its threads' files stay open. That is fast, and a descriptor of an ended process never shows
/// another process that got the same number.
final class WatchedProcess {
  let pid: pid_t
  private let folder: Int32
  private(set) var name = "?"
  private(set) var threads: [pid_t: WatchedThread] = [:]
  /// Clock ticks from the machine's start to this process's.
  private(set) var startTime: UInt64 = 0
  /// It may have new threads or children, because something ran since its lists were read.
  var isDirty = true
  private let seesBlocking: Bool

  /// `nil` if there is no such process any more.
  /// - Parameter seesBlocking: whether this kernel reports which threads are blocked (`BlockedThreads.areShown`).
  init?(pid: pid_t, seesBlocking: Bool = false) {
    self.pid = pid
    self.seesBlocking = seesBlocking
    folder = open("/proc/\(pid)/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if folder < 0 { return nil }
  }

  deinit { close(folder) }

  /// Stopped by a signal: it does nothing until it is continued.
  var isStopped: Bool {
    threads[pid]?.isStopped ?? false
  }

  enum Observation {
    /// All threads were blocked at the last check, and none of them has run since.
    case quiet
    case busy(BusyThread)
    case gone
  }

  /// Checks all threads.
  func observe(_ buffer: inout ProcBuffer) -> Observation {
    if threads.isEmpty { _ = findNewThreads(&buffer) }
    var busy: BusyThread?
    var isAlive = false
    for identifier in Array(threads.keys) {
      guard var thread = threads[identifier], let ran = thread.observe(&buffer) else {
        threads[identifier] = nil
        isDirty = true
        continue
      }
      threads[identifier] = thread
      if ran { isDirty = true }
      // A zombie has ended; its number is only kept for its parent. A dead thread (X) has yet to be taken off the
      // list. A process's last thread tells the parent only as it goes, so until then the end is not known.
      let hasEnded = thread.state == UInt8(ascii: "Z")
      if !hasEnded { isAlive = true }
      if identifier == pid, ran { (name, startTime) = (thread.name, thread.startTime) }
      guard ran || !(hasEnded || thread.isBlocked) else { continue }
      busy = BusyThread(
        pid: pid, processName: name, thread: identifier, threadName: thread.name,
        state: Character(UnicodeScalar(thread.state)))
    }
    if !isAlive { return .gone }
    if let busy { return .busy(busy) }
    // Only a running thread can create a thread, so this must be checked once after any of them ran.
    if isDirty, let new = findNewThreads(&buffer) {
      return .busy(BusyThread(pid: pid, processName: name, thread: new, threadName: "new", state: "?"))
    }
    return .quiet
  }

  /// - Returns: a new thread, if there is one.
  private func findNewThreads(_ buffer: inout ProcBuffer) -> pid_t? {
    var found: pid_t?
    for identifier in numbers(in: folder, &buffer) where threads[identifier] == nil {
      errno = 0
      guard let stat = ProcFile(folder, "\(identifier)/stat"), let runs = RunCounter(folder, identifier) else {
        buffer.note(errno)
        continue
      }
      let wait = seesBlocking ? ProcFile(folder, "\(identifier)/wchan") : nil
      if seesBlocking, wait == nil {
        buffer.note(errno)
        continue
      }
      threads[identifier] = WatchedThread(stat: stat, runs: runs, wait: wait)
      found = identifier
    }
    return found
  }

  /// How long its threads were on processors; 0 if the kernel does not report it.
  var processorNanoseconds: UInt64 { threads.values.reduce(0) { $0 &+ $1.processorNanoseconds } }

  /// The processes that it has started and that have not been waited for.
  ///
  /// The kernel lists them under the lock under which a process ends. So if a process is seen to have ended, its
  /// parent, and everything that waited for the end, has been told before this returns.
  func children(_ buffer: inout ProcBuffer) -> [pid_t] {
    numbers(in: folder, &buffer).flatMap { identifier -> [pid_t] in
      guard let file = ProcFile(folder, "\(identifier)/children") else {
        buffer.note(errno)
        return []
      }
      return file.readNumbers(&buffer)
    }
  }
}

/// What was observed of one thread.
///
/// A thread's letter `S` does not mean that it is blocked. The kernel sets it before it checks whether there is
/// something to wait for, and clears it afterwards. `waitpid` reaps a dead child in this state, which takes
/// milliseconds if a folder of /proc has to be removed, and a thread that loses its processor meanwhile keeps the
/// letter for as long as others run. `wchan` distinguishes the two: it names a place only for a thread that is off
/// every processor's queue.
struct WatchedThread {
  private let stat: ProcFile
  private let runs: RunCounter
  private let wait: ProcFile?
  private var count = RunCounter.Count(runs: .max, processorNanoseconds: 0)
  /// The position of the state in its stat file, as long as its name has the same length.
  private var stateOffset: Int?
  /// The run count at which it was seen blocked. It stays blocked until its next run, unless its letter changes.
  private var blockedAtRun: UInt64?
  private(set) var isBlocked = false
  private(set) var state: UInt8 = 0
  private(set) var name = "?"
  /// Clock ticks from the machine's start to the thread's.
  private(set) var startTime: UInt64 = 0

  init(stat: ProcFile, runs: RunCounter, wait: ProcFile?) {
    self.stat = stat
    self.runs = runs
    self.wait = wait
  }

  var isStopped: Bool { state == UInt8(ascii: "T") || state == UInt8(ascii: "t") }
  private var isAsleep: Bool { state == UInt8(ascii: "S") || isStopped }
  var processorNanoseconds: UInt64 { count.processorNanoseconds }

  /// Whether it ran, or changed its state, since the last check; `nil` once it is gone.
  mutating func observe(_ buffer: inout ProcBuffer) -> Bool? {
    // A zombie's statistics can still be read, and do not change.
    guard let count = runs.read(&buffer) else { return nil }
    let earlier = (self.count.runs, state)
    self.count = count
    guard let text = stat.readText(&buffer), read(text, isNew: count.runs != earlier.0) else { return nil }
    // The order matters: a thread that is blocked now has not run since the count was taken, if the next check finds
    // the same count. So a thread found blocked for the first time counts as blocked only at the next check.
    isBlocked = isAsleep && blockedAtRun == count.runs
    if !isBlocked { blockedAtRun = isAsleep && isOffProcessors(&buffer) ? count.runs : nil }
    return count.runs != earlier.0 || state != earlier.1
  }

  /// Whether the kernel names a place where it waits. Assumed to be true if the kernel names no places.
  private func isOffProcessors(_ buffer: inout ProcBuffer) -> Bool {
    guard let wait else { return true }
    guard let place = wait.readText(&buffer) else { return false }
    return place.first != UInt8(ascii: "0")
  }

  /// Parses the contents of stat. Returns `false` if they are invalid.
  private mutating func read(_ text: ArraySlice<UInt8>, isNew: Bool) -> Bool {
    // Another thread can rename it at any time.
    if !isNew, let stateOffset, stateOffset < text.endIndex, text[stateOffset - 2] == UInt8(ascii: ")") {
      state = text[stateOffset]
      return true
    }
    guard let opening = text.firstIndex(of: UInt8(ascii: "(")), let closing = text.lastIndex(of: UInt8(ascii: ")")),
      closing + 2 < text.endIndex
    else { return false }
    name = String(decoding: text[(opening + 1)..<closing], as: UTF8.self)
    state = text[closing + 2]
    if stateOffset == nil {
      // Field 3 is the first after the name; field 22 is the start time.
      let fields = text[(closing + 2)...].split(separator: UInt8(ascii: " "), maxSplits: 20)
      startTime = fields.count > 19 ? number(fields[19]) : 0
    }
    stateOffset = closing + 2
    return true
  }
}

/// The names in a folder of /proc that are numbers.
private func numbers(in folder: Int32, _ buffer: inout ProcBuffer) -> [pid_t] {
  // A separate descriptor, because a directory stream takes ownership of it and of its position.
  let copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard copy >= 0, let stream = fdopendir(copy) else {
    buffer.note(errno)
    return []
  }
  defer { closedir(stream) }
  var result: [pid_t] = []
  while let entry = readdir(stream) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
      pointer.withMemoryRebound(to: CChar.self, capacity: 256) { atoi($0) }
    }
    if name > 0 { result.append(name) }
  }
  return result
}

/// How often a thread was put on a processor or, if the kernel has no scheduler statistics, how often it left one.
enum RunCounter {
  case schedstat(ProcFile)
  case status(ProcFile)

  struct Count {
    var runs: UInt64
    /// Nanoseconds on processors; 0 if the kernel does not report it.
    var processorNanoseconds: UInt64
  }

  init?(_ folder: Int32, _ thread: pid_t) {
    if let file = ProcFile(folder, "\(thread)/schedstat") {
      self = .schedstat(file)
    } else if let file = ProcFile(folder, "\(thread)/status") {
      self = .status(file)
    } else {
      return nil
    }
  }

  func read(_ buffer: inout ProcBuffer) -> Count? {
    switch self {
    case .schedstat(let file):
      // Time on a processor, time waiting for one, and number of runs.
      guard let text = file.readText(&buffer), let first = text.firstIndex(of: UInt8(ascii: " ")),
        let last = text.lastIndex(of: UInt8(ascii: " "))
      else { return nil }
      return Count(runs: number(text[last...]), processorNanoseconds: number(text[..<first]))
    case .status(let file):
      guard let text = file.readText(&buffer) else { return nil }
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
      let counts = lines.filter { $0.contains("ctxt_switches:") }
      return Count(
        runs: counts.reduce(0) { sum, line in sum &+ number(Array(line.utf8)[...]) }, processorNanoseconds: 0)
    }
  }
}

/// A buffer for reading from /proc, used again and again.
struct ProcBuffer {
  fileprivate var bytes = [UInt8](repeating: 0, count: 8192)
  /// Why something that exists could not be opened. Something that has gone is not a failure.
  private(set) var failure: Int32?

  fileprivate mutating func note(_ number: Int32) {
    if number == EMFILE || number == ENFILE || number == ENOMEM { failure = number }
  }
}

/// One open file of /proc.
final class ProcFile {
  private let file: Int32

  init?(_ folder: Int32, _ path: String) {
    file = openat(folder, path, O_RDONLY | O_CLOEXEC)
    if file < 0 { return nil }
  }

  deinit { close(file) }

  /// Its present content, or `nil` once the thread is gone.
  func readText(_ buffer: inout ProcBuffer) -> ArraySlice<UInt8>? {
    let count = pread(file, &buffer.bytes, buffer.bytes.count, 0)
    return count > 0 ? buffer.bytes[..<count] : nil
  }

  /// All numbers in it, whatever its length.
  func readNumbers(_ buffer: inout ProcBuffer) -> [pid_t] {
    var text: [UInt8] = []
    while true {
      let count = pread(file, &buffer.bytes, buffer.bytes.count, off_t(text.count))
      guard count > 0 else { break }
      text += buffer.bytes[..<count]
    }
    return text.split(separator: UInt8(ascii: " ")).compactMap { pid_t(exactly: number($0)) }.filter { $0 > 0 }
  }
}

/// The decimal digits of `text` as a number, ignoring other characters.
private func number(_ text: ArraySlice<UInt8>) -> UInt64 {
  text.reduce(0) { value, byte in
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? value &* 10 &+ UInt64(byte - UInt8(ascii: "0")) : value
  }
}
