import Stories
import TimeTypes

/// One thing that happened, in a person's words: a line of the story.
package struct Deed: Sendable, Equatable {
  /// What kind of thing it is, which decides how it is shown.
  package enum Kind: String, Sendable, Codable {
    /// A chapter begins.
    case chapter
    /// What people do, and what is done to the machines.
    case person
    /// The bolt moves, or the agent decides to leave it alone: what the story is about.
    case door
    /// What Latchkey and its apps do.
    case system
    /// Something is wrong.
    case trouble
  }

  package var instant: Instant
  /// The machine's name, or empty if the deed is about no machine.
  package var place: String
  package var kind: Kind
  package var text: String
}
