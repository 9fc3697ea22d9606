import AppLink
import BluetoothTypes
import BusValue
import FoundationEssentials
import Glibc
import SystemBus

/// A type of the vocabulary that D-Bus carries as one value of one type.
protocol BusRepresentable: Sendable {
  static var signature: String { get }
  var busValue: Value { get }
  /// Throws `org.latchkey.Error.InvalidArguments`.
  init(busValue: Value) throws(BusError)
}

/// Takes arguments, or the members of a struct, one by one.
struct ArgumentReader {
  private var values: ArraySlice<Value>
  init(_ values: [Value]) { self.values = values[...] }

  mutating func next<T: BusRepresentable>(_ type: T.Type = T.self) throws(BusError) -> T {
    guard let value = values.popFirst() else { throw malformed("an argument is missing") }
    return try T(busValue: value)
  }
}

/// Limits on what the carrier accepts from the other side.
enum Limit {
  static let listLength = 4096
  static let byteCount = 65536
  static let textByteCount = 4096
  /// A question's argument or its answer, such as a piece of a lock's log. The system checks its own limits as well
  /// (`UserAction`), which are no greater.
  static let longTextByteCount = 65536
}

func malformed(_ message: String) -> BusError {
  BusError(AppLinkError(.invalidArguments, message))
}

// MARK: Basic types

extension Bool: BusRepresentable {
  static var signature: String { "b" }
  var busValue: Value { .bool(self) }
  init(busValue: Value) throws(BusError) {
    guard case .bool(let value) = busValue else { throw malformed("a boolean is wanted") }
    self = value
  }
}

extension UInt8: BusRepresentable {
  static var signature: String { "y" }
  var busValue: Value { .byte(self) }
  init(busValue: Value) throws(BusError) {
    guard case .byte(let value) = busValue else { throw malformed("a byte is wanted") }
    self = value
  }
}

extension UInt16: BusRepresentable {
  static var signature: String { "q" }
  var busValue: Value { .uint16(self) }
  init(busValue: Value) throws(BusError) {
    guard case .uint16(let value) = busValue else { throw malformed("a number of type q is wanted") }
    self = value
  }
}

extension UInt32: BusRepresentable {
  static var signature: String { "u" }
  var busValue: Value { .uint32(self) }
  init(busValue: Value) throws(BusError) {
    guard case .uint32(let value) = busValue else { throw malformed("a number of type u is wanted") }
    self = value
  }
}

extension UInt64: BusRepresentable {
  static var signature: String { "t" }
  var busValue: Value { .uint64(self) }
  init(busValue: Value) throws(BusError) {
    guard case .uint64(let value) = busValue else { throw malformed("a number of type t is wanted") }
    self = value
  }
}

/// D-Bus has no signed byte.
extension Int8: BusRepresentable {
  static var signature: String { "n" }
  var busValue: Value { .int16(Int16(self)) }
  init(busValue: Value) throws(BusError) {
    guard case .int16(let wide) = busValue, let value = Int8(exactly: wide) else {
      throw malformed("a number from -128 to 127 is wanted")
    }
    self = value
  }
}

extension Int32: BusRepresentable {
  static var signature: String { "i" }
  var busValue: Value { .int32(self) }
  init(busValue: Value) throws(BusError) {
    guard case .int32(let value) = busValue else { throw malformed("a number of type i is wanted") }
    self = value
  }
}

extension Int: BusRepresentable {
  static var signature: String { "x" }
  var busValue: Value { .int64(Int64(self)) }
  init(busValue: Value) throws(BusError) {
    guard case .int64(let value) = busValue else { throw malformed("a number of type x is wanted") }
    self = Int(value)
  }
}

extension Double: BusRepresentable {
  static var signature: String { "d" }
  var busValue: Value { .double(self) }
  init(busValue: Value) throws(BusError) {
    guard case .double(let value) = busValue, value.isFinite else { throw malformed("a finite number is wanted") }
    self = value
  }
}

extension String: BusRepresentable {
  static var signature: String { "s" }
  var busValue: Value { .string(self) }
  init(busValue: Value) throws(BusError) {
    guard case .string(let value) = busValue else { throw malformed("a string is wanted") }
    guard value.utf8.count <= Limit.textByteCount else {
      throw malformed("a text is longer than \(Limit.textByteCount) bytes")
    }
    self = value
  }
}

/// A text that may be long, because only an app and its user read it.
struct LongText: BusRepresentable {
  var text: String

  init(_ text: String) { self.text = text }

  static var signature: String { "s" }
  var busValue: Value { .string(text) }
  init(busValue: Value) throws(BusError) {
    guard case .string(let value) = busValue else { throw malformed("a string is wanted") }
    guard value.utf8.count <= Limit.longTextByteCount else {
      throw malformed("a text is longer than \(Limit.longTextByteCount) bytes")
    }
    text = value
  }
}

// MARK: Containers

extension Array: BusRepresentable where Element: BusRepresentable {
  static var signature: String { "a" + Element.signature }
  var busValue: Value {
    // The type is compared, because an empty array of any type can be cast to bytes.
    if Element.self == UInt8.self, let bytes = self as? [UInt8] { return .bytes(bytes) }
    let values = map(\.busValue)
    // A list of any type that is sent as one byte is sent this way: D-Bus has one type for such lists.
    if Element.signature == UInt8.signature {
      return .bytes(values.compactMap { if case .byte(let byte) = $0 { byte } else { nil } })
    }
    return .array(of: Element.signature, values)
  }
  init(busValue: Value) throws(BusError) {
    let values: [Value]
    switch busValue {
    case .bytes(let bytes) where Element.signature == UInt8.signature:
      guard bytes.count <= Limit.byteCount else {
        throw malformed("a value is longer than \(Limit.byteCount) bytes")
      }
      if Element.self == UInt8.self, let same = bytes as? [Element] {
        self = same
        return
      }
      values = bytes.map { .byte($0) }
    case .array(Element.signature, let elements): values = elements
    default: throw malformed("a list of type \(Self.signature) is wanted")
    }
    guard values.count <= Limit.listLength else { throw malformed("a list is longer than \(Limit.listLength)") }
    self = []
    reserveCapacity(values.count)
    for value in values { append(try Element(busValue: value)) }
  }
}

