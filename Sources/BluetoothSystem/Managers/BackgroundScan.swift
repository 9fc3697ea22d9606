import TimeTypes

/// When the radio scans, while every app that scans is in the background: for a short window at the beginning of each
/// interval (B3).
///
/// A scan that finds nothing for long is one whose peripherals are not here: an app that waits at home for a device that
/// stays at work. Its windows come more seldom from then on, as the discovery of an iOS app in the background takes
/// longer (Core Bluetooth Programming Guide, "Core Bluetooth Background Processing for iOS Apps"). A day of such a scan
/// costs a third of the radio's time and of the wake-ups.
struct BackgroundScan: Sendable, Hashable {
  let window: Duration
  let interval: Duration
  /// How long the intervals stay short, from the beginning, or from the last find.
  let patience: Duration
  let laterInterval: Duration

  init(_ configuration: BluetoothSystem.Configuration) {
    window = configuration.backgroundScanWindow
    interval = configuration.backgroundScanInterval
    patience = configuration.backgroundScanPatience
    laterInterval = configuration.backgroundScanLaterInterval
  }

  func isInWindow(_ elapsed: Duration) -> Bool { into(elapsed) < window }

  /// The next beginning or end of a window, as a time from the beginning.
  func turn(after elapsed: Duration) -> Duration {
    let into = into(elapsed)
    let begun = elapsed - into
    guard into >= window else { return begun + window }
    guard elapsed < patience else { return begun + laterInterval }
    // The first long interval begins when the patience ends, in the middle of a short one if need be.
    return min(begun + interval, patience)
  }

  /// The beginning to count from after a find, or a new scan, at `now`. Short intervals keep their rhythm, so that the window in which
  /// something was found is not prolonged.
  func beginning(of began: Instant, at now: Instant) -> Instant {
    let elapsed = now - began
    return elapsed < patience ? began + (elapsed - into(elapsed)) : now
  }

  /// For how long the present interval has lasted.
  private func into(_ elapsed: Duration) -> Duration {
    let (since, length) = elapsed < patience ? (elapsed, interval) : (elapsed - patience, laterInterval)
    return .nanoseconds(since.wholeNanoseconds % length.wholeNanoseconds)
  }
}
