import LockProtocol

/// Follows a list of names from page to page.
struct NameWalk {
  private(set) var names: [KeyName] = []
  private(set) var isOver = false

  /// The number of the first name of the next page.
  var next: UInt8 { UInt8(clamping: names.count) }

  /// Takes a page. An empty one ends the list, because it may have become shorter meanwhile.
  mutating func take(_ body: [UInt8]) throws(LockMessageError) {
    let page = try KeyName.decode(body)
    names += page.names
    isOver = page.names.isEmpty || names.count >= page.count
  }
}
