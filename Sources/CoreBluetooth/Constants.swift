// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

// Keys of the dictionaries that managers accept and return.

// MARK: Options of a central manager

/// `Bool`: whether the user is told if Bluetooth is off when the manager is made, in `latchkey status` and the journal.
public let CBCentralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// `String`: opts in to preservation and restoration.
public let CBCentralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"
/// `Bool`: accepted, without effect. It is about audio accessories of Apple's devices.
public let CBCentralManagerOptionDeviceAccessForMedia = "kCBInitOptionDeviceAccessForMedia"

// MARK: Options of a scan

/// `Bool`: one discovery for every advertisement heard, instead of one for each peripheral.
public let CBCentralManagerScanOptionAllowDuplicatesKey = "kCBScanOptionAllowDuplicates"
/// `[CBUUID]`: also find peripherals that solicit these services. They are found only if bluetoothd has its option
/// `--experimental`.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey = "kCBScanOptionSolicitedServiceUUIDs"

// MARK: Options of a connection

/// `Bool`: tell the user when the connection is made while the app is suspended.
public let CBConnectPeripheralOptionNotifyOnConnectionKey = "kCBConnectOptionNotifyOnConnection"
/// `Bool`: tell the user when the connection is lost while the app is suspended.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey = "kCBConnectOptionNotifyOnDisconnection"
/// `Bool`: tell the user of notifications that arrive while the app is suspended.
public let CBConnectPeripheralOptionNotifyOnNotificationKey = "kCBConnectOptionNotifyOnNotification"
/// `NSNumber`: seconds to wait before the attempt starts.
public let CBConnectPeripheralOptionStartDelayKey = "kCBConnectOptionStartDelay"
/// `Bool`: accepted, without effect, as on hardware without Bluetooth Classic: no link of it is ever bridged.
public let CBConnectPeripheralOptionEnableTransportBridgingKey = "kCBConnectOptionEnableTransportBridging"
/// `Bool`: accepted, without effect. There is no notification centre to share, so `ancsAuthorized` stays `false` and the
/// connection is made.
public let CBConnectPeripheralOptionRequiresANCS = "kCBConnectOptionRequiresANCS"
/// `Bool`: the system reconnects by itself after a link was lost.
public let CBConnectPeripheralOptionEnableAutoReconnect = "kCBConnectOptionEnableAutoReconnect"

// MARK: Restored state of a central manager

/// `[CBPeripheral]`: peripherals that were connected, or requested, when the app ended.
public let CBCentralManagerRestoredStatePeripheralsKey = "kCBRestoredPeripherals"
/// `[CBUUID]`: the services scanned for.
public let CBCentralManagerRestoredStateScanServicesKey = "kCBRestoredScanServices"
/// `[String: Any]`: the options of the scan.
public let CBCentralManagerRestoredStateScanOptionsKey = "kCBRestoredScanOptions"

// MARK: Options and restored state of a peripheral manager

/// `Bool`: whether the user is told if Bluetooth is off when the manager is made, in `latchkey status` and the journal.
public let CBPeripheralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// `String`: opts in to preservation and restoration.
public let CBPeripheralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"
/// `[CBMutableService]`: the published services, with the centrals that are subscribed.
public let CBPeripheralManagerRestoredStateServicesKey = "kCBRestoredServices"
/// `[String: Any]`: what was advertised.
public let CBPeripheralManagerRestoredStateAdvertisementDataKey = "kCBRestoredAdvertisement"

// MARK: Contents of an advertisement

/// `String`
public let CBAdvertisementDataLocalNameKey = "kCBAdvDataLocalName"
/// `NSNumber`, in dBm.
public let CBAdvertisementDataTxPowerLevelKey = "kCBAdvDataTxPowerLevel"
/// `[CBUUID]`
public let CBAdvertisementDataServiceUUIDsKey = "kCBAdvDataServiceUUIDs"
/// `[CBUUID: Data]`
public let CBAdvertisementDataServiceDataKey = "kCBAdvDataServiceData"
/// `Data`: the company identifier, least significant byte first, and the company's data.
public let CBAdvertisementDataManufacturerDataKey = "kCBAdvDataManufacturerData"
/// `[CBUUID]`: services that were found in the overflow area.
public let CBAdvertisementDataOverflowServiceUUIDsKey = "kCBAdvDataHashedServiceUUIDs"
/// `NSNumber`, a Boolean. Always true: bluetoothd does not tell which advertisements can be connected to.
public let CBAdvertisementDataIsConnectable = "kCBAdvDataIsConnectable"
/// `[CBUUID]`: services that the peripheral solicits. bluetoothd tells them only with its option `--experimental`.
public let CBAdvertisementDataSolicitedServiceUUIDsKey = "kCBAdvDataSolicitedServiceUUIDs"

// MARK: UUIDs of descriptors (Bluetooth Assigned Numbers)

/// Characteristic Extended Properties: its value is an `NSNumber`.
public let CBUUIDCharacteristicExtendedPropertiesString = "2900"
/// Characteristic User Description: its value is a `String`.
public let CBUUIDCharacteristicUserDescriptionString = "2901"
/// Client Characteristic Configuration: its value is an `NSNumber`.
public let CBUUIDClientCharacteristicConfigurationString = "2902"
/// Server Characteristic Configuration: its value is an `NSNumber`.
public let CBUUIDServerCharacteristicConfigurationString = "2903"
/// Characteristic Presentation Format: its value is a `Data`.
public let CBUUIDCharacteristicFormatString = "2904"
/// Characteristic Aggregate Format: its value is a `Data`.
public let CBUUIDCharacteristicAggregateFormatString = "2905"
/// Valid Range: its value is a `Data`.
public let CBUUIDCharacteristicValidRangeString = "2906"
/// Observation Schedule: its value is a `Data`.
public let CBUUIDCharacteristicObservationScheduleString = "2911"
/// The characteristic whose value is an L2CAP channel's PSM.
public let CBUUIDL2CAPPSMCharacteristicString = "ABDD3056-28FA-441D-A470-55A75A52553A"
