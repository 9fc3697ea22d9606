import BluetoothTypes
import BusValue

/// A client's advertisement (BlueZ, doc/org.bluez.LEAdvertisement.rst).
package final class LEAdvertisement1: InterfaceTable {
  package static let interface = InterfaceName.advertisement
  package static let table = LEAdvertisement1()

  package let type = Property("Type", .text, .clients)
  package let serviceUUIDs = Property("ServiceUUIDs", .advertisedUUIDs, .clients)
  package let solicitUUIDs = Property("SolicitUUIDs", .advertisedUUIDs, .clients)
  package let manufacturerData = Property("ManufacturerData", .manufacturerData(strict: true), .clients)
  package let serviceData = Property("ServiceData", .serviceData(strict: true), .clients)
  package let data = Property("Data", .advertisingData, .clients)
  package let scanResponseServiceUUIDs = Property("ScanResponseServiceUUIDs", .advertisedUUIDs, .clients)
  package let scanResponseSolicitUUIDs = Property("ScanResponseSolicitUUIDs", .advertisedUUIDs, .clients)
  package let scanResponseManufacturerData = Property(
    "ScanResponseManufacturerData", .manufacturerData(strict: true), .clients)
  package let scanResponseServiceData = Property("ScanResponseServiceData", .serviceData(strict: true), .clients)
  package let scanResponseData = Property("ScanResponseData", .advertisingData, .clients)
  package let discoverable = Property("Discoverable", .bool, .clients)
  package let discoverableTimeoutSeconds = Property("DiscoverableTimeout", .uint16, .clients)
  package let includes = Property("Includes", .advertisedTexts, .clients)
  package let localName = Property("LocalName", .text, .clients)
  package let appearance = Property("Appearance", .uint16, .clients)
  package let durationSeconds = Property("Duration", .uint16, .clients)
  package let timeoutSeconds = Property("Timeout", .uint16, .clients)
  package let secondaryChannel = Property("SecondaryChannel", .text, .clients)
  package let minIntervalMilliseconds = Property("MinInterval", .uint32, .clients)
  package let maxIntervalMilliseconds = Property("MaxInterval", .uint32, .clients)
  /// In dBm.
  package let txPower = Property("TxPower", .int16, .clients)
}

/// A client's rule for the advertisements it wants to hear of (doc/org.bluez.AdvertisementMonitor.rst).
package final class AdvertisementMonitor1: InterfaceTable {
  package static let interface = InterfaceName.advertisementMonitor
  package static let table = AdvertisementMonitor1()

  package let type = Property("Type", .text, .clients)
  /// In dBm.
  package let rssiLowThreshold = Property("RSSILowThreshold", .int16, .clients)
  package let rssiHighThreshold = Property("RSSIHighThreshold", .int16, .clients)
  package let rssiLowTimeoutSeconds = Property("RSSILowTimeout", .uint16, .clients)
  package let rssiHighTimeoutSeconds = Property("RSSIHighTimeout", .uint16, .clients)
  /// In units of 100 ms.
  package let rssiSamplingPeriod = Property("RSSISamplingPeriod", .uint16, .clients)
  /// `a(yyay)`: the position in an AD structure, the structure's type, and the bytes to find there.
  package let patterns = Property("Patterns", .untyped("a(yyay)"), .clients)
}

/// What a client knows of a device's battery (doc/org.bluez.BatteryProvider.rst).
package final class BatteryProvider1: InterfaceTable {
  package static let interface = InterfaceName.batteryProvider
  package static let table = BatteryProvider1()

  package let device = Property("Device", .path, .clients)
  package let percentage = Property("Percentage", .byte, .clients)
  package let source = Property("Source", .text, .clients)
}
