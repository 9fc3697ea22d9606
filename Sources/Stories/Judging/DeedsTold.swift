import Journal
import JournalEvents
import Worlds

/// The deeds that a scenario writes down, beside those that whoever told the story has put on record.
enum DeedsTold {
  /// What a step's deed is on record as; `nil` for steps that do nothing to the world.
  static func record(of action: Action) -> (event: Recorded.Story, machine: String, app: InstalledApp?)? {
    switch action {
    case .openApp(let machine, let app): (.appOpened, machine, app)
    case .leaveApp(let machine, let app): (.appLeft, machine, app)
    case .quitApp(let machine, let app): (.appQuit, machine, app)
    case .reclaimApp(let machine, let app): (.appReclaimed, machine, app)
    case .unlock(let machine): (.userUnlocked, machine, .agent)
    case .killApp(let machine, let app): (.appKilled, machine, app)
    case .hangApp(let machine, let app): (.appHung, machine, app)
    case .continueApp(let machine, let app): (.appContinued, machine, app)
    case .killDaemon(let machine, _): (.daemonKilled, machine, nil)
    case .reboot(let machine, _), .cutPower(let machine, _): (.machineDown, machine, nil)
    case .move(let machine, _, .departure, _): (.ownerLeft, machine, nil)
    case .move(let machine, _, .arrival, _): (.ownerReturned, machine, nil)
    case .move(let machine, _, nil, _): (.moved, machine, nil)
    case .fault(let machine, _), .bluetooth(let machine, _), .door(let machine, _), .turnBolt(let machine, _):
      (.fault, machine, nil)
    case .passDays, .pass, .wait, .check: nil
    }
  }

  /// The steps of a chapter whose deeds are not on record, in the order in which they are written.
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
