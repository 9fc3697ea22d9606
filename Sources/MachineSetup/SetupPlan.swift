import LockCryptography

/// The request for a setup.
package enum SetupRequest: Sendable, Equatable {
  /// A lock, and a phone that may open it, if one is already known.
  case lock(phone: PhoneIntroduction?)
  /// A phone, and its lock, if one is already known.
  case phone(lock: LockIntroduction?)

  package var role: SetupRole {
    switch self {
    case .lock: .lock
    case .phone: .phone
    }
  }
}

/// The keys that a machine already has.
package enum PresentKeys: Sendable, Equatable {
  case none
  /// A lock's keys, with the public keys of its phones. Those of an earlier version have no code.
  case lock(phones: [[UInt8]], hasCode: Bool = true)
  /// A phone's key that waits for its lock.
  case pendingPhone
  /// A phone's keys, and the lock that they belong to.
  case phone(lock: LockIntroduction)
}

/// What a setup finds before it changes anything.
package struct MachineFacts: Sendable, Equatable {
  package var isRoot: Bool
  /// systemd is process 1.
  package var hasSystemd: Bool
  /// latchkeyd's unit is installed.
  package var hasSystem: Bool
  /// The app's declaration is installed.
  package var hasApp: Bool
  package var keys: PresentKeys

  package init(isRoot: Bool, hasSystemd: Bool, hasSystem: Bool, hasApp: Bool, keys: PresentKeys) {
    self.isRoot = isRoot
    self.hasSystemd = hasSystemd
    self.hasSystem = hasSystem
    self.hasApp = hasApp
    self.keys = keys
  }
}

/// One step of a setup. A step that has been done before can be repeated without harm.
package enum SetupStep: Sendable, Equatable {
  /// Makes systemd run a unit now and at every boot.
  case enable(unit: String)
  /// Checks that bluetoothd has an adapter, and turns it on.
  case powerAdapter
  case makeLock(phone: PhoneIntroduction?)
  case enroll(PhoneIntroduction)
  /// Gives the lock a code by which phones are enrolled, if its keys are of an earlier release.
  case addCode
  /// A phone's key, before its lock is known.
  case makePendingPhone
  case makePhone(lock: LockIntroduction)
  /// Writes the settings that make arrivals fast into bluetoothd's file, and restarts bluetoothd if the file has
  /// changed.
  case writeRadioSettings(RadioSettings)
  /// Turns on the user's Bluetooth switch, which latchkeyd stores.
  case turnBluetoothOn
  /// Ends the app, so that its next process uses the new keys.
  case endApp
  /// Starts the app; returns when it is running.
  case startApp
  /// Opens the app as its user would, and puts it into the background. From then on, latchkeyd starts it when it is
  /// needed.
  case openApp
}

/// The steps of a setup on a machine, in order.
package struct SetupPlan: Sendable, Equatable {
  package let steps: [SetupStep]

  /// - Parameter radio: the settings of bluetoothd to write; `nil` leaves them as they are.
  /// - Throws: `SetupProblem`, before anything is changed.
  package init(
    _ request: SetupRequest, _ facts: MachineFacts, radio: RadioSettings? = nil
  ) throws(SetupProblem) {
    let role = request.role
    guard facts.isRoot else { throw .notRoot(role) }
    guard facts.hasSystemd else { throw .noSystemd }
    guard facts.hasSystem else { throw .notInstalled(package: "latchkeyd") }
    guard facts.hasApp else { throw .notInstalled(package: role.package) }
    let keys = try Self.keys(request, facts.keys)
    // The adapter first: without one, keys would be useless. Settings before the adapter, because bluetoothd restarts.
    var steps: [SetupStep] = [.enable(unit: "bluetooth.service")]
    if let radio { steps.append(.writeRadioSettings(radio)) }
    steps.append(.powerAdapter)
    if let keys { steps.append(keys) }
    let needsCode = if case .lock(_, hasCode: false) = facts.keys { true } else { false }
    if needsCode { steps.append(.addCode) }
    steps += [.enable(unit: "latchkeyd.service"), .turnBluetoothOn]
    switch role {
    case .lock:
      if keys != nil || needsCode { steps.append(.endApp) }
      steps.append(.startApp)
    // The app is restarted, so that it tries again at a lock that has refused it before.
    case .phone: steps += [.endApp, .openApp]
    }
    self.steps = steps
  }

  private static func keys(_ request: SetupRequest, _ present: PresentKeys) throws(SetupProblem) -> SetupStep? {
    switch (request, present) {
    case (.lock(let phone), .lock(let phones, _)):
      guard let phone, !phones.contains(phone.publicKey) else { return nil }
      return .enroll(phone)
    case (.lock(let phone), _): return .makeLock(phone: phone)
    case (.phone(let lock), .phone(let present)):
      guard lock == nil || lock == present else { throw .otherLock(present) }
      return nil
    case (.phone(let lock?), _): return .makePhone(lock: lock)
    case (.phone(nil), .pendingPhone): return nil
    case (.phone(nil), _): return .makePendingPhone
    }
  }
}
