import AppLink
import Foundation

/// A read or a write of a remote central, to be answered with `CBPeripheralManager.respond(to:withResult:)`.
open class CBATTRequest: CoreBluetoothObject, @unchecked Sendable {
  let remoteIdentifier: RemoteRequestIdentifier
  let needsResponse: Bool
  let isRead: Bool
  var isAnswered = false
  private let requester: CBCentral
  private let subject: CBCharacteristic
  private let start: Int
  private var currentValue: Data?

  init(
    remoteIdentifier: RemoteRequestIdentifier, central: CBCentral, characteristic: CBCharacteristic, offset: Int,
    value: Data?, isRead: Bool, needsResponse: Bool
  ) {
    self.remoteIdentifier = remoteIdentifier
    self.needsResponse = needsResponse
    self.isRead = isRead
    requester = central
    subject = characteristic
    start = offset
    currentValue = value
  }

  open var central: CBCentral { requester }
  open var characteristic: CBCharacteristic { subject }
  /// The offset in the value at which the request begins, in bytes.
  open var offset: Int { start }
  /// The written value; for a read, the value that the app sets before it answers.
  open var value: Data? {
    get { locked { currentValue } }
    set { locked { currentValue = newValue } }
  }

  override func property(_ name: String) -> Property? {
    switch name {
    case "central": Property(central)
    case "characteristic": Property(characteristic)
    case "offset": Property(offset)
    case "value": Property(value)
    default: super.property(name)
    }
  }

  open override var description: String {
    "<CBATTRequest: central = \(requester.identifier), characteristic = \(subject.uuid.uuidString), "
      + "offset = \(start)>"
  }
}
