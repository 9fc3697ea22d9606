/// A line that appears in only one of two transcripts, with its place.
package struct Difference: Sendable, Hashable, CustomStringConvertible {
  package enum Side: String, Sendable, Hashable {
    case onlySimulator = "only the simulator"
    case onlyBluetoothd = "only bluetoothd"
  }
  package var caseName: String
  package var step: String
  package var column: String
  package var side: Side
  package var line: String

  /// The same line in the same column of the other transcript.
  var ofTheOtherSide: Difference {
    var other = self
    other.side = side == .onlySimulator ? .onlyBluetoothd : .onlySimulator
    return other
  }

  package var description: String { "\(caseName) / \(step) / \(column): \(side.rawValue): \(line)" }
}

/// Compares the transcripts of the simulator and of bluetoothd.
package enum Comparison {
  /// All differences, in the order of the cases. A missing case, step or column counts as empty.
  package static func differences(simulator: Transcript, bluetoothd: Transcript) -> [Difference] {
    merged(simulator.cases.map(\.name), bluetoothd.cases.map(\.name)).flatMap { name in
      differences(
        name, simulator.cases.first { $0.name == name }, bluetoothd.cases.first { $0.name == name })
    }
  }

  private static func differences(
    _ name: String, _ simulator: Transcript.Case?, _ bluetoothd: Transcript.Case?
  ) -> [Difference] {
    let steps = merged(simulator?.steps.map(\.title) ?? [], bluetoothd?.steps.map(\.title) ?? [])
    return steps.flatMap { title -> [Difference] in
      let left = simulator?.steps.first { $0.title == title }?.columns ?? []
      let right = bluetoothd?.steps.first { $0.title == title }?.columns ?? []
      return merged(left.map(\.name), right.map(\.name)).flatMap { column in
        differences(
          // A transcript may be older than the present list of lines without a fixed order.
          Wording.ordered(left.first { $0.name == column }?.lines ?? []),
          Wording.ordered(right.first { $0.name == column }?.lines ?? [])
        ).map { Difference(caseName: name, step: title, column: column, side: $0.0, line: $0.1) }
      }
    }
  }

  private static func differences(_ simulator: [String], _ bluetoothd: [String]) -> [(Difference.Side, String)] {
    let changes = bluetoothd.difference(from: simulator)
    var result: [(Int, Difference.Side, String)] = []
    for change in changes {
      switch change {
      case .remove(let offset, let line, _): result.append((offset, .onlySimulator, line))
      case .insert(let offset, let line, _): result.append((offset, .onlyBluetoothd, line))
      }
    }
    return result.sorted { ($0.0, $0.1.rawValue) < ($1.0, $1.1.rawValue) }.map { ($0.1, $0.2) }
  }

  /// The elements of both lists, each once, in the order of the lists as far as they agree.
  private static func merged(_ left: [String], _ right: [String]) -> [String] {
    var result = left
    for (index, name) in right.enumerated() where !result.contains(name) {
      let before = right[..<index].last { result.contains($0) }
      let place = before.flatMap { result.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
      result.insert(name, at: place)
    }
    return result
  }
}

/// The result of a comparison.
package struct Verdict: Sendable {
  package var explained: [(Difference, Explanation)]
  package var unexplained: [Difference]
  /// Explanations that explained nothing and are not about chance. What they describe no longer happens.
  package var stale: [Explanation]

  package init(_ differences: [Difference], explanations: [Explanation]) {
    explained = []
    unexplained = []
    var used: Set<Int> = []
    let all = Set(differences)
    for difference in differences {
      let isMove = all.contains(difference.ofTheOtherSide)
      if let index = explanations.firstIndex(where: { $0.explains(difference, isMove: isMove) }) {
        used.insert(index)
        explained.append((difference, explanations[index]))
      } else {
        unexplained.append(difference)
      }
    }
    stale = explanations.indices.filter { !used.contains($0) && !explanations[$0].isChance }.map { explanations[$0] }
  }

  package var isGood: Bool { unexplained.isEmpty && stale.isEmpty }

  /// What makes the verdict bad, a line each. Empty when it is good.
  package var faults: String { faultLines.joined(separator: "\n") }

  private var faultLines: [String] {
    unexplained.map { "UNEXPLAINED \($0)" }
      + stale.map { "STALE an explanation fits nothing any more: \($0)" }
  }

  package var text: String {
    var lines = faultLines
    for (difference, explanation) in explained {
      lines.append("explained (docs/bluez.md, \"\(explanation.heading)\") \(difference)")
    }
    lines.append(
      "\(explained.count + unexplained.count) differences: \(explained.count) explained, "
        + "\(unexplained.count) unexplained; \(stale.count) stale explanations")
    return lines.joined(separator: "\n")
  }
}
