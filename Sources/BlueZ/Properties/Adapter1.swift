import BluetoothTypes
import BusValue

/// A controller (BlueZ, doc/org.bluez.Adapter.rst).
package final class Adapter1: InterfaceTable {
  package static let interface = InterfaceName.adapter
  package static let table = Adapter1()

  package let address = Property("Address", .text)
  package let addressType = Property<DeviceAddress.Kind>("AddressType", .word)
  package let name = Property("Name", .text)
  package let alias = Property("Alias", .text, .writable)
  package let deviceClass = Property("Class", .uint32)
  package let powered = Property("Powered", .bool, .writable)
  /// Since BlueZ 5.65.
  package let powerState = Property<PowerState>("PowerState", .word)
  package let discoverable = Property("Discoverable", .bool, .writable)
  package let connectable = Property("Connectable", .bool, .writable)
  package let discoverableTimeoutSeconds = Property("DiscoverableTimeout", .uint32, .writable)
  package let pairable = Property("Pairable", .bool, .writable)
  package let pairableTimeoutSeconds = Property("PairableTimeout", .uint32, .writable)
  package let discovering = Property("Discovering", .bool)
  package let uuids = Property("UUIDs", .uuids)
  package let modalias = Property("Modalias", .text)
  package let roles = Property("Roles", .texts)
  package let experimentalFeatures = Property("ExperimentalFeatures", .texts)
  package let manufacturer = Property("Manufacturer", .uint16)
  package let version = Property("Version", .byte)
}

/// `Adapter1.PowerState`.
package struct PowerState: RawRepresentable, Sendable, Hashable {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  package static let on = PowerState(rawValue: "on")
  package static let off = PowerState(rawValue: "off")
  package static let turningOn = PowerState(rawValue: "off-enabling")
  package static let turningOff = PowerState(rawValue: "on-disabling")
  /// Blocked by rfkill, or by a switch of the machine.
  package static let blocked = PowerState(rawValue: "off-blocked")
}

/// A controller's advertisements (doc/org.bluez.LEAdvertisingManager.rst).
package final class LEAdvertisingManager1: InterfaceTable {
  package static let interface = InterfaceName.advertisingManager
  package static let table = LEAdvertisingManager1()

  package let activeInstances = Property("ActiveInstances", .byte)
  package let supportedInstances = Property("SupportedInstances", .byte)
  package let supportedIncludes = Property("SupportedIncludes", .texts)
  package let supportedSecondaryChannels = Property("SupportedSecondaryChannels", .texts)
  package let supportedFeatures = Property("SupportedFeatures", .texts)
  package let supportedCapabilities = Property("SupportedCapabilities", .members)
}

/// A controller's monitors (doc/org.bluez.AdvertisementMonitorManager.rst).
package final class AdvertisementMonitorManager1: InterfaceTable {
  package static let interface = InterfaceName.advertisementMonitorManager
  package static let table = AdvertisementMonitorManager1()

  package let supportedMonitorTypes = Property("SupportedMonitorTypes", .texts)
  package let supportedFeatures = Property("SupportedFeatures", .texts)
}

/// A controller's media functions (doc/org.bluez.Media.rst).
package final class Media1: InterfaceTable {
  package static let interface = InterfaceName.media
  package static let table = Media1()

  package let supportedUUIDs = Property("SupportedUUIDs", .uuids)
}

/// A controller's access to a SIM card.
package final class SimAccess1: InterfaceTable {
  package static let interface = InterfaceName.simAccess
  package static let table = SimAccess1()

  package let connected = Property("Connected", .bool)
}
