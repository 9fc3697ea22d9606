import AppLink
import BlueZ
import BluetoothTypes
import FoundationEssentials
import HashTreeCollections

/// Which identifier belongs to which device: devices on disk, those that bluetoothd shows, and the last few thousand
/// seen in passing. An identifier is computed from the address, so forgetting one only loses the way back from
/// identifier to address, and the name.
struct PeerDirectory: Sendable {
  private struct Entry: Sendable {
    var peer: PeerIdentifier
    /// Which of all addresses it was, in the order in which they were first seen.
    let number: UInt64
    /// What bluetoothd last called it. bluetoothd itself forgets a device without a bond after half a minute.
    var name: String?
  }

  // Trees: while a turn may have to be undone, a change copies a few nodes and not thousands of devices.
  private var byAddress: TreeDictionary<DeviceAddress, Entry> = [:]
  private var byIdentifier: TreeDictionary<PeerIdentifier, DeviceAddress> = [:]
  private var lastNumber: UInt64 = 0

  /// At this many entries, those not in use are forgotten, except the newest.
  static let limit = 16_384
  static let kept = 4096
  /// The number of entries at which old ones are forgotten. This is more than `limit` if most entries were in use the
  /// last time, so that the next search through all entries is worth its cost.
  private var fullAt = Self.limit

  var count: Int { byAddress.count }
  var isFull: Bool { count >= fullAt }

  subscript(address: DeviceAddress) -> PeerIdentifier? { byAddress[address]?.peer }
  func address(of peer: PeerIdentifier) -> DeviceAddress? { byIdentifier[peer] }

  func name(of peer: PeerIdentifier) -> String? { byIdentifier[peer].flatMap { byAddress[$0]?.name } }

  mutating func note(name: String, of peer: PeerIdentifier) {
    guard let address = byIdentifier[peer], byAddress[address]?.name != name else { return }
    byAddress[address]?.name = name
  }

  /// Whether the peer was ever seen under a different address.
  func knows(_ peer: PeerIdentifier, underAnotherAddressThan address: DeviceAddress) -> Bool {
    byAddress.contains { $0.value.peer == peer && $0.key != address }
  }

  mutating func note(_ peer: PeerIdentifier, at address: DeviceAddress) {
    if byAddress[address] == nil {
      lastNumber += 1
      byAddress[address] = Entry(peer: peer, number: lastNumber)
    } else {
      byAddress[address]?.peer = peer
    }
    byIdentifier[peer] = address
  }

  /// - Parameter isKept: whether the peer is still in use.
  mutating func forget(unless isKept: (PeerIdentifier) -> Bool) {
    let oldest = byAddress.sorted { $0.value.number < $1.value.number }.dropLast(Self.kept)
    for (address, entry) in oldest where !isKept(entry.peer) {
      byAddress[address] = nil
      if byIdentifier[entry.peer] == address { byIdentifier[entry.peer] = nil }
    }
    fullAt = max(Self.limit, count + Self.kept)
  }
}

/// SipHash-2-4 with 128 bits (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012). Its output reveals
/// neither the key nor the input.
struct SipHash: Sendable {
  private var first: UInt64
  private var second: UInt64
  private var third: UInt64
  private var fourth: UInt64

  static func hash(_ bytes: [UInt8], key: (UInt64, UInt64)) -> (UInt64, UInt64) {
    var state = SipHash(key: key)
    var place = 0
    while place + 8 <= bytes.count {
      state.absorb(word(bytes[place..<place + 8]))
      place += 8
    }
    state.absorb(word(bytes[place...]) | UInt64(truncatingIfNeeded: bytes.count) << 56)
    return state.finish()
  }

  private init(key: (UInt64, UInt64)) {
    first = key.0 ^ 0x736F_6D65_7073_6575
    second = key.1 ^ 0x646F_7261_6E64_6F6D ^ 0xEE
    third = key.0 ^ 0x6C79_6765_6E65_7261
    fourth = key.1 ^ 0x7465_6462_7974_6573
  }

  private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private mutating func absorb(_ word: UInt64) {
    fourth ^= word
    round()
    round()
    first ^= word
  }

