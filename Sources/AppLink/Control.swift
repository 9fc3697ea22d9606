import FoundationEssentials

/// What the user, through the `latchkey` command, asks of the system.
package enum ControlRequest: Sendable, Hashable {
  /// Starts an app, or brings it to the foreground. Clears an earlier force-quit.
  case openApp(bundleIdentifier: String)
  /// The user looks at something else: the app goes to the background and is soon suspended.
  case leaveApp(bundleIdentifier: String)
  /// Force-quit: the app is killed, and not relaunched until the user opens it again.
  case quitApp(bundleIdentifier: String)
  /// The app is killed as under memory pressure. What it asked for stays in force.
  case reclaimApp(bundleIdentifier: String)
  /// Memory is short: the app that has been suspended longest is killed. What it asked for stays in force.
  case reclaimMemory
  /// Asks an app for an action, by a name known to the app. The app is started or woken for it. Answered when it is
  /// done.
  case performAction(bundleIdentifier: String, name: String)
  /// Asks an app something, by a name known to the app, with an argument that only the app reads. The app is started or
  /// woken for it. Answered with the app's text.
  case askApp(bundleIdentifier: String, name: String, argument: String)
  /// The client gives up what it asked of apps and has no answer to. It still gets the answers, which say what became of it.
  /// A client that leaves the bus gives it up as well. Answered at once.
  case withdrawActions
  /// Whether the app may use Bluetooth. Apps may, until the user says no. A no ends everything that the app asked for.
  case allowApp(bundleIdentifier: String, isAllowed: Bool)
  /// The user's own switch for Bluetooth.
  case setBluetooth(on: Bool)
  case status
  /// The status. From now on the client is told when it has changed, until it leaves the bus.
  case watchStatus

  /// The user is there to answer questions of pairings, for the next half minute. Answered with the status when
  /// pairings can ask, and when there is a question, or after ten seconds at the latest.
  case attendPairings
  /// The user's answer to a question. It is not an error if the question is already over.
  case answerPairing(PairingAnswer)
  /// Pairs with a device, by its address or name. An unknown device is looked for. Answered when that is done.
  case pair(device: String)

  /// Whether it asks an app for something, which the client may give up.
  package var isOfApp: Bool {
    switch self {
    case .performAction, .askApp: true
    default: false
    }
  }

  /// Whether the answer is the status.
  package var returnsStatus: Bool { [.status, .watchStatus, .attendPairings].contains(self) }
}

/// What a pairing asks the user.
package struct PairingQuestion: Sendable, Hashable, Codable {
  package enum Kind: String, Sendable, Hashable, Codable {
    /// Do both devices show this number?
    case compare
    /// May the device pair? There is no number to compare.
    case authorize
    /// Which number does the other device show?
    case enter
    /// This number is to be entered on the other device. It needs no answer.
    case show
  }
  /// Never reused.
  package var identifier: UInt64
  package var kind: Kind
  package var address: String
  /// What the device calls itself. It can be any text.
  package var name: String?
  /// 0 to 999,999; 0 if there is none.
  package var passkey: UInt32
  package init(identifier: UInt64, kind: Kind, address: String, name: String? = nil, passkey: UInt32 = 0) {
    self.identifier = identifier
    self.kind = kind
    self.address = address
    self.name = name
    self.passkey = passkey
  }
}

/// The user's answer.
package struct PairingAnswer: Sendable, Hashable, Codable {
  package var question: UInt64
  package var isAccepted: Bool
  /// The number that was asked for.
  package var passkey: UInt32
  package init(question: UInt64, isAccepted: Bool, passkey: UInt32 = 0) {
    self.question = question
    self.isAccepted = isAccepted
    self.passkey = passkey
  }
}
