import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import HashTreeCollections
import TimeTypes

/// Which peripherals something has to be done for: to be connected, armed, looked for, or dropped. Each is judged anew
/// when something about it has changed.
struct ConnectionWork: Sendable {
  /// The order of the turns: those that a scan has seen come before those that may be far away, and among them the one
  /// that has waited longest. So each within range gets its turn, however many never answer: while one of them is looked
  /// for, the scan sees all.
  private struct Ready: Sendable, Comparable {
    let isSighted: Bool
    let since: Instant
    let path: ObjectPath
    let peer: PeerIdentifier
    static func < (left: Self, right: Self) -> Bool {
      if left.isSighted != right.isSighted { return left.isSighted }
      if left.since != right.since { return left.since < right.since }
      return left.path == right.path ? left.peer < right.peer : left.path < right.path
    }
  }

  /// What is done for one peripheral.
  struct Judgement: Sendable, Hashable {
    /// It can be connected at this path.
    var readyAt: ObjectPath?
    /// It can be connected, and a scan has seen it.
    var isSighted = false
    /// A scan has to look for it.
    var isSought = false
    var isConnecting = false
    /// The services by which the accept list's profile finds it, if it is bonded and wanted.
    var services: [BluetoothUUID]?
    /// It is on the accept list and has no link.
    var isAway = false
    var isUnarmed = false
    /// It has a link that only an earlier request explains.
    var hasUnwantedLink = false
    /// It has a link, and no app asked for one: as far as is known, it is a central.
    var hasIncomingLink = false

    var isIdle: Bool { self == Judgement() }
  }

  /// The peripherals that can be on the accept list, as they were judged at one time. It has no set of its own, which
  /// would be one more tree that a change copies nodes of.
  struct Armable: Sendable {
    fileprivate var judgements: TreeDictionary<PeerIdentifier, Judgement> = [:]
    fileprivate(set) var count = 0

    func contains(_ peer: PeerIdentifier) -> Bool { judgements[peer]?.services != nil }
    /// All of them. This looks at every judgement.
    var peers: TreeSet<PeerIdentifier> { TreeSet(judgements.lazy.filter { $0.value.services != nil }.map(\.key)) }
  }

  // Trees: while a turn may have to be undone, a change copies a few nodes and not everything.
  private var judgements: TreeDictionary<PeerIdentifier, Judgement> = [:]
  private var ready = ChunkedSortedSet<Ready>()
  private var readySince: TreeDictionary<PeerIdentifier, Instant> = [:]
  private var sought = 0
  private var isAnySoughtAnew = false
  private(set) var away = 0
  private(set) var connecting: Set<PeerIdentifier> = []
  private(set) var unarmed: TreeSet<PeerIdentifier> = []
  private(set) var unwantedLinks: Set<PeerIdentifier> = []
  private(set) var incomingLinks: Set<PeerIdentifier> = []
  private var armableCount = 0
  /// How many armable peripherals have each service.
  private var serviceCounts: [BluetoothUUID: Int] = [:]

  var isSeeking: Bool { sought > 0 }
  /// The one that is to be connected next.
  var firstReady: (peer: PeerIdentifier, path: ObjectPath)? { ready.first.map { ($0.peer, $0.path) } }
  /// The services of all armable peripherals.
  var services: [BluetoothUUID] { serviceCounts.keys.sorted() }
  var armable: Armable { Armable(judgements: judgements, count: armableCount) }
  /// Every peripheral for which something is done.
  var known: some Collection<PeerIdentifier> { judgements.keys }

  /// Whether a scan has to look for a peripheral that it did not have to look for when this was last called.
  mutating func takeSoughtAnew() -> Bool {
    defer { isAnySoughtAnew = false }
    return isAnySoughtAnew
  }

  /// What would change if the peripheral were judged like this, in words. `nil` if nothing.
  func difference(_ peer: PeerIdentifier, from new: Judgement) -> String? {
    let old = judgements[peer] ?? Judgement()
    return old == new ? nil : "\(old), and not \(new)"
  }

