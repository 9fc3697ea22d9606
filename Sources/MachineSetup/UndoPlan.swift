import LockCryptography

/// What taking a setup back finds before it changes anything.
package struct UndoFacts: Sendable, Equatable {
  package var isRoot: Bool
  /// systemd is process 1.
  package var hasSystemd: Bool
  /// latchkeyd's unit is installed.
  package var hasSystem: Bool
  /// The roles whose apps' units are installed.
  package var roles: Set<SetupRole>
  /// The files with keys, and what belongs to them, that exist.
  package var keyFiles: [String]
  /// A setup has written settings of bluetoothd.
  package var hasRadioSettings: Bool

  package init(
    isRoot: Bool, hasSystemd: Bool, hasSystem: Bool, roles: Set<SetupRole>, keyFiles: [String],
    hasRadioSettings: Bool = false
  ) {
    self.hasRadioSettings = hasRadioSettings
    self.isRoot = isRoot
    self.hasSystemd = hasSystemd
    self.hasSystem = hasSystem
    self.roles = roles
    self.keyFiles = keyFiles
  }
}

/// One step of taking a setup back. It can be repeated without harm.
package enum UndoStep: Sendable, Equatable {
  /// Ends a unit, and keeps systemd from running it at boot.
  case disable(unit: String)
  /// Ends an app that latchkeyd has started.
  case stop(unit: String)
  case remove(file: String)
  /// Takes the setup's settings out of bluetoothd's file, and restarts bluetoothd.
  case removeRadioSettings
}

/// The steps that take a setup back, in order, and what they leave.
package struct UndoPlan: Sendable, Equatable {
  package let steps: [UndoStep]
  /// What stays, in sentences for the user.
  package let remains: [String]

  /// - Parameter forgetsKeys: whether the keys are removed as well.
  /// - Throws: `SetupProblem`, before anything is changed.
  package init(forgetsKeys: Bool, _ facts: UndoFacts) throws(SetupProblem) {
    guard facts.isRoot else { throw .notRootForUndo }
    let roles = facts.roles.sorted { $0.rawValue < $1.rawValue }
    var steps: [UndoStep] = []
    if facts.hasSystemd {
      // latchkeyd first: it would start the lock again.
      if facts.hasSystem { steps.append(.disable(unit: "latchkeyd.service")) }
      steps += roles.map { .stop(unit: $0.unit) }
    }
    if facts.hasRadioSettings { steps.append(.removeRadioSettings) }
    if forgetsKeys { steps += facts.keyFiles.map { .remove(file: $0) } }
    self.steps = steps

    var remains: [String] = []
    if !forgetsKeys, !facts.keyFiles.isEmpty {
      remains.append(
        "The keys stay, so that a new setup fits the other side: \(facts.keyFiles.joined(separator: ", ")). "
          + "`latchkey setup undo --forget-keys` removes them.")
    }
    if facts.hasSystem {
      remains.append(
        "What latchkeyd and its apps have stored stays in /var/lib/latchkey*, and the programs stay installed: "
          + "`apt purge latchkeyd latchkey-lock latchkey-agent` removes both.")
    }
    if facts.hasSystemd {
      remains.append(
        "bluetooth.service goes on, because other programs may use it. The pairing is its own: `bluetoothctl devices` "
          + "shows the address, and `bluetoothctl remove ADDRESS` removes it.")
    }
    self.remains = remains
  }

  /// Whether there is nothing to take back.
  package var isEmpty: Bool { steps.isEmpty }
}

extension SetupRole {
  /// The files and folders that a setup or the app has made and that are of no use without each other: the keys, what
  /// the lock was told over the air, what the agent knows of its locks, and the guests that it has invited.
  var keyFiles: [String] {
    let keys = self == .lock ? [LockKeys.fileName] : [PhoneKeys.fileName, PendingPhoneKey.fileName]
    // A power cut while keys are written may leave the new file beside the old one.
    let files = keys.flatMap { ["\(keyFolder)/\($0)", "\(keyFolder)/\($0).new"] }
    let folder = "/var/lib/\(package)"
    let made =
      self == .lock
      ? ["access.state", "access.state.made", "trusted.json"]
      : ["agent.json", "agent.json.made", "owner-key.json", "guests.json", "doors", "guest", "enrolment"]
    return files + made.map { "\(folder)/\($0)" }
  }
}
