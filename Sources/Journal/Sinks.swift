import CSystemd
import Foundation
import Glibc
import Logging

/// Appends lines of JSON to a file that several processes share. Each line is one `write`, so that lines never mix.
final class FileSink: JournalSink {
  private let file: Int32

  init(path: String) throws {
    file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw JournalError(description: "the journal \(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(file) }

  func write(_ entry: JournalEntry, level: Logger.Level) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard var line = try? encoder.encode(entry) else { return }
    line.append(UInt8(ascii: "\n"))
    line.withUnsafeBytes { bytes in writeOnce(file, bytes) }
  }
}

/// Sends fields to systemd's journal.
struct SystemdSink: JournalSink {
  func write(_ entry: JournalEntry, level: Logger.Level) {
    var fields = [
      ("MESSAGE", entry.message), ("PRIORITY", Self.priority(of: level)), ("SYSLOG_IDENTIFIER", entry.process),
      ("LATCHKEY_TIME", String(entry.t)),
    ]
    if !entry.machine.isEmpty { fields.append(("LATCHKEY_MACHINE", entry.machine)) }
    if let event = entry.event { fields.append(("LATCHKEY_EVENT", event)) }
    let own = entry.fields.sorted { $0.key < $1.key }
    if !own.isEmpty { fields.append((JournalFieldNames.variable, JournalFieldNames.list(own.map(\.key)))) }
    for (name, value) in own { fields.append((JournalFieldNames.systemdName(name), value)) }
    let records = fields.map { name, value in Array("\(name)=\(value)".utf8) }
    var vectors: [iovec] = []
    var buffers: [UnsafeMutableRawPointer] = []
    for record in records {
      let buffer = UnsafeMutableRawPointer.allocate(byteCount: record.count, alignment: 1)
      buffer.copyMemory(from: record, byteCount: record.count)
      buffers.append(buffer)
      vectors.append(iovec(iov_base: buffer, iov_len: record.count))
    }
    // A missing journal must not stop the program.
    _ = latchkey_journal_send(vectors, Int32(vectors.count))
    for buffer in buffers { buffer.deallocate() }
  }

  /// syslog(3)'s levels.
  private static func priority(of level: Logger.Level) -> String {
    switch level {
    case .critical: "2"
    case .error: "3"
    case .warning: "4"
    case .notice: "5"
    case .info: "6"
    case .debug, .trace: "7"
    }
  }
}

/// One line of text per entry, for a person who started the program by hand.
struct StandardErrorSink: JournalSink {
  func write(_ entry: JournalEntry, level: Logger.Level) {
    var line = "\(entry.level) \(entry.process): \(entry.message)"
    for (name, value) in entry.fields.sorted(by: { $0.key < $1.key }) { line += " \(name)=\(value)" }
    // The logged text may come from outside, so control characters must not reach the terminal.
    let printable = line.unicodeScalars.map { $0.properties.generalCategory == .control ? "�" : $0 }
    var bytes = Array(String(String.UnicodeScalarView(printable)).utf8)
    bytes.append(UInt8(ascii: "\n"))
    bytes.withUnsafeBytes { writeOnce(STDERR_FILENO, $0) }
  }
}

/// One write(2). Whatever a full disk or a closed pipe refuses is lost.
private func writeOnce(_ file: Int32, _ bytes: UnsafeRawBufferPointer) {
  while Glibc.write(file, bytes.baseAddress, bytes.count) < 0, errno == EINTR {}
}
