import AppLink
import BlueZ
import BluetoothTypes

/// Which services each peripheral was seen with while it lacked nothing.
///
/// A peripheral that comes back with a service it never had was updated, or has started as another device: to be updated, for example. bluetoothd has
/// discovered it anew as a whole, so what is not there is gone. A discovery that was cut short shows nothing new.
struct KnownServices: Sendable {
  private var services: [PeerIdentifier: Set<BluetoothUUID>] = [:]
  private static let serviceLimit = 64
  private static let peerLimit = 1024

  /// The peripheral lacks nothing that apps have found. What it had before is still known: it may be registering its services one by one.
  mutating func sees(_ uuids: Set<BluetoothUUID>, on peer: PeerIdentifier) {
    let known = services[peer, default: []].union(uuids)
    replace(known.count <= Self.serviceLimit ? known : uuids, on: peer)
  }

  /// The peripheral was updated: it has these services and no others.
  mutating func replace(_ uuids: Set<BluetoothUUID>, on peer: PeerIdentifier) {
    // Without this knowledge, a peripheral's links are ended as if nothing were new.
    guard uuids.count <= Self.serviceLimit else {
      services[peer] = nil
      return
    }
    if services[peer] == nil, services.count >= Self.peerLimit { services = [:] }
    services[peer] = uuids
  }

  func isUpdated(_ peer: PeerIdentifier, having uuids: Set<BluetoothUUID>) -> Bool {
    guard let known = services[peer] else { return false }
    return !uuids.isSubset(of: known)
  }
}

extension Device {
  /// The services by which the peripheral differs from others, except the one by which a Latchkey machine changes its database's hash.
  var distinctServices: Set<BluetoothUUID> {
    let uuids = attributes.values.lazy.filter { $0.kind == .service }.compactMap(\.uuid)
    return Set(uuids.filter { $0.isTelling && $0 != DatabaseMark.service })
  }
}
