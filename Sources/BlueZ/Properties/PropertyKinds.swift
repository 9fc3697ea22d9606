import BluetoothTypes
import BusValue

extension PropertyKind where Typed == Bool {
  static var bool: Self { Self(signature: "b", read: { $0.boolValue }, write: { .bool($0) }) }
}

extension PropertyKind where Typed == UInt8 {
  static var byte: Self {
    Self(signature: "y", read: { if case .byte(let value) = $0 { value } else { nil } }, write: { .byte($0) })
  }
}

extension PropertyKind where Typed == UInt16 {
  static var uint16: Self {
    Self(signature: "q", read: { if case .uint16(let value) = $0 { value } else { nil } }, write: { .uint16($0) })
  }

  /// Read from any integer type: a client's library does not always send a number as a `q`.
  static var number: Self {
    Self(signature: "q", read: { $0.integerValue.flatMap { UInt16(exactly: $0) } }, write: { .uint16($0) })
  }
}

extension PropertyKind where Typed == Int {
  /// A size in bytes, read from any integer type.
  static var size: Self {
    Self(signature: "q", read: { $0.integerValue }, write: { .uint16(UInt16(clamping: $0)) })
  }
}

extension PropertyKind where Typed == UInt32 {
  static var uint32: Self {
    Self(signature: "u", read: { if case .uint32(let value) = $0 { value } else { nil } }, write: { .uint32($0) })
  }
}

extension PropertyKind where Typed == Int16 {
  static var int16: Self {
    Self(signature: "n", read: { if case .int16(let value) = $0 { value } else { nil } }, write: { .int16($0) })
  }
}

extension PropertyKind where Typed == Int8 {
  /// A signal strength in dBm, limited to the range that controllers report.
  static var signalStrength: Self {
    Self(signature: "n", read: { $0.integerValue.map { Int8(clamping: $0) } }, write: { .int16(Int16($0)) })
  }

  /// A transmit power in dBm.
  static var transmitPower: Self {
    Self(signature: "n", read: { $0.integerValue.flatMap { Int8(exactly: $0) } }, write: { .int16(Int16($0)) })
  }
}

extension PropertyKind where Typed == String {
  static var text: Self { Self(signature: "s", read: { $0.stringValue }, write: { .string($0) }) }
}

extension PropertyKind where Typed == [String] {
  static var texts: Self { Self(signature: "as", read: { $0.stringsValue }, write: { .strings($0) }) }

  /// An array of other elements counts as empty.
  static var advertisedTexts: Self {
    Self(signature: "as", read: { $0.advertisedTexts }, write: { .strings($0) })
  }
}

extension PropertyKind where Typed: RawRepresentable, Typed.RawValue == String {
  /// A word from a fixed list. Any other word is unreadable.
  static var word: Self {
    Self(
      signature: "s", read: { $0.stringValue.flatMap { Typed(rawValue: $0) } }, write: { .string($0.rawValue) })
  }
}

extension PropertyKind where Typed == ObjectPath {
  static var path: Self { Self(signature: "o", read: { $0.pathValue }, write: { .path($0) }) }
}

extension PropertyKind where Typed == [ObjectPath] {
  /// Elements that are not paths are skipped.
  static var paths: Self {
    Self(
      signature: "ao",
      read: { if case .array(_, let elements) = $0 { elements.compactMap(\.pathValue) } else { nil } },
      write: { .array(of: "o", $0.map { .path($0) }) })
  }
}

extension PropertyKind where Typed == [UInt8] {
  static var bytes: Self { Self(signature: "ay", read: { $0.bytesValue }, write: { .bytes($0) }) }
}

extension PropertyKind where Typed == Properties {
  static var members: Self {
    Self(signature: "a{sv}", read: { $0.propertiesValue }, write: { .properties($0) })
  }
}

extension PropertyKind where Typed == Value {
  /// A property that is not interpreted here.
  static func untyped(_ signature: String) -> Self { Self(signature: signature, read: { $0 }, write: { $0 }) }
}

// MARK: Bluetooth types

extension PropertyKind where Typed == BluetoothUUID {
  /// In any of the forms that bluetoothd reads.
  static var uuid: Self {
    Self(
      signature: "s", read: { $0.stringValue.flatMap { BluetoothUUID(bluez: $0) } }, write: { .string($0.description) })
  }
}

