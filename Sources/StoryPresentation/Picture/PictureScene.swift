import TimeTypes

/// What a picture of a story shows, without how it is drawn: lanes with bands, marks on them, and chapters.
struct PictureScene: Equatable {
  /// A stretch of time in which something was in one state.
  struct Band: Equatable {
    var from: Instant
    var to: Instant
    /// How it is coloured.
    var state: State
    /// What it says, if there is room.
    var label: String
  }

  /// The states that the picture distinguishes. The raw value is a class of the style sheet.
  enum State: String, CaseIterable {
    case near, linked, on, off, running, suspended, hung, locked, unlocked, jammed, open, down
  }

  /// A moment that a reader can look up in the story.
  struct Mark: Equatable {
    var at: Instant
    var kind: Deed.Kind
    var text: String
    /// The entry's position in the timeline.
    var entry: Int
  }

  struct Lane: Equatable {
    var machine: String
    var name: String
    var bands: [Band] = []
    var marks: [Mark] = []
  }

  struct Chapter: Equatable {
    var name: String
    var from: Instant
  }

  var lanes: [Lane] = []
  var chapters: [Chapter] = []
  /// Where the picture ends. It begins at zero.
  var end = Instant.zero
}
