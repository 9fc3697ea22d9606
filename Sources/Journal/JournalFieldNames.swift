/// The names of an entry's own fields in systemd's journal, which accepts only capital letters, digits and
/// underscores. One more field contains the original names, so that a reader gets back what was written.
package enum JournalFieldNames {
  /// The field with the names, separated by spaces.
  package static let variable = "LATCHKEY_FIELDS"

  package static func systemdName(_ name: String) -> String {
    "LATCHKEY_FIELD_"
      + String(
        decoding: name.utf8.map { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 32
          case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
          default: UInt8(ascii: "_")
          }
        }, as: UTF8.self)
  }

  static func list(_ names: some Sequence<String>) -> String { names.joined(separator: " ") }

  package static func names(_ list: String) -> [String] { list.split(separator: " ").map(String.init) }
}
