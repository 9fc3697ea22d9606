import BlueZ
import BusValue
import Radio

/// What bluetoothd has to send after an event, in order. It gathers property changes and sends them, one signal per
/// interface, before any other message leaves.
struct Outbox: Sendable {
  private var effects: [BlueZModel.Effect] = []
  private var changes: [PropertyChange] = []

  /// Changed properties of one interface that have not been sent yet.
  struct PropertyChange: Sendable {
    var path: ObjectPath
    var interface: String
    var names: [String]

    /// A property that no longer exists is sent as invalidated.
    func signal(_ properties: Properties) -> Signal {
      .propertiesChanged(
        path: path, interface: interface, changed: properties.filter { names.contains($0.key) },
        invalidated: names.filter { properties[$0] == nil })
    }
  }

  mutating func append(_ effect: BlueZModel.Effect) { effects.append(effect) }

  mutating func note(_ path: ObjectPath, _ interface: String, _ names: [String]) {
    if let index = changes.firstIndex(where: { $0.path == path && $0.interface == interface }) {
      for name in names where !changes[index].names.contains(name) { changes[index].names.append(name) }
    } else {
      changes.append(PropertyChange(path: path, interface: interface, names: names))
    }
  }

  /// An object was removed: its last changes are not sent.
  mutating func forgetChanges(of path: ObjectPath) { changes.removeAll { $0.path == path } }

  mutating func takeChanges() -> [PropertyChange] {
    defer { changes = [] }
    return changes
  }

  mutating func takeEffects() -> [BlueZModel.Effect] {
    defer { effects = [] }
    return effects
  }
}

extension BlueZModel {
  /// Notes that properties changed.
  mutating func changed<Table: InterfaceTable, each Typed>(
    _ path: ObjectPath, _ properties: repeat KeyPath<Table, Property<each Typed>>
  ) {
    guard isRunning else { return }
    var names: [String] = []
    for property in repeat each properties { names.append(Table.name(property)) }
    outbox.note(path, Table.interface, names)
  }

  mutating func flushChanges() {
    for change in outbox.takeChanges() {
      guard let properties = properties(of: change.path, change.interface) else { continue }
      outbox.append(.broadcast(change.signal(properties)))
    }
  }

  /// Sends a change at once, every time, with exactly this value (a characteristic's Value).
  mutating func emit<Table: InterfaceTable, Typed>(
    _ path: ObjectPath, _ property: KeyPath<Table, Property<Typed>>, _ value: Typed
  ) {
    var changed = PropertyValues<Table>()
    changed[dynamicMember: property] = value
    flushChanges()
    outbox.append(
      .broadcast(.propertiesChanged(path: path, interface: Table.interface, changed: changed.all, invalidated: [])))
  }

  mutating func added(_ path: ObjectPath) {
    guard isRunning, var interfaces = interfaces(of: path) else { return }
    // A provided battery that outlived its device is there already.
    if batteryProviders.batteries[path] != nil { interfaces[Battery1.interface] = nil }
    flushChanges()
    outbox.append(.broadcast(.interfacesAdded(path: path, interfaces)))
  }

  mutating func removed(_ path: ObjectPath, _ interfaces: [String]) {
    outbox.forgetChanges(of: path)
    guard isRunning else { return }
    flushChanges()
    outbox.append(.broadcast(.interfacesRemoved(path: path, interfaces)))
  }

  mutating func reply(to client: ClientIdentifier, _ call: CallIdentifier, _ result: Result<Reply, BlueZError>) {
    flushChanges()
    guard isRunning else { return }
    outbox.append(.send(to: client, .reply(call, result)))
  }

  mutating func reply(to pending: PendingCall, _ result: Result<Reply, BlueZError>) {
    reply(to: pending.client, pending.call, result)
  }

  mutating func tell(_ input: RadioInput) {
    outbox.append(.radio(input))
  }
}

/// A call that bluetoothd has not answered yet.
struct PendingCall: Sendable, Hashable {
  var client: ClientIdentifier
  var call: CallIdentifier
}
