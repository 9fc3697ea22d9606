import Foundation

/// Answers "does the delegate implement this optional method?".
///
/// Swift has no optional requirements outside Objective-C: an optional method is a requirement with a default
/// body. So the question can only be answered by calling: the default body notes that it ran.
final class DelegateCall: @unchecked Sendable {
  @TaskLocal private static var current: DelegateCall?
  /// Written and read on the one thread that makes the call.
  private var defaultBodyRan = false

  /// Calls an optional method. Returns whether the delegate has it.
  static func reachesDelegate(_ call: () -> Void) -> Bool {
    let note = DelegateCall()
    $current.withValue(note) { call() }
    return !note.defaultBodyRan
  }

  /// What every default body says.
  static func noteDefaultBody() { current?.defaultBodyRan = true }
}
