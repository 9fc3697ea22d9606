import BlueZ
import BusValue
import Radio

/// Properties of one interface whose change has yet to be told.
struct PropertyChange: Sendable {
  var path: ObjectPath
  var interface: String
  var names: [String]
}

/// bluetoothd gathers property changes and tells them, one signal an interface, before any other message leaves.
extension BlueZModel {
  /// Notes that properties changed; a property that is not there any more will be told as invalidated.
  mutating func changed<Table: InterfaceTable, each Typed>(
    _ path: ObjectPath, _ properties: repeat KeyPath<Table, Property<each Typed>>
  ) {
    var names: [String] = []
    for property in repeat each properties { names.append(Table.name(property)) }
    changed(path, Table.interface, names)
  }

  private mutating func changed(_ path: ObjectPath, _ interface: String, _ names: [String]) {
    guard isRunning else { return }
    if let index = changes.firstIndex(where: { $0.path == path && $0.interface == interface }) {
      for name in names where !changes[index].names.contains(name) { changes[index].names.append(name) }
    } else {
      changes.append(PropertyChange(path: path, interface: interface, names: names))
    }
  }

  mutating func flushChanges() {
    guard !changes.isEmpty else { return }
    let pending = changes
    changes = []
    for change in pending {
      guard let properties = interfaces(of: change.path)?[change.interface] else { continue }
      var changed = Properties()
      var invalidated: [String] = []
      for name in change.names {
        if let value = properties[name] { changed[name] = value } else { invalidated.append(name) }
      }
      effects.append(
        .broadcast(
          .propertiesChanged(
            path: change.path, interface: change.interface, changed: changed, invalidated: invalidated)))
    }
  }

  /// A change that is told at once, every time, with this very value (a characteristic's Value).
  mutating func emit<Table: InterfaceTable, Typed>(
    _ path: ObjectPath, _ property: KeyPath<Table, Property<Typed>>, _ value: Typed
  ) {
    var changed = PropertyValues<Table>()
    changed[dynamicMember: property] = value
    flushChanges()
    effects.append(
      .broadcast(.propertiesChanged(path: path, interface: Table.interface, changed: changed.all, invalidated: [])))
  }

  mutating func added(_ path: ObjectPath) {
    guard isRunning, let interfaces = interfaces(of: path) else { return }
    flushChanges()
    effects.append(.broadcast(.interfacesAdded(path: path, interfaces)))
  }

  mutating func removed(_ path: ObjectPath, _ interfaces: [String]) {
    changes.removeAll { $0.path == path }
    guard isRunning else { return }
    flushChanges()
    effects.append(.broadcast(.interfacesRemoved(path: path, interfaces)))
  }

  mutating func reply(to client: ClientIdentifier, _ call: CallIdentifier, _ result: Result<Reply, BlueZError>) {
    flushChanges()
    guard isRunning else { return }
    effects.append(.send(to: client, .reply(call, result)))
  }

  mutating func reply(to pending: PendingCall, _ result: Result<Reply, BlueZError>) {
    reply(to: pending.client, pending.call, result)
  }

  mutating func tell(_ input: RadioInput) {
    effects.append(.radio(input))
  }
}

/// A call that bluetoothd still owes an answer.
struct PendingCall: Sendable, Hashable {
  var client: ClientIdentifier
  var call: CallIdentifier
}
