import ChildProcesses
import Foundation
import Glibc
import TimeTypes

/// Follows systemd's journal of one machine, across reboots, and knows the machine's clock.
///
/// It delivers what it reads in order, on a thread of its own. `sync` returns when everything written before the call
/// has been delivered. If there are several followers, ask each first and then wait.
final class JournalFollower: @unchecked Sendable {
  private let name: String
  private let shell: SecureShell
  private let onLine: @Sendable (SystemdJournalLine) -> Void
  private let now: @Sendable () -> Int64
  // Guarded by the condition.
  private let condition = NSCondition()
  private var cursor: String?
  private var synced: Set<String> = []
  private var isFollowing = false
  private var answers: [(text: String, at: Int64)] = []
  private var clockKnown = MachineClock()
  // Used by the calling thread.
  private var inputs: [Int32] = []
  private var processes: [RunningProcess] = []
  private var questions: Int32 = -1
  private var lastSync = 0

  /// - Parameters:
  ///   - now: the world's time, in nanoseconds.
  ///   - onLine: called for each line, on a thread of the follower.
  init(
    _ name: String, _ shell: SecureShell, now: @escaping @Sendable () -> Int64,
    onLine: @escaping @Sendable (SystemdJournalLine) -> Void
  ) {
    self.name = name
    self.shell = shell
    self.now = now
    self.onLine = onLine
  }

  var clock: MachineClock {
    condition.lock()
    defer { condition.unlock() }
    return clockKnown
  }

  /// Whether the stream is open, as far as is known.
  var isOpen: Bool {
    condition.lock()
    defer { condition.unlock() }
    return isFollowing
  }

  /// Follows from the last line that was read, or from now on if it is the first time.
  func open() throws {
    // Answers one question per line: the clock, which needs no process, or a line for the journal, which goes through
    // the same socket as everyone's structured lines, after them.
    let script = """
      while IFS= read -r line; do case $line in \
      time) printf '%s\\n' "${EPOCHREALTIME}" ;; \
      *) printf 'MESSAGE=orchestrator: sync\\nPRIORITY=7\\nLATCHKEY_SYNC=%s\\n' "$line" | logger --journald; echo done ;; \
      esac; done
      """
    condition.lock()
    clockKnown = MachineClock()
    answers = []
    let from = cursor
    condition.unlock()
    let asking = try shell.start(
      "exec bash -c \(SecureShell.quoted(script))", onLine: { [weak self] in self?.answered($0) }, onEnd: {})
    questions = asking.input
    inputs.append(asking.input)
    processes.append(asking.process)
    for _ in 0..<3 { try sampleClock() }

    let start = try from ?? lastCursor()
    condition.lock()
    isFollowing = true
    condition.unlock()
    // It ends with its standard input, so a lost connection leaves nothing behind.
    let following = try shell.start(
      "journalctl --output=json --all --follow --no-tail --after-cursor=\(SecureShell.quoted(start)) & reader=$!; "
        + "cat >/dev/null; kill $reader",
      onLine: { [weak self] in self?.take($0) }, onEnd: { [weak self] in self?.streamEnded() })
    inputs.append(following.input)
    processes.append(following.process)
    try sync()
  }

  func close() {
    for input in inputs { Glibc.close(input) }
    inputs = []
    questions = -1
    for process in processes { try? process.waitForEnd(limit: .seconds(5)) }
    processes = []
    condition.lock()
    isFollowing = false
    condition.unlock()
  }

  /// A question to a machine, which shows how far its journal has been read.
  struct Question {
    fileprivate var word: String
    fileprivate var asked: Int64
  }

  /// Returns when everything in the machine's journal at the time of the call has been delivered.
  func sync(limit: TimeInterval = 60) throws { try finish(try beginSync(), limit: limit) }

  /// Asks without waiting for the answer. Others can be asked in the meantime.
  func beginSync() throws -> Question {
    lastSync += 1
    let question = Question(word: "\(getpid())-\(lastSync)", asked: now())
    try put("time\n\(question.word)\n")
    return question
  }

  /// Returns when everything in the machine's journal at the time of the question has been delivered.
  func finish(_ question: Question, limit: TimeInterval = 60) throws {
    let until = Date(timeIntervalSinceNow: limit)
    try takeClock(askedAt: question.asked, until: until)
    _ = try answer(until: until)
    guard wait(until: until, { synced.remove(question.word) != nil || !isFollowing }) else {
      throw WorldError("the journal of \(name) does not show what was written to it")
    }
    guard isOpen else { throw WorldError("the journal of \(name) can't be followed any more") }
  }

  /// The present end of the journal.
  private func lastCursor() throws -> String {
    let output = try shell.run("journalctl --output=json --lines=1 --no-pager")
    guard let line = output.split(separator: "\n").last, let cursor = SystemdJournalLine(Data(line.utf8))?.cursor else {
      throw WorldError("\(name) has no systemd journal that can be read")
    }
    return cursor
  }

  private func sampleClock() throws {
    let asked = now()
    try put("time\n")
    try takeClock(askedAt: asked, until: Date(timeIntervalSinceNow: 60))
  }

  private func takeClock(askedAt asked: Int64, until limit: Date) throws {
    let (text, answered) = try answer(until: limit)
    let parts = text.split(whereSeparator: { $0 == "." || $0 == "," })
    guard parts.count == 2, parts[1].count == 6, let seconds = Int64(parts[0]), let fraction = Int64(parts[1]),
      (0...MachineClock.lastUnixSecond).contains(seconds), fraction >= 0,
      let reading = MachineClock.unixNanoseconds(microseconds: seconds * 1_000_000 + fraction)
    else {
      throw WorldError("\(name) does not tell its time: \(text.trimmed(to: 100))")
    }
    condition.lock()
    clockKnown.take(
      asked: .init(nanoseconds: asked), answered: .init(nanoseconds: answered),
      reading: reading)
    condition.unlock()
  }

  private func put(_ questions: String) throws {
    let bytes = Array(questions.utf8)
    guard self.questions >= 0, write(self.questions, bytes, bytes.count) == bytes.count else {
      throw WorldError("\(name) is not connected")
    }
  }

  /// The next answer, and when it came. Answers come in the order of the questions.
  private func answer(until limit: Date) throws -> (text: String, at: Int64) {
    guard wait(until: limit, { !answers.isEmpty }) else { throw WorldError("\(name) does not answer") }
    condition.lock()
    defer { condition.unlock() }
    return answers.removeFirst()
  }

  private func wait(until limit: Date, _ isDone: () -> Bool) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    while !isDone() {
      guard condition.wait(until: limit) else { return isDone() }
    }
    return true
  }

  // MARK: Reading threads

  private func answered(_ line: Data) {
    let at = now()
    condition.lock()
    answers.append((String(decoding: line, as: UTF8.self), at))
    condition.broadcast()
    condition.unlock()
  }

  private func take(_ data: Data) {
    guard let line = SystemdJournalLine(data) else { return }
    if line.sync == nil { onLine(line) }
    condition.lock()
    if let cursor = line.cursor { self.cursor = cursor }
    if let word = line.sync { synced.insert(word) }
    condition.broadcast()
    condition.unlock()
  }

  private func streamEnded() {
    condition.lock()
    isFollowing = false
    condition.broadcast()
    condition.unlock()
  }
}
