import BluetoothTypes
import BusValue

/// A client's advertisement (BlueZ, doc/org.bluez.LEAdvertisement.rst).
public struct LEAdvertisement1: InterfaceTable {
  public static let interface = InterfaceName.advertisement
  public static let table = LEAdvertisement1()

  public let type = Property("Type", .text, .clients)
  public let serviceUUIDs = Property("ServiceUUIDs", .onlyUUIDs, .clients)
  public let solicitUUIDs = Property("SolicitUUIDs", .onlyUUIDs, .clients)
  public let manufacturerData = Property("ManufacturerData", .manufacturerData(strict: true), .clients)
  public let serviceData = Property("ServiceData", .serviceData(strict: true), .clients)
  public let data = Property("Data", .advertisingData, .clients)
  public let discoverable = Property("Discoverable", .bool, .clients)
  public let discoverableTimeoutSeconds = Property("DiscoverableTimeout", .uint16, .clients)
  public let includes = Property("Includes", .texts, .clients)
  public let localName = Property("LocalName", .text, .clients)
  public let appearance = Property("Appearance", .uint16, .clients)
  public let durationSeconds = Property("Duration", .uint16, .clients)
  public let timeoutSeconds = Property("Timeout", .uint16, .clients)
  public let secondaryChannel = Property("SecondaryChannel", .text, .clients)
  public let minIntervalMilliseconds = Property("MinInterval", .uint32, .clients)
  public let maxIntervalMilliseconds = Property("MaxInterval", .uint32, .clients)
  /// In dBm.
  public let txPower = Property("TxPower", .int16, .clients)
}

/// A client's rule for the advertisements it wants to hear of (doc/org.bluez.AdvertisementMonitor.rst).
public struct AdvertisementMonitor1: InterfaceTable {
  public static let interface = InterfaceName.advertisementMonitor
  public static let table = AdvertisementMonitor1()

  public let type = Property("Type", .text, .clients)
  /// In dBm.
  public let rssiLowThreshold = Property("RSSILowThreshold", .int16, .clients)
  public let rssiHighThreshold = Property("RSSIHighThreshold", .int16, .clients)
  public let rssiLowTimeoutSeconds = Property("RSSILowTimeout", .uint16, .clients)
  public let rssiHighTimeoutSeconds = Property("RSSIHighTimeout", .uint16, .clients)
  /// In units of 100 ms.
  public let rssiSamplingPeriod = Property("RSSISamplingPeriod", .uint16, .clients)
  /// `a(yyay)`: the position in an AD structure, the structure's type, and the bytes to find there.
  public let patterns = Property("Patterns", .untyped("a(yyay)"), .clients)
}
