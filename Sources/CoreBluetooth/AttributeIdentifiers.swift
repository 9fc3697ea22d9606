import AppLink
import Foundation
import Synchronization
import Timekeeping

/// Makes the identifiers of published attributes, in the form of UUID version 7 (RFC 9562, section 5.7). Each is
/// greater than the ones made before, in this process and in earlier launches, unless the clock was set back.
///
/// The system sorts an app's services by their identifiers. So it publishes and removes them in the order in which the
/// app made them, also after a relaunch.
enum AttributeIdentifiers {
  /// The last count: milliseconds since 1970, then 12 bits that count within one millisecond (method 1 of section 6.2).
  private static let last = Mutex<UInt64>(0)

  static func next() -> LocalAttributeIdentifier {
    let count = last.withLock { last in
      last = max(last &+ 1, milliseconds << 12)
      return last
    }
    var bytes = UUID().uuid
    (bytes.0, bytes.1, bytes.2) = (byte(count >> 52), byte(count >> 44), byte(count >> 36))
    (bytes.3, bytes.4, bytes.5) = (byte(count >> 28), byte(count >> 20), byte(count >> 12))
    (bytes.6, bytes.7) = (0x70 | byte(count >> 8) & 0x0F, byte(count))
    // The other bytes stay random. They already have the right variant, which versions 4 and 7 share.
    return LocalAttributeIdentifier(UUID(uuid: bytes))
  }

  private static func byte(_ count: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: count) }

  private static var milliseconds: UInt64 {
    let seconds = (try? ProcessClock.fromEnvironment())?.unixSeconds ?? Date().timeIntervalSince1970
    return UInt64(clamping: Int64(max(0, min(seconds, 1e11)) * 1000)) & 0xFFFF_FFFF_FFFF
  }
}
