import BlueZ
import BluetoothTypes
import Radio

/// What a test makes of a machine. Nothing of it is in bluetoothd, or ends with it.
package struct MachineManners: Sendable, Hashable {
  package enum Access: Sendable, Hashable { case read, write, subscribe }

  package struct Attribute: Sendable, Hashable {
    package var uuid: BluetoothUUID
    package var access: Access
    package init(_ uuid: BluetoothUUID, _ access: Access) { (self.uuid, self.access) = (uuid, access) }
  }

  package var radio = Manners()
  /// Whether its peers can read how strong its links are.
  package var isMeasured = true
  /// Whether it pairs with who asks for it.
  package var pairs = true
  /// The most bytes of an attribute's message on links that come up from now on.
  package var mtu = ATTLimits.maximumMTU
  /// With which error an access to one of its applications' attributes ends, before anybody is asked.
  package var attributeErrors: [Attribute: ATTError] = [:]
  package init() {}
}

extension BlueZModel {
  /// - Parameter attribute: of an application. A configuration stands for its characteristic's value.
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
