import Glibc

/// What was observed of one thread.
///
/// A thread's letter `S` does not mean that it is blocked. The kernel sets it before it checks whether there is
/// something to wait for, and clears it afterwards. `waitpid` reaps a dead child in this state, which takes
/// milliseconds if a folder of /proc has to be removed, and a thread that loses its processor meanwhile keeps the
/// letter for as long as others run. `wchan` distinguishes the two: it names a place only for a thread that is off
/// every processor's queue.
final class WatchedThread {
  let identifier: pid_t
  private let stat: ProcFile
  private var counter: RunCounter
  private let wait: ProcFile?
  private var childList: ProcFile?
  /// The position of the state in its stat file, as long as its name has the same length.
  private var stateOffset: Int?
  /// The run count at which it was seen blocked. It stays blocked until its next run, unless its letter changes.
  private var blockedAtRun: UInt64?
  private(set) var isBlocked = false
  private(set) var state: UInt8 = 0
  private(set) var name = "?"
  /// Clock ticks from the machine's start to the thread's.
  private(set) var startTime: UInt64 = 0

  /// `nil` if there is no such thread, or it can't be watched, which `buffer` notes.
  /// - Parameters:
  ///   - folder: the open folder of its process's threads.
  ///   - seesBlocking: whether this kernel reports which threads are blocked (`BlockedThreads.areShown`).
  init?(_ identifier: pid_t, in folder: Int32, seesBlocking: Bool, _ buffer: inout ProcBuffer) {
    errno = 0
    guard let stat = ProcFile(folder, "\(identifier)/stat"), let counter = RunCounter(folder, identifier) else {
      buffer.note(errno)
      return nil
    }
    let wait = seesBlocking ? ProcFile(folder, "\(identifier)/wchan") : nil
    if seesBlocking, wait == nil {
      buffer.note(errno)
      return nil
    }
    self.identifier = identifier
    (self.stat, self.counter, self.wait) = (stat, counter, wait)
  }

  var isStopped: Bool { state == UInt8(ascii: "T") || state == UInt8(ascii: "t") }
  private var isAsleep: Bool { state == UInt8(ascii: "S") || isStopped }
  /// How long it was on processors; 0 if the kernel does not report it.
  var processorNanoseconds: UInt64 { counter.processorNanoseconds }

  /// Whether it ran, or changed its state, since the last check; `nil` once it is gone.
  func observe(_ buffer: inout ProcBuffer) -> Bool? {
    // A zombie's statistics can still be read, and do not change.
    guard let ran = counter.read(&buffer) else { return nil }
    let runs = counter.runs
    // The short way: the thread has not run, and still waits where it was seen blocked. It would have to run to change
    // its state. If it had been woken, the kernel would name no place where it waits.
    if !ran, wait != nil, blockedAtRun == runs, isOffProcessors(&buffer) {
      isBlocked = true
      return false
    }
    let earlier = state
    guard let text = stat.readText(&buffer), read(text, isNew: ran) else { return nil }
    // The order matters: a thread that is blocked now has not run since the count was taken, if the next check finds
    // the same count. So a thread found blocked for the first time counts as blocked only at the next check.
    isBlocked = isAsleep && blockedAtRun == runs
    if !isBlocked { blockedAtRun = isAsleep && isOffProcessors(&buffer) ? runs : nil }
    return ran || state != earlier
  }

  /// The processes that it has started and that have not been waited for.
  /// - Parameter folder: the open folder of its process's threads.
  func children(in folder: Int32, _ buffer: inout ProcBuffer) -> [pid_t] {
    if childList == nil {
      errno = 0
      childList = ProcFile(folder, "\(identifier)/children")
      if childList == nil { buffer.note(errno) }
    }
    return childList?.readNumbers(&buffer) ?? []
  }

  /// Whether the kernel names a place where it waits. Assumed to be true if the kernel names no places.
  private func isOffProcessors(_ buffer: inout ProcBuffer) -> Bool {
    guard let wait else { return true }
    guard wait.read(&buffer) != nil else { return false }
    return buffer.bytes[0] != UInt8(ascii: "0")
  }

  /// Parses the contents of stat. Returns `false` if they are invalid.
  private func read(_ text: ArraySlice<UInt8>, isNew: Bool) -> Bool {
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
      startTime = fields.count > 19 ? decimalNumber(fields[19]) : 0
    }
    stateOffset = closing + 2
    return true
  }
}
