/// Messages of a conversation, cut so that each piece fits into one ATT value, whatever the link's MTU.
///
/// A fragment is the conversation's tag (one byte), a header (one byte: bit 7 is set in the last fragment, bit 6 in the
/// first; bits 0 to 5 count the fragments from 0, and go on with 0 after 63), and then at least one byte of the message.
/// With the smallest MTU a value has 20 bytes, of which 18 are the message's.
package enum Fragments {
  /// The longest message, in bytes.
  package static let maximumMessageByteCount = 4096
  /// The bytes of a fragment before the message's own.
  package static let headerByteCount = 2
  /// The length of a value that every link can carry, in bytes.
  package static let smallestValueByteCount = 20
  /// The longest value that an attribute can have, in bytes.
  static let longestValueByteCount = 512
  static let lastMark: UInt8 = 0x80
  static let firstMark: UInt8 = 0x40
  static let numberMask: UInt8 = 0x3F

  /// Cuts a message into values of at most `valueByteCount` bytes, but not less than the 20 bytes that every link
  /// carries.
  package static func cut(_ message: [UInt8], tag: UInt8, valueByteCount: Int) -> [[UInt8]] {
    let room = min(max(valueByteCount, smallestValueByteCount), longestValueByteCount) - headerByteCount
    var fragments: [[UInt8]] = []
    var position = 0
    repeat {
      let end = min(position + room, message.count)
      var header = UInt8(truncatingIfNeeded: fragments.count) & numberMask
      if position == 0 { header |= firstMark }
      if end == message.count { header |= lastMark }
      fragments.append([tag, header] + message[position..<end])
      position = end
    } while position < message.count
    return fragments
  }
}

/// Puts the fragments of one conversation together again. Fragments arrive in order, or the message is lost.
package struct FragmentReader: Sendable {
  private var message: [UInt8] = []
  private var next: UInt8 = 0
  private let limit: Int
  /// Whether the latest fragment made its message too long.
  package private(set) var wasTooLong = false

  /// - Parameter limit: the longest message, in bytes.
  package init(limit: Int = Fragments.maximumMessageByteCount) {
    self.limit = min(limit, Fragments.maximumMessageByteCount)
  }

  /// How many bytes of an incomplete message have arrived.
  package var begunByteCount: Int { message.count }

  /// Drops an incomplete message.
  package mutating func drop() { message = [] }

  /// Takes a fragment. Returns the message if this was its last one.
  ///
  /// A first fragment begins a message, whatever came before it. One that does not follow the one before it ends the
  /// message that had begun.
  package mutating func take(_ fragment: [UInt8]) -> [UInt8]? {
    wasTooLong = false
    guard fragment.count > Fragments.headerByteCount else {
      message = []
      return nil
    }
    let header = fragment[1]
    if header & Fragments.firstMark != 0 {
      message = []
      next = 0
    } else if message.isEmpty {
      return nil
    }
    guard header & Fragments.numberMask == next else {
      message = []
      return nil
    }
    guard message.count + fragment.count - Fragments.headerByteCount <= limit else {
      message = []
      wasTooLong = true
      return nil
    }
    message += fragment[Fragments.headerByteCount...]
    next = (next + 1) & Fragments.numberMask
    guard header & Fragments.lastMark != 0 else { return nil }
    defer { message = [] }
    return message
  }
}
