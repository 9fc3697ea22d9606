import Journal
import JournalEvents
import Worlds

/// Compares the steps of a scenario with the steps that were recorded.
enum DeedsTold {
  /// The record of a step, or `nil` for steps that do not change the world.
  static func record(of action: Action) -> (event: Recorded.Story, machine: String, app: InstalledApp?)? {
    switch action {
    case .openApp(let machine, let app): (.appOpened, machine, app)
    case .leaveApp(let machine, let app): (.appLeft, machine, app)
    case .quitApp(let machine, let app): (.appQuit, machine, app)
    case .reclaimApp(let machine, let app): (.appReclaimed, machine, app)
    case .unlock(let machine, _): (.userUnlocked, machine, .agent)
    case .ask(let machine, let question):
      (question.matter == .unlock ? .userUnlocked : .userAsked, machine, .agent)
    case .provision(let machine, _): (.fault, machine, nil)
    case .killApp(let machine, let app): (.appKilled, machine, app)
    case .hangApp(let machine, let app): (.appHung, machine, app)
    case .continueApp(let machine, let app): (.appContinued, machine, app)
    case .killDaemon(let machine, _): (.daemonKilled, machine, nil)
    case .reboot(let machine, _), .cutPower(let machine, _): (.machineDown, machine, nil)
    case .move(let machine, _, .departure, _): (.ownerLeft, machine, nil)
    case .move(let machine, _, .arrival, _): (.ownerReturned, machine, nil)
    case .move(let machine, _, nil, _): (.moved, machine, nil)
    case .fault(let machine, _), .bluetooth(let machine, _), .door(let machine, _), .turnBolt(let machine, _, _),
      .lock(let machine, _):
      (.fault, machine, nil)
    case .passDays, .pass, .wait, .check: nil
    }
  }

  /// The steps of a chapter that were not recorded, in the scenario's order.
  static func missing(from marks: [JournalEntry], of chapter: Chapter) -> [Step] {
    var next = marks.startIndex
    return chapter.steps.filter { step in
      guard let (event, machine, app) = record(of: step.action) else { return false }
      let place = marks[next...].firstIndex {
        $0.isMark(event) && $0.machine == machine && (app == nil || $0[.app] == app?.bundleIdentifier)
      }
      guard let place else { return true }
      next = place + 1
      return false
    }
  }
}
