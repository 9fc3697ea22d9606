import Journal
import JournalEvents
import Stories
import TimeTypes

/// Puts what was recorded into a person's words. Takes the journal's entries in their order, and passes over those
/// that only a developer looks for.
package struct Narrator: Sendable {
  /// The machines whose Bluetooth is simulated.
  private var simulated: Set<String> = []
  /// What latchkeyd last said of Bluetooth, by machine.
  private var bluetooth: [String: String] = [:]
  /// The machines whose agents have already told of this approach.
  private var toldApproach: Set<String> = []

  package init() {}

  /// `nil` if this entry has nothing for a person.
  package mutating func tell(_ entry: JournalEntry) -> Deed? {
    if let event = entry.event(as: Recorded.Story.self) { return story(event, entry) }
    if let event = entry.event(as: Recorded.Radio.self) { return radio(event, entry) }
    if let event = entry.event(as: Recorded.Lock.self) { return lock(event, entry) }
    if let event = entry.event(as: Recorded.Agent.self) {
      guard var deed = agent(event, entry) else { return nil }
      // On a phone with several doors, the agent names the door.
      if let door = entry[.door] { deed.text += " (\(door))" }
      return deed
    }
    if let event = entry.event(as: Recorded.Daemon.self) {
      // The simulator reports each change once. latchkeyd may see any number of states in between.
      if event == .bluetoothState {
        if simulated.contains(entry.machine) { return nil }
        guard let state = entry[.state], bluetooth.updateValue(state, forKey: entry.machine) != state else {
          return nil
        }
      }
      return DaemonNarration.deed(event, entry)
    }
    // A story's own app: what it records is for people, what its delegates are told is not.
    if let event = entry.event, !Recorded.processes.contains(entry.process), entry.process != Recorded.orchestrator {
      return event == DelegateRecord.event ? nil : entry.deed(.system, "\(entry.process): \(entry.message)")
    }
    guard ["warning", "error", "critical"].contains(entry.level) else { return nil }
    return entry.deed(.trouble, "\(Words.program(entry.process)) reports: \(entry.message)")
  }

  // MARK: What people do

  private mutating func story(_ event: Recorded.Story, _ entry: JournalEntry) -> Deed? {
    switch event {
    case .chapterBegan: return entry.deed(.chapter, entry[.name] ?? entry.message)
    case .processFailed, .notDone, .waitFailed: return entry.deed(.trouble, entry.message)
    // The program that did what the step waited for records that itself.
    case .waited, .timePassed, .walkEnded: return nil
    case .ownerLeft, .ownerReturned, .moved:
      toldApproach.remove(entry.machine)
      return entry.deed(.person, entry.message)
    case .appOpened, .appLeft, .appQuit, .appReclaimed, .userUnlocked, .userAsked, .userAnswered, .appKilled, .appHung,
      .appContinued, .daemonKilled, .machineDown, .machineUp, .fault:
      return entry.deed(.person, entry.message)
    }
  }

  // MARK: Links

  private mutating func radio(_ event: Recorded.Radio, _ entry: JournalEntry) -> Deed? {
    if entry.process == Recorded.simulator, let machine = entry[.machine] { simulated.insert(machine) }
    switch event {
    case .linkUp:
      guard let (place, other) = Self.ends(entry) else { return nil }
      return entry.deed(.system, "\(place) is connected to \(other)", place: place)
    case .linkDown:
      guard let (place, other) = Self.ends(entry) else { return nil }
      return entry.deed(
        .system, "\(place) loses its connection to \(other)\(Words.because(entry[.reason]))", place: place)
    case .bluetoothdStopped: return entry.deed(.system, "bluetoothd ends\(Words.because(entry[.cause]))")
    case .bluetoothdStarted: return entry.deed(.system, "bluetoothd starts")
    case .adapterPowered: return entry.deed(.system, "Bluetooth is \(entry[.on] == "true" ? "on" : "off")")
    // The text is the simulator's (`BlueZModel.Diagnostic.nothingToForget`). A story that forgets pairings is about pairings.
    case .bluetoothdDiagnostic where entry[.text] == "no pairings to remove":
      return entry.deed(.trouble, "there are none: \(entry[.machine] ?? "it") has no pairings")
    case .bluetoothdDiagnostic, .controllerAttached, .controllerDetached, .controllerAdapter, .walkBegan,
      .walkEnded, .advertisingChanged, .scanningChanged:
      return nil
    }
  }

  /// Both ends of a link. A bluetoothd records the links of its own machine, and does not know the other's name.
  static func ends(_ entry: JournalEntry) -> (place: String, other: String)? {
    if let central = entry[.central], let peripheral = entry[.peripheral] { return (central, peripheral) }
    return entry.machine.isEmpty ? nil : (entry.machine, entry[.device] ?? "another device")
  }

  // MARK: The lock

  private func lock(_ event: Recorded.Lock, _ entry: JournalEntry) -> Deed? {
    switch event {
    case .started: entry.deed(.system, "the lock starts; its bolt is \(entry[.bolt] ?? "in an unknown position")")
    case .boltMoved:
      entry.deed(
        .door, "the bolt is \(entry[.to] ?? "moved"), \(Self.cause(entry[.cause]))\(Self.side(entry[.from]))")
    case .boltJammed: entry.deed(.trouble, "the bolt jams on its way to \(entry[.to] ?? "the other position")")
    case .boltInterrupted: entry.deed(.trouble, "the lock started in the middle of a movement of the bolt")
    case .commandRefused: entry.deed(.trouble, "the lock refuses a command: \(Self.refusal(entry[.reason]))")
    case .alarmRaised: entry.deed(.trouble, "the lock raises an alarm: \(Self.alarm(entry[.alarm]))")
    case .alarmCleared: entry.deed(.door, "an alarm of the lock is over: \(Self.alarm(entry[.alarm]))")
    case .batteryChanged:
      entry.deed(
        entry[.level] == "ok" ? .door : .trouble,
        "the lock's battery is \(entry[.level] ?? "unknown") (\(entry[.percent] ?? "?") %)")
    case .modeChanged: entry.deed(.door, "the lock's mode is \(entry[.mode] ?? "unknown") now")
    case .enrolmentOpened:
      entry.deed(.person, "somebody presses the lock's button: it takes a new phone for two minutes")
    case .enrolmentClosed:
      entry[.because] == "phoneEnrolled" ? nil : entry.deed(.door, "the lock takes no new phone any more")
    case .enrolmentRefused: entry.deed(.trouble, "the lock refuses a phone that wants to be enrolled")
    case .phoneEnrolled: entry.deed(.door, "the lock has enrolled a phone")
    case .willRestoreState: entry.deed(.system, "the lock gets its state back")
    case .requestRefused: entry.deed(.trouble, "the lock refuses to talk to somebody who has proven nothing")
    case .linkRefused: entry.deed(.trouble, "the lock has no room for another link")
    case .noRoom: entry.deed(.trouble, "the lock has no room for what an owner says")
    case .accessChanged: entry.deed(.system, "the lock takes in what an owner says")
    case .stateUpdated, .offerSent, .commandAccepted, .requestAccepted: nil
    }
  }

  /// On which side of the door a hand turned the bolt, if the lock can tell.
  private static func side(_ side: String?) -> String {
    switch side {
    case "inside": " from inside"
    case "outside": " from outside"
    default: ""
    }
  }

  private static func cause(_ cause: String?) -> String {
    switch cause {
    case "hand": "by hand"
    case "phone": "as the phone asked"
    case "leaving": "because its owner has left"
    case "relock": "by itself"
    case "unexplained": "and nothing shows by whom"
    case let other?: "because of \(other)"
    case nil: "for an unknown reason"
    }
  }

  private static func alarm(_ alarm: String?) -> String {
    switch alarm {
    case "lockJammed": "its bolt is jammed"
    case "lockFactoryReset": "it has forgotten its phones"
    case "wrongCodeEntryLimit": "strangers have tried too often"
    case "frontEscutcheonRemoved": "its cover is off"
    case "doorForcedOpen": "its door was forced open"
    case "doorAjar": "its door was left open"
    case "mechanismFailed": "its mechanism does not answer"
    case "batteryCritical": "its battery is nearly empty"
    case "batteryEmpty": "its battery is too empty to lock"
    case let other?: other
    case nil: "it does not say which"
    }
  }

  private static func refusal(_ reason: String?) -> String {
    switch reason {
    case "noOffer": "it has made no offer on this connection"
    case "wrongLength": "it has the wrong length"
    case "offerExpired": "its offer has expired"
    case "authenticationFailed": "it is not from the phone whose key it names"
    case "notEnrolled": "it does not know this phone"
    case "malformed": "it can't be read"
    case "notAllowed": "the guest's grant does not allow it"
    case "waiting": "there were too many wrong ones before"
    case "unsubscribed": "its phone could not hear the answer"
    case let other?: other
    case nil: "it does not say why"
    }
  }

  // MARK: The agent

  private mutating func agent(_ event: Recorded.Agent, _ entry: JournalEntry) -> Deed? {
    switch event {
    case .willRestoreState: return entry.deed(.system, "the agent gets its state back")
    case .didConnect: return entry.deed(.system, "the agent learns that it is connected")
    case .subscribed: return entry.deed(.system, "the agent subscribes to the lock's offers")
    case .subscriptionAlive: return entry.deed(.system, "the agent's subscription is still in place")
    case .approachBegan:
      guard toldApproach.insert(entry.machine).inserted else { return nil }
      return entry.deed(
        .system, "the agent sees an approach begin\(entry[.signal].map { " (\($0) dBm)" } ?? "")")
    case .unlockWritten: return entry.deed(.system, "the agent asks the lock to open, \(Self.grounds(entry[.because]))")
    case .unlockAnswered: return entry.deed(.system, "the lock answers the agent: \(Self.result(entry[.result]))")
    case .unlockAsked:
      return entry.deed(.door, "the agent does not open, and asks its owner: \(Self.doubt(entry[.because]))")
    case .turnedAway:
      let pause = entry[.milliseconds].flatMap(Int.init).map { " for \($0 / 60_000) min" } ?? ""
      return entry.deed(.system, "the lock turns the phone away, and the agent asks for no link\(pause)")
    case .lockWritten: return entry.deed(.system, "the agent asks the lock to lock, because its owner said so")
    case .lockAnswered: return entry.deed(.system, "the lock answers the agent: \(Self.result(entry[.result]))")
    case .otherLock:
      return entry.deed(.trouble, "the device is not the lock that the agent looks for, or does not say so")
    case .enrolled: return entry.deed(.system, "the agent is enrolled at the lock, and has its keys")
    case .logTrouble: return entry.deed(.trouble, "the agent finds the lock's log changed: \(entry[.text] ?? "")")
    case .wordGiven: return entry.deed(.system, "the agent has its owner's command")
    case .wordAnswered: return entry.deed(.door, "the owner's command: \(Self.outcome(entry[.outcome]))")
    case .started, .stateUpdated, .didDisconnect, .discoveryStarted, .servicesChanged, .offerAsked, .offerReceived,
      .statusWritten, .statusAnswered, .questionAsked, .questionAnswered:
      return nil
    }
  }

  private static func grounds(_ because: String?) -> String {
    switch because {
    case "approach": "because its owner has come to the door"
    case "word": "because its owner said so"
    case let other?: "because of \(other)"
    case nil: "for an unknown reason"
    }
  }

  private static func result(_ result: String?) -> String {
    switch result {
    case "done": "done"
    case "jammed": "the bolt is jammed"
    case "unknownOperation": "it does not know this command"
    case "insufficientBattery": "its battery is too empty"
    case "somebodyInside": "somebody inside has locked it, and nobody has turned it since"
    case "restricted": "its mode does not allow it"
    case let other?: other
    case nil: "nothing that can be read"
    }
  }

  private static func doubt(_ because: String?) -> String {
    switch because {
    case "noApproach": "nothing shows that the phone came from elsewhere"
    case "jammed": "the bolt has not moved, however often it was tried"
    case "refused": "the lock can't, or may not, open for this phone now"
    case "noSignal": "it can't read how strong the signal is"
    case "somebodyInside": "somebody inside has locked the door, and nobody has turned the bolt since"
    case "lockedAtHome": "somebody at home locked the door, and nothing shows that its owner was away since"
    case let other?: other
    case nil: "it does not say why"
    }
  }

  private static func outcome(_ outcome: String?) -> String {
    switch outcome {
    case "done": "the door is open"
    case "notLinked": "there is no connection to the lock"
    case "linkLost": "the connection to the lock was lost before its answer"
    case "noAnswer": "the lock did not answer, or refuses this phone"
    case "unreadable": "the lock's answer can't be understood"
    case "failed": "the lock could not do it"
    case "lockedAgain": "the door was open, and has been locked since"
    case "overtaken": "it was asked since that the door be locked"
    case "notStored": "it could not be stored, so it was not carried out"
    case let other?: other
    case nil: "its outcome is unknown"
    }
  }
}
