import ConsoleOutput

/// A diagnosis for a terminal: what is well, what can't be told, the warnings, then the outcome, and last the faults.
package struct DiagnosisScreen: Sendable {
  private let diagnosis: Diagnosis
  private let terminal: Terminal

  package init(_ diagnosis: Diagnosis, _ terminal: Terminal) {
    self.diagnosis = diagnosis
    self.terminal = terminal
  }

  package var lines: [String] {
    var lines: [String] = []
    for weight in [Finding.Weight.fine, .hidden, .warning] {
      lines += diagnosis.findings.filter { $0.weight == weight }.flatMap(told)
    }
    lines += [""] + outcome
    // The first fault is often the cause of the others. It comes last, where a reader looks first.
    for finding in diagnosis.findings.filter({ $0.weight == .broken }).reversed() { lines += [""] + told(finding) }
    return lines
  }

  private func told(_ finding: Finding) -> [String] {
    let (mark, word, style): (String, String, TextStyle) =
      switch finding.weight {
      case .fine: ("✓", "ok", .green)
      case .hidden: ("?", "can't tell", .yellow)
      case .warning: ("!", "warning", .yellow)
      case .broken: ("✗", "BROKEN", .red)
      }
    let label = terminal.usesUnicode ? "\(mark) \(word)" : word
    let room = terminal.usesUnicode ? 12 : 10
    let beginning = "  \(label)\(String(repeating: " ", count: room - label.count))  "
    var lines = terminal.hanging(beginning, "\(finding.check.rawValue): \(Self.short(finding.found))", narrowIndent: 6)
    if terminal.usesColor {
      lines[0] = lines[0].replacing(word, with: terminal.styled(word, style), maxReplacements: 1)
    }
    if let because = finding.because {
      lines += terminal.hanging("      why: ", Self.short(because), narrowIndent: 6) { terminal.styled($0, .dim) }
    }
    if let mend = finding.mend {
      lines += terminal.hanging("      do:  ", Self.short(mend), narrowIndent: 6) { terminal.styled($0, .bold) }
    }
    return lines
  }

  private var outcome: [String] {
    let counts = [
      Self.count(diagnosis.count(.broken), "fault", "faults"),
      Self.count(diagnosis.count(.warning), "warning", "warnings"),
      Self.count(diagnosis.count(.hidden), "thing that can't be told", "things that can't be told"),
    ].compactMap(\.self).joined(separator: ", ")
    guard diagnosis.keepsPromise else {
      let order = diagnosis.count(.broken) > 1 ? " Begin with the last one below." : ""
      return terminal.hanging("  ", "The promise could not be kept on this machine: \(counts).\(order)") {
        terminal.styled($0, .bold)
      }
    }
    let nothing = diagnosis.count(.hidden) == 0 ? "Nothing stands" : "Nothing that can be seen here stands"
    let well = "\(nothing) in the way: a request that is held here comes true, even after days"
    return terminal.hanging("  ", counts.isEmpty ? "\(well)." : "\(well) (\(counts)).") {
      terminal.styled($0, .bold)
    }
  }

  private static func count(_ number: Int, _ one: String, _ many: String) -> String? {
    number == 0 ? nil : "\(number) \(number == 1 ? one : many)"
  }

  /// The most characters of a part of a finding, because parts of it come from outside.
  private static let characterLimit = 1000

  private static func short(_ text: String) -> String { String(text.prefix(characterLimit)) }
}
