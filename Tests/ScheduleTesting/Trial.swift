/// One schedule carried out: what went wrong, and after which step.
package struct Trial: Sendable {
  /// What was promised and is missing, or was told and is not true.
  package let complaints: [String]
  /// How many steps were carried out. Checks after every step end a schedule early.
  package let steps: Int
  /// How often apps were told of each kind of event, and started for each reason.
  package let tally: [String: Int]
  package var isKept: Bool { complaints.isEmpty }

  package init(
    _ schedule: Schedule, cast: Cast? = nil, fault: Fault? = nil, trace: (@Sendable (String) -> Void)? = nil
  ) {
    var street = Street(seed: schedule.seed, cast: cast ?? Street.cast(seed: schedule.seed), sabotage: fault)
    street.trace = trace
    for (index, step) in schedule.steps.enumerated() {
      trace?("step \(step)")
      street.carryOut(step)
      let complaints = street.complaints
      guard complaints.isEmpty else {
        (self.complaints, steps, tally) = (complaints, index + 1, street.tally)
        return
      }
    }
    trace?("the schedule is over")
    complaints = street.settleAndCheck()
    steps = schedule.steps.count
    tally = street.tally
  }
}

extension Schedule {
  /// The fewest steps that still break a promise: halves, quarters and so on are left out as long as that helps
  /// (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002). Then pauses are shortened.
  package func shrunk(while breaks: (Schedule) -> Bool, trials: Int = 400) -> Schedule {
    var left = trials
    func stillBreaks(_ schedule: Schedule) -> Bool {
      left -= 1
      return left >= 0 && breaks(schedule)
    }
    var best = self
    var size = max(1, best.steps.count / 2)
    while size >= 1 {
      var start = 0
      var wasShortened = false
      while start < best.steps.count {
        var shorter = best
        shorter.steps.removeSubrange(start..<min(start + size, best.steps.count))
        if stillBreaks(shorter) {
          best = shorter
          wasShortened = true
        } else {
          start += size
        }
      }
      if !wasShortened || size > best.steps.count { size = size == 1 && wasShortened ? 1 : size / 2 }
    }
    for index in best.steps.indices {
      guard case .pass(let milliseconds) = best.steps[index] else { continue }
      for shorter in [0, 10, 100, 1000, 10_000] where shorter < milliseconds {
        var quicker = best
        quicker.steps[index] = .pass(milliseconds: shorter)
        if stillBreaks(quicker) {
          best = quicker
          break
        }
      }
    }
    return best
  }
}
