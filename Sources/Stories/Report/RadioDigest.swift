import Journal
import JournalEvents

/// A short fingerprint of everything that happened on the radio and to adapters, with its virtual times: two runs
/// with the same seed give the same one.
package struct RadioDigest: Sendable {
  /// FNV-1a, 64 bits: it compares runs and does not protect against forgery.
  private var state: UInt64 = 0xcbf2_9ce4_8422_2325
  package private(set) var events = 0

  package init() {}

  package init(_ entries: [JournalEntry]) {
    for entry in entries { add(entry) }
  }

  static let events: Set<Recorded.Radio> = [
    .linkUp, .linkDown, .adapterPowered, .bluetoothdStarted, .bluetoothdStopped, .bluetoothdDiagnostic,
  ]

  package static func covers(_ entry: JournalEntry) -> Bool {
    guard entry.process == Recorded.simulator, let event = entry.event(as: Recorded.Radio.self) else { return false }
    return events.contains(event)
  }

  package mutating func add(_ entry: JournalEntry) {
    guard Self.covers(entry), let event = entry.event else { return }
    events += 1
    for byte in "\(entry.t)|\(event)|\(entry.fieldText)\n".utf8 {
      state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
    }
  }

  package var text: String {
    let digits = String(state, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
