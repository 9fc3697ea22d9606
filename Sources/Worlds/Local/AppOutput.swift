import Foundation
import Glibc
import Journal
import JournalEvents

/// Reads the records in what an app of the story prints: `latchkey: EVENT key=value key="two words"`. A line about the
/// app's own faults becomes a warning.
///
/// Time stands still until everything printed has been read, so the world's present time is the record's.
final class AppOutput {
  let app: InstalledApp
  let machine: String
  private let path: String
  private var file: Int32 = -1
  private var rest: [UInt8] = []
  private var isSkipping = false
  /// The app's latest process, and how much of `rest` was there when it was started.
  private var process: Int32 = 0
  private var beforeProcess = 0
  private var trouble = AppTrouble()
  /// What was read at the world's present moment.
  private var present = Amount(moment: 0)
  private var complaint: String?
  /// The app has printed too much, and nothing more of it is read.
  private var isOver = false

  /// How much was read at one moment of the world.
  private struct Amount {
    let moment: Int64
    var bytes = 0
    var records = 0
  }

  /// An app may print without end, as fast as it is read. Time stands still meanwhile. So an app that prints more than
  /// this at one moment ends the story.
  private static let recordLimit = 100_000
  private static let mebibytesLimit = 16

  /// What a record's line begins with.
  static let mark = DelegateRecord.mark
  /// A longer line is no record.
  private static let lineLimit = 16 * 1024
  /// How the records of the CoreBluetooth module begin. Such a record may follow text that the app has not ended with a
  /// line break.
  private static let told = "\(mark)\(DelegateRecord.event) \(DelegateRecord.Field.call.rawValue)=\""
  /// The longest of these records, in bytes.
  private static let toldLimit = 4096

  init(_ app: InstalledApp, on machine: String, path: String) {
    self.app = app
    self.machine = machine
    self.path = path
  }

  deinit { if file >= 0 { close(file) } }

  /// Why the story can't go on with this app, if it can't. Returned once.
  func takeComplaint() -> String? {
    defer { complaint = nil }
    return complaint
  }

  /// The records since the last call.
  ///
  /// - Parameters:
  ///   - t: the world's time in nanoseconds.
  ///   - pid: the app's latest process. A record may name another.
  func read(at t: Int64, wall: Int64, pid: Int32) throws -> [JournalEntry] {
    if file < 0 {
      file = open(path, O_RDONLY | O_CLOEXEC)
      // The app has not been started yet.
      guard file >= 0 else { return [] }
    }
    guard !isOver else { return [] }
    if present.moment != t { present = Amount(moment: t) }
    var entries: [JournalEntry] = []
    func take(_ line: String) {
      if let record = AppRecord(line) {
        entries.append(record.entry(app.name, machine: machine, t: t, wall: wall, pid: pid))
      } else if let text = trouble.read(line) {
        entries.append(
          JournalEntry(
            t: t, wall: wall, machine: machine, process: app.name, pid: pid, level: "warning", event: nil,
            message: text, fields: [:]))
      }
    }
    // The app's previous process may have ended within a line.
    if pid != process { (process, beforeProcess) = (pid, rest.count) }
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(file, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw WorldError.system("the output of \(app) on \(machine)", errno) }
      guard count > 0 else { return entries }
      present.bytes += count
      for line in lines(buffer[..<count]) {
        let before = entries.count
        take(line)
        present.records += entries.count - before
        if present.records > Self.recordLimit {
          entries.removeLast()
          end("recorded more than \(Self.recordLimit) lines")
          return entries
        }
      }
      if present.bytes > Self.mebibytesLimit << 20 {
        end("printed more than \(Self.mebibytesLimit) MiB")
        return entries
      }
    }
  }

  private func end(_ what: String) {
    isOver = true
    complaint =
      "the app '\(app.name)' on \(machine) \(what) at one moment of the story, and the rest is not read; an app has to wait "
      + "for something, so that time can pass"
  }

  /// The lines that these bytes complete. A line that is too long is left out, except for a record of the CoreBluetooth
  /// module at its end.
  private func lines(_ bytes: ArraySlice<UInt8>) -> [String] {
    var bytes = bytes
    var lines: [String] = []
    while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
      let parts = parts(of: rest + bytes[..<end])
      lines += isSkipping ? parts.dropFirst() : parts[...]
      (rest, isSkipping, beforeProcess) = ([], false, 0)
      bytes = bytes[(end + 1)...]
    }
    rest += bytes
    isSkipping = isSkipping || rest.count > Self.lineLimit
    if isSkipping { (rest, beforeProcess) = (rest.suffix(Self.toldLimit), 0) }
    return lines
  }

  /// Splits a line that has a record behind other text. The record is the CoreBluetooth module's, or the first one of a
  /// process whose predecessor ended within a line.
  private func parts(of bytes: [UInt8]) -> [String] {
    let line = String(decoding: bytes, as: UTF8.self)
    if beforeProcess > 0, bytes[beforeProcess...].starts(with: Self.mark.utf8) {
      return [bytes[..<beforeProcess], bytes[beforeProcess...]].map { String(decoding: $0, as: UTF8.self) }
    }
    guard let record = line.range(of: Self.told, options: .backwards) else { return [line] }
    return [String(line[..<record.lowerBound]), String(line[record.lowerBound...])]
  }
}

