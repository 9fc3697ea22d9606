import AppLink
import BlueZ
import BlueZModel
import BluetoothSystem
import BluetoothTypes

/// Bonds that one side has lost because its user removed them, and the managers that may be told so.
struct LostBonds: Sendable {
  /// Two machines that may differ in whether they have a bond: first the one that has lost it.
  private(set) var pairs: Set<[String]> = []
  /// Managers whose requests for a machine may be ended because of that, until they have a connection over a whole bond.
  private var excused: Set<Excuse> = []

  private struct Excuse: Sendable, Hashable {
    let caller: Caller
    let machine: String
  }

  mutating func add(_ machine: String, _ other: String, callers: [Caller], otherCallers: [Caller]) {
    pairs.insert([machine, other])
    for caller in callers { excused.insert(Excuse(caller: caller, machine: other)) }
    for caller in otherCallers { excused.insert(Excuse(caller: caller, machine: machine)) }
  }

  /// Forgets the pairs that are equal again: both have the bond, or neither has.
  mutating func forgetPairs(where areEqual: (String, String) -> Bool) {
    pairs = pairs.filter { !areEqual($0[0], $0[1]) }
  }

  func excuses(_ caller: Caller, _ machine: String) -> Bool {
    excused.contains(Excuse(caller: caller, machine: machine))
  }

  mutating func isConnected(_ caller: Caller, to machine: String) {
    excused.remove(Excuse(caller: caller, machine: machine))
  }
}

extension Street {
  /// The machines with which a machine has a bond.
  private func bonds(of machine: String) -> Set<String> {
    let addresses = world.storage(of: machine)?.devices.compactMap(\.bond?.identityAddress) ?? []
    return Set(cast.machines.filter { world.address(of: $0).map(addresses.contains) ?? false })
  }

  private func isBonded(_ machine: String, to other: String) -> Bool { bonds(of: machine).contains(other) }

  private func haveBond(_ first: String, _ second: String) -> Bool {
    isBonded(first, to: second) && isBonded(second, to: first)
  }

  // MARK: What users do

  /// Every machine's user removes all bonds.
  mutating func removeAllBonds() {
    // A pairing under way may leave a bond on one side a moment later.
    for _ in 0..<10 where !forgetPairings() { pass(.milliseconds(100)) }
    let street = self
    lostBonds.forgetPairs { !street.isBonded($0, to: $1) && !street.isBonded($1, to: $0) }
  }

  /// Returns whether there was none.
  private mutating func forgetPairings() -> Bool {
    run()
    let bonded = cast.machines.filter { !bonds(of: $0).isEmpty }
    for machine in bonded { command(.forgetPairings(machine: machine)) }
    run()
    return bonded.isEmpty
  }

  /// One machine's user removes its bonds, and the other sides keep theirs.
  mutating func noteLostBonds(of machine: String) {
    for other in cast.machines where other != machine {
      // Over a link a bond may be in the making, which the other side alone will have.
      guard isBonded(machine, to: other) || isBonded(other, to: machine) || isLinked(machine, other) else { continue }
      lostBonds.add(machine, other, callers: centrals(on: machine), otherCallers: centrals(on: other))
    }
  }

  private func centrals(on machine: String) -> [Caller] {
    cast.actors.filter { $0.machine == machine }.flatMap { actor in
      actor.managers.indices.filter { actor.managers[$0].role == .central }.map { Caller(actor.name, $0 + 1) }
    }
  }

  // MARK: What apps are told

  /// Whether a manager that is told of this may be told as well that the bond with the target's machine is lost.
  mutating func mayLackBond(_ caller: Caller, _ target: Target?, _ body: AppLink.Event.Body) -> Bool {
    guard let target, let machine = cast[caller.app]?.machine else { return false }
    let other = cast.machine(of: target)
    guard lostBonds.excuses(caller, other) else { return false }
    if case .connected = body {
      let street = self
      lostBonds.forgetPairs { street.haveBond($0, $1) }
      if !lostBonds.pairs.contains(where: { $0.contains(machine) && $0.contains(other) }) {
        lostBonds.isConnected(caller, to: other)
      }
    }
    return true
  }

  /// A bluetoothd later than 5.82 says that a link ended because the peer lacks the key.
  mutating func linkWasRefused(_ text: String, on name: String) {
    guard saysWhyLinksEnd,
      let path = world.managedObjects(of: name).keys.first(where: {
        text == BlueZModel.Diagnostic.encryptionFailed(device: $0).description
      })
    else { return }
    let reason = "org.bluez.Reason.Authentication"
    open.append(.system(name, .daemon(.signal(.disconnected(path: path, reason: reason, message: text)))))
  }

  /// A central learns of the bond that its peripheral has lost, if its bluetoothd says why links end.
  mutating func untoldLostBonds() -> [String] {
    let street = self
    lostBonds.forgetPairs { street.haveBond($0, $1) }
    guard saysWhyLinksEnd, !lostBonds.pairs.isEmpty else { return [] }
    pass(until: { $0.waitingInVain.isEmpty }, atMost: .seconds(400))
    return waitingInVain.map { "\($0) waits for \($1), which has lost its bond, and is not told" }
  }

  /// Managers that ask for a connection which nothing but a user can make possible.
  private var waitingInVain: [(Caller, Target)] {
    cast.actors.filter { $0.mayWork(.central) && !reference.quit.contains($0.name) }.flatMap { actor in
      let bonds = bonds(of: actor.machine)
      return centrals(on: actor.machine).filter { $0.app == actor.name }.flatMap { caller -> [(Caller, Target)] in
        // An app that its user opened is told nothing of a manager that it has not made.
        guard let app = app(actor.name), app.process == nil || app.managers[caller.manager] != nil else { return [] }
        let book = reference.book(caller)
        return book.held.compactMap { machines[actor.machine]?.target($0) }.sorted().filter { target in
          let other = cast.machine(of: target)
          return lostBonds.pairs.contains([other, actor.machine]) && bonds.contains(other)
            && !isBonded(other, to: actor.machine)
        }.map { (caller, $0) }
      }
    }
  }
}
