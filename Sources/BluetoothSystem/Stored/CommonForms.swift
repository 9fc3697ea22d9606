import AppLink
import BluetoothTypes
import FoundationEssentials

/// A Bluetooth UUID on disk: text of 36 characters, in lower case.
struct UUIDOnDisk: DiskForm {
  var text: String

  init(_ value: BluetoothUUID) { text = value.description }

  var value: BluetoothUUID {
    get throws {
      guard let uuid = BluetoothUUID(text) else { throw StoredRecordError("\"\(text)\" is not a Bluetooth UUID") }
      return uuid
    }
  }

  init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// Bytes on disk: two hexadecimal digits each.
struct BytesOnDisk: DiskForm {
  var text: String

  init(_ value: [UInt8]) {
    let digits = Array("0123456789abcdef".utf8)
    text = String(decoding: value.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  var value: [UInt8] {
    get throws {
      let digits = Array(text.utf8)
      let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap { index -> UInt8? in
        guard let high = HexText.digit(digits[index]), let low = HexText.digit(digits[index + 1]) else { return nil }
        return high << 4 | low
      }
      guard bytes.count * 2 == digits.count else { throw StoredRecordError("\"\(text)\" is not bytes in hexadecimal") }
      return bytes
    }
  }

  init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// A manager's role, as a word on disk. Names of records contain it, too.
enum RoleOnDisk: String, DiskForm {
  case central = "central"
  case peripheral = "peripheral"

  init(_ value: Role) {
    switch value {
    case .central: self = .central
    case .peripheral: self = .peripheral
    }
  }

  var value: Role {
    switch self {
    case .central: .central
    case .peripheral: .peripheral
    }
  }
}

extension DiskForm {
  /// The disk form of each element of a list.
  static func list(_ values: some Sequence<Value>) -> [Self] { values.map { Self($0) } }
}

extension Sequence where Element: DiskForm {
  var values: [Element.Value] { get throws { try map { try $0.value } } }
}
