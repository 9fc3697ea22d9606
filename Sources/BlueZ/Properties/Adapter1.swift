import BluetoothTypes
import BusValue

/// A controller (BlueZ, doc/org.bluez.Adapter.rst).
public struct Adapter1: InterfaceTable {
  public static let interface = InterfaceName.adapter
  public static let table = Adapter1()

  public let address = Property("Address", .text)
  public let addressType = Property<DeviceAddress.Kind>("AddressType", .word)
  public let name = Property("Name", .text)
  public let alias = Property("Alias", .text, .writable)
  public let deviceClass = Property("Class", .uint32)
  public let powered = Property("Powered", .bool, .writable)
  /// Since BlueZ 5.65.
  public let powerState = Property<PowerState>("PowerState", .word)
  public let discoverable = Property("Discoverable", .bool, .writable)
  public let connectable = Property("Connectable", .bool, .writable)
  public let discoverableTimeoutSeconds = Property("DiscoverableTimeout", .uint32, .writable)
  public let pairable = Property("Pairable", .bool, .writable)
  public let pairableTimeoutSeconds = Property("PairableTimeout", .uint32, .writable)
  public let discovering = Property("Discovering", .bool)
  public let uuids = Property("UUIDs", .uuids)
  public let modalias = Property("Modalias", .text)
  public let roles = Property("Roles", .texts)
  public let experimentalFeatures = Property("ExperimentalFeatures", .texts)
  public let manufacturer = Property("Manufacturer", .uint16)
  public let version = Property("Version", .byte)
}

/// `Adapter1.PowerState`.
public struct PowerState: RawRepresentable, Sendable, Hashable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  public static let on = PowerState(rawValue: "on")
  public static let off = PowerState(rawValue: "off")
  public static let turningOn = PowerState(rawValue: "off-enabling")
  public static let turningOff = PowerState(rawValue: "on-disabling")
  /// Blocked by rfkill, or by a switch of the machine.
  public static let blocked = PowerState(rawValue: "off-blocked")
}

/// A controller's advertisements (doc/org.bluez.LEAdvertisingManager.rst).
public struct LEAdvertisingManager1: InterfaceTable {
  public static let interface = InterfaceName.advertisingManager
  public static let table = LEAdvertisingManager1()

  public let activeInstances = Property("ActiveInstances", .byte)
  public let supportedInstances = Property("SupportedInstances", .byte)
  public let supportedIncludes = Property("SupportedIncludes", .texts)
  public let supportedSecondaryChannels = Property("SupportedSecondaryChannels", .texts)
  public let supportedFeatures = Property("SupportedFeatures", .texts)
  public let supportedCapabilities = Property("SupportedCapabilities", .members)
}

/// A controller's monitors (doc/org.bluez.AdvertisementMonitorManager.rst).
public struct AdvertisementMonitorManager1: InterfaceTable {
  public static let interface = InterfaceName.advertisementMonitorManager
  public static let table = AdvertisementMonitorManager1()

  public let supportedMonitorTypes = Property("SupportedMonitorTypes", .texts)
  public let supportedFeatures = Property("SupportedFeatures", .texts)
}

/// A controller's media functions (doc/org.bluez.Media.rst).
public struct Media1: InterfaceTable {
  public static let interface = InterfaceName.media
  public static let table = Media1()

  public let supportedUUIDs = Property("SupportedUUIDs", .uuids)
}

/// A controller's access to a SIM card.
public struct SimAccess1: InterfaceTable {
  public static let interface = InterfaceName.simAccess
  public static let table = SimAccess1()

  public let connected = Property("Connected", .bool)
}
