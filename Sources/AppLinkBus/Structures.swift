import AppLink
import BluetoothTypes
import BusValue
import FoundationEssentials
import SystemBus

// The vocabulary's structs. Each has its members in the order in which they are declared.

// MARK: Managers

extension ManagerView: BusStructure {
  static let layout = Layout(
    Self.init, \.state, \.peripherals, \.connectOptions, \.scan, \.discovered, \.services, \.advertisement,
    \.subscriptions)
}

extension CentralRestoration: BusStructure {
  static let layout = Layout(Self.init, \.peripherals, \.scan)
}

extension PeripheralRestoration: BusStructure {
  static let layout = Layout(Self.init, \.services, \.advertisement, \.subscriptions)
}

// MARK: Central role

extension ScanRequest: BusStructure {
  static let layout = Layout(Self.init, \.services, \.allowDuplicates, \.solicitedServices)
}

extension ConnectionWatch: BusStructure {
  static let layout = Layout(Self.init, \.services, \.peripherals)
}

extension ConnectOptions: BusStructure {
  static let layout = Layout(
    Self.init, \.notifyOnConnection, \.notifyOnDisconnection, \.notifyOnNotification, \.enableAutoReconnect,
    \.startDelaySeconds)
}

extension AdvertisementData: BusStructure {
  static let layout = Layout(
    Self.init, \.flags, \.localName, \.serviceUUIDs, \.solicitedServiceUUIDs, \.overflowServiceUUIDs, \.serviceData,
    \.manufacturerData, \.transmitPowerLevel, \.appearance, \.isConnectable)
}

extension PeripheralSnapshot: BusStructure {
  static let layout = Layout(Self.init, \.identifier, \.name, \.state, \.services, \.mtu)
}

extension ServiceSnapshot: BusStructure {
  static let layout = Layout(Self.init, \.handle, \.uuid, \.isPrimary, \.includedServices, \.characteristics)
}

extension CharacteristicSnapshot: BusStructure {
  static let layout = Layout(Self.init, \.handle, \.uuid, \.properties, \.isNotifying, \.descriptors)
}

extension DescriptorSnapshot: BusStructure {
  static let layout = Layout(Self.init, \.handle, \.uuid)
}

// MARK: Peripheral role

extension CentralSnapshot: BusStructure {
  static let layout = Layout(Self.init, \.identifier, \.maximumUpdateValueLength)
}

extension ServiceDefinition: BusStructure {
  static let layout = Layout(Self.init, \.identifier, \.uuid, \.isPrimary, \.includedServices, \.characteristics)
}

extension CharacteristicDefinition: BusStructure {
  static let layout = Layout(
    Self.init, \.identifier, \.uuid, \.properties, \.permissions, \.value, \.descriptors)
}

extension DescriptorDefinition: BusStructure {
  static let layout = Layout(Self.init, \.uuid, \.value)
}

extension AdvertisementRequest: BusStructure {
  static let layout = Layout(Self.init, \.localName, \.serviceUUIDs)
}

// MARK: The user

extension SystemStatus: BusStructure {
  /// The version has to stay the first member: a client of another version reads it, and tells the user which version
  /// this is.
  static let layout = Layout(
    Self.init, \.version, \.bluetooth, \.apps, \.appsLeftOut, \.links, \.linksLeftOut, \.pairings, \.wakes,
    \.wakesLeftOut, \.storeTrouble, \.alerts, \.states, \.statesLeftOut, \.movements, \.movementsLeftOut)
}

extension UserAlert: BusStructure {
  static let layout = Layout(Self.init, \.identifier, \.app, \.title, \.text, \.unixSeconds)
}

extension AppStatus: BusStructure {
  static let layout = Layout(
    Self.init, \.bundleIdentifier, \.state, \.processIdentifier, \.quitByUser, \.isAllowed, \.pendingConnections,
    \.connections, \.launches, \.alert, \.peers, \.peersLeftOut, \.activity)
}

extension AppActivity: BusStructure {
  static let layout = Layout(Self.init, \.isScanning, \.isAdvertising, \.publishedServices, \.subscribers)
}

extension PeerStatus: BusStructure {
  static let layout = Layout(
    Self.init, \.identifier, \.name, \.address, \.isConnected, \.sinceUnixSeconds, \.signalDBm)
}

extension PairingQuestion: BusStructure {
  static let layout = Layout(Self.init, \.identifier, \.kind, \.address, \.name, \.passkey)
}

extension WakeRecord: BusStructure {
  static let layout = Layout(Self.init, \.app, \.because, \.unixSeconds, \.seconds, \.told, \.said, \.outcome)
}

extension ReportedState: BusStructure {
  static let layout = Layout(Self.init, \.app, \.subject, \.text, \.sinceUnixSeconds)
}

extension ReportedMovement: BusStructure {
  static let layout = Layout(Self.init, \.app, \.subject, \.text, \.unixSeconds)
}

// MARK: Errors

extension AppLinkError: BusStructure {
  static let layout = Layout({ Self($0, $1) }, \.code, \.message)
}

extension PeerError: BusWrapper {
  /// Which kind of error it is, its code, and what happened (empty for ATT errors).
  struct Parts: BusStructure, Hashable {
    var kind: String
    var code: Int
    var message: String
    static let layout = Layout(Self.init, \.kind, \.code, \.message)
  }

  var wrapped: Parts {
    switch self {
    case .coreBluetooth(let code, let message): Parts(kind: "CoreBluetooth", code: code.rawValue, message: message)
    case .att(let error): Parts(kind: "ATT", code: Int(error.rawValue), message: "")
    }
  }

  init?(wrapped: Parts) {
    switch wrapped.kind {
    // An unknown code is still an error.
    case "CoreBluetooth": self = .coreBluetooth(Code(rawValue: wrapped.code) ?? .unknown, message: wrapped.message)
    case "ATT":
      guard let code = UInt8(exactly: wrapped.code) else { return nil }
      self = .att(ATTError(rawValue: code))
    default: return nil
    }
  }
}