  private mutating func finish() -> (UInt64, UInt64) {
    third ^= 0xEE
    for _ in 0..<4 { round() }
    let low = first ^ second ^ third ^ fourth
    second ^= 0xDD
    for _ in 0..<4 { round() }
    return (low, first ^ second ^ third ^ fourth)
  }

  private mutating func round() {
    first &+= second
    second = Self.rotate(second, 13) ^ first
    first = Self.rotate(first, 32)
    third &+= fourth
    fourth = Self.rotate(fourth, 16) ^ third
    first &+= fourth
    fourth = Self.rotate(fourth, 21) ^ first
    third &+= second
    second = Self.rotate(second, 17) ^ third
    third = Self.rotate(third, 32)
  }

  private static func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
}

extension BluetoothSystem {
  /// The identifier by which apps know a device. It is computed from the address, so it is the same after a restart
  /// even for a device that was never stored. It also depends on this machine's salt, which cannot be computed from
  /// known pairs of address and identifier.
  mutating func identifier(for address: DeviceAddress) -> PeerIdentifier {
    if let known = identifiers[address] { return known }
    if identifiers.isFull {
      let (kept, mirror) = (peers, bluez.devicePaths)
      identifiers.forget { kept[$0] == nil && mirror[$0] == nil ? false : true }
    }
    let input = (0..<6).map { UInt8(truncatingIfNeeded: address.bits >> (8 * UInt64($0))) }
    let key = (settings.salt, SplitMix64.mix(settings.salt))
    let hash = SipHash.hash(input + [address.kind == .random ? 1 : 0], key: key)
    var bytes = (0..<16).map { index in
      UInt8(truncatingIfNeeded: (index < 8 ? hash.0 : hash.1) >> (8 * UInt64(index % 8)))
    }
    // Version 8 of RFC 9562: for UUIDs that an application makes by its own rule.
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    let identifier = PeerIdentifier(
      UUID(
        uuid: (
          bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9], bytes[10],
          bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
        )))
    identifiers.note(identifier, at: address)
    return identifier
  }

  /// The most centrals kept without an app's request. These are bonded ones.
  private static let guestLimit = 1024

  /// Stores a peer. Returns `false` if its address is unknown or too many are stored.
  mutating func keepPeer(_ peer: PeerIdentifier, wasRequested: Bool) -> Bool {
    if let known = peers[peer] {
      var record = known
      if wasRequested, !record.wasRequested { guests -= 1 }
      record.wasRequested = record.wasRequested || wasRequested
      if wasRequested { record.isEnding = nil }
      // While a turn may have to be undone, a change copies the record's neighbours.
      guard record != known else { return true }
      peers[peer] = record
      persist(.peer(record))
      return true
    }
    guard let address = bluez.device(peer)?.address ?? identifiers.address(of: peer) else { return false }
    if !wasRequested {
      guard guests < Self.guestLimit else { return false }
      guests += 1
    }
    let device = bluez.device(peer)
    let record = PeerRecord(
      identifier: peer, address: address, name: device?.storedName ?? identifiers.name(of: peer),
      gapName: device?.storedGAPName,
      wasRequested: wasRequested, foundServices: device?.storedFound)
    peers[peer] = record
    persist(.peer(record))
    return true
  }

  /// Forgets a peer that is no longer in use. While bluetoothd has the device, the record is kept: it says whether an
  /// app's request is the reason for its link.
  mutating func releasePeer(_ peer: PeerIdentifier) {
    guard bluez.device(peer) == nil, !held.isHeld(peer),
      !remembered.includes(peer), let record = peers.removeValue(forKey: peer)
    else { return }
    if !record.wasRequested { guests -= 1 }
    erase(StoreKey(.peer, peer.uuidString))
  }
}

extension Device {
  // What is stored of a device. A device may say anything, so each has a limit.
  private static var nameLimit: Int { 248 }
  private static var foundLimit: Int { 64 }
  var storedName: String? { name.map { String($0.prefix(Self.nameLimit)) } }
  var storedGAPName: String? { gapName.map { String($0.prefix(Self.nameLimit)) } }
  var storedFound: [BluetoothUUID]? { found.isEmpty ? nil : Array(found.sorted().prefix(Self.foundLimit)) }
}