/// One record in an app's output.
struct AppRecord: Equatable {
  /// `nil` for a line that begins like a record and is none.
  var event: String?
  var fields: [String: String] = [:]
  private var line: String

  private static let nameLimit = JournalEntry.Limits.nameByteCount

  /// `nil` for any other line.
  init?(_ line: String) {
    guard line.hasPrefix(AppOutput.mark) else { return nil }
    self.line = String(line.dropFirst(AppOutput.mark.count).prefix(JournalEntry.Limits.valueByteCount))
    var rest = line.dropFirst(AppOutput.mark.count)
    let event = Self.name(&rest)
    var fields: [String: String] = [:]
    while true {
      rest = rest.drop { $0 == " " || $0 == "\r" }
      guard !rest.isEmpty else { break }
      let name = Self.name(&rest)
      guard !name.isEmpty, rest.first == "=", fields[name] == nil, fields.count < JournalEntry.Limits.fieldCount
      else { return }
      rest = rest.dropFirst()
      guard let value = Self.value(&rest), value.utf8.count <= JournalEntry.Limits.valueByteCount else { return }
      fields[name] = value
    }
    guard !event.isEmpty else { return }
    self.event = event
    self.fields = fields
  }

  /// Letters, digits, dots, hyphens and underscores.
  private static func name(_ text: inout Substring) -> String {
    let name = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_".contains($0)) }
    guard name.utf8.count <= nameLimit else { return "" }
    text = text[name.endIndex...]
    return String(name)
  }

  /// A word, or text in quotes in which `\"` and `\\` stand for themselves. `nil` if the closing quote is missing.
  private static func value(_ text: inout Substring) -> String? {
    guard text.first == "\"" else {
      let word = text.prefix { $0 != " " && $0 != "\r" }
      text = text[word.endIndex...]
      return String(word)
    }
    var value = ""
    var rest = text.dropFirst()
    while let character = rest.popFirst() {
      switch character {
      case "\"":
        text = rest
        return value
      case "\\":
        guard let next = rest.popFirst() else { return nil }
        value.append(next)
      default: value.append(character)
      }
    }
    return nil
  }

  func entry(_ app: String, machine: String, t: Int64, wall: Int64, pid: Int32) -> JournalEntry {
    guard let event else {
      return JournalEntry(
        t: t, wall: wall, machine: machine, process: app, pid: pid, level: "warning", event: nil,
        message: "a line of its output begins with '\(AppOutput.mark)' and is not EVENT key=value …: \(line)",
        fields: [:])
    }
    var fields = fields
    let own = fields.removeValue(forKey: "pid").flatMap { Int32($0) }
    return JournalEntry(
      t: t, wall: wall, machine: machine, process: app, pid: own ?? pid, level: "notice", event: event,
      message: line, fields: fields)
  }
}
