import BlueZModel
import JournalEvents
import TimeTypes

/// A line of the home's journal. It is put into words only when somebody reads it.
struct HomeNote {
  enum Event {
    case text(String)
    case world(WorldEvent)
    case record(Recorded.Daemon, [JournalField: String])
  }

  let time: Instant
  let machine: String
  let event: Event

  var text: String {
    switch event {
    case .text(let text): "\(time) \(machine) \(text) {}"
    case .world(let event): "\(time) \(machine) \(event) {}"
    case .record(let event, let fields):
      "\(time) \(machine) \(event.rawValue) {\(Self.text(fields))}"
    }
  }

  private static func text(_ fields: [JournalField: String]) -> String {
    fields.named.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " ")
  }
}
