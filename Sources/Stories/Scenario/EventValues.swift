import AppLink
import BluetoothSystem
import HomePolicy
import JournalEvents
import LockFirmware
import LockProtocol
import Worlds

/// The values that a field of an event can have, if they are a closed set. A step that waits for another value would
/// wait in vain. The values come from the types that the programs record, so nothing is listed twice.
struct EventValues {
  private let machines: [MachineDescription]
  /// The apps of the machine in question, or of all.
  private let apps: Set<String>

  init(_ machines: [MachineDescription], machine: String?) {
    self.machines = machines
    apps = Set(machines.filter { $0.name == machine ?? $0.name }.flatMap(\.apps).map(\.bundleIdentifier))
  }

  /// - Returns: `nil` if the field can have any value, as far as is known.
  func values(of field: String, in event: String, _ kinds: [any JournalEvent.Type]) -> Set<String>? {
    guard let field = JournalField(rawValue: field) else { return nil }
    var values: Set<String>?
    for kind in kinds {
      guard let known = kind.init(rawValue: event), known.fields.contains(field) else { continue }
      guard let own = own(known, field) else { return nil }
      values = (values ?? []).union(own)
    }
    return values
  }

  /// What a field can be in the record of a call of an app's delegate.
  static func told(_ field: String) -> Set<String>? {
    switch DelegateRecord.Field(rawValue: field) {
    case .call: Set(Event.Kind.toldToDelegates.map(\.rawValue))
    case .role: texts(Role.self)
    case .state: words(ManagerState.self)
    case .asked, .error: ["yes"]
    default: nil
    }
  }

  private func own(_ event: any JournalEvent, _ field: JournalField) -> Set<String>? {
    switch event {
    case let event as Recorded.Agent: Self.agent(event, field)
    case let event as Recorded.Lock: Self.lock(event, field)
    case let event as Recorded.Daemon: field == .app ? apps : Self.daemon(event, field)
    case let event as Recorded.Radio: radio(event, field)
    case let event as Recorded.Story: story(event, field)
    default: nil
    }
  }

  private static func agent(_ event: Recorded.Agent, _ field: JournalField) -> Set<String>? {
    switch (event, field) {
    case (.stateUpdated, .state): words(ManagerState.self)
    case (.unlockWritten, .because): texts(OpeningReason.self)
    case (.unlockAsked, .because): texts(Doubt.self)
    case (.wordAnswered, .outcome): texts(WordOutcome.self)
    case (_, .result): words(LockResult.self)
    case (_, .lockState): words(LockState.self)
    case (_, .doorState): Set(DoorState.allCases.map { "\($0.inAnswer)" })
    default: nil
    }
  }

  private static func lock(_ event: Recorded.Lock, _ field: JournalField) -> Set<String>? {
    switch (event, field) {
    case (.started, .bolt): words(BoltPosition.self)
    case (.started, .door): doors
    case (.stateUpdated, .state): words(ManagerState.self)
    case (.commandAccepted, .command): words(LockCommand.Kind.self)
    // Nobody could hear the answer, because the phone is not subscribed.
    case (.commandRefused, .reason): words(RefusalReason.self).union(["unsubscribed"])
    case (.requestAccepted, .request): words(LockRequest.Kind.self)
    // The lock had no room to read even the kind of the request.
    case (.noRoom, .request): words(LockRequest.Kind.self).union(["too long"])
    case (.boltMoved, .to), (.boltJammed, .to): words(BoltTarget.self)
    case (.boltMoved, .cause), (.boltJammed, .cause): words(MovementCause.self)
    case (.boltMoved, .from): words(HandSide.self).subtracting(["\(HandSide.unknown)"])
    case (_, .alarm): words(LockAlarm.self)
    case (.batteryChanged, .level): words(BatteryLevel.self)
    case (.modeChanged, .mode): words(OperatingMode.self)
    case (.enrolmentClosed, .because): words(EnrolmentEnd.self)
    case (.enrolmentRefused, .reason): words(EnrolmentStatus.self)
    default: nil
    }
  }

  private static func daemon(_ event: Recorded.Daemon, _ field: JournalField) -> Set<String>? {
    switch (event, field) {
    case (.bluetoothState, .state): words(ManagerState.self)
    case (.appLaunched, .reason): texts(LaunchReason.self)
    case (.appLaunched, .because), (.wakeEnded, .because): wakes
    // A suspended app is also resumed when its user opens it.
    case (.appResumed, .because): wakes.union([LaunchReason.opened.rawValue])
    case (.appAuthorization, .state): ["allowed", "denied"]
    case (.actionCompleted, .succeeded): flags
    case (.managerCreated, .role): texts(Role.self)
    case (.pairingAnswered, .answer): ["accepted", "refused"]
    default: nil
    }
  }

  private func radio(_ event: Recorded.Radio, _ field: JournalField) -> Set<String>? {
    switch (event, field) {
    case (_, .machine), (.linkUp, .central), (.linkUp, .peripheral), (.linkDown, .central), (.linkDown, .peripheral):
      Set(machines.map(\.name))
    case (_, .on): Self.flags
    default: nil
    }
  }

  private func story(_ event: Recorded.Story, _ field: JournalField) -> Set<String>? {
    switch (event, field) {
    case (_, .app): apps
    case (_, .machine): Set(machines.map(\.name))
    case (_, .way): ["walk", "jump"]
    case (.userAnswered, .outcome): Self.texts(Question.Outcome.self)
    case (.fault, .door): Self.doors
    case (.fault, .about): [Recorded.atTheLock, Recorded.bluetoothSwitchedOff, Recorded.clockSet, Recorded.provisioned]
    default: nil
    }
  }

  /// The door's positions, as the lock's sensor and a hand at the door are recorded.
  private static let doors: Set<String> = ["open", "shut"]
  private static let flags: Set<String> = ["true", "false"]
  private static let wakes = texts(Event.Kind.self).union([WakeReason.adopted, .restore].map(\.rawValue))

  private static func words<Word: CaseIterable>(_ kind: Word.Type) -> Set<String> { Set(kind.allCases.map { "\($0)" }) }

  private static func texts<Text: CaseIterable & RawRepresentable<String>>(_ kind: Text.Type) -> Set<String> {
    Set(kind.allCases.map(\.rawValue))
  }
}
