import AppLink
import Foundation
import Synchronization
import Timekeeping

/// Draws the identifiers of published attributes, in the form of UUID version 7 (RFC 9562, section 5.7): in this process a later
/// one is greater, and from launch to launch as well unless the clock is set back.
///
/// The system sorts an app's services by their identifiers. So they are published, and removed, in the order in which the app
/// made them, also after a relaunch.
enum AttributeIdentifiers {
  /// Milliseconds since 1970, then 12 bits that count within one (method 1 of section 6.2).
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
    // What is left is random, and has the variant of version 4 already, which is the same.
    return LocalAttributeIdentifier(UUID(uuid: bytes))
  }

  private static func byte(_ count: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: count) }

  private static var milliseconds: UInt64 {
    let seconds = (try? ProcessClock.fromEnvironment())?.unixSeconds ?? Date().timeIntervalSince1970
    return UInt64(clamping: Int64(max(0, min(seconds, 1e11)) * 1000)) & 0xFFFF_FFFF_FFFF
  }
}
