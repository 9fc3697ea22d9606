import Foundation
import Journal
import JournalEvents

/// A recorded story as exported by `journalctl --output=json`: one file per machine, in a folder that is removed with
/// this value.
package final class JournalExport {
  package let folder: String
  /// When the story began, in Unix microseconds.
  static let beginning: Int64 = 1_790_000_000_000_000
  private var files: [String: [Data]] = [:]
  private var latest = beginning
  private var lines = 0

  /// - Parameter teller: the machine whose journal has the story's steps and the radio's events.
  package init(_ entries: [JournalEntry], teller: String = "phone") throws {
    folder = NSTemporaryDirectory() + "/latchkey-export-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    for entry in entries {
      let isTold = entry.machine.isEmpty || entry.process == Recorded.orchestrator
      // On real clocks no two moments are equal, so later entries get later times.
      latest = max(latest + 1, Self.beginning + entry.t / 1000)
      add(Self.fields(of: entry), to: isTold ? teller : entry.machine, at: latest)
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// Adds a line after all others.
  package func add(_ fields: [String: String], to machine: String) {
    latest += 1
    add(fields, to: machine, at: latest)
  }

  private func add(_ fields: [String: String], to machine: String, at microseconds: Int64) {
    lines += 1
    let all = fields.merging(["__CURSOR": "s=\(lines)", "__REALTIME_TIMESTAMP": "\(microseconds)"]) { $1 }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let data = try? encoder.encode(all) else { return }
    files[machine, default: []].append(data)
  }

  /// Changes the lines of one machine. Lines for which `change` returns `nil` are removed.
  package func alter(_ machine: String, _ change: ([String: String]) -> [String: String]?) {
    files[machine] = (files[machine] ?? []).compactMap { line in
      guard let fields = try? JSONDecoder().decode([String: String].self, from: line), let changed = change(fields)
      else {
        return nil
      }
      return try? JSONEncoder().encode(changed)
    }
  }

  /// Moves a machine's clock ahead of, or behind, the time at which each line was written.
  package func setClock(of machine: String, ahead: (_ line: Int) -> Int64) {
    var line = 0
    alter(machine) { fields in
      line += 1
      guard let time = fields["__REALTIME_TIMESTAMP"].flatMap({ Int64($0) }) else { return fields }
      return fields.merging(["__REALTIME_TIMESTAMP": "\(time + ahead(line))"]) { $1 }
    }
  }

  /// Writes a machine's journal, and returns its path.
  package func write(_ machine: String) throws -> String {
    let path = "\(folder)/\(machine).json"
    let text = (files[machine] ?? []).map { $0 + [0x0A] }.reduce(Data(), +)
    try text.write(to: URL(fileURLWithPath: path))
    return path
  }

  private static func fields(of entry: JournalEntry) -> [String: String] {
    let priorities = ["critical": "2", "error": "3", "warning": "4", "notice": "5", "info": "6"]
    var fields = [
      "MESSAGE": entry.message, "PRIORITY": priorities[entry.level] ?? "7", "SYSLOG_IDENTIFIER": entry.process,
      "LATCHKEY_TIME": "\(entry.t)", "_PID": "\(entry.pid)",
    ]
    fields["LATCHKEY_EVENT"] = entry.event
    if !entry.machine.isEmpty { fields["LATCHKEY_MACHINE"] = entry.machine }
    if !entry.fields.isEmpty {
      fields[JournalFieldNames.variable] = entry.fields.keys.sorted().joined(separator: " ")
      for (name, value) in entry.fields { fields[JournalFieldNames.systemdName(name)] = value }
    }
    return fields
  }
}
