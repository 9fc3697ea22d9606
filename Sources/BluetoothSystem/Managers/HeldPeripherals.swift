import AppLink
import HashTreeCollections
import TimeTypes

/// The peripherals of all managers: what each manager asked for, and what its app was told. It finds the managers of one
/// peripheral, and the peripherals of one manager, without looking at the others.
struct HeldPeripherals: Sendable {
  struct Holding: Sendable {
    let manager: ManagerKey
    var peripheral: Peripheral
  }

  /// The peripherals of one manager.
  private struct Group: Sendable {
    var peers: TreeSet<PeerIdentifier> = []
    /// Those that the app no longer uses.
    var idle: TreeSet<PeerIdentifier> = []
    /// How many the app's next process will find restored.
    var restored = 0
  }

  // Trees: while a turn may have to be undone, a change copies a few nodes and not everything that is held.
  private var holdings: TreeDictionary<PeerIdentifier, [Holding]> = [:]
  private var groups: [ManagerKey: Group] = [:]
  /// Requests that count from some later time on.
  private var delays = PeerTable<Delay>()
  private var touched: Set<PeerIdentifier> = []

  struct Delay: Sendable, Scheduled {
    /// From when the first of the peripheral's requests counts. It may be in the past.
    let notBefore: Instant
    var deadline: Instant? { notBefore }
  }

  /// Every peripheral of any manager.
  var peers: some Collection<PeerIdentifier> { holdings.keys }
  /// The managers of a peripheral, and how each of them sees it.
  func holders(of peer: PeerIdentifier) -> [Holding] { holdings[peer] ?? [] }
  func isHeld(_ peer: PeerIdentifier) -> Bool { holdings[peer] != nil }
  func isWanted(_ peer: PeerIdentifier) -> Bool { holdings[peer]?.contains { $0.peripheral.isWanted } ?? false }

  /// The peripherals of a manager, in no order.
  func peers(of manager: ManagerKey) -> TreeSet<PeerIdentifier> { groups[manager]?.peers ?? [] }
  func count(of manager: ManagerKey) -> Int { groups[manager]?.peers.count ?? 0 }
  func idle(of manager: ManagerKey) -> TreeSet<PeerIdentifier> { groups[manager]?.idle ?? [] }
  func hasSomethingToRestore(_ manager: ManagerKey) -> Bool { groups[manager]?.restored ?? 0 > 0 }

  /// When the next delayed request begins to count.
  func deadline(after now: Instant) -> Instant? { delays.deadline(after: now) }

  /// Peripherals whose requests have begun to count since the last call count as changed.
  mutating func passTime(at now: Instant) { delays.passTime(at: now) }

  /// One manager's view of a peripheral.
  subscript(manager: ManagerKey, peer: PeerIdentifier) -> Peripheral? {
    get { holdings[peer]?.first { $0.manager == manager }?.peripheral }
    _modify {
      let index = holdings[peer]?.firstIndex { $0.manager == manager }
      var peripheral = index.flatMap { holdings[peer]?[$0].peripheral }
      let before = peripheral.map { (isIdle: $0.isIdle, isRestored: $0.isRestored) }
      defer { put(peripheral, at: index, manager, peer, before) }
      yield &peripheral
    }
  }

  private mutating func put(
    _ peripheral: Peripheral?, at index: Int?, _ manager: ManagerKey, _ peer: PeerIdentifier,
    _ before: (isIdle: Bool, isRestored: Bool)?
  ) {
    guard index != nil || peripheral != nil else { return }
    touched.insert(peer)
    switch (peripheral, index) {
    case (let peripheral?, let index?): holdings[peer]?[index].peripheral = peripheral
    case (let peripheral?, nil):
      holdings[peer, default: []].append(Holding(manager: manager, peripheral: peripheral))
      groups[manager, default: Group()].peers.insert(peer)
    case (nil, let index?):
      holdings[peer]?.remove(at: index)
      if holdings[peer]?.isEmpty == true { holdings[peer] = nil }
      groups[manager]?.peers.remove(peer)
    case (nil, nil): break
    }
    let isIdle = peripheral?.isIdle ?? false
    if isIdle != before?.isIdle ?? false {
      if isIdle { groups[manager]?.idle.insert(peer) } else { groups[manager]?.idle.remove(peer) }
    }
    groups[manager]?.restored += (peripheral?.isRestored ?? false ? 1 : 0) - (before?.isRestored ?? false ? 1 : 0)
    if groups[manager]?.peers.isEmpty == true { groups[manager] = nil }
    noteDelay(peer)
  }

  private mutating func noteDelay(_ peer: PeerIdentifier) {
    let holders = holdings[peer] ?? []
    let notBefore = holders.lazy.filter(\.peripheral.isPending).map(\.peripheral.notBefore).filter { $0 > .zero }.min()
    if delays[peer]?.notBefore != notBefore { delays[peer] = notBefore.map { Delay(notBefore: $0) } }
  }

  /// Moves the peripherals that have changed since the last call into the set.
  mutating func moveTouched(to set: inout Set<PeerIdentifier>) {
    delays.moveTouched(to: &set)
    guard !touched.isEmpty else { return }
    set.formUnion(touched)
    touched.removeAll()
  }
}
