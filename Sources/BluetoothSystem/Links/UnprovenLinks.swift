import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// Links of centrals that have not proven themselves to the apps that they connected to. A controller can hold a
/// handful of links, and strangers that occupy all of them would keep others out.
struct UnprovenLinks: Sendable {
  private var since: [PeerIdentifier: Instant] = [:]
  var lines = RareLine()

  /// How long a central has to prove itself, with a pairing.
  static let patience: Duration = .seconds(30)
  /// The most such links at a time. The oldest is ended when one more comes, so that one link stays free for the next
  /// central.
  static let limit = 3

  mutating func forgetAll() { since = [:] }

  var deadline: Instant? { since.values.min().map { $0 + Self.patience } }

  /// - Parameter isLimited: whether their number counts.
  /// - Returns: those whose time is over, and the oldest of too many.
  mutating func examine(_ present: [PeerIdentifier], isLimited: Bool = true, at now: Instant) -> [PeerIdentifier] {
    since = since.filter { present.contains($0.key) }
    for peer in present where since[peer] == nil { since[peer] = now }
    let sorted = since.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
    let overdue = sorted.count { $0.value + Self.patience <= now }
    let ended = sorted.prefix(max(overdue, isLimited ? sorted.count - Self.limit : 0)).map(\.key)
    for peer in ended { since[peer] = nil }
    return ended
  }
}

extension BluetoothSystem {
  /// Ends the links of strangers, if every app that publishes services says which centrals have proven themselves. A
  /// device that the user of this machine trusts, such as a keyboard, is no stranger: nothing over the air makes a
  /// device trusted.
  mutating func endUnprovenLinks() {
    for name in servingApps { apps[name]?.provenBefore.keep(linked: connections.incomingLinks) }
    guard !connections.incomingLinks.isEmpty else { return unproven.forgetAll() }
    let serving = servingApps.compactMap { apps[$0] }
    guard !serving.isEmpty, serving.allSatisfy({ $0.admitsCentrals }) else { return unproven.forgetAll() }
    var proven: Set<PeerIdentifier> = []
    for app in serving {
      proven.formUnion((app.admission?.proven ?? []) + (app.admission?.known ?? []))
      // Nobody can prove anything while there is no process.
      proven.formUnion(app.provenBefore.centrals.filter { app.link == nil || app.provenBefore.contains($0, at: now) })
    }
    let strangers = connections.incomingLinks.filter { peer in
      guard !proven.contains(peer), let device = bluez.device(peer) else { return false }
      return device.isConnected && !device.isDisconnecting && !device.isTrusted && !isPairing(device)
    }
    // After a start of this system, all centrals are strangers until the apps have spoken. Their number is not limited
    // until then, so that phones that are at home keep their links.
    let isLimited = serving.allSatisfy { $0.admission != nil }
    for peer in unproven.examine(strangers.sorted(), isLimited: isLimited, at: now) {
      if let untold = unproven.lines.tell(at: now) {
        journal(.linkUnproven, [.peripheral: peer.uuidString, .untold: String(untold)])
      }
      dropLink(peer)
    }
  }

  /// Whether a central may pair for an app that publishes services, without a person being asked.
  func acceptsPairing(of peer: PeerIdentifier) -> Bool {
    servingApps.contains { name in
      guard let app = apps[name] else { return false }
      guard app.admitsCentrals else { return true }
      if app.provenBefore.contains(peer, at: now) { return true }
      guard app.link != nil, let admission = app.admission else { return false }
      return admission.acceptsPairings || admission.proven.contains(peer)
    }
  }

  /// Whether an app that publishes services says which centrals it lets in.
  var admitsCentrals: Bool { servingApps.contains { apps[$0]?.admitsCentrals == true } }

  /// Whether an app that says which centrals it lets in accepts pairings of any central now.
  var isPairingWelcome: Bool {
    servingApps.contains { name in
      guard let app = apps[name], app.link != nil else { return false }
      return app.admission?.acceptsPairings == true
    }
  }

  /// The apps that publish services.
  private var servingApps: Set<String> { Set(managers.serving.map(\.app)) }

  /// An app says which centrals it lets in.
  mutating func admit(_ admission: CentralAdmission, app name: String) {
    guard max(admission.proven.count, admission.known.count) <= CentralAdmission.limit else {
      return misplaced(name, "It lets in more than \(CentralAdmission.limit) centrals.")
    }
    apps[name]?.admission = admission
    apps[name]?.provenBefore.forget(admission.proven)
  }
}

extension App {
  /// Whether the app says itself which centrals it lets in. Until it has said so, it lets in none.
  var admitsCentrals: Bool { declaration.admitsCentrals || admission != nil }
}
