import LockCryptography

/// What is asked of a setup.
public enum SetupRequest: Sendable, Equatable {
  /// A lock, and a phone that it is to open for, where one is known yet.
  case lock(phone: PhoneIntroduction?)
  /// A phone, and the lock that it is for, where one is known yet.
  case phone(lock: LockIntroduction?)

  public var role: SetupRole {
    switch self {
    case .lock: .lock
    case .phone: .phone
    }
  }
}

/// The keys that a machine has already.
public enum PresentKeys: Sendable, Equatable {
  case none
  /// A lock's, with the public keys of its phones.
  case lock(phones: [[UInt8]])
  /// A phone's that waits for its lock.
  case pendingPhone
  /// A phone's, and the lock that they are for.
  case phone(lock: LockIntroduction)
}

/// What a setup sees before it changes anything.
public struct MachineFacts: Sendable, Equatable {
  public var isRoot: Bool
  /// systemd is process 1.
  public var hasSystemd: Bool
  /// latchkeyd's unit is installed.
  public var hasSystem: Bool
  /// The app's declaration is installed.
  public var hasApp: Bool
  public var keys: PresentKeys

  public init(isRoot: Bool, hasSystemd: Bool, hasSystem: Bool, hasApp: Bool, keys: PresentKeys) {
    self.isRoot = isRoot
    self.hasSystemd = hasSystemd
    self.hasSystem = hasSystem
    self.hasApp = hasApp
    self.keys = keys
  }
}

/// One thing that a setup does. Each may have been done before, and is then done again without harm.
public enum SetupStep: Sendable, Equatable {
  /// Has systemd run a unit now and at every boot.
  case enable(unit: String)
  /// Sees that bluetoothd has an adapter, and turns it on.
  case powerAdapter
  case makeLock(phone: PhoneIntroduction?)
  case enroll(PhoneIntroduction)
  /// A phone's key, before its lock is known.
  case makePendingPhone
  case makePhone(lock: LockIntroduction)
  /// The user's own switch, which latchkeyd keeps.
  case turnBluetoothOn
  /// Ends the app, so that its next process has the new keys.
  case endApp
  /// Has the app running; returns when it is.
  case startApp
  /// Opens the app as its user would, and puts it into the background: from then on it is started when it is needed.
  case openApp
}

/// What a setup does on a machine, in order.
public struct SetupPlan: Sendable, Equatable {
  public let steps: [SetupStep]

  /// - Throws: `SetupProblem`, before anything is changed.
  public init(_ request: SetupRequest, _ facts: MachineFacts) throws(SetupProblem) {
    let role = request.role
    guard facts.isRoot else { throw .notRoot(role) }
    guard facts.hasSystemd else { throw .noSystemd }
    guard facts.hasSystem else { throw .notInstalled(package: "latchkeyd") }
    guard facts.hasApp else { throw .notInstalled(package: role.package) }
    let keys = try Self.keys(request, facts.keys)
    // The adapter first: where there is none, keys would be for nothing.
    var steps: [SetupStep] = [.enable(unit: "bluetooth.service"), .powerAdapter]
    if let keys { steps.append(keys) }
    if Self.waitsForLock(request, facts.keys) {
      self.steps = steps
      return
    }
    steps += [.enable(unit: "latchkeyd.service"), .turnBluetoothOn]
    switch role {
    case .lock:
      if keys != nil { steps.append(.endApp) }
      steps.append(.startApp)
    // Its next process tries a lock again that has refused this one.
    case .phone: steps += [.endApp, .openApp]
    }
    self.steps = steps
  }

  /// Whether an agent would have no lock to look for.
  private static func waitsForLock(_ request: SetupRequest, _ present: PresentKeys) -> Bool {
    guard request == .phone(lock: nil) else { return false }
    if case .phone = present { return false }
    return true
  }

  private static func keys(_ request: SetupRequest, _ present: PresentKeys) throws(SetupProblem) -> SetupStep? {
    switch (request, present) {
    case (.lock(let phone), .lock(let phones)):
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