/// D-Bus has no optional, so it is sent as a list with one element or none.
extension Optional: BusRepresentable where Wrapped: BusRepresentable {
  static var signature: String { [Wrapped].signature }
  var busValue: Value { (map { [$0] } ?? []).busValue }
  init(busValue: Value) throws(BusError) {
    let list = try [Wrapped](busValue: busValue)
    guard list.count <= 1 else { throw malformed("at most one of type \(Wrapped.signature) is wanted") }
    self = list.first
  }
}

extension Dictionary: BusRepresentable where Key: BusRepresentable, Value: BusRepresentable {
  static var signature: String { "a{" + Key.signature + Value.signature + "}" }
  var busValue: BusValue.Value {
    .dictionary(
      key: Key.signature, value: Value.signature,
      [BusValue.Value: BusValue.Value](uniqueKeysWithValues: map { ($0.key.busValue, $0.value.busValue) }))
  }
  init(busValue: BusValue.Value) throws(BusError) {
    guard case .dictionary(Key.signature, Value.signature, let members) = busValue else {
      throw malformed("a dictionary of type \(Self.signature) is wanted")
    }
    guard members.count <= Limit.listLength else { throw malformed("a dictionary is longer than \(Limit.listLength)") }
    self = [:]
    for (key, value) in members { self[try Key(busValue: key)] = try Value(busValue: value) }
  }
}

// MARK: Types with one basic value

/// A type that is carried as one value of a simpler type.
protocol BusWrapper: BusRepresentable {
  associatedtype Wrapped: BusRepresentable
  var wrapped: Wrapped { get }
  /// `nil` if the value is not valid for this type.
  init?(wrapped: Wrapped)
}

extension BusWrapper {
  static var signature: String { Wrapped.signature }
  var busValue: Value { wrapped.busValue }
  init(busValue: Value) throws(BusError) {
    let wrapped = try Wrapped(busValue: busValue)
    guard let value = Self(wrapped: wrapped) else { throw malformed("\(wrapped) is no \(Self.self)") }
    self = value
  }
}

extension BusWrapper where Self: RawRepresentable, RawValue == Wrapped {
  var wrapped: RawValue { rawValue }
  init?(wrapped: RawValue) { self.init(rawValue: wrapped) }
}

extension ManagerState: BusWrapper { typealias Wrapped = UInt8 }
extension PeripheralState: BusWrapper { typealias Wrapped = UInt8 }
extension ATTError: BusWrapper { typealias Wrapped = UInt8 }
extension Role: BusWrapper { typealias Wrapped = String }
extension AppState: BusWrapper { typealias Wrapped = String }
extension AppReport.Kind: BusWrapper { typealias Wrapped = String }
extension WakeReason: BusWrapper { typealias Wrapped = String }
extension PairingQuestion.Kind: BusWrapper { typealias Wrapped = String }
extension CharacteristicProperties: BusWrapper { typealias Wrapped = UInt16 }
extension AttributePermissions: BusWrapper { typealias Wrapped = UInt8 }
extension AppLinkError.Code: BusWrapper { typealias Wrapped = String }

extension UUID: BusWrapper {
  var wrapped: String { uuidString.lowercased() }
  init?(wrapped: String) { self.init(uuidString: wrapped) }
}

extension PeerIdentifier: BusWrapper {
  var wrapped: UUID { rawValue }
  init?(wrapped: UUID) { self.init(wrapped) }
}

extension LocalAttributeIdentifier: BusWrapper {
  var wrapped: UUID { rawValue }
  init?(wrapped: UUID) { self.init(wrapped) }
}

extension BluetoothUUID: BusWrapper {
  var wrapped: String { description }
  init?(wrapped: String) { self.init(wrapped) }
}

extension ManagerIdentifier: BusWrapper {
  var wrapped: UInt32 { rawValue }
  init?(wrapped: UInt32) { self.init(wrapped) }
}

extension OperationIdentifier: BusWrapper {
  var wrapped: UInt64 { rawValue }
  init?(wrapped: UInt64) { self.init(wrapped) }
}

extension ActionIdentifier: BusWrapper {
  var wrapped: UInt64 { rawValue }
  init?(wrapped: UInt64) { self.init(wrapped) }
}

extension RemoteRequestIdentifier: BusWrapper {
  var wrapped: UInt64 { rawValue }
  init?(wrapped: UInt64) { self.init(wrapped) }
}

extension EventSequence: BusWrapper {
  var wrapped: UInt64 { rawValue }
  init?(wrapped: UInt64) { self.init(wrapped) }
}

// MARK: Sockets

extension ChannelDescriptor: BusRepresentable {
  static var signature: String { "h" }
  /// The descriptor still belongs to this object, which has to live until the message is made.
  var busValue: Value { .fileDescriptor(number) }
  convenience init(busValue: Value) throws(BusError) {
    guard case .fileDescriptor(let number) = busValue else { throw malformed("a file descriptor is wanted") }
    self.init(owning: number) { close($0) }
  }
}
