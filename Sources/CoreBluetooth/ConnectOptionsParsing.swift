import AppLink
import Foundation

extension ConnectOptions {
  /// Reads what an app passed to `connect(_:options:)`. A wrong type is a mistake in the program and ends it, naming
  /// the key. Unknown keys are ignored, as on Apple's systems.
  init(appOptions: [String: Any]?) {
    self.init()
    guard let appOptions else { return }
    notifyOnConnection = Self.flag(CBConnectPeripheralOptionNotifyOnConnectionKey, in: appOptions)
    notifyOnDisconnection = Self.flag(CBConnectPeripheralOptionNotifyOnDisconnectionKey, in: appOptions)
    notifyOnNotification = Self.flag(CBConnectPeripheralOptionNotifyOnNotificationKey, in: appOptions)
    enableAutoReconnect = Self.flag(CBConnectPeripheralOptionEnableAutoReconnect, in: appOptions)
    // Checked, but without effect.
    _ = Self.flag(CBConnectPeripheralOptionEnableTransportBridgingKey, in: appOptions)
    _ = Self.flag(CBConnectPeripheralOptionRequiresANCS, in: appOptions)
    if let value = appOptions[CBConnectPeripheralOptionStartDelayKey] {
      guard let seconds = (value as? NSNumber)?.doubleValue, seconds.isFinite, seconds >= 0 else {
        fatalError(
          "connect(_:options:): \(CBConnectPeripheralOptionStartDelayKey) has to be a number of seconds, not \(value)")
      }
      startDelaySeconds = seconds
    }
  }

  private static func flag(_ key: String, in options: [String: Any]) -> Bool {
    guard let value = options[key] else { return false }
    guard let isSet = numericFlag(value) else {
      fatalError("connect(_:options:): \(key) has to be a Bool, not \(value) (\(type(of: value)))")
    }
    return isSet
  }
}

extension ConnectionWatch {
  /// Reads what an app passed to `registerForConnectionEvents(options:)`. A wrong type ends the program.
  init(appOptions: [CBConnectionEventMatchingOption: Any]) {
    self.init()
    if let value = appOptions[.serviceUUIDs] {
      guard let uuids = value as? [CBUUID] else {
        fatalError("registerForConnectionEvents(options:): serviceUUIDs has to be a [CBUUID], not \(value)")
      }
      services = uuids.map(\.bluetoothUUID)
    }
    if let value = appOptions[.peripheralUUIDs] {
      guard let identifiers = value as? [UUID] ?? (value as? [NSUUID])?.map({ $0 as UUID }) else {
        fatalError("registerForConnectionEvents(options:): peripheralUUIDs has to be a [UUID], not \(value)")
      }
      peripherals = identifiers.map { PeerIdentifier($0) }
    }
  }
}

extension ScanRequest {
  /// Reads what an app passed to `scanForPeripherals(withServices:options:)`. A wrong type ends the program.
  init(services: [CBUUID]?, appOptions: [String: Any]?) {
    self.init(services: services.map { $0.map(\.bluetoothUUID) })
    if let value = appOptions?[CBCentralManagerScanOptionAllowDuplicatesKey] {
      guard let allows = booleanOption(value) else {
        fatalError(
          "scanForPeripherals(withServices:options:): \(CBCentralManagerScanOptionAllowDuplicatesKey) has to be a "
            + "Bool, not \(value)")
      }
      allowDuplicates = allows
    }
    if let value = appOptions?[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] {
      guard let uuids = value as? [CBUUID] else {
        fatalError(
          "scanForPeripherals(withServices:options:): \(CBCentralManagerScanOptionSolicitedServiceUUIDsKey) has to "
            + "be a [CBUUID], not \(value)")
      }
      solicitedServices = uuids.map(\.bluetoothUUID)
    }
  }

  /// The options that are in use, as an app passes them.
  var appOptions: [String: Any] {
    var options: [String: Any] = [CBCentralManagerScanOptionAllowDuplicatesKey: allowDuplicates]
    if !solicitedServices.isEmpty {
      options[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] = solicitedServices.map { CBUUID($0) }
    }
    return options
  }
}
