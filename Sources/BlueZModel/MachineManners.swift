import BlueZ
import BluetoothTypes
import Radio

/// How a test makes a machine behave. bluetoothd knows nothing of it, and its restarts do not change it.
package struct MachineManners: Sendable, Hashable {
  package enum Access: Sendable, Hashable { case read, write, subscribe }

  package struct Attribute: Sendable, Hashable {
    package var uuid: BluetoothUUID
    package var access: Access
    package init(_ uuid: BluetoothUUID, _ access: Access) { (self.uuid, self.access) = (uuid, access) }
  }

  package var radio = Manners()
  /// Whether the peers can read the signal strength of the links with this machine.
  package var isMeasured = true
  /// Whether the machine accepts a peer's request to pair.
  package var pairs = true
  /// The most bytes of one message of the attribute protocol (the MTU), on links that come up from now on.
  package var mtu = ATTLimits.maximumMTU
  /// The error with which an access to an application's attribute ends, before anybody is asked.
  package var attributeErrors: [Attribute: ATTError] = [:]
  package init() {}
}

extension BlueZModel {
  /// The error that a test has chosen for this access, or `nil`.
  /// - Parameter attribute: an application's attribute. A Client Characteristic Configuration stands for its
  ///   characteristic's value.
  func chosenError(_ attribute: LocalAttribute, _ access: MachineManners.Access) -> ATTError? {
    guard !manners.attributeErrors.isEmpty else { return nil }
    switch attribute.source {
    case .application: return manners.attributeErrors[.init(attribute.type, access)]
    case .configuration(let value):
      guard let value = server.database.attribute(value) else { return nil }
      return manners.attributeErrors[.init(value.type, .subscribe)]
    default: return nil
    }
  }
}
