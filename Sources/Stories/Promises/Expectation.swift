import Journal
import JournalEvents
import Worlds

/// A promise about any app, or about a machine's radio, with what the scenario says of it:
/// `woken: {app: collector, by: valueUpdated, at least: 3}`.
package struct Expectation: Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    case restoredInOrder = "restored in order"
    case toldNothingTwice = "told nothing twice"
    case told
    case notTold = "not told"
    case woken
    case notWoken = "not woken"
    case relaunched
    case notRelaunched = "not relaunched"
    case alerted
    case notAlerted = "not alerted"
    case recorded
    case notRecorded = "not recorded"
    case onTheAir = "on the air"
    case notOnTheAir = "not on the air"
    case scanned
    case notScanned = "not scanned"
    case openedOnlyFor = "opened only for"

    /// Whether the name itself says that an app's event is to happen never.
    var isNever: Bool { [.notTold, .notWoken, .notRelaunched, .notAlerted, .notRecorded].contains(self) }
  }

  /// How often something is to happen.
  package struct Times: Sendable, Equatable {
    package var atLeast: Int
    package var atMost: Int?

    static let never = Times(atLeast: 0, atMost: 0)
    static let once = Times(atLeast: 1, atMost: nil)

    var words: String {
      switch (atLeast, atMost) {
      case (0, 0): "never"
      case (let least, let most?) where least == most: "exactly \(count(least, "time"))"
      case (0, let most?): "at most \(count(most, "time"))"
      case (let least, let most?): "\(least) to \(count(most, "time"))"
      case (let least, nil): "at least \(count(least, "time"))"
      }
    }
  }

  package var kind: Kind
  /// The app, unless the promise is about a radio.
  package var app: InstalledApp?
  /// The machines with the app or the radio; the promise must hold on each. For `openedOnlyFor`: the phones for which
  /// the door may open.
  package var machines: [String]
  package var times = Times.once
  /// The name of the event, or `nil` for any: an event of the system for `told` and `woken`, of the app for `recorded`.
  package var event: String?
  /// Fields of the record that must have exactly these values.
  package var fields: [String: String] = [:]
  /// The restore identifiers with which the app is relaunched.
  package var identifiers: [String] = []
  /// What the alert contains.
  package var text: String?
  package var air = AirContent()

  /// The name in the verdict.
  package var name: String {
    if kind == .openedOnlyFor, machines.isEmpty { return "\(kind.rawValue): nobody" }
    var text = "\(kind.rawValue): \(app?.name ?? machines.joined(separator: ", "))"
    if let event { text += ", \(event)" }
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) { text += " \(key)=\(value)" }
    if !identifiers.isEmpty { text += ", restoring \(identifiers.joined(separator: ", "))" }
    if let words = air.words { text += ", \(words)" }
    if times != .once, !kind.isNever { text += ", \(times.words)" }
    return text
  }

  /// Whether it is about what is on the air.
  var concernsAir: Bool { [.onTheAir, .notOnTheAir, .scanned, .notScanned].contains(kind) }

  /// The promise with its check.
  var promise: Promise {
    Promise(name: name, rows: kind == .openedOnlyFor ? ["L4"] : [], meaning: meaning) { evidence in
      if kind == .openedOnlyFor { return RefusalPromises.openedOnlyFor(machines, evidence) }
      return .all(machines.map { AppPromises.judge(self, on: $0, evidence) }, of: "machine")
    }
  }

  private var meaning: String {
    let app = app?.name ?? ""
    return switch kind {
    case .restoredInOrder:
      "Each time \(app) is relaunched, every manager is told willRestoreState first, then its state, then the rest, each once."
    case .toldNothingTwice: "\(app) is told of each connection once: connections and disconnections alternate."
    case .told, .notTold: "What \(app)'s delegates are told."
    case .woken, .notWoken: "How often the system wakes or relaunches \(app) for Bluetooth, and for what."
    case .relaunched, .notRelaunched: "How often the system relaunches \(app) to restore its state."
    case .alerted, .notAlerted: "What the user is told in \(app)'s name."
    case .recorded, .notRecorded: "What \(app) itself records."
    case .onTheAir, .notOnTheAir: "What others can receive from the machine."
    case .openedOnlyFor: "No phone opens the door but these; a hand at the lock may."
    case .scanned, .notScanned: "Whether the machine listens for advertisements."
    }
  }
}

/// What every advertisement of a machine is to contain.
package struct AirContent: Sendable, Equatable {
  package enum Name: Sendable, Equatable {
    case absent, present
    case exactly(String)
  }

  package var name: Name?
  /// Service UUIDs, in the form of the records.
  package var lists: [String] = []
  package var omits: [String] = []
  package var intervalAtLeast: Duration?
  package var intervalAtMost: Duration?
  /// For how much of the time the machine scans, in percent.
  package var scanPercentAtLeast: Int?
  package var scanPercentAtMost: Int?

  var words: String? {
    var parts: [String] = []
    switch name {
    case .absent: parts.append("no name")
    case .present: parts.append("a name")
    case .exactly(let text): parts.append("the name '\(text)'")
    case nil: break
    }
    if !lists.isEmpty { parts.append("listing \(lists.joined(separator: ", "))") }
    if !omits.isEmpty { parts.append("not listing \(omits.joined(separator: ", "))") }
    if let intervalAtLeast { parts.append("every \(DurationText.format(intervalAtLeast)) at most") }
    if let intervalAtMost { parts.append("every \(DurationText.format(intervalAtMost)) at least") }
    if let scanPercentAtLeast { parts.append("at least \(scanPercentAtLeast) % of the time") }
    if let scanPercentAtMost { parts.append("at most \(scanPercentAtMost) % of the time") }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}

extension PromiseReference {
  /// `nil` for a name that nothing has.
  var promise: Promise? { expectation?.promise ?? Promise.named(name) }
}
