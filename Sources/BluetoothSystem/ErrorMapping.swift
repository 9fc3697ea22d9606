import AppLink
import BlueZ
import BluetoothTypes

/// The errors that apps are told: the system's own, and the translation of each of bluetoothd's.
extension PeerError {
  /// The link ended (`CBError.peripheralDisconnected`).
  static let peripheralGone = PeerError.coreBluetooth(
    .peripheralDisconnected, message: "The specified device has disconnected from us.")
  static let notConnected = PeerError.coreBluetooth(.notConnected, message: "The peripheral is not connected.")
  static func limit(_ what: String) -> PeerError { .coreBluetooth(.outOfSpace, message: what) }

  /// Why a link ended that the app did not end. Where bluetoothd gives no reason, a lost link is by far the most frequent.
  /// - Parameter reason: `org.bluez.Reason.*`
  init(endOfLink reason: String?) {
    switch reason {
    case "org.bluez.Reason.Remote", "org.bluez.Reason.Local": self = .peripheralGone
    default: self = .coreBluetooth(.connectionTimeout, message: "The connection has timed out unexpectedly.")
    }
  }

  /// Translates bluetoothd's error for an app.
  init(_ error: BlueZError, reading: Bool) {
    if let code = error.attError {
      self = .att(code)
      return
    }
    switch error.kind {
    case .notPermitted where error.message.contains("paired"): self = .att(.insufficientEncryption)
    case .notPermitted: self = .att(reading ? .readNotPermitted : .writeNotPermitted)
    case .notAuthorized: self = .att(.insufficientAuthorization)
    case .invalidValueLength: self = .att(.invalidAttributeValueLength)
    case .invalidArguments where error.message.contains("Length"): self = .att(.invalidAttributeValueLength)
    case .invalidOffset: self = .att(.invalidOffset)
    case .invalidArguments where error.message.contains("offset"): self = .att(.invalidOffset)
    case .invalidArguments: self = .coreBluetooth(.invalidParameters, message: error.description)
    case .notSupported: self = .att(.requestNotSupported)
    case .notConnected: self = .notConnected
    case .unknownObject, .unknownMethod: self = .att(.invalidHandle)
    default: self = .coreBluetooth(.unknown, message: error.description)
    }
  }
}
