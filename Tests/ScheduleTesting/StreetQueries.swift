import AppLink
import BluetoothSystem
import BluetoothTypes

/// What an app asks its system without waiting for an event.
struct StreetQuery: Sendable, Hashable {
  var caller: Caller
  var wanted: [PeerIdentifier]
}

/// `retrievePeripherals(withIdentifiers:)`: an identifier is good as long as an app holds the peripheral, and otherwise until latchkeyd
/// starts anew.
extension Street {
  mutating func retrieve(_ caller: Caller) {
    guard let actor = cast[caller.app], var machine = machines[actor.machine], let app = machine.apps[actor.bundle],
      let link = app.link, app.mayCall(caller.manager)
    else { return }
    let query = StreetQuery(
      caller: caller, wanted: app.disk.identifiers.values.filter { isKnown($0, on: machine) }.sorted())
    machine.lastQuery += 1
    let token = AnswerToken(machine.lastQuery)
    machine.queries[token] = query
    machines[actor.machine] = machine
    let manager = ManagerIdentifier(UInt32(caller.manager))
    open.append(.system(actor.machine, .query(link, .retrievePeripherals(manager, query.wanted), token)))
  }

  mutating func retrieved(_ name: String, _ token: AnswerToken, _ result: Result<QueryReply, AppLinkError>) {
    guard let query = machines[name]?.queries.removeValue(forKey: token) else { return }
    switch result {
    case .success(let found):
      let identifiers = found.map(\.identifier)
      let lost = query.wanted.count - Set(identifiers).intersection(query.wanted).count
      if lost > 0 { trouble("\(query.caller): \(lost) of \(query.wanted.count) identifiers mean nothing any more") }
      if identifiers.count > query.wanted.count - lost {
        trouble("\(query.caller): retrieved what it did not ask for, or something twice")
      }
    // The app may have died, or dropped the manager, in the same moment.
    case .failure(let error): if isThere(query.caller) { trouble("\(query.caller): \(error)") }
    }
  }

  /// Everybody asks, and everybody is answered.
  mutating func unknownIdentifiers() -> [String] {
    for actor in cast.actors {
      for (index, plan) in actor.managers.enumerated() where plan.role == .central {
        carryOut(.retrieve(Caller(actor.name, index + 1)))
      }
    }
    return machines.values.flatMap(\.queries.values).map { "\($0.caller): its retrieval was never answered" }.sorted()
  }

  private func isKnown(_ peer: PeerIdentifier, on machine: Machine) -> Bool {
    machine.told.contains(peer)
      || machine.apps.values.contains { app in
        app.actor.managers.indices.contains { reference.book(Caller(app.actor.name, $0 + 1)).held.contains(peer) }
      }
  }

  private func isThere(_ caller: Caller) -> Bool { app(caller.app)?.managers[caller.manager] != nil }
}
