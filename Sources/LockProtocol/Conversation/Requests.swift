/// What a phone asks of a lock after the answer.
package enum LockRequest: Equatable, Sendable {
  /// How the lock is: its bolt, its door, its clock, the end of its log.
  case state
  /// Records from this index on, at most so many.
  case log(from: UInt64, count: UInt8)

  /// The encoding's version. A lock answers a version that it does not know with `.malformed`.
  package static let version: UInt8 = 1

  package enum Kind: UInt8, Sendable, CaseIterable {
    case state = 1
    case log = 2
  }

  package var kind: Kind {
    switch self {
    case .state: .state
    case .log: .log
    }
  }

  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.write(Self.version)
    writer.write(kind.rawValue)
    switch self {
    case .state: break
    case .log(let from, let count):
      writer.write(from)
      writer.write(count)
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
    case .log:
      var reader = try ByteReader(body, count: 9)
      self = .log(from: reader.readUInt64(), count: reader.readByte())
    }
  }
}

/// Whether a lock does what it was asked after the answer.
package enum LockReplyStatus: UInt8, Equatable, Sendable {
  case done = 0
  /// This phone may not ask that.
  case notEntitled = 1
  /// The request has a form or a kind that this lock does not know.
  case malformed = 2
  /// The log can't be read, or what was asked can't be stored.
  case failed = 3
}

/// A lock's reply: the request's kind, whether it was done, and what belongs to that.
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
}
