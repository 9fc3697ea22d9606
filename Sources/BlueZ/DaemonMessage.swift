import BluetoothTypes
import BusValue

/// What bluetoothd sends to a client.
package enum DaemonMessage: Sendable, Hashable {
  /// bluetoothd is on the bus, with these objects. Comes first, and again after every `vanished`. (The client's
  /// carrier derives it from NameOwnerChanged and GetManagedObjects.)
  case appeared(ManagedObjects)
  /// bluetoothd left the bus. Every open call has failed and gets no reply.
  case vanished
  case reply(CallIdentifier, Result<Reply, BlueZError>)
  case signal(Signal)
  /// A call to an object that the client exports. The client answers once.
  case callback(CallbackIdentifier, path: ObjectPath, Callback)
}

/// What a successful call returns.
package enum Reply: Sendable, Hashable {
  case none
  case bytes([UInt8])
  case value(Value)
  case properties(Properties)
  case objects(ManagedObjects)
  case strings([String])
  case path(ObjectPath)
  /// In dBm.
  case rssi(Int8)
  /// The answer to AcquireNotify and AcquireWrite.
  case channel(fileDescriptor: Int32, mtu: UInt16)
  /// An L2CAP channel to a device. Packets of at most `mtu` bytes may be sent.
  case creditChannel(ChannelDescriptor, mtu: UInt16, device: ObjectPath)
  case psm(UInt16)
}

/// A signal of bluetoothd's objects.
package enum Signal: Sendable, Hashable {
  case interfacesAdded(path: ObjectPath, Interfaces)
  case interfacesRemoved(path: ObjectPath, [String])
  case propertiesChanged(path: ObjectPath, interface: String, changed: Properties, invalidated: [String])
  /// Device1.Disconnected: why a link ended, `org.bluez.Reason.*` (doc/org.bluez.Device.rst; later than BlueZ 5.82).
  case disconnected(path: ObjectPath, reason: String, message: String)
}

/// A method that bluetoothd calls on a client's object.
package enum Callback: Sendable, Hashable {
  // GattCharacteristic1, GattDescriptor1
  case readValue(RemoteRequest)
  case writeValue([UInt8], RemoteRequest)
  case startNotify
  case stopNotify
  case confirm
  /// Asks for a socket that replaces signals of new values.
  case acquireNotify(RemoteRequest)
  /// Asks for a socket that replaces calls of WriteValue.
  case acquireWrite(RemoteRequest)
  /// Sets the object's property Handle, which asked for any handle, to the handle that bluetoothd has chosen.
  case assignHandle(interface: String, AttributeHandle)

  /// AdvertisementMonitor1
  case monitor(MonitorCall)

  /// bluetoothd has dropped the object. GattProfile1, LEAdvertisement1, AdvertisementMonitor1 and Agent1 have this
  /// method.
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

/// What an AdvertisementMonitor1 is told, apart from its end.
package enum MonitorCall: Sendable, Hashable {
  /// Advertisements are compared from now on.
  case activate
  case deviceFound(ObjectPath)
  case deviceLost(ObjectPath)
}

/// The options that bluetoothd passes with a read or write: the asking device, and the link's properties.
package struct RemoteRequest: Sendable, Hashable {
  package var device: ObjectPath
  package var offset: UInt16
  package var mtu: UInt16
  /// The kind of a write (the option `type`). `nil` for a read, and where bluetoothd does not give the kind: 5.82 gives
  /// none (`RemoteRequests.swift` of BluetoothSystem).
  package var kind: WriteOptions.Kind?
  /// A question before a write in pieces (`prepare-authorize`). The whole value follows later, or never.
  package var isPreparation = false
  package init(device: ObjectPath, offset: UInt16 = 0, mtu: UInt16, kind: WriteOptions.Kind? = nil) {
    self.device = device
    self.offset = offset
    self.mtu = mtu
    self.kind = kind
  }
}

/// What a client's object returns.
package enum CallbackReply: Sendable, Hashable {
  case none
  case bytes([UInt8])
  case pinCode(String)
  case passkey(UInt32)
  /// The other end of a socket that the client keeps. The receiver owns the descriptor.
  case channel(fileDescriptor: Int32, mtu: UInt16)
}
