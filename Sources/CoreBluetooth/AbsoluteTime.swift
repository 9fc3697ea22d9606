// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import Timekeeping

/// The time now, in seconds since 2001-01-01 00:00:00 UTC, by the clock that also gives `didDisconnectPeripheral` its
/// timestamps. In a story of `latchkey prove` this is the story's time, as `Date()` is. It is so even if the library
/// that makes `Date()` follow the story is missing.
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime {
  // A program that can't reach the story's clock has no link to the system either, so it has no timestamps to compare.
  guard let clock = try? ProcessClock.fromEnvironment() else { return Date().timeIntervalSinceReferenceDate }
  return clock.unixSeconds - Date.timeIntervalBetween1970AndReferenceDate
}
