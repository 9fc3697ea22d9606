import LockProtocol

/// Which centrals the lock's radio should let bond. The lock itself needs no bond, because its own protocol proves
/// everything that it does. A phone needs one, because its system then finds the lock without a search.
extension LockFirmware {
  /// Whether any central may bond now: while the window for enrolments is open, and as long as a phone that was set up
  /// by texts has not been here yet, because such a phone has no window. Other centrals bond when they have proven
  /// themselves (`provenCentrals`).
  package var acceptsBonds: Bool {
    enrolmentStatus == .open
      || configuration.enrolledPhones.contains { phone in
        !failures.trusted.contains { $0.phone == phone } && isOwner(phone)
      }
  }

  /// The centrals over which phones have proven their keys on their present links. These are owners' phones, and
  /// guests' phones whose grants count now or may count later. So a guest who comes too early is found without a search
  /// later.
  package var provenCentrals: [CentralIdentifier] {
    links.filter { link in
      link.phone != nil || (link.expectedGrant != 0 && failures.turnedAway.contains { $0.central == link.central })
    }.map { $0.central }
  }

  /// The centrals over which phones proved their keys on an earlier link, or proved keys whose grants are over. They
  /// may not bond, but they are no strangers either: a guest who comes too late is told so, and need not come back
  /// every half minute to hear it.
  package var knownCentrals: [CentralIdentifier] { (failures.trusted + failures.turnedAway).map { $0.central } }
}
