import Foundation

/// Finds out whether the delegate implements an optional method.
///
/// Swift has no optional requirements outside Objective-C: an optional method is a requirement with a default body.
/// So the only way to find out is to call it: the default body notes that it ran.
final class DelegateCall: @unchecked Sendable {
  @TaskLocal private static var current: DelegateCall?
  private let delegate: AnyObject
  /// Written and read only on the thread that makes the call.
  private var defaultBodyRan = false

  private init(_ delegate: AnyObject) { self.delegate = delegate }

  /// Calls an optional method. Returns whether the delegate has it. A delegate that forwards the call counts as having
  /// the method, even if the object that it forwards to does not have it.
  static func reaches(_ delegate: AnyObject, _ call: () -> Void) -> Bool {
    let note = DelegateCall(delegate)
    $current.withValue(note) { call() }
    return !note.defaultBodyRan
  }

  /// Called by every default body, with the object that lacks the method.
  static func noteDefaultBody(of delegate: AnyObject, _ method: String, conforms: (AnyClass) -> Bool) {
    if let note = current, note.delegate === delegate { note.defaultBodyRan = true }
    guard let declaring = declaringClass(of: delegate, conforms: conforms) else { return }
    let subclass: AnyClass = type(of: delegate)
    guard locked({ hinted.insert("\(ObjectIdentifier(subclass)) \(method)").inserted }) else { return }
    AppSession.active.logger.warning(
      """
      \(method) is not in \(declaring), from which \(subclass) has its conformance. If \(subclass) declares it, it is not \
      called: without the Objective-C runtime, only what the conforming class declares, and what overrides that, is. Declare it in \
      \(declaring) as well
      """)
  }

  /// The class above the delegate's own that declares the conformance; `nil` if the delegate's own does.
  private static func declaringClass(of delegate: AnyObject, conforms: (AnyClass) -> Bool) -> AnyClass? {
    var found: AnyClass?
    while let above = _getSuperclass(found ?? type(of: delegate)), conforms(above) { found = above }
    return found
  }

  /// The hints that have been logged, one for each method of each class. There are only as many as the app's classes
  /// allow.
  nonisolated(unsafe) private static var hinted: Set<String> = []
}
