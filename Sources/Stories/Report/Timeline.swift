import Journal
import JournalEvents
import TimeTypes

extension JournalEntry {
  package var instant: Instant { Instant(nanoseconds: t) }

  /// The machine that the event is about: the simulator serves all machines and names the one it means.
  package var place: String { fields["machine"] ?? machine }

  /// Fields in a fixed order, for people and for comparison.
  package var fieldText: String {
    fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
  }

  /// One line of a timeline.
  package func line(since beginning: Int64) -> String {
    func pad(_ text: String, _ width: Int) -> String {
      text.count >= width ? text : text + String(repeating: " ", count: width - text.count)
    }
    let milliseconds = max(0, wall - beginning) / 1_000_000
    let fraction = String(milliseconds % 1000)
    let wallText = "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) s"
    let what = event.map { pad($0, 22) } ?? level.uppercased()
    let detail = process == Recorded.orchestrator ? message : event == nil ? "\(message) \(fieldText)" : fieldText
    let left = String(repeating: " ", count: max(0, 10 - wallText.count)) + wallText
    let text = "\(pad(instant.description, 16))  \(left)  \(pad(place, 6))  \(pad(process, 15))  \(what)  \(detail)"
    return String(text.reversed().drop { $0 == " " }.reversed())
  }
}
