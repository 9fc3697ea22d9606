import Foundation

/// Finds out whether the delegate implements an optional method.
///
/// Swift has no optional requirements outside Objective-C: an optional method is a requirement with a default body.
/// So the only way to find out is to call it: the default body notes that it ran.
final class DelegateCall: @unchecked Sendable {
  @TaskLocal private static var current: DelegateCall?
  /// Written and read only on the thread that makes the call.
  private var defaultBodyRan = false

  /// Calls an optional method. Returns whether the delegate has it.
  static func reachesDelegate(_ call: () -> Void) -> Bool {
    let note = DelegateCall()
    $current.withValue(note) { call() }
    return !note.defaultBodyRan
  }

  /// Called by every default body.
  static func noteDefaultBody() { current?.defaultBodyRan = true }
}
