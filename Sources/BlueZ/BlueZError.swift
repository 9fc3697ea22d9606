import BluetoothTypes
import BusValue

/// A D-Bus error from bluetoothd, or from a client's object.
package struct BlueZError: Error, Sendable, Hashable, CustomStringConvertible {
  package var name: String
  package var message: String
  package init(name: String, message: String) {
    self.name = name
    self.message = message
  }
  package var description: String { message.isEmpty ? name : "\(name): \(message)" }

  /// The kind of error, by its name. `message` is the text for people.
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    case failed = "org.bluez.Error.Failed"
    case inProgress = "org.bluez.Error.InProgress"
    case notReady = "org.bluez.Error.NotReady"
    case notConnected = "org.bluez.Error.NotConnected"
    case notSupported = "org.bluez.Error.NotSupported"
    case notPermitted = "org.bluez.Error.NotPermitted"
    case notAuthorized = "org.bluez.Error.NotAuthorized"
    case invalidArguments = "org.bluez.Error.InvalidArguments"
    case invalidOffset = "org.bluez.Error.InvalidOffset"
    case invalidValueLength = "org.bluez.Error.InvalidValueLength"
    case alreadyExists = "org.bluez.Error.AlreadyExists"
    case doesNotExist = "org.bluez.Error.DoesNotExist"
    case alreadyConnected = "org.bluez.Error.AlreadyConnected"
    case authenticationFailed = "org.bluez.Error.AuthenticationFailed"
    case authenticationRejected = "org.bluez.Error.AuthenticationRejected"
    case authenticationCanceled = "org.bluez.Error.AuthenticationCanceled"
    case authenticationTimeout = "org.bluez.Error.AuthenticationTimeout"
    case rejected = "org.bluez.Error.Rejected"
    case canceled = "org.bluez.Error.Canceled"
    /// rfkill blocks the adapter.
    case blocked = "org.bluez.Error.Blocked"
    case unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
    case unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    case unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
    case invalidArgs = "org.freedesktop.DBus.Error.InvalidArgs"
    case noReply = "org.freedesktop.DBus.Error.NoReply"
  }

  /// `nil` for a name that this version of Latchkey does not know.
  package var kind: Kind? { Kind(rawValue: name) }

  package init(_ kind: Kind, _ message: String) { self.init(name: kind.rawValue, message: message) }

  private static func bluez(_ kind: Kind, _ message: String) -> BlueZError { BlueZError(kind, message) }
  package static func failed(_ message: String) -> BlueZError { bluez(.failed, message) }
  package static let inProgress = bluez(.inProgress, "In Progress")
  /// The same name, with the text of Adapter1.StartDiscovery.
  package static let busy = bluez(.inProgress, "Operation already in progress")
  package static let notReady = bluez(.notReady, "Resource Not Ready")
  package static let notConnected = bluez(.notConnected, "Not Connected")
  package static let notSupported = bluez(.notSupported, "Operation is not supported")
  package static func notPermitted(_ message: String) -> BlueZError { bluez(.notPermitted, message) }
  package static let notAuthorized = bluez(.notAuthorized, "Operation Not Authorized")
  package static func invalidArguments(_ message: String) -> BlueZError { bluez(.invalidArguments, message) }
  package static let alreadyExists = bluez(.alreadyExists, "Already Exists")
  package static let doesNotExist = bluez(.doesNotExist, "Does Not Exist")
  package static let alreadyConnected = bluez(.alreadyConnected, "Already Connected")
  package static func authenticationFailed(_ message: String) -> BlueZError { bluez(.authenticationFailed, message) }
  package static let authenticationRejected = bluez(.authenticationRejected, "Authentication Rejected")
  package static let authenticationCanceled = bluez(.authenticationCanceled, "Authentication Canceled")
  package static let authenticationTimeout = bluez(.authenticationTimeout, "Authentication Timeout")
  package static let rejected = bluez(.rejected, "Rejected")
  package static let canceled = bluez(.canceled, "Canceled")
  /// bluetoothd's text for a peer's ATT error that has no D-Bus error of its own (src/gatt-client.c).
  package static func attError(_ error: ATTError) -> BlueZError {
    failed("Operation failed with " + attMarker + (error.rawValue < 16 ? "0" : "") + String(error.rawValue, radix: 16))
  }
  package static func unknownObject(_ path: ObjectPath) -> BlueZError {
    BlueZError(.unknownObject, "Unknown object '\(path)'")
  }
  package static func unknownMethod(_ message: String) -> BlueZError {
    BlueZError(.unknownMethod, message)
  }

  private static let attMarker = "ATT error: 0x"

  /// The peer's ATT error in bluetoothd's text, or `nil` if the text contains none.
  package var attError: ATTError? {
    guard message.contains(Self.attMarker), let last = message.split(separator: "x").last else { return nil }
    return UInt8(last.prefix(2), radix: 16).map(ATTError.init(rawValue:))
  }
}
