import LockProtocol

/// How a lock operates, with Matter's words and numbers (Door Lock cluster, `OperatingMode`). `vacation` is not supported.
package enum OperatingMode: UInt8, Equatable, Sendable, CaseIterable {
  case normal = 0
  case vacation = 1
  /// No phone unlocks it. Ends when somebody unlocks the bolt by hand, or the door is opened.
  case privacy = 2
  /// Phones neither lock nor unlock it.
  case noRemoteLockUnlock = 3
  /// The bolt is not thrown by itself.
  case passage = 4
}

/// On which side of the door a hand turned the bolt.
package enum HandSide: UInt8, Equatable, Sendable, CaseIterable {
  /// A lock whose thumb-turn and key turn the same shaft can't tell.
  case unknown = 0
  /// The thumb-turn.
  case inside = 1
  /// The key.
  case outside = 2
}

extension LockFirmware {
  /// Whether phones may move the bolt to this position in the present mode.
  func allowsPhones(_ target: BoltTarget) -> Bool {
    switch mode {
    case .normal, .vacation, .passage: true
    case .privacy: target == .locked
    case .noRemoteLockUnlock: false
    }
  }

  /// Somebody inside sets the mode. It is recorded and stored.
  mutating func set(_ mode: OperatingMode) {
    guard mode != self.mode, mode != .vacation else { return }
    let wasPassage = self.mode == .passage
    self.mode = mode
    append(.mode, target: .locked, cause: .hand, result: .done, key: nil, detail: mode.rawValue, then: .nothing)
    effects.append(.storeMode(mode))
    effects.append(.note(.modeChanged(mode)))
    // A person who wants to be alone wants the door locked.
    if mode == .privacy, position != .locked { relockDue = now }
    if mode != .passage, position == .unlocked, relockDue == nil {
      relockDue = configuration.relockDelayMilliseconds.map { now + $0 }
    }
    if wasPassage { lockBehindWhoLeft() }
  }

  /// Phones may have left while nothing was locked by itself. They count as leaving now, as after a start of the lock.
  private mutating func lockBehindWhoLeft() {
    guard position == .unlocked, let awaited, !links.contains(where: { $0.phone == awaited }) else { return }
    departures.append(Departure(phone: awaited, due: now + configuration.leavingDelayMilliseconds))
  }

  mutating func endPrivacy() { if mode == .privacy { set(.normal) } }
}
