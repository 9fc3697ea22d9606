import AppLink
import Foundation

/// A remote device.
open class CBPeer: CoreBluetoothObject, NSCopying, @unchecked Sendable {
  /// The device's identifier: the same for every app of this machine, across restarts and reboots.
  public var identifier: UUID { peer.rawValue }
  let peer: PeerIdentifier

  init(_ peer: PeerIdentifier) { self.peer = peer }

  open func copy(with zone: NSZone? = nil) -> Any { self }

  override func property(_ name: String) -> Property? {
    switch name {
    case "identifier": Property(identifier as NSUUID)
    default: super.property(name)
    }
  }

  open override var hash: Int { peer.hashValue }

  /// Two objects for one remote device in one role are equal, even if they come from different managers.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CBPeer else { return false }
    return other === self || (other.peer == peer && type(of: other) == type(of: self))
  }
}
