import ChildProcesses
import Foundation
import Journal

/// A line of `journalctl --output=json`, as far as the orchestrator reads it.
struct SystemdJournalLine: Sendable, Equatable {
  var fields: [String: String]

  /// `nil` if the line is not valid.
  init?(_ line: Data) {
    guard let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any] else { return nil }
    // Non-text values appear as numbers, repeated ones as a list, and overlong ones as null. None of these is ours.
    fields = object.compactMapValues { $0 as? String }
  }

  var cursor: String? { fields["__CURSOR"] }

  /// When it happened, by the machine's wall clock, in Unix nanoseconds. `nil` if there is no valid time.
  var unixNanoseconds: Int64? {
    (fields["_SOURCE_REALTIME_TIMESTAMP"] ?? fields["__REALTIME_TIMESTAMP"]).flatMap { Int64($0) }
      .flatMap { MachineClock.unixNanoseconds(microseconds: $0) }
  }

  /// The word in a line of the orchestrator's own, which shows that everything before it has been read.
  var sync: String? { fields["LATCHKEY_SYNC"] }

  /// The entry that one of Latchkey's processes wrote, or `nil` for any other line.
  ///
  /// - Parameters:
  ///   - machine: the story's name for the machine.
  ///   - t: the entry's time in the world.
  ///   - wall: the same by this machine's clock.
  func entry(machine: String, t: Int64, wall: Int64) -> JournalEntry? {
    // Entries that a person writes by hand have no time of their own.
    guard fields["LATCHKEY_TIME"] != nil || fields["LATCHKEY_EVENT"] != nil,
      let process = fields["SYSLOG_IDENTIFIER"]
    else { return nil }
    var given: [String: String] = [:]
    for name in JournalFieldNames.names(fields[JournalFieldNames.variable] ?? "") {
      given[name] = fields[JournalFieldNames.systemdName(name)]
    }
    return JournalEntry(
      t: t, wall: wall, machine: machine, process: process, pid: Int32(fields["_PID"] ?? "") ?? 0,
      level: Self.level(fields["PRIORITY"] ?? ""), event: fields["LATCHKEY_EVENT"], message: fields["MESSAGE"] ?? "",
      fields: given)
  }

  /// swift-log's name for syslog(3)'s level.
  static func level(_ priority: String) -> String {
    switch priority {
    case "0", "1", "2": "critical"
    case "3": "error"
    case "4": "warning"
    case "5": "notice"
    case "7": "debug"
    default: "info"
    }
  }

  /// SD_MESSAGE_UNIT_PROCESS_EXIT (sd-messages(3)).
  private static let processExit = "98e322203f7a4ed290d09fe03c09fe15"

  /// The unit whose main process failed, according to systemd.
  var failedUnit: (unit: String, end: ProcessEnd)? {
    guard fields["MESSAGE_ID"] == Self.processExit, fields["_PID"] == "1", let unit = fields["UNIT"],
      let code = fields["EXIT_CODE"], let status = fields["EXIT_STATUS"]
    else { return nil }
    switch code {
    case "exited":
      guard let number = Int32(status) else { return (unit, .exited(255)) }
      return number == 0 ? nil : (unit, .exited(number))
    default:
      // The signal's name, or its number.
      let names: [String: Int32] = [
        "HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "SEGV": 11,
        "PIPE": 13, "ALRM": 14, "TERM": 15, "SYS": 31,
      ]
      return (unit, .signal(Int32(status) ?? names[status] ?? 0))
    }
  }
}
