import Journal
import JournalEvents
import Worlds

/// The condition of an app on one machine at a point in the story.
enum AppCondition: Equatable {
  /// It never ran, or has not run since its machine went down.
  case neverRan
  case running
  case suspended
  /// The story ended it, or something on its machine did.
  case endedByStory(String)
  /// The story does not explain its end.
  case crashed
}

extension Evidence {
  /// - Returns: the condition, and the index of the line that caused it.
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

  /// A process that ended although nothing in the story ended it.
  struct UnexplainedEnd {
    var index: Int
    var what: String
    /// The reason that latchkeyd gave, if it ended the app itself.
    var because: String?
  }

  /// The reasons for which latchkeyd ends an app that nobody asked it to end.
  private static let systemsReasons: Set = [
    "overran its wake budget", "never attached", "did not take its user's request",
  ]

  /// How long after a hang latchkeyd may still end the app for overrunning its wake, in nanoseconds.
  private static let hangAftermath: Int64 = 60_000_000_000

  /// Every end of a process up to the window's end that no step of the story explains: ends that the orchestrator
  /// itself saw, and ends of apps that a latchkeyd saw. A kill from outside leaves the same trace as a crash.
  func unexplainedEnds() -> [UnexplainedEnd] {
    struct App: Hashable {
      var machine: String
      var name: String
    }
    // The apps that the story has affected since their latest launch.
    var faults: Set<App> = []
    var known: Set<App> = []
    // The apps that the story has stopped (SIGSTOP), and when those of a machine last went on or ended.
    var hanging: Set<App> = []
    var hungUntil: [String: Int64] = [:]
    // The machines that have been linked with each other. An app waits for one that hangs on its own machine, or over a link.
    let hasLinks = entries.contains { $0.isLink(.linkUp) && $0[.central] != nil }
    var partners: [String: Set<String>] = [:]
    func waits(_ machine: String, for other: String) -> Bool {
      machine == other || !hasLinks || partners[machine]?.contains(other) == true
    }
    var ends: [UnexplainedEnd] = []
    for index in 0..<window.upperBound {
      let entry = entries[index]
      let app = App(machine: entry.machine, name: entry[.app] ?? "")
      switch (entry.mark, entry.event(as: Recorded.Daemon.self)) {
      case (.processFailed?, _):
        ends.append(UnexplainedEnd(index: index, what: entry[.program] ?? "a process"))
      case (.appKilled?, _), (.appReclaimed?, _), (.appQuit?, _):
        faults.insert(app)
      case (.machineDown?, _):
        faults.formUnion(known.filter { $0.machine == entry.machine })
        hanging = hanging.filter { $0.machine != entry.machine }
      case (.appHung?, _): hanging.insert(app)
      case (.appContinued?, _): if hanging.remove(app) != nil { hungUntil[app.machine] = entry.t }
      case (_, .appLaunched?):
        known.insert(app)
        faults.remove(app)
      case (_, .appEnded?):
        let isExcused =
          hanging.contains { waits(app.machine, for: $0.machine) }
          || hungUntil.contains { waits(app.machine, for: $0.key) && entry.t - $0.value <= Self.hangAftermath }
        if hanging.remove(app) != nil { hungUntil[app.machine] = entry.t }
        if faults.contains(app) { continue }
        let how = entry[.how] ?? ""
        // latchkeyd ended it on request.
        if ["reclaimed", "quit"].contains(how) { continue }
        let isSystems = Self.systemsReasons.contains(how)
        // latchkeyd ends an app that overruns, never attaches or does not take a request. While a story makes an app
        // hang, such an end is expected, of that app and of others that wait for it.
        if isSystems, isExcused { continue }
        ends.append(UnexplainedEnd(index: index, what: app.name, because: isSystems ? how : nil))
      default:
        guard entry.isLink(.linkUp), let central = entry[.central], let peripheral = entry[.peripheral] else {
          continue
        }
        partners[central, default: []].insert(peripheral)
        partners[peripheral, default: []].insert(central)
      }
    }
    return ends
  }

  /// The lines in which Swift reports a fatal error of this app. They have the time of its end, because the world's
  /// time stands still until they have been read.
  func lastWords(before end: UnexplainedEnd) -> [JournalEntry] {
    let ended = entries[end.index]
    return entries[window].filter { entry in
      entry.event == nil && entry.t == ended.t && entry.machine == ended.machine
        && !Recorded.processes.contains(entry.process) && entry.message.contains(AppTrouble.fatalError)
    }
  }
}
