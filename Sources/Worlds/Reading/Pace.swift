import TimeTypes

/// How much faster than written a story's days pass, where nobody can move the machines' clocks: `5d=5min`.
package struct Pace: Sendable, Equatable, CustomStringConvertible {
  /// A time of the story's, and how long it takes.
  package let story: Duration
  package let real: Duration

  /// Pauses of the story that don't scale with its days are no longer than this.
  package var longestPause: Duration { .seconds(20) }

  package var ratio: Double { Double(real.wholeNanoseconds) / Double(story.wholeNanoseconds) }

  /// `nil` where the text is no pace, or one that makes the story longer.
  package init?(_ text: String) {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    guard parts.count == 2, let story = DurationText.parse(String(parts[0])),
      let real = DurationText.parse(String(parts[1])), real > .zero, story >= real
    else { return nil }
    self.story = story
    self.real = real
  }

  package var description: String { "\(DurationText.format(story)) as \(DurationText.format(real))" }
}
