import Journal
import JournalEvents
import Worlds

extension Recorded {
  package static let agentIdentifier = InstalledApp.agent.bundleIdentifier
  package static let lockIdentifier = InstalledApp.lock.bundleIdentifier
}

extension JournalEntry {
  /// The orchestrator's mark, if this is such a line.
  var mark: Recorded.Story? { event(as: Recorded.Story.self) }

  func isMark(_ event: Recorded.Story) -> Bool { self.is(event) }
  func isAgent(_ event: Recorded.Agent) -> Bool { self.is(event) }
  func isLock(_ event: Recorded.Lock) -> Bool { self.is(event) }
  func isDaemon(_ event: Recorded.Daemon) -> Bool { self.is(event) }
  func isLink(_ event: Recorded.Radio) -> Bool { self.is(event) }

  /// Whether a line of a daemon or the orchestrator is about this app.
  func concerns(_ app: String) -> Bool { self[.app] == app }

  /// Whether this is a step of the story that may end links: neither at a door or its lock, nor with a clock.
  var isBluetoothFault: Bool {
    isMark(.fault) && self[.door] == nil && self[.about] != Recorded.atTheLock && self[.about] != Recorded.clockSet
  }

  /// Whether the story gives the machine's phone and a lock each other's keys.
  var isProvisioning: Bool { isMark(.fault) && self[.about] == Recorded.provisioned }

  /// Whether the user switches the machine's Bluetooth off.
  var isSwitchingBluetoothOff: Bool { isMark(.fault) && self[.about] == Recorded.bluetoothSwitchedOff }

  /// The user opens the app, or sends it a command, for which its system starts it.
  var isUsersCall: Bool { isMark(.appOpened) || isMark(.userUnlocked) || isMark(.userAsked) }

  /// Whether a line about a link is about one of this machine's links. The simulator and the air name both ends; a
  /// bluetoothd reports only its own machine's links.
  func isLink(of machine: String) -> Bool {
    let ends = [self[.central], self[.peripheral]].compactMap { $0 }
    if !ends.isEmpty { return ends.contains(machine) }
    return process != Recorded.bluetoothd || self.machine == machine
  }

  /// Whether a machine recorded this, or the simulator recorded it about this machine or one of its links.
  func isOf(_ machine: String) -> Bool {
    if self.machine == machine { return true }
    return self.machine.isEmpty && [self[.machine], self[.central], self[.peripheral]].contains(machine)
  }

  /// The bolt was moved to its open end.
  var isOpening: Bool { isLock(.boltMoved) && self[.to] == "unlocked" }
  var isOpeningByPhone: Bool { isOpening && self[.cause] == "phone" }
  var isByHand: Bool { self[.cause] == "hand" }
  /// The thumb-turn was turned, and not a key from outside.
  var isByHandInside: Bool { isByHand && self[.from] == "inside" }
}
