import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// Gives this machine's GATT database another Database Hash, when a bonded central may remember it wrongly.
///
/// A central's bluetoothd that loses the link in the middle of a discovery skips it on the next link, since it has
/// written the hash down already; it then lacks services for good. All that shows of it here is a short link at which
/// nothing was asked. After one, a small service of the system's own takes another form; the hash is new, and the next
/// link begins with a whole discovery. Until then there is no such service.
struct DatabaseMark: Sendable {
  var registration = Registration()
  var root: ObjectPath?
  /// Which mark bluetoothd was given.
  var number: UInt32 = 0
  /// Bonded centrals that are linked: since when, and whether they have asked for anything.
  private var visits: [PeerIdentifier: (since: Instant, showsLife: Bool)] = [:]

  /// A link that ends sooner may have been lost in a discovery, which takes a second or two.
  static let visitLimit: Duration = .seconds(10)
  static let service = BluetoothUUID("b4d1a7c6-0000-4c61-9a63-686b65790001")
  /// Above all handles that apps' services get.
  static let handle: UInt16 = 0xFF10

  var characteristic: ObjectPath? { root?.appending("service").appending("characteristic") }
  var value: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) } }

  mutating func visitBegan(_ peer: PeerIdentifier, at now: Instant) { visits[peer] = (now, false) }
  mutating func visitShowsLife(_ peer: PeerIdentifier) { visits[peer]?.showsLife = true }
  mutating func forgetVisit(of peer: PeerIdentifier) { visits[peer] = nil }

  /// Returns whether the central may have lost the link in a discovery.
  mutating func visitEnded(_ peer: PeerIdentifier, at now: Instant) -> Bool {
    guard let visit = visits.removeValue(forKey: peer) else { return false }
    return !visit.showsLife && now < visit.since + Self.visitLimit
  }

  /// The characteristic's UUID has the number: values are no part of the hash, declarations are.
  static func characteristic(_ number: UInt32) -> BluetoothUUID {
    BluetoothUUID(high: 0xB4D1_A7C6_0001_4C61, low: 0x9A63_686B_0000_0000 | UInt64(number))
  }
}

extension BluetoothSystem {
  private var isServing: Bool { managers.values.contains { !$0.services.isEmpty } }

  mutating func visitBegan(_ peer: PeerIdentifier) {
    guard isServing, !isWanted(peer), bluez.device(peer)?.isBonded == true else { return }
    mark.visitBegan(peer, at: now)
  }

  mutating func visitShowsLife(_ path: ObjectPath) {
    guard let peer = bluez.devices[path]?.peer else { return }
    mark.visitShowsLife(peer)
  }

  mutating func visitEnded(_ peer: PeerIdentifier) {
    guard mark.visitEnded(peer, at: now) else { return }
    settings.databaseMark = (settings.databaseMark ?? 0) &+ 1
    persist(.settings(settings))
    journal(.databaseMarked, [.central: peer.uuidString, .mark: String(settings.databaseMark ?? 0)])
  }

  /// Has bluetoothd serve the mark that is due, while apps publish anything.
  mutating func reconcileMark(_ adapter: ObjectPath) {
    let wanted = isServing ? settings.databaseMark ?? 0 : 0
    guard mark.number != wanted || mark.registration.isFailed, mark.registration.mayAsk(at: now) else { return }
    if let root = mark.root {
      mark.root = nil
      call(adapter, .unregisterApplication(root: root), for: .ignored)
    }
    mark.number = wanted
    mark.registration.withdraw()
    guard wanted != 0, let service = DatabaseMark.service else { return }
    lastExport += 1
    let root = ObjectPath(unchecked: "/org/latchkey/marks/\(lastExport)")
    mark.root = root
    mark.registration.ask()
    let place = root.appending("service")
    let objects: ManagedObjects = [
      place: [
        InterfaceName.gattService: [
          "UUID": .string(service.description), "Primary": .bool(true), "Handle": .uint16(DatabaseMark.handle),
        ]
      ],
      place.appending("characteristic"): [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(DatabaseMark.characteristic(wanted).description), "Service": .path(place),
          "Flags": .strings([GATTFlag.read.rawValue]),
        ]
      ],
    ]
    call(adapter, .registerApplication(root: root, objects: objects), for: .registerMark(root: root))
  }

  mutating func markRegistered(_ root: ObjectPath, _ result: Result<Reply, BlueZError>) {
    guard mark.root == root else { return }
    switch result {
    case .success: mark.registration.succeed()
    case .failure(let error):
      mark.root = nil
      mark.registration.fail(at: now)
      journal(.databaseMarkRefused, [.error: error.description])
    }
  }
}
