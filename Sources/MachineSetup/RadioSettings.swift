/// The settings of bluetoothd's radio that make an arrival fast, as a block at the end of its main.conf. bluetoothd
/// reads that file as a GLib key file: a group may appear again and continues, and of two values the later one counts.
/// So the administrator's lines stay as they are, and removing the block restores the file.
package struct RadioSettings: Sendable, Equatable {
  /// bluetoothd's own file (Debian's package bluez has it).
  package static let path = "/etc/bluetooth/main.conf"

  /// A setting, with the reason in words.
  package struct Line: Sendable, Equatable {
    package let key: String
    package let value: Int
    package let reason: String
    package var text: String { "\(key) = \(value)" }
  }

  package let lines: [Line]

  /// - Parameter scansAlways: whether a phone listens all the time for the locks that it waits for, and not only half
  ///   of it.
  package init(_ role: SetupRole, scansAlways: Bool = false) {
    switch role {
    case .lock:
      lines = [
        // bluetoothd 5.77 and later use latchkeyd's own interval; earlier ones use only this.
        Line(key: "MinAdvertisementInterval", value: 243, reason: "151.875 ms, in units of 0.625 ms"),
        Line(key: "MaxAdvertisementInterval", value: 243, reason: "the same"),
        // The lock asks each phone for this once. The phone's bluetoothd stores it with the bond, and later links begin
        // with it.
        Line(key: "MinConnectionInterval", value: 6, reason: "7.5 ms, in units of 1.25 ms"),
        Line(key: "MaxConnectionInterval", value: 12, reason: "15 ms"),
      ]
    case .phone:
      lines =
        scansAlways
        ? [
          Line(key: "ScanIntervalAutoConnect", value: 96, reason: "60 ms, in units of 0.625 ms"),
          Line(key: "ScanWindowAutoConnect", value: 96, reason: "60 ms: the receiver is always on"),
        ] : []
    }
  }

  private static let first = "# Latchkey: the lines from here on were written by `latchkey setup`,"
  private static let second = "# and `latchkey setup undo` removes them."
  private static let last = "# Latchkey: end"

  /// The lines of the block.
  package var block: String {
    let lines = lines.flatMap { ["# \($0.reason)", $0.text] }
    return ([Self.first, Self.second, "[LE]"] + lines + [Self.last, ""]).joined(separator: "\n")
  }

  /// The file's text with exactly these settings.
  package func written(to text: String) -> String {
    let rest = Self.removed(from: text)
    guard !lines.isEmpty else { return rest }
    return rest + (rest.isEmpty || rest.hasSuffix("\n") ? "" : "\n") + block
  }

  /// The file's text without the block. Other text stays as it was, except that a missing newline at its end is added.
  package static func removed(from text: String) -> String {
    var kept: [Substring] = []
    var isInside = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line == first { isInside = true }
      if !isInside { kept.append(line) }
      if line == last { isInside = false }
    }
    // If the block has no end, somebody has edited it. What follows may be the administrator's, so nothing is removed.
    return isInside ? text : kept.joined(separator: "\n")
  }

  /// Whether a text has such a block.
  package static func isWritten(in text: String) -> Bool { removed(from: text) != text }
}
