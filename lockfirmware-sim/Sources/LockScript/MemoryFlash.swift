import LockFirmware

/// Flash that is a piece of memory, and whose power can fail at any byte.
package struct MemoryFlash: Flash {
  package let pageCount: Int
  package let pageByteCount: Int
  private var bytes: [UInt8]
  /// How many more bytes can be programmed before the power fails; `nil` if it does not.
  package var budget: Int?
  /// How many more times something is programmed before one of these fails, with the power on; `nil` if none does.
  package var programsUntilFailure: Int?
  /// The power has failed: nothing changes any more until it is back.
  package private(set) var isDead = false
  /// Whether something was programmed that had not been erased, which real flash can't do.
  package private(set) var isMisused = false

  /// How many erased bytes count as one programmed byte in `budget`.
  private static var erasedAtOnce: Int { 16 }

  package init(pageCount: Int, pageByteCount: Int) {
    self.pageCount = pageCount
    self.pageByteCount = pageByteCount
    bytes = [UInt8](repeating: 0xFF, count: pageCount * pageByteCount)
  }

  /// The power is back.
  package mutating func revive() {
    isDead = false
    budget = nil
  }

  package func read(page: Int, at offset: Int, count: Int) -> [UInt8] {
    let start = page * pageByteCount + offset
    return Array(bytes[start..<start + count])
  }

  package mutating func program(page: Int, at offset: Int, _ new: [UInt8]) throws(FlashError) {
    var place = page * pageByteCount + offset
    if let left = programsUntilFailure {
      programsUntilFailure = left > 0 ? left - 1 : nil
      // A worn cell keeps its ones.
      if left == 0 { throw .failed }
    }
    for byte in new {
      guard spend() else {
        // The byte that was being programmed gets only some of its zeros.
        if !isDead { bytes[place] &= byte | 0x5A }
        isDead = true
        throw .powerLost
      }
      if bytes[place] != 0xFF { isMisused = true }
      bytes[place] &= byte
      place += 1
    }
  }

  package mutating func erase(page: Int) throws(FlashError) {
    for offset in 0..<pageByteCount {
      if offset % Self.erasedAtOnce == 0, !spend() {
        isDead = true
        throw .powerLost
      }
      bytes[page * pageByteCount + offset] = 0xFF
    }
  }

  private mutating func spend() -> Bool {
    if isDead { return false }
    guard let left = budget else { return true }
    budget = left - 1
    return left > 0
  }
}

extension FlashStore<MemoryFlash> {
  /// Lets the power fail after this many more bytes have been programmed.
  mutating func cutPower(after byteCount: Int) { withMemory { $0.budget = byteCount } }
}
