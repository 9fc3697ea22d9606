extension LogAnswer {
  /// What was found to be wrong is told once where it is accepted, so that later answers do not have it.
  package mutating func keepTroubles(of earlier: LogAnswer) {
    let kept = earlier.troubles.indices.filter { !troubles.contains(earlier.troubles[$0]) }
    if let times = earlier.troubleTimes, let own = troubleTimes, times.count == earlier.troubles.count {
      troubleTimes = kept.map { times[$0] } + own
    } else if !kept.isEmpty {
      troubleTimes = nil
    }
    troubles = kept.map { earlier.troubles[$0] } + troubles
  }
}
