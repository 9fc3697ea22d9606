/// What was observed of one implementation of org.bluez: by case and step, each column in its own order.
package struct Transcript: Sendable, Hashable {
  /// What happened on one connection to a machine's bus, in order. There is no order between columns.
  package struct Column: Sendable, Hashable {
    package var name: String
    package var lines: [String]
    package init(_ name: String, _ lines: [String]) {
      self.name = name
      self.lines = lines
    }
  }

  package struct Step: Sendable, Hashable {
    package var title: String
    package var columns: [Column]
    package init(_ title: String, _ columns: [Column] = []) {
      self.title = title
      self.columns = columns
    }
  }

  package struct Case: Sendable, Hashable {
    package var name: String
    package var steps: [Step]
    package init(_ name: String, _ steps: [Step] = []) {
      self.name = name
      self.steps = steps
    }
  }

  /// The implementation, such as `bluez-simulator`.
  package var subject: String
  package var cases: [Case]

  package init(subject: String, cases: [Case] = []) {
    self.subject = subject
    self.cases = cases
  }
}

extension Transcript {
  private static let subjectMark = "# "
  private static let caseMark = "## "
  private static let stepMark = "### "
  private static let columnMark = "@ "

  /// A file that people can read and `init(text:)` can parse.
  package var text: String {
    var lines = [Self.subjectMark + subject]
    for seen in cases {
      lines.append(Self.caseMark + seen.name)
      for step in seen.steps {
        lines.append(Self.stepMark + step.title)
        for column in step.columns {
          lines.append(Self.columnMark + column.name)
          lines += column.lines
        }
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  package struct Malformed: Error, CustomStringConvertible {
    package let description: String
  }

  /// Reads what `text` wrote.
  ///
  /// - Throws: `Malformed`, with the line's number.
  package init(text: String) throws {
    self.init(subject: "")
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      do {
        try take(String(line))
      } catch let error as Malformed {
        throw Malformed(description: "line \(index + 1): \(error.description)")
      }
    }
  }

  private mutating func take(_ line: String) throws {
    func rest(_ mark: String) -> String? { line.hasPrefix(mark) ? String(line.dropFirst(mark.count)) : nil }
    if line.isEmpty { return }
    if let name = rest(Self.stepMark) {
      guard !cases.isEmpty else { throw Malformed(description: "a step outside of a case") }
      cases[cases.count - 1].steps.append(Step(name))
    } else if let name = rest(Self.caseMark) {
      cases.append(Case(name))
    } else if let name = rest(Self.subjectMark) {
      subject = name
    } else {
      guard let lastCase = cases.indices.last, let lastStep = cases[lastCase].steps.indices.last else {
        throw Malformed(description: "a line outside of a step")
      }
      if let name = rest(Self.columnMark) {
        cases[lastCase].steps[lastStep].columns.append(Column(name, []))
      } else if let lastColumn = cases[lastCase].steps[lastStep].columns.indices.last {
        cases[lastCase].steps[lastStep].columns[lastColumn].lines.append(line)
      } else {
        throw Malformed(description: "a line outside of a column")
      }
    }
  }
}
