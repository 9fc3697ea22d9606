import BluetoothTypes
import BusValue

/// A D-Bus error from bluetoothd, or from a client's object.
public struct BlueZError: Error, Sendable, Hashable, CustomStringConvertible {
  public var name: String
  public var message: String
  public init(name: String, message: String) {
    self.name = name
    self.message = message
  }
  public var description: String { message.isEmpty ? name : "\(name): \(message)" }

  /// The kind of error, by its name. `message` is the text for people.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
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
  public var kind: Kind? { Kind(rawValue: name) }

  public init(_ kind: Kind, _ message: String) { self.init(name: kind.rawValue, message: message) }

  private static func bluez(_ kind: Kind, _ message: String) -> BlueZError { BlueZError(kind, message) }
  public static func failed(_ message: String) -> BlueZError { bluez(.failed, message) }
  public static let inProgress = bluez(.inProgress, "In Progress")
  /// The same name, with the text of Adapter1.StartDiscovery.
  public static let busy = bluez(.inProgress, "Operation already in progress")
  public static let notReady = bluez(.notReady, "Resource Not Ready")
  public static let notConnected = bluez(.notConnected, "Not Connected")
  public static let notSupported = bluez(.notSupported, "Operation is not supported")
  public static func notPermitted(_ message: String) -> BlueZError { bluez(.notPermitted, message) }
  public static let notAuthorized = bluez(.notAuthorized, "Operation Not Authorized")
  public static func invalidArguments(_ message: String) -> BlueZError { bluez(.invalidArguments, message) }
  public static let alreadyExists = bluez(.alreadyExists, "Already Exists")
  public static let doesNotExist = bluez(.doesNotExist, "Does Not Exist")
  public static let alreadyConnected = bluez(.alreadyConnected, "Already Connected")
  public static func authenticationFailed(_ message: String) -> BlueZError { bluez(.authenticationFailed, message) }
  public static let authenticationRejected = bluez(.authenticationRejected, "Authentication Rejected")
  public static let authenticationCanceled = bluez(.authenticationCanceled, "Authentication Canceled")
  public static let rejected = bluez(.rejected, "Rejected")
  public static let canceled = bluez(.canceled, "Canceled")
  /// bluetoothd's text for a peer's ATT error that has no D-Bus error of its own (src/gatt-client.c).
  public static func attError(_ error: ATTError) -> BlueZError {
    failed("Operation failed with " + attMarker + (error.rawValue < 16 ? "0" : "") + String(error.rawValue, radix: 16))
  }
  public static func unknownObject(_ path: ObjectPath) -> BlueZError {
    BlueZError(.unknownObject, "Unknown object '\(path)'")
  }
  public static func unknownMethod(_ message: String) -> BlueZError {
    BlueZError(.unknownMethod, message)
  }

  private static let attMarker = "ATT error: 0x"

  /// The peer's ATT error in bluetoothd's text, or `nil` if the text contains none.
  public var attError: ATTError? {
    guard message.contains(Self.attMarker), let last = message.split(separator: "x").last else { return nil }
    return UInt8(last.prefix(2), radix: 16).map(ATTError.init(rawValue:))
  }
}
