import BusValue
import CSystemd
import Glibc

/// Encodes values into messages.
enum MessageEncoder {
  static func append(_ values: [Value], to message: OpaquePointer) throws(BusError) {
    for value in values { try append(value, to: message) }
  }

  private static func append(_ value: Value, to message: OpaquePointer) throws(BusError) {
    switch value {
    case .byte(let value): try basic("y", value, message)
    // sd-bus expects an int for a boolean.
    case .bool(let value): try basic("b", Int32(value ? 1 : 0), message)
    case .int16(let value): try basic("n", value, message)
    case .uint16(let value): try basic("q", value, message)
    case .int32(let value): try basic("i", value, message)
    case .uint32(let value): try basic("u", value, message)
    case .int64(let value): try basic("x", value, message)
    case .uint64(let value): try basic("t", value, message)
    case .double(let value): try basic("d", value, message)
    // sd-bus duplicates the descriptor.
    case .fileDescriptor(let value): try basic("h", value, message)
    case .string(let text): try string("s", text, message)
    case .path(let path): try string("o", path.text, message)
    case .signature(let text): try string("g", text, message)
    case .bytes(let bytes):
      let result = bytes.withUnsafeBytes {
        sd_bus_message_append_array(message, type("y"), $0.baseAddress, $0.count)
      }
      try check(result, "append ay")
    case .array(let element, let elements):
      try open("a", element, message)
      for value in elements { try append(value, to: message) }
      try close(message)
    case .dictionary(let key, let value, let members):
      try open("a", "{\(key)\(value)}", message)
      for (memberKey, memberValue) in members.sorted(by: { isBefore($0.key, $1.key) }) {
        try open("e", key + value, message)
        try append(memberKey, to: message)
        try append(memberValue, to: message)
        try close(message)
      }
      try close(message)
    case .structure(let members):
      try open("r", members.map(\.signature).joined(), message)
      for value in members { try append(value, to: message) }
      try close(message)
    case .variant(let inner):
      try open("v", inner.signature, message)
      try append(inner, to: message)
      try close(message)
    }
  }

  /// A fixed order, with an object's path before those below it, and Adapter1 before an adapter's other interfaces:
  /// bluetoothctl handles objects in the order in which they arrive, and fails at an adapter without Adapter1.
  private static func isBefore(_ left: Value, _ right: Value) -> Bool {
    switch (left, right) {
    case (.string(let left), .string(let right)): left < right
    case (.path(let left), .path(let right)): left < right
    default: (left.integerValue ?? 0) < (right.integerValue ?? 0)
    }
  }

  private static func basic<T: BitwiseCopyable>(
    _ kind: Unicode.Scalar, _ value: T, _ message: OpaquePointer
  ) throws(BusError) {
    var value = value
    try check(sd_bus_message_append_basic(message, type(kind), &value), "append \(kind)")
  }

  private static func string(_ kind: Unicode.Scalar, _ text: String, _ message: OpaquePointer) throws(BusError) {
    guard !text.utf8.contains(0) else { throw .invalidArguments("a D-Bus string can't contain a zero byte") }
    try check(text.withCString { sd_bus_message_append_basic(message, type(kind), $0) }, "append \(kind)")
  }

  private static func open(
    _ kind: Unicode.Scalar, _ contents: String, _ message: OpaquePointer
  ) throws(BusError) {
    try check(sd_bus_message_open_container(message, type(kind), contents), "append \(kind)(\(contents))")
  }

  private static func close(_ message: OpaquePointer) throws(BusError) {
    try check(sd_bus_message_close_container(message), "close container")
  }
}

/// Decodes messages into values, within limits. File descriptors are duplicated, and closed again if decoding fails.
struct MessageDecoder {
  private let message: OpaquePointer
  private let acceptsFileDescriptors: Bool
  private let ignoresUnexpectedDescriptors: Bool
  private var valuesLeft: Int
  private var bytesLeft: Int
  private let depthLimit: Int
  private var fileDescriptors: [Int32] = []

  static func decode(
    _ message: OpaquePointer, limits: MessageLimits, acceptsFileDescriptors: Bool = false
  ) throws(BusError) -> [Value] {
    var decoder = MessageDecoder(message: message, limits: limits, acceptsFileDescriptors: acceptsFileDescriptors)
    do {
      return try decoder.sequence(depth: 0)
    } catch {
      for descriptor in decoder.fileDescriptors { close(descriptor) }
      throw error
    }
  }

  private init(message: OpaquePointer, limits: MessageLimits, acceptsFileDescriptors: Bool) {
    self.message = message
    self.acceptsFileDescriptors = acceptsFileDescriptors
    ignoresUnexpectedDescriptors = limits.ignoresUnexpectedDescriptors
    valuesLeft = limits.values
    bytesLeft = limits.bytes
    depthLimit = limits.depth
  }

  private mutating func sequence(depth: Int) throws(BusError) -> [Value] {
    var values: [Value] = []
    while let value = try next(depth: depth) { values.append(value) }
    return values
  }

