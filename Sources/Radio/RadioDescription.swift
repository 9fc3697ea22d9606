/// A description of the radio in words, for writers of stories and commands: a level of noise, and parameters that
/// differ from it.
extension RadioPhysics {
  /// The named levels of noise.
  package enum Level: String, Sendable, CaseIterable {
    case clear
    case calm
    case ordinary
    case harsh

    package var physics: RadioPhysics {
      switch self {
      case .clear: .clear
      case .calm: .calm
      case .ordinary: .ordinary
      case .harsh: .harsh
      }
    }
  }

  /// A named parameter with its range.
  package struct Parameter: Sendable {
    package let name: String
    package let range: ClosedRange<Double>
    let path: WritableKeyPath<RadioPhysics, Double> & Sendable
  }

  /// Every parameter. The names are those of the properties, in words, with their ranges and units.
  package static let parameters: [Parameter] = [
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
  /// - Returns: `false` if there is no parameter of this name, or the value is out of its range.
  package mutating func set(_ name: String, to value: Double) -> Bool {
    guard let parameter = Self.parameters.first(where: { $0.name == name }), parameter.range.contains(value) else {
      return false
    }
    self[keyPath: parameter.path] = value
    return true
  }

  /// Every parameter with its value, in the form that `init(text:)` reads.
  package var text: String { Self.parameters.map { "\($0.name)=\(self[keyPath: $0.path])" }.joined(separator: ",") }

  /// Reads a level, single parameters, or a level with changed parameters: `harsh,body loss=15`.
  ///
  /// - Returns: `nil` if the text is none of these.
  package init?(text: String) {
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
