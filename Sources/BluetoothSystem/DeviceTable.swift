import AppLink
import BlueZ
import BusValue
import HashTreeCollections

/// The devices that bluetoothd shows, by their paths. Those with a link, those in sight, and those that have changed are
/// found without looking at the others.
struct DeviceTable: Sendable {
  // A tree: while a turn may have to be undone, a change copies a few nodes and not the whole table.
  private var all: TreeDictionary<ObjectPath, Device> = [:]
  /// Devices with a link.
  private(set) var connected: Set<ObjectPath> = []
  /// Devices that bluetoothd sees right now.
  private(set) var inSight: Set<ObjectPath> = []
  private var touched: Set<PeerIdentifier> = []

  /// What the sets above say about a device.
  private struct Mark {
    let peer: PeerIdentifier
    let isConnected: Bool
    let isInSight: Bool

    init(_ device: Device) { (peer, isConnected, isInSight) = (device.peer, device.isConnected, device.rssi != nil) }
  }

  var count: Int { all.count }
  var isEmpty: Bool { all.isEmpty }
  var keys: some Collection<ObjectPath> { all.keys }
  var values: some Collection<Device> { all.values }
  /// In the order of their paths.
  var connectedDevices: [Device] { connected.sorted().compactMap { all[$0] } }
  /// In the order of their paths.
  var devicesInSight: [Device] { inSight.sorted().compactMap { all[$0] } }

  subscript(path: ObjectPath) -> Device? {
    get { all[path] }
    _modify {
      let before = all[path].map { Mark($0) }
      defer { note(path, before) }
      yield &all[path]
    }
  }

  private mutating func note(_ path: ObjectPath, _ before: Mark?) {
    let after = all[path].map { Mark($0) }
    for mark in [before, after] { if let mark { touched.insert(mark.peer) } }
    if before?.isConnected ?? false != after?.isConnected ?? false {
      if after?.isConnected == true { connected.insert(path) } else { connected.remove(path) }
    }
    if before?.isInSight ?? false != after?.isInSight ?? false {
      if after?.isInSight == true { inSight.insert(path) } else { inSight.remove(path) }
    }
  }

  mutating func removeValue(forKey path: ObjectPath) -> Device? {
    defer { self[path] = nil }
    return all[path]
  }

  /// Moves the peers of devices that have changed since the last call into the set.
  mutating func moveTouched(to set: inout Set<PeerIdentifier>) {
    guard !touched.isEmpty else { return }
    set.formUnion(touched)
    touched.removeAll()
  }
}
