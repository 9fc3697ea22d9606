/// The name of an owner or a guest, and the key of their phone.
package struct KeyName: Equatable, Sendable {
  /// The phone's static public key, 32 bytes.
  package var key: [UInt8]
  /// In UTF-8. A lock of an earlier version may have stored any bytes.
  package var name: [UInt8]

  package init(key: [UInt8], name: [UInt8]) {
    self.key = key
    self.name = name
  }

  /// The longest name, in bytes of UTF-8.
  package static let nameByteLimit = 32
  /// The most names in one reply.
  package static let maximumCount = 32

  /// Whether these bytes are a name: UTF-8, and not too long. It may be empty.
  package static func isName(_ bytes: some Collection<UInt8>) -> Bool {
    guard bytes.count <= nameByteLimit else { return false }
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid: continue
      case .emptyInput: return true
      case .error: return false
      }
    }
  }

  /// The beginning of a text that fits into a name, without half a character at its end.
  package static func name(from text: String) -> [UInt8] {
    var bytes = Array(text.utf8.prefix(nameByteLimit))
    while !isName(bytes) { bytes.removeLast() }
    return bytes
  }

  /// Encodes the number of all names, the number of names that follow, and for each its key, its length and its bytes.
  package static func encoded(_ names: [KeyName], ofAll count: Int) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(clamping: count))
    writer.write(UInt8(clamping: names.count))
    for name in names {
      writer.write(name.key)
      let text = Array(name.name.prefix(nameByteLimit))
      writer.write(UInt8(clamping: text.count))
      writer.write(text)
    }
    return writer.bytes
  }

  /// Reads what `encoded` wrote.
  package static func decode(_ bytes: [UInt8]) throws(LockMessageError) -> (names: [KeyName], count: Int) {
    guard bytes.count >= 2 else { throw .wrongLength }
    guard bytes[1] <= maximumCount else { throw .unknownValue }
    var names: [KeyName] = []
    var position = 2
    for _ in 0..<bytes[1] {
      let start = position + NoiseSize.keyByteCount
      guard bytes.count > start else { throw .wrongLength }
      let end = start + 1 + Int(bytes[start])
      guard Int(bytes[start]) <= nameByteLimit, bytes.count >= end else { throw .wrongLength }
      names.append(KeyName(key: Array(bytes[position..<start]), name: Array(bytes[(start + 1)..<end])))
      position = end
    }
    guard position == bytes.count else { throw .wrongLength }
    return (names, Int(bytes[0]))
  }
}
