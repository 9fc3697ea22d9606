@_spi(Reflection) import Swift

/// What the runtime knows of how values of a type lie in memory: the members of structs and tuples, the cases of enums. `Mirror` goes
/// by the same metadata, but asks for it with each value; this is asked once a type.
enum TypeShape {
  /// A member, and where it lies.
  struct Member {
    let label: String
    let offset: Int
    let type: Any.Type
  }

  case members([Member])
  case enumeration(EnumShape)
  /// Anything else, such as a class or a function.
  case other

  init(of type: Any.Type) {
    switch Metadata(type).kind {
    case .structure, .tuple:
      var members: [Member] = []
      let isComplete = _forEachField(of: type) { label, offset, type, _ in
        members.append(Member(label: String(cString: label), offset: offset, type: type))
        return true
      }
      self = isComplete ? .members(members) : .other
    case .enumeration, .optional: self = EnumShape(of: type).map(TypeShape.enumeration) ?? .other
    case nil: self = .other
    }
  }
}

/// The cases of an enum, and how to tell which one a value is. (Swift's ABI: docs/ABI/TypeMetadata.rst, and
/// include/swift/ABI/ValueWitness.def for the functions.) It never changes, so every thread may use it.
struct EnumShape: @unchecked Sendable {
  struct Case {
    let name: String
    /// The type of what it carries, if it carries something.
    let payload: Any.Type?
    /// What it carries lies in a box of its own.
    let isIndirect: Bool
  }

  /// Those that carry something come first.
  let cases: [Case]
  private let metadata: Metadata
  private var functions: UnsafePointer<EnumFunctions> { metadata.enumFunctions }

  init?(of type: Any.Type) {
    metadata = Metadata(type)
    guard let cases = metadata.cases else { return nil }
    self.cases = cases
  }

  var size: Int { metadata.size }
  var alignment: Int { metadata.alignment }

  /// The number of a value's case.
  func tag(of value: UnsafeRawPointer) -> Int { Int(functions.pointee.tag(value, metadata.pointer)) }

  /// Whether what a case carries lies at the value's own place as it is.
  var liesInPlace: Bool { cases.count { $0.payload != nil } <= 1 }

  /// Turns a value, which may be a copy of bytes, into what its case carries.
  func project(_ value: UnsafeMutableRawPointer) { functions.pointee.project(value, metadata.pointer) }

  /// Makes the value of a case that carries nothing.
  func make(_ tag: Int, at place: UnsafeMutableRawPointer) {
    functions.pointee.inject(place, UInt32(tag), metadata.pointer)
  }
}

/// The functions of every enum, which follow those of every type.
struct EnumFunctions {
  let tag: @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> UInt32
  let project: @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer) -> Void
  let inject: @convention(c) (UnsafeMutableRawPointer, UInt32, UnsafeRawPointer) -> Void
}

/// The runtime's description of a type. It never changes, so every thread may read it.
struct Metadata: @unchecked Sendable {
  enum Kind: Int {
    case structure = 0x200
    case enumeration = 0x201
    case optional = 0x202
    case tuple = 0x301
  }

  let pointer: UnsafeRawPointer

  init(_ type: Any.Type) { pointer = unsafeBitCast(type, to: UnsafeRawPointer.self) }

  var kind: Kind? { Kind(rawValue: pointer.load(as: Int.self)) }

  /// The table of functions before the description begins with eight functions, the size and the stride.
  private var functions: UnsafeRawPointer { pointer.load(fromByteOffset: -8, as: UnsafeRawPointer.self) }
  var size: Int { functions.load(fromByteOffset: 64, as: Int.self) }
  var alignment: Int { Int(functions.load(fromByteOffset: 80, as: UInt32.self) & 0xFF) + 1 }
  var enumFunctions: UnsafePointer<EnumFunctions> {
    (functions + 88).assumingMemoryBound(to: EnumFunctions.self)
  }

  private var descriptor: UnsafeRawPointer { pointer.load(fromByteOffset: 8, as: UnsafeRawPointer.self) }

  /// The cases of an enum, by the records of its fields.
  var cases: [EnumShape.Case]? {
    guard let fields = Self.relative(descriptor + 16) else { return nil }
    let payloads = Int(descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0xFF_FFFF)
    let recordSize = Int(fields.load(fromByteOffset: 10, as: UInt16.self))
    let count = Int(fields.load(fromByteOffset: 12, as: UInt32.self))
    var cases: [EnumShape.Case] = []
    for index in 0..<count {
      let record = fields + 16 + index * recordSize
      guard let name = Self.relative(record + 8) else { return nil }
      var payload: Any.Type?
      if index < payloads {
        guard let mangled = Self.relative(record + 4) else { return nil }
        payload = _getTypeByMangledNameInContext(
          mangled.assumingMemoryBound(to: UInt8.self), UInt(Self.length(ofMangled: mangled)),
          genericContext: descriptor,
          genericArguments: pointer + 16)
        if payload == nil { return nil }
      }
      cases.append(
        EnumShape.Case(
          name: String(cString: name.assumingMemoryBound(to: CChar.self)), payload: payload,
          isIndirect: record.load(as: UInt32.self) & 1 == 1))
    }
    return cases
  }

  private static func relative(_ place: UnsafeRawPointer) -> UnsafeRawPointer? {
    let distance = Int(place.load(as: Int32.self))
    return distance == 0 ? nil : place + distance
  }

  /// A mangled name ends with a zero, but references in it may contain zeros.
  private static func length(ofMangled name: UnsafeRawPointer) -> Int {
    var end = name
    while true {
      switch end.load(as: UInt8.self) {
      case 0: return end - name
      case 0x01...0x17: end += 5
      case 0x18...0x1F: end += 9
      default: end += 1
      }
    }
  }
}
