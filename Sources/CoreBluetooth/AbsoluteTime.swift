// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import Timekeeping

/// The time now, in seconds since 2001-01-01 00:00:00 UTC: that of the clock by which `didDisconnectPeripheral` says when a link was
/// lost. In a story of `latchkey prove` it is the story's, like `Date()`; also where the app has `Date()` of the machine, because the library
/// that gives it the story's time is missing.
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime {
  // A program whose clock can't be reached has no link to the system either, and nothing to compare the time with.
  guard let clock = try? ProcessClock.fromEnvironment() else { return Date().timeIntervalSinceReferenceDate }
  return clock.unixSeconds - Date.timeIntervalBetween1970AndReferenceDate
}
