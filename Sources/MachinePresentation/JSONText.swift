import Foundation

/// A JSON value. `nil` is written as `null`, so that every key is always there.
enum JSONText: Encodable {
  case null
  case bool(Bool)
  case integer(Int)
  case number(Double)
  case string(String)
  case array([JSONText])
  case object([(String, JSONText)])

  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  static func optional<Wrapped>(_ value: Wrapped?, _ make: (Wrapped) -> JSONText) -> JSONText {
    value.map(make) ?? .null
  }

  /// On one line, with the members of objects sorted by their keys.
  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // JSON has no infinity and no NaN; `encode(to:)` writes `null` for them. Everything else can be encoded.
    guard let data = try? encoder.encode(self) else { preconditionFailure("a JSON value can always be encoded") }
    return String(decoding: data, as: UTF8.self)
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .array(let values): try values.encode(to: encoder)
    case .object(let members):
      var container = encoder.container(keyedBy: Key.self)
      for (key, value) in members { try container.encode(value, forKey: Key(stringValue: key)) }
    default:
      var container = encoder.singleValueContainer()
      switch self {
      case .bool(let value): try container.encode(value)
      case .integer(let value): try container.encode(value)
      case .number(let value) where value.isFinite: try container.encode(value)
      case .string(let value): try container.encode(value)
      case .null, .number, .array, .object: try container.encodeNil()
      }
    }
  }
}
