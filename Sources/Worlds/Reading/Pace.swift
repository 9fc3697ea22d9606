import TimeTypes

/// How much faster than written a story's days pass, if the machines' clocks can't be moved: `5d=5min`.
package struct Pace: Sendable, Equatable, CustomStringConvertible {
  /// A time in the story, and how long it takes.
  package let story: Duration
  package let real: Duration

  /// The longest pause in the story that is not shortened with its days.
  package var longestPause: Duration { .seconds(20) }

  package var ratio: Double { Double(real.wholeNanoseconds) / Double(story.wholeNanoseconds) }

  /// `nil` if the text is not a pace, or would make the story longer.
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
