import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// Gives this machine's GATT database another Database Hash when a bonded central may remember it wrongly.
///
/// If a central's bluetoothd loses the link during a discovery, it skips the discovery on the next link, because it
/// has already written down the hash. It then lacks services for good. On this side, all that can be seen is a short
/// link without requests. After such a link, a small service of the system's own takes another form. That changes the
/// hash, and the next link begins with a full discovery. Until the first such link the service does not exist.
struct DatabaseMark: Sendable {
  private(set) var registration = Registration()
  private(set) var root: ObjectPath?
  /// The number of the mark that bluetoothd was given.
  private var number: UInt32 = 0
  /// Linked bonded centrals: since when, and whether they have asked for anything.
  private var visits: [PeerIdentifier: (since: Instant, showsLife: Bool)] = [:]

  /// A shorter link may have been lost during a discovery, which takes a second or two.
  static let visitLimit: Duration = .seconds(10)
  static let service = BluetoothUUID("b4d1a7c6-0000-4c61-9a63-686b65790001")
  /// Above all handles that apps' services get.
  static let handle: UInt16 = 0xFF10

  var characteristic: ObjectPath? { root?.appending("service").appending("characteristic") }
  var value: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) } }

  mutating func visitBegan(_ peer: PeerIdentifier, at now: Instant) { visits[peer] = (now, false) }
  mutating func visitShowsLife(_ peer: PeerIdentifier) { visits[peer]?.showsLife = true }
  mutating func forgetVisit(of peer: PeerIdentifier) { visits[peer] = nil }

  /// Returns whether the central may have lost the link during a discovery.
  mutating func visitEnded(_ peer: PeerIdentifier, at now: Instant) -> Bool {
    guard let visit = visits.removeValue(forKey: peer) else { return false }
    return !visit.showsLife && now < visit.since + Self.visitLimit
  }

  /// What to ask of bluetoothd now.
  /// - Parameter wanted: the mark that is due, or 0 for none.
  mutating func steps(wanted: UInt32, exports: inout ExportPaths, at now: Instant) -> [AdapterCall] {
    guard number != wanted || registration.isFailed, registration.mayAsk(at: now) else { return [] }
    var calls: [AdapterCall] = []
    if let root { calls.append(AdapterCall(.unregisterApplication(root: root), for: .ignored)) }
    root = nil
    number = wanted
    registration.withdraw()
    guard wanted != 0, let service = Self.service else { return calls }
    let root = exports.next("marks")
    self.root = root
    registration.ask()
    let objects = Self.objects(root.appending("service"), service, number: wanted)
    return calls + [AdapterCall(.registerApplication(root: root, objects: objects), for: .registerMark(root: root))]
  }

  private static func objects(_ place: ObjectPath, _ service: BluetoothUUID, number: UInt32) -> ManagedObjects {
    var exported = PropertyValues<GattService1>()
    exported.uuid = service
    exported.primary = true
    exported.handle = handle
    var marked = PropertyValues<GattCharacteristic1>()
    marked.uuid = characteristic(number)
    marked.service = place
    marked.flags = [GATTFlag.read.rawValue]
    return [place: exported.interfaces, place.appending("characteristic"): marked.interfaces]
  }

  /// The number is in the characteristic's UUID, because the hash covers declarations and not values.
  private static func characteristic(_ number: UInt32) -> BluetoothUUID {
    BluetoothUUID(high: 0xB4D1_A7C6_0001_4C61, low: 0x9A63_686B_0000_0000 | UInt64(number))
  }

  /// bluetoothd has answered. Returns `false` if the answer is for an earlier mark.
  mutating func registered(_ root: ObjectPath, isAccepted: Bool, at now: Instant) -> Bool {
    guard self.root == root else { return false }
    if isAccepted {
      registration.succeed()
    } else {
      self.root = nil
      registration.fail(at: now)
    }
    return true
  }
}

extension BluetoothSystem {
  var isServing: Bool { !managers.serving.isEmpty }

  mutating func visitBegan(_ peer: PeerIdentifier) {
    guard isServing, !isWanted(peer), bluez.device(peer)?.isBonded == true else { return }
    publishing.mark.visitBegan(peer, at: now)
  }

  mutating func visitShowsLife(_ path: ObjectPath) {
    guard let peer = bluez.devices[path]?.peer else { return }
    publishing.mark.visitShowsLife(peer)
  }

  mutating func visitEnded(_ peer: PeerIdentifier) {
    guard publishing.mark.visitEnded(peer, at: now) else { return }
    settings.databaseMark = (settings.databaseMark ?? 0) &+ 1
    persist(.settings(settings))
    journal(.databaseMarked, [.central: peer.uuidString, .mark: String(settings.databaseMark ?? 0)])
  }
}
