import Foundation
import Glibc
import Journal
import JournalEvents

/// What one machine recorded, as `journalctl --output=json` exports its journal.
package struct ExportedJournal: Sendable {
  /// The machine's name in the story.
  package let machine: String
  package let file: String
  /// Latchkey's lines in the journal's order; their times are the machine's own, in Unix nanoseconds.
  package var entries: [JournalEntry] = []
  /// The cursors of these lines in the journal. They show whether a line is in two files.
  package private(set) var cursors: Set<String> = []

  /// The longest line, in bytes. No line of Latchkey is nearly as long.
  static let lineLimit = 4 << 20
  /// The most entries: months of a home that is used daily.
  static let entryLimit = 1_000_000
  /// By how much, in nanoseconds, a line may be earlier than one before it. Lines get out of order by less, and a clock
  /// that is set back moves by more.
  static let clockTolerance: Int64 = 1_000_000_000

  /// - Parameters:
  ///   - machine: what the story calls the machine.
  ///   - path: a file, or a pipe from journalctl.
  /// - Throws: `JournalExportError` if it can't be read, is no journal, or has been cut.
  package init(of machine: String, path: String) throws(JournalExportError) {
    self.machine = machine
    file = path
    var latest: Int64 = 0
    var lines = try ExportedLines(path)
    while let line = try lines.next() {
      let number = lines.lineNumber
      func refusal(_ problem: String) -> JournalExportError {
        JournalExportError(file: path, line: number, problem: problem)
      }
      guard let line = SystemdJournalLine(line), line.cursor != nil else {
        throw refusal("is not a line of `journalctl --output=json`")
      }
      guard let entry = line.recordedEntry(machine: machine) else { continue }
      guard let time = line.unixNanoseconds else { throw refusal("has no time") }
      guard time > latest - Self.clockTolerance else {
        throw refusal(
          "the clock of \(machine) went back by \((latest - time) / 1_000_000_000) s here, so the order of events "
            + "is unknown; export one side of it alone, with journalctl's --since or --until")
      }
      latest = max(latest, time)
      guard entries.count < Self.entryLimit else {
        throw refusal("is more than \(Self.entryLimit) lines from Latchkey; export less, with journalctl's --since")
      }
      entries.append(entry)
      line.cursor.map { _ = cursors.insert($0) }
    }
    guard lines.lineNumber > 0 else { throw JournalExportError(file: path, line: nil, problem: "is empty") }
  }
}

extension SystemdJournalLine {
  /// The line as an entry of the story: a program's own record, or systemd's report that a part of the system has ended
  /// by itself.
  fileprivate func recordedEntry(machine: String) -> JournalEntry? {
    let time = unixNanoseconds ?? 0
    if let (unit, end) = failedUnit, let process = RemoteRecords.processes[unit] {
      return JournalEntry(
        t: time, wall: time, machine: machine, process: Recorded.orchestrator, pid: 0, level: "notice",
        event: Recorded.Story.processFailed.rawValue, message: "\(process) ended by itself: \(end)",
        fields: [JournalField.program.rawValue: process])
    }
    guard var entry = entry(machine: machine, t: time, wall: time) else { return nil }
    switch entry.process {
    // The orchestrator's entries are in one journal, but concern all machines.
    case Recorded.orchestrator: entry.machine = fields["LATCHKEY_MACHINE"] ?? machine
    case Recorded.air: entry.machine = ""
    default: break
    }
    return entry
  }
}

/// Why a journal that somebody exported can't be used: which, where, and what is wrong.
package struct JournalExportError: Error, Sendable, Equatable, CustomStringConvertible {
  package var file: String
  package var line: Int?
  package var problem: String
  /// It can't be read at all.
  package var isMissing = false

  package init(file: String, line: Int?, problem: String, isMissing: Bool = false) {
    self.file = file
    self.line = line
    self.problem = problem
    self.isMissing = isMissing
  }

  package var description: String { ScenarioError(file: file, line: line, problem: problem).description }
}

/// The lines of a file or a pipe, one after the other.
private struct ExportedLines: ~Copyable {
  private let path: String
  private let file: Int32
  private var buffer: [UInt8] = []
  private var unread = 0
  private var hasEnded = false
  /// The number of the line that was returned last, from 1.
  private(set) var lineNumber = 0

  init(_ path: String) throws(JournalExportError) {
    self.path = path
    // Opening a named pipe must not wait for a writer.
    file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw Self.refusal(path) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw Self.refusal(path) }
    guard [S_IFREG, S_IFIFO].contains(status.st_mode & S_IFMT) else {
      throw JournalExportError(file: path, line: nil, problem: "is neither a file nor a pipe", isMissing: true)
    }
    _ = fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK)
  }

  deinit { if file >= 0 { close(file) } }

  private static func refusal(_ path: String) -> JournalExportError {
    JournalExportError(
      file: path, line: nil, problem: "can't be read: \(String(cString: strerror(errno)))", isMissing: true)
  }

  /// `nil` at the end.
  mutating func next() throws(JournalExportError) -> Data? {
    var searched = unread
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0A) {
        defer { unread = end + 1 }
        lineNumber += 1
        return Data(buffer[unread..<end])
      }
      if hasEnded {
        guard unread == buffer.count else {
          throw JournalExportError(
            file: path, line: lineNumber + 1, problem: "has no end: the file was truncated")
        }
        return nil
      }
      guard buffer.count - unread <= ExportedJournal.lineLimit else {
        throw JournalExportError(
          file: path, line: lineNumber + 1,
          problem: "is longer than \(ExportedJournal.lineLimit) bytes; export Latchkey's units alone, without --all")
      }
      buffer.removeFirst(unread)
      unread = 0
      searched = buffer.count
      try fill()
    }
  }

  private mutating func fill() throws(JournalExportError) {
    var piece = [UInt8](repeating: 0, count: 1 << 18)
    let count = Glibc.read(file, &piece, piece.count)
    if count < 0, errno == EINTR { return }
    guard count >= 0 else { throw Self.refusal(path) }
    hasEnded = count == 0
    buffer += piece[..<count]
  }
}
