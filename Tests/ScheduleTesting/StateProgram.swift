import BlueZ
import BluetoothTypes
import FoundationEssentials
import HashTreeCollections
import TimeTypes

/// What a `StateReader` does to read values of a type from memory, worked out once a type. Structs within structs are part of it;
/// what lies elsewhere or may be absent has a program of its own.
struct StateProgram: Sendable {
  enum Step: Sendable {
    case begin, end
    case integer(at: Int, Width)
    case text(at: Int)
    case bytes(at: Int)
    case uuid(at: Int)
    case bluetoothUUID(at: Int)
    case client(at: Int)
    case path(at: Int)
    case name(at: Int, Width, kind: Int, isScoped: Bool)
    /// A number of an event that is a plain integer.
    case sequence(at: Int, Width)
    case deadline(at: Int)
    case optionalDeadline(at: Int)
    /// By its number in the reader, as the next one.
    case choice(at: Int, Int)
    case elements(at: Int, Int)
    /// Read through `Mirror`: what has no members that the runtime tells of, or says itself what they are.
    case mirrored(at: Int, Int)
  }

  /// How an integer lies in memory.
  enum Width: Sendable {
    case signed8, signed16, signed32, word, unsigned8, unsigned16, unsigned32

    init?(_ type: Any.Type) {
      func width<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Width? {
        switch Integer.bitWidth {
        case 8: Integer.isSigned ? .signed8 : .unsigned8
        case 16: Integer.isSigned ? .signed16 : .unsigned16
        case 32: Integer.isSigned ? .signed32 : .unsigned32
        case 64: .word
        default: nil
        }
      }
      if type == Bool.self {
        self = .unsigned8
      } else if type == Double.self || type == Instant.self {
        self = .word
      } else {
        guard let integer = type as? any FixedWidthInteger.Type, let width = width(integer) else { return nil }
        self = width
      }
    }

    func load(_ place: UnsafeRawPointer) -> UInt64 {
      switch self {
      case .signed8: UInt64(truncatingIfNeeded: place.load(as: Int8.self))
      case .signed16: UInt64(truncatingIfNeeded: place.load(as: Int16.self))
      case .signed32: UInt64(truncatingIfNeeded: place.load(as: Int32.self))
      case .word: place.load(as: UInt64.self)
      case .unsigned8: UInt64(place.load(as: UInt8.self))
      case .unsigned16: UInt64(place.load(as: UInt16.self))
      case .unsigned32: UInt64(place.load(as: UInt32.self))
      }
    }
  }

  var steps: [Step] = []
}

/// A value that is one of several cases.
struct StateChoice: Sendable {
  struct Case: Sendable {
    /// `nil` for an optional, which is told by whether it has something.
    var word: UInt64?
    /// Of what it carries.
    var program: Int?
    /// How far what it carries lies from the beginning of its own box, if it has one.
    var boxOffset: Int?
  }
  let shape: EnumShape
  let cases: [Case]
  /// What a case carries can be read where it lies.
  let liesInPlace: Bool
}

/// The elements of a collection.
struct StateElements: Sendable {
  let type: any ReadableElements.Type
  let isOrdered: Bool
  let program: Int
}

/// A collection whose elements can be visited in memory.
protocol ReadableElements: SendableMetatype {
  static var element: Any.Type { get }
  static var isOrdered: Bool { get }
  static func forEach(at place: UnsafeRawPointer, _ visit: (UnsafeRawPointer) -> Void)
}

extension ReadableElements where Self: Sequence {
  static var element: Any.Type { Element.self }
  static var isOrdered: Bool { false }
  static func forEach(at place: UnsafeRawPointer, _ visit: (UnsafeRawPointer) -> Void) {
    for element in place.assumingMemoryBound(to: Self.self).pointee {
      withUnsafePointer(to: element) { visit(UnsafeRawPointer($0)) }
    }
  }
}

extension Array: ReadableElements {
  static var isOrdered: Bool { true }
  static func forEach(at place: UnsafeRawPointer, _ visit: (UnsafeRawPointer) -> Void) {
    place.assumingMemoryBound(to: Self.self).pointee.withUnsafeBufferPointer { elements in
      for index in elements.indices { visit(UnsafeRawPointer(elements.baseAddress! + index)) }
    }
  }
}
extension Set: ReadableElements {}
extension Dictionary: ReadableElements {}
extension TreeSet: ReadableElements {}
extension TreeDictionary: ReadableElements {}
