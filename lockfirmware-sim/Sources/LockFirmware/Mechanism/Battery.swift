import LockProtocol

/// The battery's charge, with Matter's words and numbers (Power Source cluster, `BatChargeLevel`).
package enum BatteryLevel: UInt8, Equatable, Sendable, CaseIterable {
  case ok = 0
  case warning = 1
  case critical = 2
}

/// What the battery must have left, in percent. Locking stays possible longer than unlocking, so that no bolt is unlocked
/// that could not be locked again.
package struct BatteryThresholds: Equatable, Sendable {
  /// At this and below, the level is `warning`.
  package var warning: UInt8 = 20
  /// At this and below, the level is `critical`.
  package var critical: UInt8 = 10
  /// At this and below, the bolt is not unlocked.
  package var noUnlock: UInt8 = 6
  /// At this and below, the bolt is not locked.
  package var noLock: UInt8 = 2

  package init() {}
}

/// What is known of the battery.
package struct Battery: Equatable, Sendable {
  /// A reading must be this much above a threshold before the level is better again: the voltage recovers after a turn.
  static let recoveryPercent: UInt8 = 3

  /// `nil` if there is no battery, or its charge is not known.
  package private(set) var percent: UInt8?
  package private(set) var level = BatteryLevel.ok

  package init() {}

  /// - Returns: whether the level has changed.
  mutating func read(_ percent: UInt8?, _ thresholds: BatteryThresholds) -> Bool {
    let before = level
    self.percent = percent.map { min($0, 100) }
    guard let percent = self.percent else {
      level = .ok
      return level != before
    }
    let margin = Self.recoveryPercent
    if percent <= thresholds.critical || (before == .critical && percent < thresholds.critical + margin) {
      level = .critical
    } else if percent <= thresholds.warning || (before != .ok && percent < thresholds.warning + margin) {
      level = .warning
    } else {
      level = .ok
    }
    return level != before
  }

  /// Whether a turn can be finished, and after an unlock the next one as well.
  func suffices(for target: BoltTarget, _ thresholds: BatteryThresholds) -> Bool {
    guard let percent else { return true }
    return percent > (target == .unlocked ? thresholds.noUnlock : thresholds.noLock)
  }
}

extension LockFirmware {
  mutating func batteryChanged(_ percent: UInt8?) {
    let hasChanged = battery.read(percent, configuration.battery)
    if hasChanged { effects.append(.note(.batteryChanged(battery.level, percent: battery.percent ?? 100))) }
    if battery.level == .critical { raiseAlarm(.batteryCritical) } else { clearAlarm(.batteryCritical) }
    if battery.suffices(for: .locked, configuration.battery) { clearAlarm(.batteryEmpty) }
  }
}
