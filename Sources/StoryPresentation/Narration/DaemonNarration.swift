import Journal
import JournalEvents
import Stories

/// latchkeyd's events in a person's words.
enum DaemonNarration {
  static func deed(_ event: Recorded.Daemon, _ entry: JournalEntry) -> Deed? {
    let app = entry[.app].map(Words.app) ?? "an app"
    return switch event {
    case .started: entry.deed(.system, "latchkeyd starts")
    case .stopped: entry.deed(.system, "latchkeyd ends")
    case .appLaunched: entry.deed(.system, "latchkeyd starts \(app)\(launch(entry[.reason]))")
    case .appResumed: entry.deed(.system, "latchkeyd wakes \(app)\(wake(entry[.because]))")
    case .appSuspended: entry.deed(.system, "\(app) is suspended")
    case .appEnded: entry.deed(.system, "\(app) has ended\(Words.because(entry[.how]))")
    case .userAlert: entry.deed(.person, "\(app) tells its user: \(entry[.text] ?? "")")
    case .appAuthorization:
      entry.deed(.person, "the user says that \(app) \(entry[.state] == "denied" ? "may not" : "may") use Bluetooth")
    case .requestHeld:
      entry.deed(.system, "latchkeyd keeps the connection request of \(app), \(later(entry))for as long as it takes")
    case .bluetoothState: entry.deed(.system, "Bluetooth is \(state(entry[.state]))")
    case .machineResumed: entry.deed(.system, "the machine wakes up")
    case .appUnresponsive: entry.deed(.trouble, "\(app) does not respond")
    case .appOverran: entry.deed(.trouble, "\(app) used up its time in the background")
    case .appDidNotRestore: entry.deed(.trouble, "\(app) was restarted, and did not ask for its state")
    case .appLaunchFailed: entry.deed(.trouble, "\(app) can't be started: \(entry[.error] ?? entry.message)")
    case .actionExpired: entry.deed(.trouble, "\(app) did not carry out its user's command in time")
    case .storeFailed: entry.deed(.trouble, "latchkeyd can't write to its store: \(entry[.reason] ?? entry.message)")
    case .storeRecovered: entry.deed(.system, "latchkeyd can write to its store again")
    case .deadlineOverdue: entry.deed(.trouble, "latchkeyd has not done in time what was due")
    case .eventDropped: entry.deed(.trouble, "latchkeyd drops an event for \(app), which takes none")
    case .linkBarren, .linksBrief:
      entry.deed(.trouble, "connections to a device are lost again and again before they carry anything")
    case .linkStuck: entry.deed(.trouble, "a connection does not end, though latchkeyd ends it")
    case .servicesGone: entry.deed(.trouble, "services of a device are gone")
    case .adapterMissing: entry.deed(.trouble, "the Bluetooth adapter that latchkeyd is to use is not there")
    case .bondHalfMade: entry.deed(.trouble, "a pairing was left half made; it is removed, and made anew")
    case .operationsRefused:
      entry.deed(
        .trouble, "latchkeyd refuses an app's reads and writes, because bluetoothd has left too many of them unanswered"
      )
    case .bondLost: entry.deed(.trouble, "a device has lost its pairing; it is removed, and may be made anew")
    case .wakeEnded, .userReport, .actionRequested, .actionCompleted, .managerCreated, .requestCompleted,
      .requestExpired,
      .requestAbandoned, .requestMisplaced, .subscriptionFailed, .valueRefused, .serviceRefused, .advertisementRefused,
      .databaseMarked, .databaseMarkRefused, .bluetoothCrowded, .profileRegistered, .profileRefused, .connectFailed,
      .connectCancelled, .discoveryRefused, .discoveryFilterRefused, .linkPhantom, .linkUnheard, .linkUnresolved,
      .operationUnanswered, .servicesMissing, .servicesBack, .subscriptionsUnrenewed, .agentRegistered, .agentRefused,
      .pairingAsks, .pairingAnswered, .pairingGone, .pairingRefused, .linkUnproven:
      // Some of these are warnings. What latchkeyd does about them is not a part of the story.
      nil
    }
  }

  /// The words for a request that counts only from a later time on, such as "after 20 s ". Empty for any other request.
  private static func later(_ entry: JournalEntry) -> String {
    guard let pause = entry[.milliseconds].flatMap(Int.init) else { return "" }
    return pause < 120_000 ? "after \(pause / 1000) s " : "after \(pause / 60_000) min "
  }

  private static func launch(_ reason: String?) -> String {
    switch reason {
    case "restore": " again, because something happened that it waits for"
    case "opened": ", because its user opened it"
    case "keep-alive": ", which always runs"
    default: ""
    }
  }

  private static func wake(_ because: String?) -> String {
    switch because {
    case "connected": ", because it is connected"
    case "disconnected": ", because its connection was lost"
    case "valueUpdated": ", because a device sent it a value"
    case "opened": ", because its user opened it"
    case "action": ", because its user gave a command"
    case "stateChanged": ", because Bluetooth was switched on or off, or was gone"
    case "discovered": ", because it has found a device"
    case "failedToConnect": ", because a connection did not come about"
    case "operationCompleted": ", because a device has answered it"
    case "nameChanged": ", because a device has a new name"
    case "servicesModified": ", because a device's services have changed"
    case "connectionEvent": ", because a device that it watches was connected or lost"
    case "subscribed": ", because a device wants its values"
    case "unsubscribed": ", because a device no longer wants its values"
    case "readRequested": ", because a device reads from it"
    case "writeRequested": ", because a device writes to it"
    case "requestExpired": ", because it did not answer a device in time"
    case "serviceAdded", "advertisingStarted", "channelPublished", "channelUnpublished", "managerRejected":
      ", because what it had asked for is done"
    case "channelOpened": ", because a channel to a device is open"
    case "updateCredit": ", because there is room for more values"
    case "mtuChanged": ", because a device takes longer values"
    case "willRestoreState", "restore": ", because its state is given back to it"
    case let other?: ", for \(other)"
    case nil: ""
    }
  }

  private static func state(_ state: String?) -> String {
    switch state {
    case "poweredOn": "on"
    case "poweredOff": "off"
    case "resetting": "not available, because bluetoothd is gone"
    case "unsupported": "not available: there is no adapter"
    case let other?: "in the state \(other)"
    case nil: "in an unknown state"
    }
  }
}
