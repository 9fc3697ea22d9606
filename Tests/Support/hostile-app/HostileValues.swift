import BusValue

/// Values of any D-Bus signature, at their types' limits or as received earlier, in an order determined by a seed.
struct HostileValues {
  private var state: UInt64
  /// Received values, which therefore refer to something.
  private var texts: [String] = ["central", "peripheral", "", "org.example.hostile"]
  private var numbers: [UInt64] = []

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    // splitmix64
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
  mutating func chance(_ one: Int) -> Bool { below(one) == 0 }
  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

  /// Remembers a message's values, as many as fit.
  mutating func learn(_ value: Value) {
    switch value {
    case .string(let text) where text.utf8.count < 100: keep(text)
    case .uint64(let number):
      if numbers.count < 64 { numbers.append(number) } else { numbers[below(64)] = number }
    case .array(_, let members), .structure(let members): for member in members.prefix(8) { learn(member) }
    case .variant(let inner): learn(inner)
    default: break
    }
  }

  private mutating func keep(_ text: String) {
    guard !texts.contains(text) else { return }
    if texts.count < 128 { texts.append(text) } else { texts[4 + below(124)] = text }
  }

  private mutating func identifier() -> String {
    let digits = Array("0123456789ABCDEF")
    return [8, 4, 4, 4, 12].map { count in String((0..<count).map { _ in pick(digits) }) }.joined(separator: "-")
  }

  private mutating func text() -> String {
    switch below(16) {
    case 0: return ""
    case 1: return String(repeating: "x", count: chance(100) ? 100_000 : 257)
    case 2: return "a\u{1F}b\u{1}c"
    case 3: return "180D"
    case 4, 5:
      let new = identifier()
      keep(new)
      return new
    default: return pick(texts)
    }
  }

  private mutating func number() -> UInt64 {
    chance(3) && !numbers.isEmpty
      ? pick(numbers) : pick([0, 1, 2, 3, .max, .max - 1, 1 << 63, 1 << 62, 1 << 32, next() % 64])
  }

  private mutating func count() -> Int { pick([0, 0, 1, 1, 1, 2, 3, chance(20) ? 40 : 5, chance(500) ? 2000 : 2]) }

  /// Values of a signature, one for each complete type in it.
  mutating func values(_ signature: String) -> [Value] {
    var rest = signature[...]
    var values: [Value] = []
    while !rest.isEmpty { values.append(value(&rest, depth: 0)) }
    return values
  }

  private mutating func value(_ rest: inout Substring, depth: Int) -> Value {
    switch rest.removeFirst() {
    case "y": return .byte(pick([0, 1, 2, 0x80, .max, UInt8(below(256))]))
    case "b": return .bool(chance(2))
    case "n": return .int16(pick([0, 1, -1, .min, .max, -60]))
    case "q": return .uint16(pick([0, 1, 0x0A, 0x0B, 0x0C, .max, .max - 1, UInt16(below(64))]))
    case "i": return .int32(pick([0, 1, -1, .min, .max]))
    case "u": return .uint32(chance(12) ? UInt32(truncatingIfNeeded: number()) : UInt32(1 + below(8)))
    case "x": return .int64(pick([0, 1, -1, .min, .max]))
    case "t": return .uint64(number())
    case "d": return .double(pick([0, -0.0, -1, 1, .nan, .infinity, -.infinity, 1e308, 86400]))
    case "o": return .path(.root)
    case "a": return array(&rest, depth: depth)
    case "(":
      var members: [Value] = []
      while let next = rest.first, next != ")" { members.append(value(&rest, depth: depth + 1)) }
      if !rest.isEmpty { rest.removeFirst() }
      return .structure(members)
    case "v": return .variant(.string(text()))
    default: return .string(text())
    }
  }

  private mutating func array(_ rest: inout Substring, depth: Int) -> Value {
    if rest.first == "y" {
      rest.removeFirst()
      let count = pick([0, 1, 2, 20, 512, 513, chance(1000) ? 70_000 : 3])
      return .bytes([UInt8](repeating: UInt8(below(256)), count: count))
    }
    let isDictionary = rest.first == "{"
    if isDictionary { rest.removeFirst() }
    let start = rest
    // The signature of the members is read at least once, and again for each member.
    var end = start
    let first = member(&end, isDictionary, depth)
    let text = start[..<end.startIndex]
    var members = [first]
    for _ in 0..<(depth > 3 ? below(2) : count()) {
      var place = start
      members.append(member(&place, isDictionary, depth))
    }
    if chance(3) { members = [] }
    rest = end
    guard isDictionary else { return .array(of: String(text), members.map(\.1)) }
    if !rest.isEmpty { rest.removeFirst() }
    return .dictionary(
      key: String(text.prefix(1)), value: String(text.dropFirst()),
      Dictionary(members.compactMap { pair in pair.0.map { ($0, pair.1) } }) { $1 })
  }

  private mutating func member(_ rest: inout Substring, _ isDictionary: Bool, _ depth: Int) -> (Value?, Value) {
    let key = isDictionary ? value(&rest, depth: depth + 1) : nil
    return (key, value(&rest, depth: depth + 1))
  }
}
