import Worlds

/// Promises of one list that no run of a story could keep both, which is a mistake of its author.
extension Expectation {
  /// Whether what one of the two demands is what the other excludes.
  func contradicts(_ other: Expectation) -> Bool {
    demandsMore(than: other) || other.demandsMore(than: self) || demandsAir(that: other) || other.demandsAir(that: self)
  }

  /// What is counted, without regard to whether it is to happen or not.
  private var counted: Kind? {
    switch kind {
    case .told, .notTold: .told
    case .woken, .notWoken: .woken
    case .relaunched, .notRelaunched: .relaunched
    case .alerted, .notAlerted: .alerted
    case .recorded, .notRecorded: .recorded
    default: nil
    }
  }

  /// Whether everything that this promise counts is counted by the other one as well, and is to happen more often than
  /// the other allows.
  private func demandsMore(than other: Expectation) -> Bool {
    guard let most = other.times.atMost, times.atLeast > most, counted != nil, counted == other.counted,
      app == other.app, !Set(machines).isDisjoint(with: other.machines)
    else { return false }
    guard other.event == nil || event == other.event else { return false }
    guard other.fields.allSatisfy({ fields[$0.key] == $0.value }) else { return false }
    return other.text.map { (text ?? "").contains($0) } ?? true
  }

  /// Whether this promise demands something of a machine's radio that the other one excludes.
  private func demandsAir(that other: Expectation) -> Bool {
    guard concernsAir, machines == other.machines else { return false }
    switch (kind, other.kind) {
    case (.onTheAir, .notOnTheAir): return other.air == AirContent() || other.air == air
    case (.scanned, .notScanned): return (air.scanPercentAtLeast ?? (air.scanPercentAtMost == nil ? 1 : 0)) > 0
    case (.scanned, .scanned): return (air.scanPercentAtLeast ?? 0) > (other.air.scanPercentAtMost ?? 100)
    default: return false
    }
  }
}
