/// The path of an object on a bus (D-Bus specification, "Valid Object Paths").
package struct ObjectPath: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  package let text: String

  /// `nil` if the text is not a valid object path.
  package init?(_ text: String) {
    guard Self.isValid(text) else { return nil }
    self.text = text
  }

  /// For paths that this program composes from valid parts.
  package init(unchecked text: String) {
    assert(Self.isValid(text), "not an object path: \(text)")
    self.text = text
  }

  package static let root = ObjectPath(unchecked: "/")

  /// This path with one more component, of letters, digits and underscores.
  package func appending(_ component: String) -> ObjectPath {
    ObjectPath(unchecked: text == "/" ? "/" + component : text + "/" + component)
  }

  /// The path above this one, or `nil` for the root.
  package var parent: ObjectPath? {
    guard text != "/", let slash = text.lastIndex(of: "/") else { return nil }
    return ObjectPath(unchecked: slash == text.startIndex ? "/" : String(text[..<slash]))
  }

  /// The part after the last slash.
  package var lastComponent: Substring { text.split(separator: "/").last ?? "" }

  /// Whether this path is `other` or lies below it.
  package func isWithin(_ other: ObjectPath) -> Bool {
    text == other.text || other.text == "/" || text.hasPrefix(other.text + "/")
  }

  package var description: String { text }

  package static func < (left: Self, right: Self) -> Bool { left.text < right.text }

  private static func isValid(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.first == UInt8(ascii: "/"), bytes.count <= 4096 else { return false }
    guard bytes.count > 1 else { return true }
    var previous = bytes[0]
    for byte in bytes.dropFirst() {
      switch byte {
      case UInt8(ascii: "/"): if previous == UInt8(ascii: "/") { return false }
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        break
      default: return false
      }
      previous = byte
    }
    return previous != UInt8(ascii: "/")
  }
}
