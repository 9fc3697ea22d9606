import BluetoothTypes
import BusValue

/// A device that an adapter knows (BlueZ, doc/org.bluez.Device.rst).
public struct Device1: InterfaceTable {
  public static let interface = InterfaceName.device
  public static let table = Device1()

  public let address = Property("Address", .text)
  public let addressType = Property<DeviceAddress.Kind>("AddressType", .word)
  public let name = Property("Name", .text, .sometimes)
  public let alias = Property("Alias", .text, .writable)
  public let deviceClass = Property("Class", .uint32, .sometimes)
  public let appearance = Property("Appearance", .number, .sometimes)
  public let icon = Property("Icon", .text, .sometimes)
  public let paired = Property("Paired", .bool)
  /// Since BlueZ 5.66.
  public let bonded = Property("Bonded", .bool)
  public let trusted = Property("Trusted", .bool, .writable)
  public let blocked = Property("Blocked", .bool, .writable)
  public let legacyPairing = Property("LegacyPairing", .bool)
  /// In dBm, while discovery runs.
  public let rssi = Property("RSSI", .signalStrength, .sometimes)
  public let connected = Property("Connected", .bool)
  public let uuids = Property("UUIDs", .uuids)
  public let modalias = Property("Modalias", .text, .sometimes)
  public let adapter = Property("Adapter", .path)
  public let manufacturerData = Property("ManufacturerData", .manufacturerData(strict: false), .sometimes)
  public let serviceData = Property("ServiceData", .serviceData(strict: false), .sometimes)
  public let txPower = Property("TxPower", .transmitPower, .sometimes)
  public let servicesResolved = Property("ServicesResolved", .bool)
  public let advertisingFlags = Property("AdvertisingFlags", .bytes, .sometimes)
  public let advertisingData = Property("AdvertisingData", .untyped("a{yv}"))
  public let wakeAllowed = Property("WakeAllowed", .bool, .writable)
  public let sets = Property("Sets", .untyped("a{oa{sv}}"))
}

extension PropertyValues<Device1> {
  /// The address with its kind, or `nil` if there is none or it is invalid.
  public var deviceAddress: DeviceAddress? {
    self.address.flatMap { DeviceAddress($0, kind: self.addressType ?? .public) }
  }
}

/// A device's battery (doc/org.bluez.Battery.rst).
public struct Battery1: InterfaceTable {
  public static let interface = InterfaceName.battery
  public static let table = Battery1()

  public let percentage = Property("Percentage", .byte)
  public let source = Property("Source", .text)
}
