import JournalEvents

/// A trouble in latchkeyd's journal, with all events of the same kind about the same subject.
struct Trouble: Equatable {
  enum Kind: CaseIterable, Equatable {
    case linkStuck, linkBarren, linksBrief, servicesGone, adapterMissing, bondHalfMade, bondLost, storeFailed
    case appLaunchFailed, deadlineOverdue, pairingGone
  }

  var kind: Kind
  var last: JournaledEvent
  var count: Int
  /// Whether a later event shows that the trouble is over.
  var isHealed: Bool

  /// The events that are read from the journal: troubles, and events that end them.
  static let events: [Recorded.Daemon] = Kind.allCases.map(\.event) + healers

  private static let healers: [Recorded.Daemon] = [
    .servicesBack, .storeRecovered, .appLaunched, .appEnded, .requestCompleted, .requestHeld, .started,
  ]

  /// The troubles, one for each kind and subject, in the order of their last events.
  /// - Parameter now: in seconds since 1970-01-01 UTC.
  static func all(in events: [JournaledEvent], now: Double) -> [Trouble] {
    let overcome = AppStarts(events, now: now)
    struct Key: Hashable {
      var kind: Kind
      var about: String?
    }
    var troubles: [Key: Trouble] = [:]
    for event in events {
      guard let known = Recorded.Daemon(rawValue: event.event) else { continue }
      if let kind = Kind.allCases.first(where: { $0.event == known }), !overcome.isOvercome(event) {
        let key = Key(kind: kind, about: kind.subject.flatMap { event.fields[$0.rawValue] })
        let count = (troubles[key]?.count ?? 0) + 1
        troubles[key] = Trouble(kind: kind, last: event, count: count, isHealed: false)
      }
      for (key, trouble) in troubles where trouble.kind.isHealed(by: known) && event != trouble.last {
        let subject = trouble.kind.subject
        guard known == .started || subject.map({ event.fields[$0.rawValue] == key.about }) ?? true else { continue }
        troubles[key]?.isHealed = true
      }
    }
    return troubles.values.sorted { ($0.last.unixSeconds, $0.last.event) < ($1.last.unixSeconds, $1.last.event) }
  }
}

extension Trouble.Kind {
  var event: Recorded.Daemon {
    switch self {
    case .linkStuck: .linkStuck
    case .linkBarren: .linkBarren
    case .linksBrief: .linksBrief
    case .servicesGone: .servicesGone
    case .adapterMissing: .adapterMissing
    case .bondHalfMade: .bondHalfMade
    case .bondLost: .bondLost
    case .storeFailed: .storeFailed
    case .appLaunchFailed: .appLaunchFailed
    case .deadlineOverdue: .deadlineOverdue
    case .pairingGone: .pairingGone
    }
  }

  var fault: Fault {
    switch self {
    case .linkStuck: .linkStuck
    case .linkBarren: .linkBarren
    case .linksBrief: .linksBrief
    case .servicesGone: .servicesGone
    case .adapterMissing: .adapterWasMissing
    case .bondHalfMade: .bondHalfMade
    case .bondLost: .bondLost
    case .storeFailed: .storeFailed
    case .appLaunchFailed: .appLaunchFailed
    case .deadlineOverdue: .deadlineOverdue
    case .pairingGone: .pairingGone
    }
  }

  /// The field with the trouble's subject: a peripheral or an app. `nil` if it has none.
  var subject: JournalField? {
    switch self {
    case .linkStuck, .linkBarren, .linksBrief, .servicesGone, .bondHalfMade, .bondLost, .pairingGone: .peripheral
    case .appLaunchFailed: .app
    case .adapterMissing, .storeFailed, .deadlineOverdue: nil
    }
  }

  /// Whether this event, if it comes later and has the same subject, shows that the trouble is over.
  func isHealed(by event: Recorded.Daemon) -> Bool {
    switch self {
    case .linkStuck, .linkBarren, .linksBrief, .bondHalfMade, .bondLost: event == .requestCompleted
    case .servicesGone: event == .servicesBack
    case .pairingGone: event == .requestCompleted || event == .requestHeld
    case .appLaunchFailed: event == .appLaunched
    case .storeFailed: event == .storeRecovered || event == .started
    case .adapterMissing, .deadlineOverdue: false
    }
  }

  var because: String {
    switch self {
    case .linkStuck: "a request for that device does not come true while bluetoothd keeps a dead link"
    case .linkBarren: "apps are not woken for such links; most often the device has lost its pairing"
    case .linksBrief: "apps are not woken for such links; the device may hold a pairing that this machine has lost"
    case .servicesGone: "apps are told that the services are gone; bluetoothd may have a wrong copy of them"
    case .adapterMissing: "latchkeyd connects nothing without the adapter that it was told to use"
    case .bondHalfMade, .bondLost: "the two have to be in range once more to pair again"
    case .storeFailed: "what can't be stored is not promised"
    case .appLaunchFailed: "an app that can't be started is not there when its request comes true"
    case .deadlineOverdue: "this is a fault of latchkeyd's; something happened later than it should"
    case .pairingGone: "nothing waits for that device any more until it is paired again"
    }
  }
}
