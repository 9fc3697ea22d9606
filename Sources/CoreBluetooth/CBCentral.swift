import AppLink
import BluetoothTypes
import Foundation

/// A remote central that is connected to a peripheral of this app.
open class CBCentral: CBPeer, @unchecked Sendable {
  private var maximumLength: Int

  init(_ snapshot: CentralSnapshot) {
    maximumLength = snapshot.maximumUpdateValueLength
    super.init(snapshot.identifier)
  }

  /// The number of bytes that fit in one notification or indication. It is 20 until the MTU of a link with the central
  /// is known, from the central's first request or from its own attributes. On a later link, the MTU of the last link
  /// counts until that of the present one is known.
  open var maximumUpdateValueLength: Int { locked { maximumLength } }

  func update(_ snapshot: CentralSnapshot) { locked { maximumLength = snapshot.maximumUpdateValueLength } }

  func update(mtu: Int) { locked { maximumLength = ATTLimits.updateLength(mtu: mtu) } }

  override func property(_ name: String) -> Property? {
    switch name {
    case "maximumUpdateValueLength": Property(maximumUpdateValueLength)
    default: super.property(name)
    }
  }

  open override var description: String {
    "<CBCentral: identifier = \(identifier), maximumUpdateValueLength = \(maximumUpdateValueLength)>"
  }
}
