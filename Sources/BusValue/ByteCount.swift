extension Value {
  /// Roughly the memory that this value takes, in bytes: its content, and a box for each value inside. Queues of
  /// messages are limited by this, since one message of a megabyte weighs more than a thousand others.
  package var byteCount: Int { Self.boxByteCount + contentByteCount }

  private var contentByteCount: Int {
    switch self {
    case .byte, .bool, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double, .fileDescriptor: 0
    case .string(let text), .signature(let text): text.utf8.count
    case .path(let path): path.text.utf8.count
    case .bytes(let bytes): bytes.count
    case .array(_, let elements), .structure(let elements): elements.byteCount
    case .dictionary(_, _, let members): members.reduce(0) { $0 + $1.key.byteCount + $1.value.byteCount }
    case .variant(let inner): inner.byteCount
    }
  }

  /// The heap size of an indirect case, in round numbers.
  private static let boxByteCount = 48
}

extension Sequence<Value> {
  /// Roughly the memory that all of them take, in bytes.
  package var byteCount: Int { reduce(0) { $0 + $1.byteCount } }
}
