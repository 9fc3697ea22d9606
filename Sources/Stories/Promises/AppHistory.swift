import Journal
import JournalEvents

/// What an app on one machine was at, at a moment of the story.
enum AppCondition: Equatable {
  /// It never ran, or not since a machine's end.
  case neverRan
  case running
  case suspended
  /// What the story did to it, or what happened on its machine.
  case endedByStory(String)
  /// Nothing in the story explains its end.
  case crashed
}

extension Evidence {
  /// - Returns: the condition, and the line that brought it about.
  func condition(of app: String, on machine: String, before end: Int) -> (AppCondition, Int?) {
    var condition = AppCondition.neverRan
    var cause: Int?
    let crashes = Set(unexplainedEnds().map(\.index))
    for index in 0..<min(end, window.upperBound) {
      let entry = entries[index]
      guard entry.machine == machine else { continue }
      let next: AppCondition?
      switch (entry.mark, entry.event(as: Recorded.Daemon.self)) {
      case (.machineDown?, _):
        next = condition == .neverRan ? nil : .endedByStory("the machine went down")
      case (.appKilled?, _) where entry.concerns(app): next = .endedByStory("it was killed")
      case (.appReclaimed?, _) where entry.concerns(app): next = .endedByStory("it was reclaimed")
      case (.appQuit?, _) where entry.concerns(app): next = .endedByStory("the user quit it")
      case (_, .appLaunched?) where entry.concerns(app),
        (_, .appResumed?) where entry.concerns(app):
        next = .running
      case (_, .appSuspended?) where entry.concerns(app): next = .suspended
      case (_, .appEnded?) where entry.concerns(app):
        next = crashes.contains(index) ? .crashed : nil
      default: next = nil
      }
      if let next { (condition, cause) = (next, index) }
    }
    return (condition, cause)
  }

  /// A process that ended though nothing in the story ended it.
  struct UnexplainedEnd {
    var index: Int
    var what: String
  }

  /// Every end of a process up to the window's end that no step of the story explains: what the orchestrator itself saw
  /// end, and the apps that some latchkeyd saw end. Somebody who kills from outside leaves the same trace as a crash.
  func unexplainedEnds() -> [UnexplainedEnd] {
    struct App: Hashable {
      var machine: String
      var name: String
    }
    // What the story did to each since its latest launch.
    var faults: Set<App> = []
    var known: Set<App> = []
    var hasHung = false
    var ends: [UnexplainedEnd] = []
    for index in 0..<window.upperBound {
      let entry = entries[index]
      let app = App(machine: entry.machine, name: entry[.app] ?? "")
      switch (entry.mark, entry.event(as: Recorded.Daemon.self)) {
      case (.processFailed?, _):
        ends.append(UnexplainedEnd(index: index, what: entry[.program] ?? "a process"))
      case (.appKilled?, _), (.appReclaimed?, _), (.appQuit?, _):
        faults.insert(app)
      case (.machineDown?, _): faults.formUnion(known.filter { $0.machine == entry.machine })
      case (.appHung?, _): hasHung = true
      case (_, .appLaunched?):
        known.insert(app)
        faults.remove(app)
      case (_, .appEnded?):
        if faults.contains(app) { continue }
        switch entry[.how] ?? "" {
        // latchkeyd's own orderly ends, which somebody asked it for.
        case "reclaimed", "quit": continue
        // The system ends what overruns or never attaches; in a story that makes processes hang that is to be expected.
        case "overran its wake budget" where hasHung, "never attached" where hasHung: continue
        default: ends.append(UnexplainedEnd(index: index, what: app.name))
        }
      default: continue
      }
    }
    return ends
  }
}
