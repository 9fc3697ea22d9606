extension Recorded {
  /// What a `fault` is about that a hand does at a lock. It ends no link.
  package static let atTheLock = "lock"

  /// What a `fault` is about that sets a machine's clock. It ends no link either.
  package static let clockSet = "clock"

  /// What a `fault` is about with which a user switches Bluetooth off. Apps that are not running then lose what they asked for.
  package static let bluetoothSwitchedOff = "bluetoothSwitchedOff"

  /// What a `fault` is about that gives a phone and a lock each other's keys.
  package static let provisioned = "provision"

  /// The orchestrator's own events, so that promises know what was done to the world.
  package enum Story: String, JournalEvent {
    case chapterBegan = "chapter.began"
    case ownerLeft = "owner.left"
    case ownerReturned = "owner.returned"
    case moved = "machine.moved"
    case walkEnded = "walk.ended"
    case appOpened = "app.open"
    case appLeft = "app.leave"
    case appQuit = "app.quit"
    case appReclaimed = "app.reclaim"
    case userUnlocked = "user.unlock"
    case userAsked = "user.ask"
    case userAnswered = "user.answer"
    case appKilled = "app.kill"
    case appHung = "app.hang"
    case appContinued = "app.continue"
    case daemonKilled = "daemon.kill"
    case machineDown = "machine.down"
    case machineUp = "machine.up"
    case processFailed = "process.failed"
    case fault
    case notDone = "fault.not-done"
    case waited = "wait.done"
    case waitFailed = "wait.failed"
    case timePassed = "time.passed"

    package static let processes = [Recorded.orchestrator]

    package var fields: Set<JournalField> {
      switch self {
      case .chapterBegan: [.name]
      case .ownerLeft, .ownerReturned, .moved: [.x, .y, .fromX, .fromY, .way, .over, .awayAtLeast]
      case .walkEnded: [.machine, .x, .y]
      case .appOpened, .appLeft, .appQuit, .appReclaimed, .appHung, .appContinued: [.app]
      case .userUnlocked: [.app, .door]
      case .userAsked: [.app, .about, .door]
      case .userAnswered: [.about, .outcome, .door]
      case .appKilled: [.app, .pid]
      case .processFailed: [.pid, .program]
      case .fault: [.door, .about]
      case .daemonKilled, .machineDown, .machineUp, .notDone, .waited, .waitFailed, .timePassed: []
      }
    }
  }
}
