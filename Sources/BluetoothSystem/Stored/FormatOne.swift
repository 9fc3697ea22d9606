import FoundationEssentials

/// Format 1, of latchkeyd 0.1.0, and its conversion to format 2.
///
/// Its values were Swift's own encoding of the program's types: `{"peer": {"_0": {...}}}`, a Bluetooth UUID as two
/// numbers, bytes as a list of numbers, a peripheral's state as a number, subscribers as a list that alternates keys
/// and values. Anything unexpected is left as it is: the reader of the new format reports what is wrong with it.
enum FormatOne {
  static func upgrade(_ row: StoredRow) throws -> StoredRow {
    guard let record = try JSONDecoder().decode(JSONTree.self, from: row.value)[row.kind]?["_0"] else {
      throw StoredRecordError("it holds no \(row.kind)")
    }
    var upgraded = common(record)
    switch row.kind {
    case "manager": manager(&upgraded)
    case "peer": peer(&upgraded)
    case "peripheral": peripheral(&upgraded)
    default: break
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return StoredRow(kind: row.kind, name: row.name, value: try encoder.encode(upgraded))
  }

  /// Converts what has the same form everywhere: UUIDs and bytes.
  private static func common(_ tree: JSONTree) -> JSONTree {
    switch tree {
    case .list(let elements): return .list(elements.map(common))
    case .object(let members):
      if members.count == 2, let high = tree["high"]?.count, let low = tree["low"]?.count {
        return .text(uuidText(high, low))
      }
      var changed: [String: JSONTree] = [:]
      for (name, member) in members {
        changed[name] = name == "value" ? member.list.flatMap(hexadecimal) ?? member : common(member)
      }
      return .object(changed)
    default: return tree
    }
  }

  private static func manager(_ record: inout JSONTree) {
    (record["manager"], record["key"]) = (record["key"], nil)
    guard let entries = record["subscribers"]?.list else { return }
    record["subscribers"] = .list(
      stride(from: 0, to: entries.count - 1, by: 2).map { index in
        .object(["characteristic": entries[index], "centrals": entries[index + 1]])
      })
  }

  private static func peer(_ record: inout JSONTree) {
    guard let bits = record["address"]?["bits"]?.count, let kind = record["address"]?["kind"] else { return }
    let pairs = (0..<6).map { digits(bits >> (40 - 8 * UInt64($0)) & 0xFF, 2).uppercased() }
    record["address"] = .text(pairs.joined(separator: ":"))
    record["addressKind"] = kind
  }

  private static func peripheral(_ record: inout JSONTree) {
    let words = ["disconnected", "connecting", "connected", "disconnecting"]
    guard let state = record["told"]?.count, state < words.count else { return }
    record["told"] = .text(words[Int(state)])
  }

  private static func uuidText(_ high: UInt64, _ low: UInt64) -> String {
    let text = Array(digits(high, 16) + digits(low, 16))
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(text[$0]) }.joined(separator: "-")
  }

  /// `nil` if some numbers are not bytes.
  private static func hexadecimal(_ list: [JSONTree]) -> JSONTree? {
    let bytes = list.compactMap(\.count).filter { $0 < 256 }
    return bytes.count == list.count ? .text(bytes.map { digits($0, 2) }.joined()) : nil
  }

  private static func digits(_ value: UInt64, _ count: Int) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }
}
