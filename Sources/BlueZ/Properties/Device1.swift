import BluetoothTypes
import BusValue

/// A device that an adapter knows (BlueZ, doc/org.bluez.Device.rst).
package final class Device1: InterfaceTable {
  package static let interface = InterfaceName.device
  package static let table = Device1()

  package let address = Property("Address", .text)
  package let addressType = Property<DeviceAddress.Kind>("AddressType", .word)
  package let name = Property("Name", .text, .sometimes)
  package let alias = Property("Alias", .text, .writable)
  package let deviceClass = Property("Class", .uint32, .sometimes)
  package let appearance = Property("Appearance", .number, .sometimes)
  package let icon = Property("Icon", .text, .sometimes)
  package let paired = Property("Paired", .bool)
  /// Since BlueZ 5.66.
  package let bonded = Property("Bonded", .bool)
  package let trusted = Property("Trusted", .bool, .writable)
  package let blocked = Property("Blocked", .bool, .writable)
  package let legacyPairing = Property("LegacyPairing", .bool)
  /// In dBm, while discovery runs.
  package let rssi = Property("RSSI", .signalStrength, .sometimes)
  package let connected = Property("Connected", .bool)
  package let uuids = Property("UUIDs", .uuids)
  package let modalias = Property("Modalias", .text, .sometimes)
  package let adapter = Property("Adapter", .path)
  package let manufacturerData = Property("ManufacturerData", .manufacturerData(strict: false), .sometimes)
  package let serviceData = Property("ServiceData", .serviceData(strict: false), .sometimes)
  package let txPower = Property("TxPower", .transmitPower, .sometimes)
  package let servicesResolved = Property("ServicesResolved", .bool)
  package let advertisingFlags = Property("AdvertisingFlags", .bytes, .sometimes)
  /// The contents that have no property of their own, by AD type.
  package let advertisingData = Property("AdvertisingData", .advertisingData, .sometimes)
  package let wakeAllowed = Property("WakeAllowed", .bool, .writable)
  package let sets = Property("Sets", .untyped("a{oa{sv}}"))
}

extension PropertyValues<Device1> {
  /// The address with its kind, or `nil` if there is none or it is invalid.
  package var deviceAddress: DeviceAddress? {
    self.address.flatMap { DeviceAddress($0, kind: self.addressType ?? .public) }
  }
}

/// A device's battery (doc/org.bluez.Battery.rst).
package final class Battery1: InterfaceTable {
  package static let interface = InterfaceName.battery
  package static let table = Battery1()

  package let percentage = Property("Percentage", .byte)
  package let source = Property("Source", .text)
}
