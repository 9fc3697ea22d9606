import Glibc
import Logging
import Timekeeping

/// The process that writes a journal.
struct JournalOrigin: Sendable {
  let machine: String
  let process: String
  let time: any TimeSource
}

/// Accepts finished entries. It never waits long for another process, and never throws: a process must not fail
/// because of its log.
protocol JournalSink: Sendable {
  func write(_ entry: JournalEntry, level: Logger.Level)
}

/// The connection from swift-log to the journal.
struct JournalHandler: LogHandler {
  /// The metadata key of an event's name. It is not a field of its own.
  static let eventKey = "latchkey.event"

  private let label: String
  private let origin: JournalOrigin
  private let sink: any JournalSink
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?

  init(label: String, origin: JournalOrigin, sink: any JournalSink, logLevel: Logger.Level) {
    self.label = label
    self.origin = origin
    self.sink = sink
    self.logLevel = logLevel
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var all = metadata
    if let provided = metadataProvider?.get() { all.merge(provided) { _, new in new } }
    if let given = event.metadata { all.merge(given) { _, new in new } }
    let name = all.removeValue(forKey: Self.eventKey)?.description
    var fields = all.mapValues(\.description)
    // An ordinary message says which part of the program it came from. For an event, the name is enough.
    if name == nil, label != origin.process { fields["logger"] = label }
    if let error = event.error { fields["error"] = String(describing: error) }
    var wall = timespec()
    clock_gettime(CLOCK_REALTIME, &wall)
    let entry = JournalEntry(
      t: origin.time.now.nanoseconds, wall: Int64(wall.tv_sec) * 1_000_000_000 + Int64(wall.tv_nsec),
      machine: origin.machine, process: origin.process, pid: getpid(), level: event.level.rawValue, event: name,
      message: event.message.description, fields: fields)
    sink.write(entry.bounded(), level: event.level)
  }
}
