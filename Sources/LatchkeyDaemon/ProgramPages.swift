import Glibc

/// Gives back memory pages of the program's code that were needed until now and will not be needed for a long time:
/// those of the start (arguments, the store, what the dynamic linker and Swift's runtime read), and those of an app's
/// time awake. latchkeyd then rests, perhaps for days (`LoopThread`), and its little work in that time needs few of
/// these pages.
///
/// The pages are unchanged pages of the program's files. A page that is used again is mapped again from the page cache.
package enum ProgramPages {
  /// Gives the pages back now.
  package static func giveBack() {
    for range in code() { madvise(range.baseAddress, range.count, MADV_DONTNEED) }
  }

  /// The mappings that hold code. Nothing is ever written to them, so nothing is lost. (The linker has written to others that
  /// can only be read now.)
  private static func code() -> [UnsafeMutableRawBufferPointer] {
    guard let file = fopen("/proc/self/maps", "re") else { return [] }
    defer { fclose(file) }
    var ranges: [UnsafeMutableRawBufferPointer] = []
    var line: UnsafeMutablePointer<CChar>?
    var room = 0
    defer { free(line) }
    while getline(&line, &room, file) > 0, let text = line.map({ String(cString: $0) }) {
      // 55bc6e782000-55bc706d5000 r-xp 00000000 fe:00 1234  /usr/libexec/latchkey/latchkeyd
      let fields = text.split(whereSeparator: { $0 == " " || $0 == "\n" })
      guard fields.count >= 6, fields[1] == "r-xp", fields[5].hasPrefix("/") else { continue }
      let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      guard ends.count == 2, ends[0] < ends[1] else { continue }
      let start = UnsafeMutableRawPointer(bitPattern: ends[0])
      ranges.append(UnsafeMutableRawBufferPointer(start: start, count: Int(ends[1] - ends[0])))
    }
    return ranges
  }
}