extension PropertyKind where Typed == [BluetoothUUID] {
  /// Texts that are not UUIDs are skipped.
  static var uuids: Self {
    Self(
      signature: "as", read: { $0.stringsValue?.compactMap { BluetoothUUID($0) } },
      write: { .strings($0.map(\.description)) })
  }

  /// Every text must be a UUID. Repeated ones count once.
  static var onlyUUIDs: Self {
    Self(signature: "as", read: { $0.stringsValue.flatMap(all) }, write: { .strings($0.map(\.description)) })
  }

  /// As `onlyUUIDs`, but an array of other elements counts as empty.
  static var advertisedUUIDs: Self {
    Self(signature: "as", read: { $0.advertisedTexts.flatMap(all) }, write: { .strings($0.map(\.description)) })
  }

  /// The UUIDs of the texts, each once, or `nil` if one is none.
  private static func all(_ texts: [String]) -> [BluetoothUUID]? {
    var uuids: [BluetoothUUID] = []
    // A client may send a hundred thousand.
    var known: Set<BluetoothUUID> = []
    for text in texts {
      guard let uuid = BluetoothUUID(bluez: text) else { return nil }
      if known.insert(uuid).inserted { uuids.append(uuid) }
    }
    return uuids
  }
}

extension PropertyKind where Typed == [BluetoothUUID: [UInt8]] {
  /// Data by service.
  /// - Parameter strict: one unreadable entry makes the whole value unreadable; otherwise it is skipped.
  static func serviceData(strict: Bool) -> Self {
    Self(
      signature: "a{sv}",
      read: { $0.byteStrings(strict: strict) { $0.stringValue.flatMap { BluetoothUUID(bluez: $0) } } },
      write: { data in
        .properties(Dictionary(uniqueKeysWithValues: data.map { ($0.key.description, Value.bytes($0.value)) }))
      })
  }
}

extension PropertyKind where Typed == [UInt16: [UInt8]] {
  /// Data by company.
  /// - Parameter strict: one unreadable entry makes the whole value unreadable; otherwise it is skipped.
  static func manufacturerData(strict: Bool) -> Self {
    Self(
      signature: "a{qv}",
      read: { $0.byteStrings(strict: strict) { $0.integerValue.flatMap { UInt16(exactly: $0) } } },
      write: { data in
        .dictionary(
          key: "q", value: "v",
          Dictionary(uniqueKeysWithValues: data.map { (Value.uint16($0.key), Value.variant(.bytes($0.value))) }))
      })
  }
}

extension PropertyKind where Typed == [UInt8: [UInt8]] {
  /// Contents by AD type. Every entry must be valid.
  static var advertisingData: Self {
    Self(
      signature: "a{yv}", read: { $0.byteStrings(strict: true) { if case .byte(let type) = $0 { type } else { nil } } },
      write: { data in
        .dictionary(
          key: "y", value: "v",
          Dictionary(uniqueKeysWithValues: data.map { (Value.byte($0.key), Value.variant(.bytes($0.value))) }))
      })
  }
}

extension Value {
  /// A dictionary of bytes.
  ///
  /// - Parameter strict: reads the dictionary as bluetoothd does (src/advertising.c, parse_service_data): every value
  ///   must be a variant of at least one byte, because an empty array has no element type for bluetoothd. One bad entry
  ///   makes the result `nil`. An array of anything but entries counts as empty. Otherwise, bad entries are skipped.
  fileprivate func byteStrings<Key: Hashable>(strict: Bool, _ key: (Value) -> Key?) -> [Key: [UInt8]]? {
    guard case .dictionary(_, _, let members) = self else { return strict && isArray ? [:] : nil }
    var result: [Key: [UInt8]] = [:]
    for (name, value) in members {
      if let key = key(name), let bytes = value.unwrapped.bytesValue, !strict || value.isVariantOfBytes {
        result[key] = bytes
      } else if strict {
        return nil
      }
    }
    return result
  }

  /// The texts in an array. bluetoothd reads an advertisement's array as long as its elements are texts, so one of other
  /// elements has none (src/advertising.c, parse_service_uuids).
  fileprivate var advertisedTexts: [String]? { stringsValue ?? (isArray ? [] : nil) }

  /// D-Bus counts dictionaries among the arrays.
  private var isArray: Bool {
    switch self {
    case .array, .bytes, .dictionary: true
    default: false
    }
  }

  private var isVariantOfBytes: Bool {
    if case .variant(let inner) = self { inner.bytesValue?.isEmpty == false } else { false }
  }
}
