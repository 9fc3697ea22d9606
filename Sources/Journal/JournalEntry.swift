import JournalEvents

/// One line of a journal file.
package struct JournalEntry: Sendable, Hashable, Codable {
  /// Nanoseconds of the process's time source.
  package var t: Int64
  /// The machine's wall clock in Unix nanoseconds.
  package var wall: Int64
  /// The machine's name; empty if it has none.
  package var machine: String
  /// The program's name.
  package var process: String
  package var pid: Int32
  /// swift-log's name of the level.
  package var level: String
  /// The name of an important event, or `nil` for an ordinary message.
  package var event: String?
  package var message: String
  package var fields: [String: String]

  package init(
    t: Int64, wall: Int64, machine: String, process: String, pid: Int32, level: String, event: String?,
    message: String, fields: [String: String]
  ) {
    self.t = t
    self.wall = wall
    self.machine = machine
    self.process = process
    self.pid = pid
    self.level = level
    self.event = event
    self.message = message
    self.fields = fields
  }

  /// Whether this is that event, recorded by a program that records such events.
  package func `is`<Event: JournalEvent>(_ event: Event) -> Bool {
    self.event == event.rawValue && Event.processes.contains(process)
  }

  /// The event, if it is of this kind and was recorded by a program that records this kind.
  package func event<Event: JournalEvent>(as kind: Event.Type) -> Event? {
    kind.processes.contains(process) ? event.flatMap(Event.init(rawValue:)) : nil
  }

  package subscript(field: JournalField) -> String? {
    get { fields[field.rawValue] }
    set { fields[field.rawValue] = newValue }
  }

  /// Limits that keep an entry small, whatever was logged. Longer texts are truncated, and further fields are
  /// dropped.
  package enum Limits {
    package static let messageByteCount = 4096
    package static let valueByteCount = 1024
    package static let nameByteCount = 64
    package static let fieldCount = 32
  }

  /// The same entry within `Limits`.
  func bounded() -> JournalEntry {
    var entry = self
    entry.message = message.cut(to: Limits.messageByteCount)
    entry.event = event?.cut(to: Limits.nameByteCount)
    entry.fields = [:]
    for name in fields.keys.sorted().prefix(Limits.fieldCount) {
      entry.fields[name.cut(to: Limits.nameByteCount)] = fields[name]?.cut(to: Limits.valueByteCount)
    }
    return entry
  }
}

extension String {
  /// As many whole characters from the beginning as fit; `…` marks the truncation.
  func cut(to byteCount: Int) -> String {
    guard utf8.count > byteCount else { return self }
    var result = ""
    var room = byteCount - 3
    for character in self {
      room -= character.utf8.count
      if room < 0 { break }
      result.append(character)
    }
    return result + "…"
  }
}
