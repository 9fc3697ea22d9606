import TimeTypes
import Worlds

/// Limits the length of a story: a clock can count 292 years of nanoseconds.
enum StoryLength {
  /// Some 274 years.
  static let maximumDays = 100_000.0

  /// A duration of this many seconds, limited to that of the longest story.
  static func duration(_ seconds: Double) -> Duration {
    let limit = maximumDays * 86400
    return .nanoseconds(Int64((min(max(seconds, -limit), limit) * 1e9).rounded()))
  }

  /// - Throws: `ScenarioError` naming the step at which a story with this many days per chapter gets too long.
  static func check(_ scenario: Scenario, days: Double, pace: Pace?) throws(ScenarioError) {
    let scale = days / scenario.days * (pace?.ratio ?? 1)
    var seconds = 0.0
    for chapter in scenario.chapters {
      let beginning = seconds
      for step in chapter.steps {
        if scale != 1, case .ask(_, let question) = step.action, case .invite(let terms) = question.matter,
          terms.hasCalendar
        {
          throw ScenarioError(
            file: scenario.file, line: step.line,
            problem: "'weekdays' and 'hours' of an invitation are the calendar's: such a story has its own days, and "
              + "neither --days nor --pace")
        }
        switch step.time {
        case .next: break
        case .later(let duration): seconds += duration.seconds * scale
        case .day(let day): seconds = max(seconds, beginning + day * scale * 86400)
        }
        seconds += step.action.seconds(scale: scale)
        guard seconds <= maximumDays * 86400 else {
          throw ScenarioError(
            file: scenario.file, line: step.line,
            problem: "with \(days) days a chapter the story is longer than \(Int(maximumDays)) days here")
        }
      }
    }
  }
}

extension Action {
  /// The most seconds that it takes.
  fileprivate func seconds(scale: Double) -> Double {
    switch self {
    case .passDays(let days): days * scale * 86400
    case .pass(let duration), .wait(_, let duration): duration.seconds
    case .ask(_, let question): question.limit.seconds
    case .killDaemon(_, let downtime), .reboot(_, let downtime), .cutPower(_, let downtime): downtime.seconds
    default: 0
    }
  }
}

extension Duration {
  fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
