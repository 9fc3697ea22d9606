import Journal
import Timekeeping

/// A short fingerprint of all that happened in a run, with its virtual times: on the radio, to adapters, in the system,
/// in the apps and to the bolt, and what the story did. Two runs with the same seed give the same one, whatever else the
/// machine does.
public struct RunDigest: Sendable {
  /// FNV-1a, 64 bits: it compares runs and guards nothing.
  private var state: UInt64 = 0xcbf2_9ce4_8422_2325
  public private(set) var events = 0

  /// What tells what an event came to. Other fields have what is new in each run: numbers of processes, folders,
  /// names of operations, and identifiers that the system draws.
  static let fields: Set<String> = [
    "action", "app", "because", "bolt", "cause", "command", "door", "from", "how", "machine", "on", "reason", "result",
    "state", "to",
  ]

  public init(_ entries: [JournalEntry]) {
    for line in Self.lines(entries) { add(line) }
  }

  /// A line for each event, in the order of time; what several processes do at one moment, by machine and process, each
  /// in its own order.
  static func lines(_ entries: [JournalEntry]) -> [String] {
    let events = entries.filter { $0.event != nil }
    let ordered = events.enumerated().sorted { left, right in
      (left.element.t, left.element.place, left.element.process, left.offset)
        < (right.element.t, right.element.place, right.element.process, right.offset)
    }
    return ordered.map { line($0.element) }
  }

  private static func line(_ entry: JournalEntry) -> String {
    let event = entry.event ?? ""
    let fields =
      RadioDigest.covers(entry)
      ? entry.fieldText
      : entry.fields.filter { Self.fields.contains($0.key) }.sorted { $0.key < $1.key }
        .map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    return "\(entry.t)|\(entry.place)|\(entry.process)|\(event)|\(fields)\n"
  }

  private mutating func add(_ line: String) {
    events += 1
    for byte in line.utf8 { state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
  }

  public var text: String {
    let digits = String(state, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
