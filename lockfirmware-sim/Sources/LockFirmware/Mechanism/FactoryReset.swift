import LockProtocol

/// Factory reset, by a physical act: the button on the inside, held for ten seconds while the bolt is unlocked or the door
/// is open. A burglar who reaches the button is already in, and still opens nothing with it later.
extension LockFirmware {
  private var mayReset: Bool { position == .unlocked || door == .open }

  mutating func resetButton(isPressed: Bool) {
    resetDue = isPressed && mayReset ? now + LockLimit.resetHoldMilliseconds : nil
  }

  /// The bolt has to be unlocked or the door open all the time.
  mutating func watchResetButton() {
    if !mayReset { resetDue = nil }
    guard let due = resetDue, due <= now else { return }
    resetDue = nil
    recordAlarm(.lockFactoryReset, then: .forgetPhones)
  }

  /// The reset is recorded: no phone that was enrolled opens this lock any more, nor does any session that is open. That is
  /// stored first: whatever fails after it, no phone comes back.
  mutating func forgetPhones(_ record: UInt64) {
    effects.append(.forgetPhones(record: record))
    effects.append(.storeTrusted([]))
    configuration.enrolledPhones = []
    failures = FailureBudget(within: configuration.capacity)
    enrolment.completing = nil
    awaited = nil
    departures = []
    for index in links.indices {
      links[index].offered = nil
      links[index].previouslyOffered = nil
      links[index].phone = nil
      links[index].isUnproven = false
      links[index].grant = nil
      links[index].conversations = []
    }
    closeEnrolment(.reset)
    access = AccessState()
    storeAccess()
    // A command that waits for the bolt is refused when its turn comes, as one of nobody's.
  }
}
