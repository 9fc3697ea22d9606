/// Any JSON value. A step between two formats works on this, so that it does not depend on the program's own types.
indirect enum JSONTree: Codable, Equatable {
  case null
  case flag(Bool)
  case count(UInt64)
  case integer(Int64)
  case number(Double)
  case text(String)
  case list([JSONTree])
  case object([String: JSONTree])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else if let count = try? container.decode(UInt64.self) {
      self = .count(count)
    } else if let integer = try? container.decode(Int64.self) {
      self = .integer(integer)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let members = try? container.decode([String: JSONTree].self) {
      self = .object(members)
    } else {
      self = .list(try container.decode([JSONTree].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .flag(let flag): try container.encode(flag)
    case .count(let count): try container.encode(count)
    case .integer(let integer): try container.encode(integer)
    case .number(let number): try container.encode(number)
    case .text(let text): try container.encode(text)
    case .list(let elements): try container.encode(elements)
    case .object(let members): try container.encode(members)
    }
  }

  /// A member of an object. `nil` if the member is missing or null, or if this is not an object.
  subscript(_ name: String) -> JSONTree? {
    get {
      guard case .object(let members) = self, let member = members[name], member != .null else { return nil }
      return member
    }
    set {
      guard case .object(var members) = self else { return }
      members[name] = newValue
      self = .object(members)
    }
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }
  var count: UInt64? { if case .count(let count) = self { count } else { nil } }
  var list: [JSONTree]? { if case .list(let elements) = self { elements } else { nil } }
}
