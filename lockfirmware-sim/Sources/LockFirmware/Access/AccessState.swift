import LockProtocol

/// What owners have told a lock over the air: who they are, what they revoke, and what time it is. It takes effect only
/// after the lock has stored it durably.
package struct AccessState: Equatable, Sendable {
  /// An owner whose signatures the lock believes.
  package struct Owner: Equatable, Sendable {
    /// The phone's static public key, 32 bytes.
    package var phone: [UInt8]
    /// An Ed25519 public key, 32 bytes.
    package var signingKey: [UInt8]
    package var name: [UInt8]

    package init(phone: [UInt8], signingKey: [UInt8], name: [UInt8]) {
      self.phone = phone
      self.signingKey = signingKey
      self.name = name
    }
  }

  /// How often a grant has unlocked.
  package struct Use: Equatable, Sendable {
    package var grant: [UInt8]
    package var count: UInt16
    /// The grant does not count from this second on, since 1970-01-01 UTC. `Int64.max` if it has no end, or if an
    /// earlier release counted the use.
    package var until: Int64

    package init(grant: [UInt8], count: UInt16, until: Int64 = .max) {
      self.grant = grant
      self.count = count
      self.until = until
    }
  }

  /// A time that an owner has set.
  package struct Clock: Equatable, Sendable {
    /// Identifies the run of the clock that counts milliseconds: 16 bytes. After a restart of the machine it is another
    /// one, and nothing is known of the time that has passed.
    package var boot: [UInt8]
    package var milliseconds: Int64
    package var unixSeconds: Int64
  }

  /// A change whose record is not durable yet, and the index that the record is to have. The change is the last one of
  /// its kind.
  package struct Unrecorded: Equatable, Sendable {
    package var change: AccessChange
    package var index: UInt64

    package init(_ change: AccessChange, index: UInt64) {
      self.change = change
      self.index = index
    }
  }

  package var owners: [Owner] = []
  /// The newest list of each owner.
  package var lists: [RevocationList] = []
  /// The counted grants, the latest last. None is forgotten while its grant may still unlock.
  package var uses: [Use] = []
  /// Counts of grants that end before this second may have been forgotten. A grant that ends before it and is not in
  /// `uses` counts as over, whatever the clock says.
  package var forgottenUntil: Int64?
  /// The names of guests who were here, the latest last.
  package var guests: [KeyName] = []
  package var clock: Clock?
  /// The owners' phones that were enrolled by the lock's code, in order. Phones of the lock's key file are not among
  /// them.
  package var phones: [KeyName] = []
  /// The latest change, until its record is durable. If the power fails before that, the next start writes the record.
  package var unrecorded: Unrecorded?
  /// The index of the record of the movement for which the last of `uses` was counted, until that record is durable. If the power
  /// fails before that, the bolt has not moved, and the next start takes the use back.
  package var unmovedUse: UInt64?

  package init() {}

  /// The most of each that can be stored; a lock may hold fewer (`LockCapacity`). A phone can't add any of them without an
  /// owner's signature.
  package static let ownerLimit = 64
  package static let listLimit = 64
  package static let useLimit = 1024
  package static let guestLimit = 128
  /// The format while no phone was enrolled. An earlier release can read it; it refuses to start with a format that it
  /// does not know.
  private static let version: UInt8 = 1
  private static let versionWithPhones: UInt8 = 2
  /// As `versionWithPhones`, with the ends of counted grants.
  private static let versionWithEnds: UInt8 = 3
  /// A change that is not recorded yet, and then everything in one of the other versions.
  private static let versionWithUnrecorded: UInt8 = 4
  /// A use whose bolt has not begun to move, and then everything in one of the versions 1 to 3.
  private static let versionWithUnmovedUse: UInt8 = 5
  static let bootByteCount = 16

  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.reserve(encodedByteCountAtMost)
    if let unrecorded {
      writer.write(Self.versionWithUnrecorded)
      writer.write(unrecorded.change.rawValue)
      writer.write(unrecorded.index)
    }
    if let unmovedUse {
      writer.write(Self.versionWithUnmovedUse)
      writer.write(unmovedUse)
    }
    let hasEnds = hasEnds
    writer.write(hasEnds ? Self.versionWithEnds : phones.isEmpty ? Self.version : Self.versionWithPhones)
    writer.write(UInt8(clock == nil ? 0 : 1))
    if let clock {
      writer.write(clock.boot)
      writer.write(UInt64(bitPattern: clock.milliseconds))
      writer.write(UInt64(bitPattern: clock.unixSeconds))
    }
    writer.write(UInt8(clamping: owners.count))
    for owner in owners {
      writer.write(owner.phone)
      writer.write(owner.signingKey)
      Self.write(owner.name, to: &writer)
    }
    writer.write(UInt8(clamping: lists.count))
    for list in lists {
      let bytes = list.encoded
      writer.write(UInt16(clamping: bytes.count))
      writer.write(bytes)
    }
    writer.write(UInt16(clamping: uses.count))
    for use in uses {
      writer.write(use.grant)
      writer.write(use.count)
    }
    writer.write(UInt8(clamping: guests.count))
    for guest in guests {
      writer.write(guest.key)
      Self.write(guest.name, to: &writer)
    }
    if hasEnds || !phones.isEmpty { writer.write(UInt8(clamping: phones.count)) }
    for phone in phones {
      writer.write(phone.key)
      Self.write(phone.name, to: &writer)
    }
    guard hasEnds else { return writer.bytes }
    for use in uses { writer.write(UInt64(bitPattern: use.until)) }
    writer.write(UInt8(forgottenUntil == nil ? 0 : 1))
    if let forgottenUntil { writer.write(UInt64(bitPattern: forgottenUntil)) }
    return writer.bytes
  }

  private var hasEnds: Bool { forgottenUntil != nil || uses.contains { $0.until != .max } }

  /// An upper limit of the encoded length, so that memory is reserved once. Growing bytes are copied, and a board has
  /// no room for two copies.
  private var encodedByteCountAtMost: Int {
    let names = guests.reduce(0) { $0 + $1.key.count + $1.name.count + 1 }
    let phoneNames = phones.reduce(0) { $0 + $1.key.count + $1.name.count + 1 }
    let signers = owners.reduce(0) { $0 + $1.phone.count + $1.signingKey.count + $1.name.count + 1 }
    return 80 + names + phoneNames + signers
      + lists.reduce(0) { $0 + $1.encodedByteCount + 2 } + uses.count * 26
  }

  private static func write(_ name: [UInt8], to writer: inout ByteWriter) {
    let bytes = Array(name.prefix(KeyName.nameByteLimit))
    writer.write(UInt8(clamping: bytes.count))
    writer.write(bytes)
  }

  /// Reads what `encoded` wrote.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    var reader = BoundedReader(bytes)
    var version = try reader.byte()
    if version == Self.versionWithUnrecorded {
      guard let change = AccessChange(rawValue: try reader.byte()) else { throw .unknownValue }
      unrecorded = Unrecorded(change, index: UInt64(bitPattern: try reader.integer()))
      version = try reader.byte()
    }
    if version == Self.versionWithUnmovedUse {
      unmovedUse = UInt64(bitPattern: try reader.integer())
      version = try reader.byte()
    }
    guard (Self.version...Self.versionWithEnds).contains(version) else { throw .unknownVersion }
    if try reader.byte() == 1 {
      clock = Clock(
        boot: try reader.bytes(Self.bootByteCount), milliseconds: try reader.integer(),
        unixSeconds: try reader.integer())
    }
    for _ in 0..<(try reader.byte()) {
      owners.append(
        Owner(
          phone: try reader.bytes(NoiseSize.keyByteCount), signingKey: try reader.bytes(NoiseSize.keyByteCount),
          name: try reader.name()))
    }
    for _ in 0..<(try reader.byte()) {
      let count = Int(try reader.short())
      lists.append(try RevocationList(decoding: try reader.bytes(count)))
    }
    for _ in 0..<(try reader.short()) {
      uses.append(Use(grant: try reader.bytes(Grant.identifierByteCount), count: try reader.short()))
    }
    for _ in 0..<(try reader.byte()) {
      guests.append(KeyName(key: try reader.bytes(NoiseSize.keyByteCount), name: try reader.name()))
    }
    if version != Self.version {
      for _ in 0..<(try reader.byte()) {
        phones.append(KeyName(key: try reader.bytes(NoiseSize.keyByteCount), name: try reader.name()))
      }
      let fewest = version == Self.versionWithPhones ? 1 : 0
      guard (fewest...LockLimit.phones).contains(phones.count) else { throw .wrongLength }
    }
    if version == Self.versionWithEnds {
      for index in uses.indices { uses[index].until = try reader.integer() }
      if try reader.byte() == 1 { forgottenUntil = try reader.integer() }
      // Each state has one form. Without ends, it is written in an earlier version.
      guard hasEnds else { throw .wrongLength }
    }
    guard reader.isAtEnd, unrecorded == nil || unrecordedSubject != nil,
      unmovedUse == nil || !uses.isEmpty, owners.count <= Self.ownerLimit,
      lists.count <= Self.listLimit, uses.count <= Self.useLimit,
      guests.count <= Self.guestLimit
    else { throw .wrongLength }
  }

  // MARK: Rules

  /// The phone that the unrecorded change is about, and the record's number: the version of a list, or the time. `nil`
  /// if there is none.
  var unrecordedSubject: (phone: [UInt8], number: UInt64)? {
    switch unrecorded?.change {
    case .phoneEnrolled: phones.last.map { ($0.key, 0) }
    case .ownerIntroduced: owners.last.map { ($0.phone, 0) }
    // The list's owner has signed it, whoever has brought it.
    case .listAccepted: lists.last.map { (signer($0.issuer)?.phone ?? LockRecord.nobody, $0.version) }
    case .clockSet: clock.map { (LockRecord.nobody, UInt64(bitPattern: $0.unixSeconds)) }
    case nil: nil
    }
  }

  func isEnrolled(_ phone: [UInt8]) -> Bool { phones.contains { $0.key == phone } }

  func signer(_ signingKey: [UInt8]) -> Owner? { owners.first { $0.signingKey == signingKey } }

  func useCount(of grant: [UInt8]) -> UInt16 { uses.first { $0.grant == grant }?.count ?? 0 }

  /// - Returns: whether the guest was not known by this name.
  mutating func remember(_ guest: KeyName, limit: Int) -> Bool {
    guard !guests.contains(guest) else { return false }
    guests.removeAll { $0.key == guest.key }
    while guests.count >= limit { guests.removeFirst() }
    guests.append(guest)
    return true
  }

  /// - Returns: whether there is room for it.
  mutating func introduce(_ owner: Owner, limit: Int = ownerLimit) -> Bool {
    owners.removeAll { $0.phone == owner.phone }
    guard owners.count < limit else { return false }
    owners.append(owner)
    return true
  }

  /// - Returns: whether there is room for it.
  mutating func accept(_ list: RevocationList, within capacity: LockCapacity) -> Bool {
    lists.removeAll { $0.issuer == list.issuer }
    let entryCount = lists.reduce(list.entryCount) { $0 + $1.entryCount }
    guard lists.count < capacity.lists, entryCount <= capacity.listEntries else { return false }
    lists.append(list)
    return true
  }
}

/// Reads bytes whose number depends on what is in them.
private struct BoundedReader {
  private let content: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { content = bytes }

  var isAtEnd: Bool { position == content.count }

  mutating func bytes(_ count: Int) throws(LockMessageError) -> [UInt8] {
    guard count <= content.count - position else { throw .wrongLength }
    defer { position += count }
    return Array(content[position..<position + count])
  }

  mutating func byte() throws(LockMessageError) -> UInt8 { try bytes(1)[0] }

  mutating func short() throws(LockMessageError) -> UInt16 {
    let pair = try bytes(2)
    return UInt16(pair[0]) << 8 | UInt16(pair[1])
  }

  mutating func integer() throws(LockMessageError) -> Int64 {
    var value: UInt64 = 0
    for byte in try bytes(8) { value = value << 8 | UInt64(byte) }
    return Int64(bitPattern: value)
  }

  mutating func name() throws(LockMessageError) -> [UInt8] {
    let count = Int(try byte())
    guard count <= KeyName.nameByteLimit else { throw .unknownValue }
    return try bytes(count)
  }
}
