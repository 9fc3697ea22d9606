import Glibc

/// An error on a bus: a D-Bus error from a peer or the bus itself, or a local one with a name of this module.
public struct BusError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A D-Bus error name, such as `org.freedesktop.DBus.Error.UnknownMethod`.
  public var name: String
  public var message: String

  public init(name: String, message: String) {
    self.name = name
    self.message = message
  }

  public var description: String { message.isEmpty ? name : "\(name): \(message)" }

  /// Names of errors: the standard ones of D-Bus and those of this module.
  public enum Name {
    public static let failed = "org.freedesktop.DBus.Error.Failed"
    public static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
    public static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
    public static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    public static let nameHasNoOwner = "org.freedesktop.DBus.Error.NameHasNoOwner"
    public static let noReply = "org.freedesktop.DBus.Error.NoReply"
    public static let noServer = "org.freedesktop.DBus.Error.NoServer"
    public static let propertyReadOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
    public static let serviceUnknown = "org.freedesktop.DBus.Error.ServiceUnknown"
    public static let unknownInterface = "org.freedesktop.DBus.Error.UnknownInterface"
    public static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    public static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
    public static let unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
    /// Local: the connection to the bus has ended.
    public static let disconnected = "org.freedesktop.DBus.Error.Disconnected"
    /// Local: another connection owns the requested name.
    public static let nameTaken = "org.latchkey.Error.NameTaken"
  }

  /// The error of every call that is open when the connection ends, and of every later one.
  public static let disconnected = BusError(name: Name.disconnected, message: "the connection to the bus has ended")

  public static func invalidArguments(_ message: String) -> BusError {
    BusError(name: Name.invalidArguments, message: message)
  }

  /// In the words that D-Bus implementations use.
  public static func unknownMethod(_ call: IncomingCall) -> BusError {
    BusError(
      name: Name.unknownMethod,
      message: "Method \"\(call.member)\" with signature \"\(call.signature)\" on interface "
        + "\"\(call.interface ?? "(null)")\" doesn't exist")
  }

  public static func unknownObject(_ call: IncomingCall) -> BusError {
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
