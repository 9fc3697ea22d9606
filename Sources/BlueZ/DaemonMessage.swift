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
