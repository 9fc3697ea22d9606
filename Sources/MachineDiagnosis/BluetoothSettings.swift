/// bluetoothd's settings, as its main.conf has them (GLib's key files).
package struct BluetoothSettings: Sendable, Equatable {
  private var values: [String: [String: String]] = [:]
  /// Lines that are neither a section, a setting nor a comment.
  package private(set) var malformedLines: [Int] = []

  /// No settings: every one has its default.
  package init() {}

  package init(_ text: String) {
    var section = ""
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let line = Self.trimmed(line)
      if line.isEmpty || line.hasPrefix("#") { continue }
      if line.hasPrefix("["), line.hasSuffix("]") {
        section = String(line.dropFirst().dropLast())
      } else if let equals = line.firstIndex(of: "="), !section.isEmpty, equals != line.startIndex {
        values[section, default: [:]][Self.trimmed(line[..<equals])] = Self.trimmed(line[line.index(after: equals)...])
      } else {
        malformedLines.append(index + 1)
      }
    }
  }

  /// A setting's value, or `nil` if it has its default.
  package subscript(section section: String, key key: String) -> String? { values[section]?[key] }

  /// A switch's position. bluetoothd takes `true` and `false`; anything else leaves the default.
  package func isOn(_ section: String, _ key: String, byDefault: Bool) -> Bool {
    switch self[section: section, key: key] {
    case "true": true
    case "false": false
    default: byDefault
    }
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    String(text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
  }
}
