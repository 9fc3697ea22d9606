/// A D-Bus value (D-Bus specification, "Type System"), independent of any bus. Only what is rare or large has memory of its own.
@usableFromInline package enum Value: Sendable, Hashable {
  case byte(UInt8)
  case bool(Bool)
  case int16(Int16)
  case uint16(UInt16)
  case int32(Int32)
  case uint32(UInt32)
  case int64(Int64)
  case uint64(UInt64)
  case double(Double)
  case string(String)
  case path(ObjectPath)
  case signature(String)
  /// `ay`, the type of most arrays on a Bluetooth bus.
  case bytes([UInt8])
  /// Elements of one type, whose signature comes first (an empty array still has one).
  indirect case array(of: String, [Value])
  /// A dictionary with the signatures of its keys and values. Keys are basic values.
  indirect case dictionary(key: String, value: String, [Value: Value])
  case structure([Value])
  indirect case variant(Value)
  /// A file descriptor (`h`). The code that takes it out of the message owns it and closes it.
  case fileDescriptor(Int32)

  /// The D-Bus signature of this value.
  package var signature: String {
    switch self {
    case .byte: "y"
    case .bool: "b"
    case .int16: "n"
    case .uint16: "q"
    case .int32: "i"
    case .uint32: "u"
    case .int64: "x"
    case .uint64: "t"
    case .double: "d"
    case .string: "s"
    case .path: "o"
    case .signature: "g"
    case .bytes: "ay"
    case .array(let element, _): "a" + element
    case .dictionary(let key, let value, _): "a{" + key + value + "}"
    case .structure(let members): "(" + members.map(\.signature).joined() + ")"
    case .variant: "v"
    case .fileDescriptor: "h"
    }
  }
}

/// Properties by name, as `org.freedesktop.DBus.Properties` carries them (without their variants).
@usableFromInline package typealias Properties = [String: Value]

extension Value {
  package var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
  package var stringValue: String? { if case .string(let value) = self { value } else { nil } }
  package var pathValue: ObjectPath? { if case .path(let value) = self { value } else { nil } }
  package var bytesValue: [UInt8]? {
    switch self {
    case .bytes(let value): value
    case .array("y", let elements) where elements.isEmpty: []
    default: nil
    }
  }
  /// Any integer kind, if it fits.
  package var integerValue: Int? {
    switch self {
    case .byte(let value): Int(value)
    case .int16(let value): Int(value)
    case .uint16(let value): Int(value)
    case .int32(let value): Int(value)
    case .uint32(let value): Int(value)
    case .int64(let value): Int(value)
    case .uint64(let value): Int(exactly: value)
    default: nil
    }
  }
  /// The strings of an `as`.
  package var stringsValue: [String]? {
    guard case .array("s", let elements) = self else { return nil }
    return elements.compactMap(\.stringValue)
  }
  /// The members of an `a{sv}`, without their variants.
  package var propertiesValue: Properties? {
    guard case .dictionary("s", "v", let members) = self else { return nil }
    var properties = Properties()
    for (key, value) in members {
      guard let name = key.stringValue else { return nil }
      properties[name] = value.unwrapped
    }
    return properties
  }
  /// The value inside if this is a variant, otherwise the value itself.
  package var unwrapped: Value { if case .variant(let inner) = self { inner } else { self } }

  /// An `as`.
  package static func strings(_ values: some Sequence<String>) -> Value {
    .array(of: "s", values.map { .string($0) })
  }
  /// An `a{sv}`.
  package static func properties(_ values: Properties) -> Value {
    .dictionary(
      key: "s", value: "v",
      Dictionary(uniqueKeysWithValues: values.map { (Value.string($0.key), Value.variant($0.value)) }))
  }
}
