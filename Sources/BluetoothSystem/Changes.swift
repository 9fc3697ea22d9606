import AppLink
import BlueZ

/// The peripherals that have changed, in any way on which a decision depends.
///
/// Each reconciler decides about one peripheral at a time, by what is known of it. If nothing of that has changed since
/// it last decided, it would decide the same again; so it looks only at the peripherals here. They stay for the turn in
/// which they changed and, since a later reconciler may have changed them, for the next.
struct Changes: Sendable {
  /// Changed since the settling before the last one began.
  private(set) var peers: Set<PeerIdentifier> = []
  private var new: Set<PeerIdentifier> = []
  /// Changed since what they need was last judged (`ConnectionWork`), which happens more than once in a turn.
  private var unjudged: Set<PeerIdentifier> = []
  /// How many peripherals were looked at so far.
  private(set) var examined = 0
  private(set) var turns = 0

  mutating func add(_ more: Set<PeerIdentifier>) {
    guard !more.isEmpty else { return }
    peers.formUnion(more)
    new.formUnion(more)
    unjudged.formUnion(more)
  }

  /// A reconciler looks at all of them.
  mutating func examine() -> Set<PeerIdentifier> {
    examined += peers.count
    return peers
  }

  /// Those that have to be judged. They count as judged from now on.
  mutating func takeUnjudged() -> Set<PeerIdentifier> {
    examined += unjudged.count
    defer { unjudged = [] }
    return unjudged
  }

  /// A settling begins.
  mutating func beginSettling() { new.removeAll() }
  /// A settling has ended. What changed before it has been dealt with.
  mutating func endSettling() {
    peers = new
    new = []
    turns += 1
  }
}

extension BluetoothSystem {
  /// The peripherals that a reconciler has to look at: whatever changed since it last did.
  mutating func changedPeers() -> Set<PeerIdentifier> {
    gatherChanges()
    return changes.examine()
  }

  /// The peripherals that have to be judged: whatever changed since they last were.
  mutating func unjudgedPeers() -> Set<PeerIdentifier> {
    gatherChanges()
    return changes.takeUnjudged()
  }

  /// The central managers' peripherals that fit, in order.
  func peripherals(
    among peers: Set<PeerIdentifier>, where fits: (Peripheral, Device?) -> Bool
  ) -> [(key: ManagerKey, peer: PeerIdentifier)] {
    var found: [(key: ManagerKey, peer: PeerIdentifier)] = []
    for peer in peers {
      let holders = held.holders(of: peer)
      guard !holders.isEmpty else { continue }
      let device = bluez.device(peer)
      for holding in holders where holding.manager.role == .central && fits(holding.peripheral, device) {
        found.append((holding.manager, peer))
      }
    }
    return found.sorted { $0.key == $1.key ? $0.peer < $1.peer : $0.key < $1.key }
  }

  private mutating func gatherChanges() {
    var new: Set<PeerIdentifier> = []
    held.moveTouched(to: &new)
    bluez.devices.moveTouched(to: &new)
    attempts.moveTouched(to: &new)
    links.moveTouched(to: &new)
    capacities.moveTouched(to: &new)
    healings.moveTouched(to: &new)
    operations.moveTouched(to: &new)
    for path in sessions.takeTouched() { if let peer = bluez.devices[path]?.peer { new.insert(peer) } }
    changes.add(new)
  }

  /// A settling begins. Peripherals whose deadlines have come count as changed.
  mutating func beginSettling() {
    gatherChanges()
    changes.beginSettling()
    held.passTime(at: now)
    attempts.passTime(at: now)
    links.passTime(at: now)
    capacities.passTime(at: now)
    healings.passTime(at: now)
    operations.passTime(at: now)
  }

  /// Something has changed that concerns every peripheral.
  mutating func changedEverything() {
    var all = Set(held.peers)
    all.formUnion(bluez.devicePaths.keys)
    all.formUnion(attempts.keys)
    all.formUnion(operations.keys)
    for manager in managers.values {
      for subscribers in manager.subscribers.values { all.formUnion(subscribers) }
      if let watched = manager.watched { all.formUnion(watched.known) }
    }
    all.formUnion(connections.unwantedLinks)
    all.formUnion(connections.known)
    changes.add(all)
    haveSubscriptionsChanged = true
  }

  /// The device has left the accept list, as far as is known. Returns whether it was on it.
  @discardableResult mutating func disarm(_ peer: PeerIdentifier) -> Bool {
    let wasArmed = profile.disarm(peer)
    if wasArmed { changes.add([peer]) }
    return wasArmed
  }
}
