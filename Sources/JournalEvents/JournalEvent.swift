/// An important event, as one kind of program records it: timelines show it, promises are judged by it, and stories
/// wait for it. Programs and readers share these types, so that a misspelt name does not compile.
package protocol JournalEvent: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  /// The programs that record these events, as the journal names them.
  static var processes: [String] { get }
  /// The event's fields. Each is present if it applies.
  var fields: Set<JournalField> { get }
}

extension JournalEvent {
  package var fields: Set<JournalField> { [] }
}

/// The name of a field of an event.
package enum JournalField: String, CaseIterable, Hashable, Sendable {
  case about, action, address, advice, alarm, answer, app, attempt, attempts
  case awayAtLeast = "away.at-least"
  case because, bolt, bytes, capability, cause, central, centrals, centralsToRestore, command, connected, deadline
  case device, devices, door, doorState, error
  case from
  case fromX = "from.x"
  case fromY = "from.y"
  case how, interval, kind, level, link, links, lockState, machine, mark, milliseconds, mode, name, on, operation,
    outcome, over,
    peripheral
  case percent, peripherals, pid, present, program, reason, record, records, refused, request, restoreIdentifier,
    result, role,
    said
  case services, set, signal, state, states, status, succeeded, text, times, to, told, untold, wanted, way, x, y
}

extension [JournalField: String] {
  /// The same fields by their written names.
  package var named: [String: String] {
    [String: String](uniqueKeysWithValues: map { ($0.key.rawValue, $0.value) })
  }
}
