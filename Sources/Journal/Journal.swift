import CSystemd
import Glibc
import JournalEvents
import Logging
import Timekeeping

/// Where a process's log goes. Everything is logged through swift-log; `Journal.bootstrap` chooses the destination.
package enum Journal {
  /// The variable that names the file to which JSON lines are appended.
  package static let fileVariable = "LATCHKEY_JOURNAL"
  /// The variable that names the machine this process belongs to.
  package static let machineVariable = "LATCHKEY_MACHINE"

  /// Sets up swift-log for this process. Call it once, before anything else.
  ///
  /// With `LATCHKEY_JOURNAL=FILE`, lines of JSON are appended to that file (`JournalEntry`); under systemd,
  /// structured fields go to its journal; otherwise text goes to standard error.
  ///
  /// - Parameters:
  ///   - process: the program's name.
  ///   - time: the source of the entries' `t`, by default the process's own time source.
  ///   - level: less important messages are dropped.
  /// - Throws: `ClockError` if there is no time source, `JournalError` if the file can't be opened.
  package static func bootstrap(process: String, time: (any TimeSource)? = nil, level: Logger.Level = .info) throws {
    let origin = JournalOrigin(
      machine: environment(machineVariable) ?? "", process: process, time: try time ?? ProcessClock.fromEnvironment())
    let sink = try makeSink()
    LoggingSystem.bootstrap { label in
      JournalHandler(label: label, origin: origin, sink: sink, logLevel: level)
    }
  }

  private static func makeSink() throws -> any JournalSink {
    if let path = environment(fileVariable) { return try FileSink(path: path) }
    if environment("JOURNAL_STREAM") != nil { return SystemdSink() }
    return StandardErrorSink()
  }

  private static func environment(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}

extension Logger {
  /// Logs an important event: one that timelines show and tests wait for.
  ///
  /// - Parameters:
  ///   - event: what happened, such as `Recorded.Lock.boltMoved`.
  ///   - fields: details, using the event's own fields. Never a key or a secret.
  package func record(
    _ event: some JournalEvent, _ fields: [JournalField: String] = [:], level: Logger.Level = .notice,
    file: String = #fileID, function: String = #function, line: UInt = #line
  ) {
    assert(event.fields.isSuperset(of: fields.keys), "\(event) has a field that the vocabulary does not know")
    var metadata = fields.named.mapValues { Logger.MetadataValue.string($0) }
    metadata[JournalHandler.eventKey] = .string(event.rawValue)
    log(level: level, "\(event.rawValue)", metadata: metadata, file: file, function: function, line: line)
  }
}

/// Why the journal could not be set up.
package struct JournalError: Error, Sendable, Hashable, CustomStringConvertible {
  package let description: String
}
