import Glibc

/// An error on a bus: a D-Bus error from a peer or the bus itself, or a local one with a name of this module.
package struct BusError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A D-Bus error name, such as `org.freedesktop.DBus.Error.UnknownMethod`.
  package var name: String
  package var message: String

  package init(name: String, message: String) {
    self.name = name
    self.message = message
  }

  package var description: String { message.isEmpty ? name : "\(name): \(message)" }

  /// Names of errors: the standard ones of D-Bus and those of this module.
  package enum Name {
    package static let failed = "org.freedesktop.DBus.Error.Failed"
    package static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
    package static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
    package static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    package static let nameHasNoOwner = "org.freedesktop.DBus.Error.NameHasNoOwner"
    package static let noReply = "org.freedesktop.DBus.Error.NoReply"
    package static let noServer = "org.freedesktop.DBus.Error.NoServer"
    package static let propertyReadOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
    package static let serviceUnknown = "org.freedesktop.DBus.Error.ServiceUnknown"
    package static let unknownInterface = "org.freedesktop.DBus.Error.UnknownInterface"
    package static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    package static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
    package static let unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
    /// Local: the connection to the bus has ended.
    package static let disconnected = "org.freedesktop.DBus.Error.Disconnected"
    /// Local: another connection owns the requested name.
    package static let nameTaken = "org.latchkey.Error.NameTaken"
  }

  /// The error of every call that is open when the connection ends, and of every later one.
  package static let disconnected = BusError(name: Name.disconnected, message: "the connection to the bus has ended")

  package static func invalidArguments(_ message: String) -> BusError {
    BusError(name: Name.invalidArguments, message: message)
  }

  /// In the words that D-Bus implementations use.
  package static func unknownMethod(_ call: IncomingCall) -> BusError {
    BusError(
      name: Name.unknownMethod,
      message: "Method \"\(call.member)\" with signature \"\(call.signature)\" on interface "
        + "\"\(call.interface ?? "(null)")\" doesn't exist")
  }

  package static func unknownObject(_ call: IncomingCall) -> BusError {
    BusError(name: Name.unknownObject, message: "Unknown object '\(call.path)'")
  }

  /// For a negative errno, as sd-bus returns it.
  static func system(_ result: Int32, _ what: String) -> BusError {
    switch -result {
    case ECONNRESET, ENOTCONN, ECONNABORTED, ESHUTDOWN, EPIPE: disconnected
    case ENOBUFS: BusError(name: Name.limitsExceeded, message: "\(what): too much is waiting to be sent")
    default: BusError(name: Name.failed, message: "\(what): \(String(cString: strerror(-result)))")
    }
  }
}

/// Throws if sd-bus returned a negative errno.
@discardableResult
func check(_ result: Int32, _ what: String) throws(BusError) -> Int32 {
  guard result >= 0 else { throw .system(result, what) }
  return result
}
