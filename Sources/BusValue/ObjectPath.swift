/// The path of an object on a bus (D-Bus specification, "Valid Object Paths").
@usableFromInline package struct ObjectPath: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
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

  private init(trusted text: String) { self.text = text }

  package static let root = ObjectPath(unchecked: "/")

  /// This path with one more component, of letters, digits and underscores.
  package func appending(_ component: String) -> ObjectPath {
    ObjectPath(unchecked: text == "/" ? "/" + component : text + "/" + component)
  }

  /// The path above this one, or `nil` for the root.
  package var parent: ObjectPath? {
    guard text != "/", let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    return ObjectPath(unchecked: slash == text.startIndex ? "/" : String(text[..<slash]))
  }

  /// The part after the last slash.
  package var lastComponent: Substring {
    guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return text[text.utf8.index(after: slash)...]
  }

  /// How many components it has: 0 for the root.
  package var depth: Int { text == "/" ? 0 : text.utf8.count { $0 == UInt8(ascii: "/") } }

  /// Whether this path is `other` or lies below it.
  package func isWithin(_ other: ObjectPath) -> Bool {
    let (own, above) = (text.utf8, other.text.utf8)
    guard own.count > above.count else { return text == other.text }
    guard own.starts(with: above) else { return false }
    return other.text == "/" || own[own.index(own.startIndex, offsetBy: above.count)] == UInt8(ascii: "/")
  }

  @usableFromInline package var description: String { text }

  /// The same path with memory of its own (`String.compactCopy`).
  package var compactCopy: ObjectPath { ObjectPath(trusted: text.compactCopy) }

  @usableFromInline package static func < (left: Self, right: Self) -> Bool { left.text < right.text }

  private static func isValid(_ text: String) -> Bool {
    let bytes = text.utf8
    guard bytes.first == UInt8(ascii: "/"), bytes.count <= 4096 else { return false }
    guard bytes.count > 1 else { return true }
    var previous = UInt8(ascii: "/")
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

extension String {
  /// The same text with memory of its own. What is kept of a large message for as long as the process lives is kept like this:
  /// otherwise each page of memory that the message took holds a little of it, and none can be given back.
  package var compactCopy: String { String(decoding: utf8, as: UTF8.self) }
}
