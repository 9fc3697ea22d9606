/// What a phone asks of a lock after the answer.
package enum LockRequest: Equatable, Sendable {
  /// How the lock is: its bolt, its door, its clock, the end of its log.
  case state
  /// Records from this index on, at most `count`.
  case log(from: UInt64, count: UInt8)
  /// The names of owners and guests, beginning with the one at this position.
  case names(from: UInt8)
  /// Set the lock's clock: seconds since 1970-01-01 UTC. Owners only.
  case setClock(Int64)
  /// Introduces the owner's Ed25519 key, 32 bytes, and name. From then on the lock believes what is signed with the
  /// key. Owners only.
  case introduce(signingKey: [UInt8], name: [UInt8])
  /// An owner's signed revocation list (`RevocationList`). Any phone may bring it.
  case deliver([UInt8])
  /// An owner's introduction (`SealedIntroduction`). Any phone may bring it.
  case bringIntroduction([UInt8])
  /// The owners' phones and their names, beginning with the one at this position. Owners only.
  case owners(from: UInt8)
  /// How many more grants the lock can count the uses of (`LockRoom`). Owners only.
  case room
  /// The lock's operating mode.
  case mode
  /// The alarms whose reasons still exist.
  case alarms

  /// The encoding's version. A lock answers a version that it does not know with `.malformed`.
  package static let version: UInt8 = 1

  package enum Kind: UInt8, Sendable, CaseIterable {
    case state = 1
    case log = 2
    case names = 3
    case setClock = 4
    case introduce = 5
    case deliver = 6
    case owners = 7
    case bringIntroduction = 8
    case room = 9
    case mode = 10
    case alarms = 11
  }

  package var kind: Kind {
    switch self {
    case .state: .state
    case .log: .log
    case .names: .names
    case .setClock: .setClock
    case .introduce: .introduce
    case .deliver: .deliver
    case .owners: .owners
    case .bringIntroduction: .bringIntroduction
    case .room: .room
    case .mode: .mode
    case .alarms: .alarms
    }
  }

  /// Whether the request changes what the lock knows of owners, guests and the time.
  package var isChange: Bool {
    switch self {
    case .setClock, .introduce, .deliver, .bringIntroduction: true
    case .state, .log, .names, .owners, .room, .mode, .alarms: false
    }
  }

  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.write(Self.version)
    writer.write(kind.rawValue)
    switch self {
    case .state, .room, .mode, .alarms: break
    case .log(let from, let count):
      writer.write(from)
      writer.write(count)
    case .names(let from), .owners(let from): writer.write(from)
    case .setClock(let unixSeconds): writer.write(UInt64(bitPattern: unixSeconds))
    case .introduce(let signingKey, let name):
      writer.write(signingKey)
      writer.write(Array(name.prefix(KeyName.nameByteLimit)))
    case .deliver(let list): writer.write(list)
    case .bringIntroduction(let introduction): writer.write(introduction)
    }
    return writer.bytes
  }

  /// Reads a request. Each kind has one length.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    guard bytes.count >= 2 else { throw .wrongLength }
    guard bytes[0] == Self.version else { throw .unknownVersion }
    guard let kind = Kind(rawValue: bytes[1]) else { throw .unknownValue }
    let body = Array(bytes[2...])
    switch kind {
    case .state:
      _ = try ByteReader(body, count: 0)
      self = .state
    case .room:
      _ = try ByteReader(body, count: 0)
      self = .room
    case .mode:
      _ = try ByteReader(body, count: 0)
      self = .mode
    case .alarms:
      _ = try ByteReader(body, count: 0)
      self = .alarms
    case .log:
      var reader = try ByteReader(body, count: 9)
      self = .log(from: reader.readUInt64(), count: reader.readByte())
    case .names:
      var reader = try ByteReader(body, count: 1)
      self = .names(from: reader.readByte())
    case .owners:
      var reader = try ByteReader(body, count: 1)
      self = .owners(from: reader.readByte())
    case .setClock:
      var reader = try ByteReader(body, count: 8)
      self = .setClock(Int64(bitPattern: reader.readUInt64()))
    case .introduce:
      guard body.count >= NoiseSize.keyByteCount, body.count <= NoiseSize.keyByteCount + KeyName.nameByteLimit else {
        throw .wrongLength
      }
      let name = Array(body.dropFirst(NoiseSize.keyByteCount))
      guard KeyName.isName(name) else { throw .unknownValue }
      self = .introduce(signingKey: Array(body.prefix(NoiseSize.keyByteCount)), name: name)
    case .deliver:
      guard body.count <= RevocationList.maximumByteCount else { throw .wrongLength }
      self = .deliver(body)
    case .bringIntroduction:
      guard SealedIntroduction.byteCounts.contains(body.count) else { throw .wrongLength }
      self = .bringIntroduction(body)
    }
  }
}

/// The outcome of a request.
package enum LockReplyStatus: UInt8, Equatable, Sendable {
  case done = 0
  /// This phone may not ask that.
  case notEntitled = 1
  /// The request has a form or a kind that this lock does not know.
  case malformed = 2
  /// The log can't be read, or what was asked can't be stored.
  case failed = 3
  /// The lock has a newer list of this owner. The body is its version, 8 bytes.
  case older = 4
  /// What was brought is for another lock, or is not signed by somebody whom this lock believes. Or the signing key
  /// belongs to another phone, or is not a usable key.
  case notBelieved = 5
  /// The lock has no room for one more.
  case noRoom = 6
}

/// A lock's reply: the request's kind, the outcome, and a body that depends on both.
package struct LockReply: Equatable, Sendable {
  /// `nil` if the lock could not read the request.
  package var kind: LockRequest.Kind?
  package var status: LockReplyStatus
  package var body: [UInt8]

  package init(_ kind: LockRequest.Kind?, _ status: LockReplyStatus, _ body: [UInt8] = []) {
    self.kind = kind
    self.status = status
    self.body = body
  }

  package var encoded: [UInt8] { [LockRequest.version, kind?.rawValue ?? 0, status.rawValue] + body }

  /// Reads a reply of any length that a conversation can have.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    guard bytes.count >= 3 else { throw .wrongLength }
    guard bytes[0] == LockRequest.version else { throw .unknownVersion }
    guard let status = LockReplyStatus(rawValue: bytes[2]) else { throw .unknownValue }
    let kind = LockRequest.Kind(rawValue: bytes[1])
    guard kind != nil || bytes[1] == 0 else { throw .unknownValue }
    self.init(kind, status, Array(bytes[3...]))
  }

  /// Whether it can be the reply to a request of this kind. One without a kind says that the request could not be read.
  package func replies(to asked: LockRequest.Kind) -> Bool {
    kind.map { $0 == asked } ?? (status == .malformed || status == .noRoom)
  }
}