  /// The next value at this level, or `nil` at its end.
  private mutating func next(depth: Int) throws(BusError) -> Value? {
    var kind: CChar = 0
    var contentsPointer: UnsafePointer<CChar>?
    guard try check(sd_bus_message_peek_type(message, &kind, &contentsPointer), "read") > 0 else { return nil }
    try spend(values: 1)
    let contents = contentsPointer.map { String(cString: $0) } ?? ""
    switch Unicode.Scalar(UInt8(bitPattern: kind)) {
    case "y": return .byte(try basic(kind, 0))
    case "b": return .bool(try basic(kind, Int32(0)) != 0)
    case "n": return .int16(try basic(kind, 0))
    case "q": return .uint16(try basic(kind, 0))
    case "i": return .int32(try basic(kind, 0))
    case "u": return .uint32(try basic(kind, 0))
    case "x": return .int64(try basic(kind, 0))
    case "t": return .uint64(try basic(kind, 0))
    case "d": return .double(try basic(kind, 0))
    case "s": return .string(try string(kind))
    case "g": return .signature(try string(kind))
    case "o":
      guard let path = ObjectPath(try string(kind)) else { throw .invalidArguments("object path too long") }
      return .path(path)
    case "h": return .fileDescriptor(try fileDescriptor(kind))
    case "a" where contents == "y": return .bytes(try bytes())
    case "a" where contents.hasPrefix("{"): return try dictionary(contents: contents, depth: depth)
    case "a": return .array(of: contents, try container(kind, contents, depth))
    case "r": return .structure(try container(kind, contents, depth))
    case "v":
      guard let inner = try container(kind, contents, depth).first else { throw .invalidArguments("empty variant") }
      return .variant(inner)
    default: throw .invalidArguments("type \(kind) is not known")
    }
  }

  private mutating func container(
    _ kind: CChar, _ contents: String, _ depth: Int
  ) throws(BusError) -> [Value] {
    try enter(kind, contents, depth)
    let values = try sequence(depth: depth + 1)
    try check(sd_bus_message_exit_container(message), "read")
    return values
  }

  private mutating func dictionary(contents: String, depth: Int) throws(BusError) -> Value {
    let entry = String(contents.dropFirst().dropLast())
    try enter(type("a"), contents, depth)
    var members: [Value: Value] = [:]
    while try check(sd_bus_message_enter_container(message, type("e"), entry), "read") > 0 {
      guard let key = try next(depth: depth + 1), let value = try next(depth: depth + 1) else {
        throw .invalidArguments("dictionary entry without a value")
      }
      members[key] = value
      try check(sd_bus_message_exit_container(message), "read")
    }
    try check(sd_bus_message_exit_container(message), "read")
    // Keys are basic types, whose signatures have one character.
    return .dictionary(key: String(entry.prefix(1)), value: String(entry.dropFirst()), members)
  }

  private func enter(_ kind: CChar, _ contents: String, _ depth: Int) throws(BusError) {
    guard depth < depthLimit else { throw Self.tooMuch("nested deeper than \(depthLimit)") }
    try check(sd_bus_message_enter_container(message, kind, contents), "read")
  }

  private func basic<T: BitwiseCopyable>(_ kind: CChar, _ zero: T) throws(BusError) -> T {
    var value = zero
    try check(sd_bus_message_read_basic(message, kind, &value), "read")
    return value
  }

  private mutating func string(_ kind: CChar) throws(BusError) -> String {
    var pointer: UnsafePointer<CChar>?
    try check(sd_bus_message_read_basic(message, kind, &pointer), "read")
    guard let pointer else { return "" }
    try spend(bytes: strlen(pointer))
    return String(cString: pointer)
  }

  private mutating func bytes() throws(BusError) -> [UInt8] {
    var pointer: UnsafeRawPointer?
    var count = 0
    try check(sd_bus_message_read_array(message, type("y"), &pointer, &count), "read")
    try spend(bytes: count)
    return Array(UnsafeRawBufferPointer(start: pointer, count: count))
  }

  private mutating func fileDescriptor(_ kind: CChar) throws(BusError) -> Int32 {
    guard acceptsFileDescriptors || ignoresUnexpectedDescriptors else {
      throw .invalidArguments("no file descriptor is expected here")
    }
    let borrowed = try basic(kind, Int32(-1))
    guard acceptsFileDescriptors else { return -1 }
    let owned = fcntl(borrowed, F_DUPFD_CLOEXEC, 3)
    guard owned >= 0 else { throw .system(-errno, "take a file descriptor") }
    fileDescriptors.append(owned)
    return owned
  }

  private mutating func spend(values: Int = 0, bytes: Int = 0) throws(BusError) {
    valuesLeft -= values
    bytesLeft -= bytes
    guard valuesLeft >= 0, bytesLeft >= 0 else { throw Self.tooMuch("too large") }
  }

  private static func tooMuch(_ what: String) -> BusError {
    BusError(name: BusError.Name.limitsExceeded, message: "the message is \(what)")
  }
}

/// A D-Bus type code in the form that sd-bus expects.
func type(_ code: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: code.value) }
