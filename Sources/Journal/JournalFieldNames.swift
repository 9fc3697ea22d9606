/// How an entry's own fields are named in systemd's journal, which takes capital letters, digits and underscores only.
/// One more field has the names as they were, so that a reader gets back what was written.
public enum JournalFieldNames {
  /// The field with the names, a space between.
  public static let variable = "LATCHKEY_FIELDS"

  public static func systemdName(_ name: String) -> String {
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

  public static func names(_ list: String) -> [String] { list.split(separator: " ").map(String.init) }
}
