/// A board's flash memory: pages that are erased as a whole, to ones, and programmed byte by byte, to zeros.
package protocol Flash {
  var pageCount: Int { get }
  /// The same for each page, in bytes.
  var pageByteCount: Int { get }
  /// Reads bytes of one page.
  func read(page: Int, at offset: Int, count: Int) -> [UInt8]
  /// Programs bytes of one page that were erased and not programmed since.
  /// - Throws: if they could not be programmed, or the power fails. Some of them may be.
  mutating func program(page: Int, at offset: Int, _ bytes: [UInt8]) throws(FlashError)
  /// Erases a page.
  /// - Throws: if it could not be erased, or the power fails. Some of it may be.
  mutating func erase(page: Int) throws(FlashError)
}

/// Why flash was not changed as it should be.
package enum FlashError: Error, Equatable, Sendable {
  /// The memory refuses, or does not read back as it was programmed.
  case failed
  case powerLost
}

/// CRC-32 (ISO-HDLC). It detects contents that were cut off or have decayed, but not forgery.
struct CheckSum {
  private var remainder: UInt32 = .max

  mutating func add(_ byte: UInt8) {
    remainder ^= UInt32(byte)
    // No table is used, because a kilobyte of flash is worth more here than time.
    for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
  }

  mutating func add(_ bytes: [UInt8]) { for byte in bytes { add(byte) } }

  var value: UInt32 { ~remainder }
}
