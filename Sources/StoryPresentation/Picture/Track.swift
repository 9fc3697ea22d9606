import TimeTypes

/// One thing that is in one state after another: its bands up to now.
struct Track {
  private(set) var bands: [PictureScene.Band] = []
  private var current: (state: PictureScene.State, label: String, since: Instant)?

  /// The state from now on, or `nil` if there is nothing to show.
  mutating func change(to state: PictureScene.State?, _ label: String = "", at now: Instant) {
    if let current, current.state == state, current.label == label { return }
    end(at: now)
    current = state.map { ($0, label, now) }
  }

  /// Ends the last band.
  mutating func end(at now: Instant) {
    if let current, now > current.since {
      bands.append(.init(from: current.since, to: now, state: current.state, label: current.label))
    }
    current = nil
  }
}
