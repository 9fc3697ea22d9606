import Journal
import JournalEvents
import TimeTypes

/// A short fingerprint of everything that happened in a run, with its virtual times: on the radio, to adapters, in
/// the system, in the apps and to the bolt, and what the story did. Two runs with the same seed give the same one,
/// whatever else the machine does.
package struct RunDigest: Sendable {
  /// FNV-1a, 64 bits: it compares runs and does not protect against forgery.
  private var state: UInt64 = 0xcbf2_9ce4_8422_2325
  package private(set) var events = 0

  /// The fields that identify an event's result. Other fields differ from run to run: process numbers, folders,
  /// operation numbers, and identifiers that the system draws.
  static let fields = names([
    .action, .app, .because, .bolt, .cause, .command, .door, .how, .machine, .on, .reason, .result, .state, .to,
  ])

  private static func names(_ fields: [JournalField]) -> Set<String> { Set(fields.map(\.rawValue)) }

  package init(_ entries: [JournalEntry]) {
    for line in Self.lines(entries) { add(line) }
  }

  /// A state that may change several times in one moment: only the last value counts.
  static let states: Set = [Recorded.Agent.stateUpdated.rawValue, Recorded.Lock.stateUpdated.rawValue]
  /// The adapter's states as latchkeyd sees them are left out, because it sees some of them only by chance. The radio's
  /// events have the adapter's state, and the apps' events have what the apps were told.
  static let passing: Set = [Recorded.Daemon.bluetoothState.rawValue]

  /// The events of one kind that one process recorded in one moment.
  private struct Moment: Hashable {
    var t: Int64
    var place: String
    var process: String
    var event: String
  }

  /// A line for each event, in order of time. Within one moment processes run in parallel and their order is chance,
  /// so their lines are sorted alphabetically.
  static func lines(_ entries: [JournalEntry]) -> [String] {
    var lines: [(t: Int64, text: String)] = []
    var states: Set<Moment> = []
    for entry in entries.reversed() {
      guard let event = entry.event, !Self.passing.contains(event) else { continue }
      if Self.states.contains(event) {
        let moment = Moment(t: entry.t, place: entry.place, process: entry.process, event: event)
        guard states.insert(moment).inserted else { continue }
        lines.append((entry.t, line(entry, event, names([.state]))))
      } else {
        lines.append((entry.t, line(entry, event, Self.fields)))
      }
    }
    return lines.sorted { ($0.t, $0.text) < ($1.t, $1.text) }.map(\.text)
  }

  private static func line(_ entry: JournalEntry, _ event: String, _ names: Set<String>) -> String {
    let fields =
      RadioDigest.covers(entry)
      ? entry.fieldText
      : entry.fields.filter { names.contains($0.key) && !$0.value.hasPrefix("/") }.sorted { $0.key < $1.key }
        .map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    return "\(entry.t)|\(entry.place)|\(entry.process)|\(event)|\(fields)\n"
  }

  private mutating func add(_ line: String) {
    events += 1
    for byte in line.utf8 { state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
  }

  package var text: String {
    let digits = String(state, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
