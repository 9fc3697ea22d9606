import Foundation

/// A remote device.
open class CBPeer: NSObject, NSCopying, @unchecked Sendable {
  /// The same for every app of this machine, across restarts and reboots.
  public let identifier: UUID
  var formatText: NSString?

  init(identifier: UUID) { self.identifier = identifier }

  open func copy(with zone: NSZone? = nil) -> Any { self }

  open override var hash: Int { identifier.hashValue }

  /// Two objects for one remote device in one role are equal, also if they come from different managers.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CBPeer else { return false }
    return other === self || (other.identifier == identifier && type(of: other) == type(of: self))
  }
}
