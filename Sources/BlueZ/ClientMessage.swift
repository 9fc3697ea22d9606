import BluetoothTypes
import BusValue

/// Identifies the call that a reply belongs to. The client numbers its calls; bluetoothd only repeats the number.
package struct CallIdentifier: Sendable, Hashable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// Identifies the call by bluetoothd that a client's answer belongs to.
package struct CallbackIdentifier: Sendable, Hashable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// What a client sends to bluetoothd.
package enum ClientMessage: Sendable, Hashable {
  /// A method call on one of bluetoothd's objects. It is answered once by `DaemonMessage.reply`.
  case call(CallIdentifier, path: ObjectPath, Request)
  /// A GattCharacteristic1 that the client exports changed its Value. bluetoothd notifies subscribers.
  case valueChanged(path: ObjectPath, value: [UInt8])
  /// A GattService1 of the application registered at `root` is gone. bluetoothd removes it and all of its values.
  case serviceRemoved(root: ObjectPath, path: ObjectPath)
  /// An LEAdvertisement1 that the client exports changed some properties and lost others. bluetoothd updates what it
  /// advertises.
  case advertisementChanged(path: ObjectPath, Properties, gone: [String])
  /// The client has added an AdvertisementMonitor1 below a root of registered monitors.
  case monitorAdded(root: ObjectPath, path: ObjectPath, Properties)
  /// The client has removed an AdvertisementMonitor1.
  case monitorRemoved(root: ObjectPath, path: ObjectPath)
  /// A battery provider of the client has a new BatteryProvider1 below its root.
  case batteryAdded(root: ObjectPath, path: ObjectPath, Properties)
  /// A BatteryProvider1 has changed some properties and lost others.
  case batteryChanged(path: ObjectPath, Properties, gone: [String])
  /// A BatteryProvider1 is gone.
  case batteryRemoved(root: ObjectPath, path: ObjectPath)
  /// The answer to a `DaemonMessage.callback`.
  case answer(CallbackIdentifier, Result<CallbackReply, BlueZError>)
}

/// A method of org.bluez, or of the standard interfaces on bluetoothd's objects, with its arguments.
package enum Request: Sendable, Hashable {
  // org.freedesktop.DBus.ObjectManager and Properties
  case getManagedObjects
  case getProperty(interface: String, name: String)
  case getAllProperties(interface: String)
  case setProperty(interface: String, name: String, value: Value)

  // Adapter1
  case startDiscovery
  case stopDiscovery
  case setDiscoveryFilter(DiscoveryFilter)
  case getDiscoveryFilters
  case removeDevice(ObjectPath)
  /// With `--experimental` only. The members are Address and AddressType. The reply is `path`.
  case connectDevice(Properties)

  // Device1
  case connect
  case disconnect
  case connectProfile(BluetoothUUID)
  case disconnectProfile(BluetoothUUID)
  case pair
  case cancelPairing
  /// With `--experimental` only. A device of Low Energy has none, so this always fails.
  case getServiceRecords

  // GattCharacteristic1 and GattDescriptor1 (on a descriptor, StartNotify and StopNotify are unknown methods)
  case readValue(offset: UInt16)
  case writeValue([UInt8], WriteOptions)
  case startNotify
  case stopNotify
  case acquireNotify
  case acquireWrite

  // GattManager1. The sending carrier exports `objects` before the call; the receiving one fetches them before
  // delivery.
  case registerApplication(root: ObjectPath, objects: ManagedObjects)
  case unregisterApplication(root: ObjectPath)

  // LEAdvertisingManager1. As with applications, the carrier transfers the exported LEAdvertisement1's properties.
  case registerAdvertisement(path: ObjectPath, properties: Properties)
  case unregisterAdvertisement(path: ObjectPath)

  // AdvertisementMonitorManager1, if bluetoothd has it. Objects are transferred as with applications; objects that
  // are not AdvertisementMonitor1 are ignored. A client that does not describe its objects has no monitors yet.
  case registerMonitor(root: ObjectPath, objects: ManagedObjects)
  case unregisterMonitor(root: ObjectPath)

  // BatteryProviderManager1. bluetoothd answers first, and fetches the objects at the root afterwards: they come as
  // `batteryAdded`.
  case registerBatteryProvider(root: ObjectPath)
  case unregisterBatteryProvider(root: ObjectPath)

  // AgentManager1
  case registerAgent(path: ObjectPath, capability: AgentCapability)
  case requestDefaultAgent(path: ObjectPath)
  case unregisterAgent(path: ObjectPath)

  // ProfileManager1. `name` is a UUID or another text that may name one (`ProfileName`); `isServer`: others may connect
  // to it.
  case registerProfile(path: ObjectPath, name: String, isServer: Bool)
  case unregisterProfile(path: ObjectPath)

  /// The RSSI of the live connection to the device at the call's path. D-Bus has no such method: the carrier uses HCI
  /// Read RSSI for a real controller, and the simulator's extra interface for a simulated one.
  case readConnectionRSSI

  // L2CAP channels over LE. D-Bus has no such methods either: the carrier uses L2CAP sockets for a real controller, and
  // the simulator's extra interface for a simulated one.
  /// On a device: opens a channel over the live connection. The reply is `creditChannel`.
  case openChannel(psm: UInt16)
  /// On an adapter: lets peers open channels, and replies with the PSM. With 0, one is chosen.
  case listenForChannels(psm: UInt16, requiresEncryption: Bool)
  /// Waits for the next channel that a peer opens. The reply is `creditChannel`.
  case acceptChannel(psm: UInt16)
  /// Ends listening. Open channels stay. An `acceptChannel` that waits fails with `canceled`.
  case stopListening(psm: UInt16)
}

/// Options of WriteValue.
package struct WriteOptions: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable {
    /// Write Without Response: success means queued.
    case command
    /// Write Request: success means the peer answered.
    case request
    case reliable
  }
  /// `nil`: bluetoothd chooses by the characteristic's properties.
  package var kind: Kind?
  package var offset: UInt16
  package init(kind: Kind? = nil, offset: UInt16 = 0) {
    self.kind = kind
    self.offset = offset
  }
}

/// What an Agent1 can show and ask (AgentManager1.RegisterAgent).
package enum AgentCapability: String, Sendable, Hashable {
  case displayOnly = "DisplayOnly"
  case displayYesNo = "DisplayYesNo"
  case keyboardOnly = "KeyboardOnly"
  case noInputNoOutput = "NoInputNoOutput"
  case keyboardDisplay = "KeyboardDisplay"
}