  mutating func judge(_ peer: PeerIdentifier, as new: Judgement, at now: Instant) {
    let old = judgements[peer] ?? Judgement()
    guard new != old else { return }
    judgements[peer] = new.isIdle ? nil : new
    moveTurn(of: peer, from: old, to: new, at: now)
    sought += (new.isSought ? 1 : 0) - (old.isSought ? 1 : 0)
    if new.isSought, !old.isSought { isAnySoughtAnew = true }
    away += (new.isAway ? 1 : 0) - (old.isAway ? 1 : 0)
    if new.isConnecting { connecting.insert(peer) } else { connecting.remove(peer) }
    if new.isUnarmed { unarmed.insert(peer) } else { unarmed.remove(peer) }
    if new.hasUnwantedLink { unwantedLinks.insert(peer) } else { unwantedLinks.remove(peer) }
    if new.hasIncomingLink { incomingLinks.insert(peer) } else { incomingLinks.remove(peer) }
    guard new.services != old.services else { return }
    armableCount += (new.services != nil ? 1 : 0) - (old.services != nil ? 1 : 0)
    for service in Set(old.services ?? []) {
      let left = (serviceCounts[service] ?? 0) - 1
      serviceCounts[service] = left > 0 ? left : nil
    }
    for service in Set(new.services ?? []) { serviceCounts[service, default: 0] += 1 }
  }

  /// A peripheral keeps the time from which it has waited for as long as it can be connected.
  private mutating func moveTurn(of peer: PeerIdentifier, from old: Judgement, to new: Judgement, at now: Instant) {
    guard old.readyAt != new.readyAt || old.isSighted != new.isSighted else { return }
    let since = readySince[peer] ?? now
    if let path = old.readyAt { ready.remove(Ready(isSighted: old.isSighted, since: since, path: path, peer: peer)) }
    if let path = new.readyAt { ready.insert(Ready(isSighted: new.isSighted, since: since, path: path, peer: peer)) }
    readySince[peer] = new.readyAt == nil ? nil : since
  }
}

extension BluetoothSystem {
  /// Judges every peripheral anew that has changed.
  mutating func judgeConnections() {
    for peer in unjudgedPeers() { connections.judge(peer, as: judgement(of: peer), at: now) }
  }

  func judgement(of peer: PeerIdentifier) -> ConnectionWork.Judgement {
    var result = ConnectionWork.Judgement()
    let device = bluez.device(peer)
    let attempt = attempts[peer]
    result.isConnecting = attempt?.isConnecting ?? false
    guard isWantedByNow(peer) else {
      result.hasIncomingLink = device?.isConnected ?? false
      result.hasUnwantedLink = device.map { $0.isUsable && peers[peer]?.wasRequested == true } ?? false
      return result
    }
    let isResting = links[peer]?.brief.isResting(at: now) == true
    if let device, isArmable(device), !isResting {
      let isArmed = profile.armed.contains(peer)
      result.services = device.tellingServices
      result.isUnarmed = !isArmed
    }
    if let device, !device.isConnected { result.isAway = profile.armed.contains(peer) }
    if device?.isConnected == true || result.isConnecting || isResting { return result }
    let isSighted = attempt?.isSighted ?? false
    if let device, isArmable(device), !isSighted { return result }
    if attempt?.isPausing(at: now) == true { return result }
    if let device, isSighted || attempt?.failures ?? 0 == 0 {
      result.readyAt = device.path
      result.isSighted = isSighted
    } else {
      result.isSought = true
    }
    return result
  }

  /// Whether some app wants the peripheral, and the delay that it set for its request is over.
  private func isWantedByNow(_ peer: PeerIdentifier) -> Bool {
    held.holders(of: peer).contains { holding in
      holding.manager.role == .central && holding.peripheral.isDue(at: now) && apps[holding.manager.app] != nil
    }
  }
}
