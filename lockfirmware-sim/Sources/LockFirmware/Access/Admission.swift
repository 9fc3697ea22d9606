import LockProtocol

/// Whom the lock's radio should let in. The lock itself needs no bond: all that it does is proven by its own protocol. A phone needs one,
/// because its system finds a bonded lock without a search.
extension LockFirmware {
  /// Whether any central may bond now: in the window for enrolments, and while a phone that was set up by texts was not here yet,
  /// because such a phone has no window. All others bond when they have proven themselves (`provenCentrals`).
  package var acceptsBonds: Bool {
    enrolmentStatus == .open
      || configuration.enrolledPhones.contains { phone in
        !failures.trusted.contains { $0.phone == phone } && isOwner(phone)
      }
  }

  /// The centrals over which phones have proven their keys, on their links of now: owners', and guests' whose grants count or may count
  /// later. So a guest who is too early is found without a search when the time has come.
  package var provenCentrals: [CentralIdentifier] {
    links.filter { link in
      link.phone != nil || (link.expectedGrant != 0 && failures.turnedAway.contains { $0.central == link.central })
    }.map { $0.central }
  }

  /// The centrals over which phones did so on an earlier link, or proved keys whose grants are over. They don't bond, and are no
  /// strangers either: who is too late is told so, and need not come back for it every half minute.
  package var knownCentrals: [CentralIdentifier] { (failures.trusted + failures.turnedAway).map { $0.central } }
}
