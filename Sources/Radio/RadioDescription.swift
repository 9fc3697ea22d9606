/// How a world's radio is described in words, by those who write stories and commands: a level of noise, and single
/// parameters that are otherwise.
extension RadioPhysics {
  /// The levels of noise that have names.
  public enum Level: String, Sendable, CaseIterable {
    case clear
    case calm
    case ordinary
    case harsh

    public var physics: RadioPhysics {
      switch self {
      case .clear: .clear
      case .calm: .calm
      case .ordinary: .ordinary
      case .harsh: .harsh
      }
    }
  }

  /// A parameter that has a name and a range.
  public struct Parameter: Sendable {
    public let name: String
    public let range: ClosedRange<Double>
    let path: WritableKeyPath<RadioPhysics, Double> & Sendable
  }

  /// Every parameter; the names are the properties' in words, the ranges and units theirs.
  public static let parameters: [Parameter] = [
    Parameter(name: "signal at one metre", range: -127...20, path: \.signalAtOneMetre),
    Parameter(name: "path loss exponent", range: 1...6, path: \.pathLossExponent),
    Parameter(name: "shadowing", range: 0...20, path: \.shadowing),
    Parameter(name: "way shadowing", range: 0...20, path: \.wayShadowing),
    Parameter(name: "decorrelation distance", range: 0.1...1000, path: \.decorrelationDistance),
    Parameter(name: "body loss", range: 0...40, path: \.bodyLoss),
    Parameter(name: "noise", range: 0...20, path: \.noise),
    Parameter(name: "sensitivity", range: -127...20, path: \.sensitivity),
    Parameter(name: "interference", range: 0...1, path: \.interference),
    Parameter(name: "link interference", range: 0...1, path: \.linkInterference),
  ]

  /// Changes one parameter.
  ///
  /// - Returns: whether there is one of this name and the value is in its range.
  public mutating func set(_ name: String, to value: Double) -> Bool {
    guard let parameter = Self.parameters.first(where: { $0.name == name }), parameter.range.contains(value) else {
      return false
    }
    self[keyPath: parameter.path] = value
    return true
  }

  /// Every parameter with its value: what `init(text:)` reads.
  public var text: String { Self.parameters.map { "\($0.name)=\(self[keyPath: $0.path])" }.joined(separator: ",") }

  /// Reads a level, single parameters, or a level and parameters that are otherwise: `harsh,body loss=15`.
  ///
  /// - Returns: `nil` where the text says none of these.
  public init?(text: String) {
    self = .ordinary
    for (index, part) in text.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
      if index == 0, let level = Level(rawValue: String(part)) {
        self = level.physics
        continue
      }
      let sides = part.split(separator: "=", omittingEmptySubsequences: false)
      guard sides.count == 2, let value = Double(sides[1]), set(String(sides[0]), to: value) else { return nil }
    }
  }
}
