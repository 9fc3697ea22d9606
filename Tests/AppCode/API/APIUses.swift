import CoreBluetooth

/// What the generated uses found: each declaration that was used, and each raw value that is not as listed.
public struct APIUses {
  /// The lines of symbols.txt that a use was compiled for.
  public internal(set) var uses: [String] = []
  /// Raw values that were compared.
  public internal(set) var comparedCount = 0
  public internal(set) var wrongRawValues: [String] = []
  var writable = WritablePaths()
  /// Properties that the list has as read-only, and that can be set.
  public var wronglyWritable: [String] { writable.names }

  public init() {
    makeUses()
    compareRawValues()
    useDeprecated(&self)
  }

  mutating func compare(_ name: String, _ value: Int, _ expected: Int) {
    comparedCount += 1
    if value != expected { wrongRawValues.append("\(name) is \(value), not \(expected)") }
  }
}

struct WritablePaths {
  var names: [String] = []

  mutating func note<Root, Value>(_ path: KeyPath<Root, Value>, _ name: String) {
    if path is WritableKeyPath<Root, Value> { names.append(name) }
  }
}

/// The uses of what is deprecated. Called through a protocol, because a direct call gives a warning.
protocol DeprecatedUses {
  mutating func makeDeprecatedUses()
  mutating func compareDeprecatedRawValues()
}

private func useDeprecated<Uses: DeprecatedUses>(_ uses: inout Uses) {
  uses.makeDeprecatedUses()
  uses.compareDeprecatedRawValues()
}
