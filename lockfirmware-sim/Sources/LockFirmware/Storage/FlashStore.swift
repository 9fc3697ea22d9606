import LockProtocol

/// What a board keeps in flash beside its records. Each value is replaced as a whole, or not at all.
package enum FlashKey: UInt8, Equatable, Sendable, CaseIterable {
  /// The phones that may open the lock.
  case phones = 1
  /// The centrals that have proven themselves.
  case trusted = 2
  /// The operating mode.
  case mode = 3
  /// What owners have told the lock over the air (`AccessState`).
  case access = 4
  /// The phone whose leaving locks a bolt that a hand opened (`AwaitedPhone`).
  case awaited = 5
}

/// Why the store can't be used, or could not store something. In the second case everything is as before.
package enum FlashStoreError: Error, Equatable, Sendable {
  case flash(FlashError)
  /// The flash has fewer than three pages, or pages in which no entry fits.
  case tooSmall
  /// The value does not fit into a page together with the other values.
  case tooLong
}

/// The lock's records and values, as a log of entries over the pages of a flash memory. It survives a power cut at any byte:
/// afterwards there is what was there before, or what was to be stored.
///
/// A page begins with a mark, a number that counts up from page to page, and a check sum. Entries follow: kind, length,
/// content, check sum. Writing goes from page to page in a ring, and one page is always erased. When a page is full, the
/// erased one is begun: it first gets the values that are only in the oldest page, and then the oldest page is erased. A later
/// entry of a value replaces an earlier one, so a value that was copied twice does no harm. An entry that was cut off
/// fails its check sum; reading and writing go on after it.
package struct FlashStore<Memory: Flash> {
  package private(set) var memory: Memory
  /// The pages with entries, oldest first.
  private var pages: [Page] = []
  /// Where each value's latest entry is.
  private var values: [Place] = []

  private struct Page {
    var index: Int
    var number: UInt32
    /// Where the next entry goes.
    var end: Int
  }

  private struct Place {
    var key: UInt8
    var page: Int
    var offset: Int
    var count: Int
  }

  private static var mark: [UInt8] { [0x4C, 0x4B, 0x46, 1] }
  private static var headerByteCount: Int { 12 }
  /// Kind, length, check sum.
  private static var frameByteCount: Int { 1 + 2 + 4 }
  private static var recordKind: UInt8 { 128 }
  private static var blank: UInt8 { 0xFF }
  /// How many bytes are read at once: a board has no memory for a page.
  private static var readByteCount: Int { 64 }

  /// Reads what is there. A new memory is empty.
  package init(_ memory: consuming Memory) throws(FlashStoreError) {
    // The argument is given away, so that memory that is an array is not copied when it is first programmed.
    let (pageCount, pageByteCount) = (memory.pageCount, memory.pageByteCount)
    self.memory = consume memory
    guard pageCount >= 3,
      pageByteCount >= Self.headerByteCount + 2 * (Self.frameByteCount + LockRecord.byteCount)
    else { throw .tooSmall }
    for index in 0..<pageCount {
      guard let number = pageNumber(index) else { continue }
      let place = pages.firstIndex { $0.number > number } ?? pages.count
      pages.insert(Page(index: index, number: number, end: Self.headerByteCount), at: place)
    }
    for position in pages.indices { scan(position) }
    // A page whose beginning or erasing was cut off counts for nothing. One is always kept erased.
    for index in 0..<pageCount where !pages.contains(where: { $0.index == index }) && !isBlank(index) {
      try erase(index)
    }
    if pages.isEmpty { try begin(page: 0, number: 1) }
    while pages.count >= pageCount { try dropOldest() }
  }

  /// A value, or `nil` if it was never set.
  package func value(of key: FlashKey) -> [UInt8]? {
    values.first { $0.key == key.rawValue }.map { memory.read(page: $0.page, at: $0.offset, count: $0.count) }
  }

  /// The newest records, oldest first.
  package func records(_ limit: Int) -> [LockRecord] {
    var records: [LockRecord] = []
    for page in pages.reversed() {
      guard records.count < limit else { break }
      var found: [LockRecord] = []
      var offset = Self.headerByteCount
      while let entry = nextEntry(page.index, page.number, from: offset, to: page.end) {
        if entry.kind == Self.recordKind { append(decoding: entry.content, to: &found) }
        offset = entry.offset + Self.frameByteCount + entry.content.count
      }
      records.insert(contentsOf: found.suffix(limit - records.count), at: 0)
    }
    return records
  }

  /// The records that count however old they are, of those that are left.
  package var landmarks: LockLandmarks {
    var landmarks = LockLandmarks()
    for page in pages {
      var offset = Self.headerByteCount
      while let entry = nextEntry(page.index, page.number, from: offset, to: page.end) {
        if entry.kind == Self.recordKind { take(decoding: entry.content, in: &landmarks) }
        offset = entry.offset + Self.frameByteCount + entry.content.count
      }
    }
    return landmarks
  }

  private func take(decoding bytes: [UInt8], in landmarks: inout LockLandmarks) {
    do throws(LockMessageError) { landmarks.take(try LockRecord(decoding: bytes)) } catch {
      // As above.
    }
  }

  private func append(decoding bytes: [UInt8], to records: inout [LockRecord]) {
    do throws(LockMessageError) { records.append(try LockRecord(decoding: bytes)) } catch {
      // A record of a later release can't be read here, and is left out.
    }
  }

  /// Stores a record after the others.
  package mutating func append(_ record: LockRecord) throws(FlashStoreError) {
    _ = try add(Self.recordKind, record.encoded)
  }

  /// Replaces a value.
  package mutating func set(_ key: FlashKey, _ value: [UInt8]) throws(FlashStoreError) {
    // All values must fit into one page, or the oldest page could not be emptied.
    let others = values.reduce(0) { $1.key == key.rawValue ? $0 : $0 + $1.count + Self.frameByteCount }
    let room = memory.pageByteCount - Self.headerByteCount - Self.frameByteCount - LockRecord.byteCount
    guard value.count + Self.frameByteCount + others <= room, value.count < 0xFFFF else { throw .tooLong }
    remember(try add(key.rawValue, value))
  }

  /// Gives access to the memory, for a memory with more methods than a store uses.
  package mutating func withMemory(_ body: (inout Memory) -> Void) { body(&memory) }

  // MARK: Writing

  private mutating func add(_ kind: UInt8, _ content: [UInt8]) throws(FlashStoreError) -> Place {
    // An earlier attempt to empty the oldest page failed. The latest page has only copies, and may have to begin again, so nothing
    // else is written into it before that is done.
    while pages.count >= memory.pageCount { try dropOldest() }
    if !fits(content.count) {
      try turnPage()
      // The old one of a value is not copied: two of a long value do not fit into one page. It stays until the new one is written.
      if pages.count >= memory.pageCount { try copyOldest(except: kind) }
    }
    let place = try write(kind, content)
    guard pages.count >= memory.pageCount else { return place }
    if kind != Self.recordKind { remember(place) }
    // What was to be stored is stored. A page that can't be erased now is erased before it is used.
    do throws(FlashStoreError) { try dropOldest() } catch {}
    return place
  }

  private mutating func write(_ kind: UInt8, _ content: [UInt8]) throws(FlashStoreError) -> Place {
    guard fits(content.count), let last = pages.last else { throw .tooLong }
    // Written in parts, so that a board needs no memory for a second copy. If the power fails between them, the entry
    // fails its check sum.
    let head = Self.head(kind, content.count)
    var sum = Self.sum(in: last.number)
    sum.add(head)
    sum.add(content)
    do throws(FlashStoreError) {
      try program(last.index, at: last.end, head)
      try program(last.index, at: last.end + head.count, content)
      try program(last.index, at: last.end + head.count + content.count, Self.bytes(sum.value))
    } catch {
      pages[pages.count - 1].end = usedEnd(last.index)
      throw error
    }
    pages[pages.count - 1].end += Self.frameByteCount + content.count
    return Place(key: kind, page: last.index, offset: last.end + 3, count: content.count)
  }

  private func fits(_ count: Int) -> Bool {
    guard let last = pages.last else { return false }
    return last.end + Self.frameByteCount + count <= memory.pageByteCount
  }

  /// Begins the erased page.
  private mutating func turnPage() throws(FlashStoreError) {
    let next = ((pages.last?.index ?? -1) + 1) % memory.pageCount
    // An earlier attempt may have failed halfway.
    if !isBlank(next) { try erase(next) }
    try begin(page: next, number: (pages.last?.number ?? 0) + 1)
  }

  /// Copies the values that are in the oldest page, and erases it.
  private mutating func dropOldest() throws(FlashStoreError) {
    guard let oldest = pages.first else { return }
    try copyOldest()
    pages.removeFirst()
    try erase(oldest.index)
  }

  /// Copies the values that are in the oldest page into the latest.
  /// - Parameter key: the value that is about to be replaced, and is not copied.
  private mutating func copyOldest(except key: UInt8? = nil) throws(FlashStoreError) {
    guard let oldest = pages.first else { return }
    var hasRestarted = false
    while let place = values.first(where: { $0.page == oldest.index && $0.key != key }) {
      let content = memory.read(page: place.page, at: place.offset, count: place.count)
      guard fits(content.count) else {
        // The latest page is full of copies that were cut off.
        guard !hasRestarted else { throw .tooLong }
        hasRestarted = true
        try restartLatest()
        continue
      }
      remember(try write(place.key, content))
    }
  }

  /// Erases the latest page and begins it again. It has only copies, and one of them was cut off.
  private mutating func restartLatest() throws(FlashStoreError) {
    guard let latest = pages.popLast() else { throw .tooLong }
    values.removeAll()
    for position in pages.indices { scan(position) }
    try erase(latest.index)
    try begin(page: latest.index, number: latest.number)
  }

  private mutating func begin(page index: Int, number: UInt32) throws(FlashStoreError) {
    var header = Self.mark + Self.bytes(number)
    var sum = CheckSum()
    sum.add(header)
    header += Self.bytes(sum.value)
    try program(index, at: 0, header)
    pages.append(Page(index: index, number: number, end: Self.headerByteCount))
  }

  private mutating func program(_ page: Int, at offset: Int, _ bytes: [UInt8]) throws(FlashStoreError) {
    do throws(FlashError) {
      try memory.program(page: page, at: offset, bytes)
      for start in stride(from: 0, to: bytes.count, by: Self.readByteCount) {
        let part = bytes[start..<min(start + Self.readByteCount, bytes.count)]
        guard memory.read(page: page, at: offset + start, count: part.count)[...] == part else {
          throw FlashError.failed
        }
      }
    } catch { throw .flash(error) }
  }

  private mutating func erase(_ page: Int) throws(FlashStoreError) {
    do throws(FlashError) { try memory.erase(page: page) } catch { throw .flash(error) }
  }

  // MARK: Reading

  /// The page's number, or `nil` unless it has been begun.
  private func pageNumber(_ index: Int) -> UInt32? {
    let header = memory.read(page: index, at: 0, count: Self.headerByteCount)
    var sum = CheckSum()
    sum.add(Array(header.prefix(8)))
    guard Array(header.prefix(4)) == Self.mark, Array(header.suffix(4)) == Self.bytes(sum.value) else { return nil }
    return Self.number(header, at: 4)
  }

  /// Finds the end of a page's entries, and its values.
  private mutating func scan(_ position: Int) {
    let page = pages[position]
    var offset = Self.headerByteCount
    let end = usedEnd(page.index)
    while let entry = nextEntry(page.index, page.number, from: offset, to: memory.pageByteCount) {
      if entry.kind != Self.recordKind {
        remember(Place(key: entry.kind, page: page.index, offset: entry.offset + 3, count: entry.content.count))
      }
      offset = entry.offset + Self.frameByteCount + entry.content.count
      if offset >= end { break }
    }
    // An entry that was cut off may end before the last byte that is used, and a whole entry may end in bytes that look
    // erased.
    pages[position].end = max(offset, end)
  }

  /// The offset after the last byte of a page that is not erased.
  private func usedEnd(_ index: Int) -> Int {
    var end = memory.pageByteCount
    while end > 0 {
      let count = min(Self.readByteCount, end)
      let bytes = memory.read(page: index, at: end - count, count: count)
      if let last = bytes.lastIndex(where: { $0 != Self.blank }) { return end - count + last + 1 }
      end -= count
    }
    return 0
  }

  /// The first whole entry at or after an offset. Entries that were cut off are passed over.
  private func nextEntry(
    _ page: Int, _ number: UInt32, from start: Int, to end: Int
  ) -> (offset: Int, kind: UInt8, content: [UInt8])? {
    var offset = start
    while offset + Self.frameByteCount <= end {
      if let entry = entry(page, number, at: offset) { return (offset, entry.kind, entry.content) }
      offset += 1
    }
    return nil
  }

  private mutating func remember(_ place: Place) {
    values.removeAll { $0.key == place.key }
    values.append(place)
  }

  /// The entry at a place, or `nil` if there is no whole one.
  private func entry(_ page: Int, _ number: UInt32, at offset: Int) -> (kind: UInt8, content: [UInt8])? {
    guard offset + Self.frameByteCount <= memory.pageByteCount else { return nil }
    let head = memory.read(page: page, at: offset, count: 3)
    let count = Int(head[1]) << 8 | Int(head[2])
    guard head[0] != Self.blank, offset + Self.frameByteCount + count <= memory.pageByteCount else { return nil }
    var sum = Self.sum(in: number)
    sum.add(head)
    for start in stride(from: 0, to: count, by: Self.readByteCount) {
      sum.add(memory.read(page: page, at: offset + 3 + start, count: min(Self.readByteCount, count - start)))
    }
    guard memory.read(page: page, at: offset + 3 + count, count: 4) == Self.bytes(sum.value) else { return nil }
    return (head[0], memory.read(page: page, at: offset + 3, count: count))
  }

  private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
    [kind, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
  }

  /// The check sum begins with the page's number. So an old entry that an erased page's cells may still show is not
  /// taken for a new one.
  private static func sum(in number: UInt32) -> CheckSum {
    var sum = CheckSum()
    sum.add(bytes(number))
    return sum
  }

  private static func bytes(_ number: UInt32) -> [UInt8] {
    [
      UInt8(truncatingIfNeeded: number >> 24), UInt8(truncatingIfNeeded: number >> 16),
      UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number),
    ]
  }

  private static func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  private func isBlank(_ page: Int) -> Bool {
    usedEnd(page) == 0
  }
}
