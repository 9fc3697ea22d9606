import Journal
import JournalEvents
import Stories

extension JournalEntry {
  /// - Parameter place: the machine, if it is not the entry's own.
  func deed(_ kind: Deed.Kind, _ text: String, place: String? = nil) -> Deed {
    Deed(instant: instant, place: place ?? self.place, kind: kind, text: text)
  }
}

/// Words for the names in the journal.
enum Words {
  static func app(_ identifier: String) -> String {
    switch identifier {
    case Recorded.agentIdentifier: "the agent"
    case Recorded.lockIdentifier: "the lock"
    default: identifier
    }
  }

  static func program(_ process: String) -> String {
    switch process {
    case Recorded.agent: "the agent"
    case Recorded.lock: "the lock"
    default: process
    }
  }

  /// Why a link, a process or bluetoothd ended, in parentheses.
  static func because(_ reason: String?) -> String {
    guard let reason else { return "" }
    let words =
      switch reason {
      case "connectionTimeout": "it no longer hears it"
      case "remoteUserTerminated": "the other side ended it"
      case "remotePoweredOff": "one of the two was switched off"
      case "localHostTerminated": "it ended it itself"
      case "authenticationFailure", "keyMissing": "the keys of the bond do not fit"
      case "failedToEstablish": "it did not come about"
      case "shutDown": "the machine shuts down"
      case "stopped": "it was stopped"
      case "killed": "it was killed"
      case "crashed": "it crashed"
      case "signal 9": "it was killed"
      case "gone": "it was no longer there"
      default: reason
      }
    return " (\(words))"
  }
}
