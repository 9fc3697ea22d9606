import BluetoothTypes
import BusValue

/// What bluetoothd says to a client.
public enum DaemonMessage: Sendable, Hashable {
  /// bluetoothd is on the bus; these are its objects. Comes first, and again after every `vanished`.
  /// (The client's carrier makes it of NameOwnerChanged and GetManagedObjects.)
  case appeared(ManagedObjects)
  /// bluetoothd left the bus. Every call still open has failed and gets no reply.
  case vanished
  case reply(CallIdentifier, Result<Reply, BlueZError>)
  case signal(Signal)
  /// A call to an object that the client exports; the client answers once.
  case callback(CallbackIdentifier, path: ObjectPath, Callback)
}

/// What a successful call returns.
public enum Reply: Sendable, Hashable {
  case none
  case bytes([UInt8])
  case value(Value)
  case properties(Properties)
  case objects(ManagedObjects)
  case strings([String])
  /// In dBm.
  case rssi(Int8)
  /// AcquireNotify and AcquireWrite.
  case channel(fileDescriptor: Int32, mtu: UInt16)
}

/// A signal of bluetoothd's objects.
public enum Signal: Sendable, Hashable {
  case interfacesAdded(path: ObjectPath, Interfaces)
  case interfacesRemoved(path: ObjectPath, [String])
  case propertiesChanged(path: ObjectPath, interface: String, changed: Properties, invalidated: [String])
  /// Device1.Disconnected: why a link ended, `org.bluez.Reason.*` (doc/org.bluez.Device.rst; later than BlueZ 5.82).
  case disconnected(path: ObjectPath, reason: String, message: String)
}

/// A method that bluetoothd calls on a client's object.
public enum Callback: Sendable, Hashable {
  // GattCharacteristic1, GattDescriptor1
  case readValue(RemoteRequest)
  case writeValue([UInt8], RemoteRequest)
  case startNotify
  case stopNotify
  case confirm
  /// Asks for a socket in place of signals, and in place of WriteValue.
  case acquireNotify(RemoteRequest)
  case acquireWrite(RemoteRequest)

  /// AdvertisementMonitor1
  case monitor(MonitorCall)

  /// GattProfile1, LEAdvertisement1, AdvertisementMonitor1 and Agent1 each have it: bluetoothd has dropped the object.
  case release(interface: String)

  // Agent1
  case requestPinCode(device: ObjectPath)
  case requestPasskey(device: ObjectPath)
  case displayPasskey(device: ObjectPath, passkey: UInt32, entered: UInt16)
  case requestConfirmation(device: ObjectPath, passkey: UInt32)
  case requestAuthorization(device: ObjectPath)
  case authorizeService(device: ObjectPath, uuid: BluetoothUUID)
  case cancel
}

/// What an AdvertisementMonitor1 is told, beside its end.
public enum MonitorCall: Sendable, Hashable {
  /// From now on advertisements are compared.
  case activate
  case deviceFound(ObjectPath)
  case deviceLost(ObjectPath)
}

/// The options bluetoothd passes with a read or a write: who asks, over what.
public struct RemoteRequest: Sendable, Hashable {
  public var device: ObjectPath
  public var offset: UInt16
  public var mtu: UInt16
  /// `command` for Write Without Response, `request` else; `nil` for a read.
  public var kind: WriteOptions.Kind?
  /// A question before a write in pieces (`prepare-authorize`): the value comes whole later, or never.
  public var isPreparation = false
  public init(device: ObjectPath, offset: UInt16 = 0, mtu: UInt16, kind: WriteOptions.Kind? = nil) {
    self.device = device
    self.offset = offset
    self.mtu = mtu
    self.kind = kind
  }
}

/// What a client's object returns.
public enum CallbackReply: Sendable, Hashable {
  case none
  case bytes([UInt8])
  case pinCode(String)
  case passkey(UInt32)
  /// The other end of the socket that the client keeps. Whoever takes it owns the descriptor.
  case channel(fileDescriptor: Int32, mtu: UInt16)
}

/// A D-Bus error of bluetoothd's, or of a client's object.
public struct BlueZError: Error, Sendable, Hashable, CustomStringConvertible {
  public var name: String
  public var message: String
  public init(name: String, message: String) {
    self.name = name
    self.message = message
  }
  public var description: String { message.isEmpty ? name : "\(name): \(message)" }

  private static func bluez(_ kind: String, _ message: String) -> BlueZError {
    BlueZError(name: "org.bluez.Error." + kind, message: message)
  }
  public static func failed(_ message: String) -> BlueZError { bluez("Failed", message) }
  public static let inProgress = bluez("InProgress", "In Progress")
  /// The same by name, in the words of Adapter1.StartDiscovery.
  public static let busy = bluez("InProgress", "Operation already in progress")
  public static let notReady = bluez("NotReady", "Resource Not Ready")
  public static let notConnected = bluez("NotConnected", "Not Connected")
  public static let notSupported = bluez("NotSupported", "Operation is not supported")
  public static func notPermitted(_ message: String) -> BlueZError { bluez("NotPermitted", message) }
  public static let notAuthorized = bluez("NotAuthorized", "Operation Not Authorized")
  public static func invalidArguments(_ message: String) -> BlueZError { bluez("InvalidArguments", message) }
  public static let alreadyExists = bluez("AlreadyExists", "Already Exists")
  public static let doesNotExist = bluez("DoesNotExist", "Does Not Exist")
  public static let alreadyConnected = bluez("AlreadyConnected", "Already Connected")
  public static func authenticationFailed(_ message: String) -> BlueZError { bluez("AuthenticationFailed", message) }
  public static let authenticationRejected = bluez("AuthenticationRejected", "Authentication Rejected")
  public static let authenticationCanceled = bluez("AuthenticationCanceled", "Authentication Canceled")
  public static let rejected = bluez("Rejected", "Rejected")
  public static let canceled = bluez("Canceled", "Canceled")
  /// bluetoothd's text for a peer's ATT error that has no D-Bus error of its own (src/gatt-client.c).
  public static func attError(_ error: ATTError) -> BlueZError {
    failed("Operation failed with ATT error: 0x" + (error.rawValue < 16 ? "0" : "") + String(error.rawValue, radix: 16))
  }
  public static func unknownObject(_ path: ObjectPath) -> BlueZError {
    BlueZError(
      name: "org.freedesktop.DBus.Error.UnknownObject", message: "Unknown object '\(path)'")
  }
  public static func unknownMethod(_ message: String) -> BlueZError {
    BlueZError(name: "org.freedesktop.DBus.Error.UnknownMethod", message: message)
  }
}
