import Journal
import TimeTypes

/// What a run reports while it happens, for the person who waits for it.
package enum StoryNews: Sendable {
  case began(StoryHeading)
  /// Recorded by a process, or by the run itself. The order is that of the report's timeline, unless a line from a
  /// machine arrives late.
  case recorded(JournalEntry)
  /// What the run waits for from now on.
  case waiting(for: String)
  /// The simulated time stands still, because processes are busy. The text says which, and for how long.
  case busy(String)
  /// What happens around the story: a machine is installed, a step can't be done as written.
  case remark(String)
  /// The story stopped before its end, and why.
  case stopped(String)
}

/// What is known of a run before it begins.
package struct StoryHeading: Sendable, Equatable {
  package var scenario: String
  package var title: String
  package var seed: UInt64
  /// Days of a chapter.
  package var days: Double
  /// The names of the machines.
  package var machines: [String]

  package init(scenario: String, title: String, seed: UInt64, days: Double, machines: [String]) {
    self.scenario = scenario
    self.title = title
    self.seed = seed
    self.days = days
    self.machines = machines
  }

  /// For a person: "Away for days (days-away, seed 1, 5 days a chapter)".
  package var text: String { "\(title) (\(scenario), seed \(seed), \(count(days, "day")) a chapter)" }
}
