/// One number for all that decides what can still happen on a street. Streets that differ only in names have the same.
package struct Fingerprint: Sendable, Hashable {
  private let value: UInt64

  init(of street: Street, by reader: inout StateReader) {
    street.read(by: &reader)
    value = Self.combine(reader.tokens)
  }

  private struct Kind: Hashable {
    var scope: Int
    var kind: Int
  }

  private static func combine(_ tokens: [StateReader.Token]) -> UInt64 {
    let ranks = ranks(tokens)
    var open: [(hash: UInt64, isOrdered: Bool)] = [(0, true)]
    func add(_ word: UInt64) {
      let last = open.count - 1
      if open[last].isOrdered {
        open[last].hash = mix(open[last].hash ^ word)
      } else {
        open[last].hash &+= mix(word)
      }
    }
    for token in tokens {
      switch token {
      case .word(let word): add(word)
      case .name(let scope, let kind, let number):
        add(ranks[Kind(scope: scope, kind: kind)]?[number] ?? 0)
      case .begin(let isOrdered): open.append((isOrdered ? 1 : 2, isOrdered))
      case .end: if let ended = open.popLast() { add(ended.hash) }
      }
    }
    return open[0].hash
  }

  /// Each name's place among those of its kind. A name that follows the one before it directly is told from one that
  /// does not, because the next number may matter.
  private static func ranks(_ tokens: [StateReader.Token]) -> [Kind: [Int64: UInt64]] {
    var numbers: [Kind: Set<Int64>] = [:]
    for case .name(let scope, let kind, let number) in tokens {
      numbers[Kind(scope: scope, kind: kind), default: []].insert(number)
    }
    return numbers.mapValues { numbers in
      var ranks: [Int64: UInt64] = [:]
      var last: Int64?
      for (place, number) in numbers.sorted().enumerated() {
        ranks[number] = UInt64(place) * 4 + (number == 0 ? 2 : 0) + (last == number - 1 ? 1 : 0)
        last = number
      }
      return ranks
    }
  }

  /// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
  private static func mix(_ word: UInt64) -> UInt64 {
    var word = word &+ 0x9E37_79B9_7F4A_7C15
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}

extension Street {
  /// Everything but what is the same in all streets of one seed.
  func read(by reader: inout StateReader) {
    reader.begin(at: now)
    for (place, name) in cast.machines.enumerated() {
      if let system = systems[name] { reader.read(system, ofMachine: place + 1) }
      if let machine = machines[name] { reader.read(machine, ofMachine: place + 1) }
    }
    reader.read(world)
    reader.read(reference)
  }
}
