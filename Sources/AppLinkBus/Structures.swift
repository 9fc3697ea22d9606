import AppLink
import BluetoothTypes
import FoundationEssentials
import SystemBus

// The vocabulary's structs: each is its members in the order in which it declares them.

extension ManagerCreation: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [Role.self, String?.self]
  }
  var members: [any BusRepresentable] { [role, restoreIdentifier] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(role: try reader.next(), restoreIdentifier: try reader.next())
  }
}

extension ScanRequest: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [Optional<[BluetoothUUID]>.self, Bool.self, [BluetoothUUID].self]
  }
  var members: [any BusRepresentable] { [services, allowDuplicates, solicitedServices] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(services: try reader.next(), allowDuplicates: try reader.next(), solicitedServices: try reader.next())
  }
}

extension ConnectOptions: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [Bool.self, Bool.self, Bool.self, Bool.self, Double.self]
  }
  var members: [any BusRepresentable] {
    [notifyOnConnection, notifyOnDisconnection, notifyOnNotification, enableAutoReconnect, startDelaySeconds]
  }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      notifyOnConnection: try reader.next(), notifyOnDisconnection: try reader.next(),
      notifyOnNotification: try reader.next(), enableAutoReconnect: try reader.next(),
      startDelaySeconds: try reader.next())
  }
}

extension ManagerView: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [
      ManagerState?.self, [PeripheralSnapshot].self, [PeerIdentifier: ConnectOptions].self, ScanRequest?.self,
      [PeerIdentifier].self, [ServiceDefinition].self, AdvertisementRequest?.self,
      [LocalAttributeIdentifier: [PeerIdentifier]].self,
    ]
  }
  var members: [any BusRepresentable] {
    [state, peripherals, connectOptions, scan, discovered, services, advertisement, subscriptions]
  }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      state: try reader.next(), peripherals: try reader.next(), connectOptions: try reader.next(),
      scan: try reader.next(), discovered: try reader.next(), services: try reader.next(),
      advertisement: try reader.next(), subscriptions: try reader.next())
  }
}

extension PeripheralSnapshot: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [PeerIdentifier.self, String?.self, PeripheralState.self, Optional<[ServiceSnapshot]>.self, Int.self]
  }
  var members: [any BusRepresentable] { [identifier, name, state, services, mtu] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      identifier: try reader.next(), name: try reader.next(), state: try reader.next(), services: try reader.next(),
      mtu: try reader.next())
  }
}

extension ServiceSnapshot: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [
      AttributeHandle.self, BluetoothUUID.self, Bool.self, Optional<[AttributeHandle]>.self,
      Optional<[CharacteristicSnapshot]>.self,
    ]
  }
  var members: [any BusRepresentable] { [handle, uuid, isPrimary, includedServices, characteristics] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      handle: try reader.next(), uuid: try reader.next(), isPrimary: try reader.next(),
      includedServices: try reader.next(), characteristics: try reader.next())
  }
}

extension CharacteristicSnapshot: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [
      AttributeHandle.self, BluetoothUUID.self, CharacteristicProperties.self, Bool.self,
      Optional<[DescriptorSnapshot]>.self,
    ]
  }
  var members: [any BusRepresentable] { [handle, uuid, properties, isNotifying, descriptors] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      handle: try reader.next(), uuid: try reader.next(), properties: try reader.next(), isNotifying: try reader.next(),
      descriptors: try reader.next())
  }
}

extension DescriptorSnapshot: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [AttributeHandle.self, BluetoothUUID.self]
  }
  var members: [any BusRepresentable] { [handle, uuid] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(handle: try reader.next(), uuid: try reader.next())
  }
}

extension CentralSnapshot: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [PeerIdentifier.self, Int.self]
  }
  var members: [any BusRepresentable] { [identifier, maximumUpdateValueLength] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(identifier: try reader.next(), maximumUpdateValueLength: try reader.next())
  }
}

extension ServiceDefinition: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [
      LocalAttributeIdentifier.self, BluetoothUUID.self, Bool.self, [LocalAttributeIdentifier].self,
      [CharacteristicDefinition].self,
    ]
  }
  var members: [any BusRepresentable] { [identifier, uuid, isPrimary, includedServices, characteristics] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      identifier: try reader.next(), uuid: try reader.next(), isPrimary: try reader.next(),
      includedServices: try reader.next(), characteristics: try reader.next())
  }
}

extension CharacteristicDefinition: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [
      LocalAttributeIdentifier.self, BluetoothUUID.self, CharacteristicProperties.self, AttributePermissions.self,
      Optional<[UInt8]>.self, [DescriptorDefinition].self,
    ]
  }
  var members: [any BusRepresentable] { [identifier, uuid, properties, permissions, value, descriptors] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      identifier: try reader.next(), uuid: try reader.next(), properties: try reader.next(),
      permissions: try reader.next(), value: try reader.next(), descriptors: try reader.next())
  }
}

extension DescriptorDefinition: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [BluetoothUUID.self, [UInt8].self]
  }
  var members: [any BusRepresentable] { [uuid, value] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(uuid: try reader.next(), value: try reader.next())
  }
}

extension AdvertisementRequest: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [String?.self, [BluetoothUUID].self]
  }
  var members: [any BusRepresentable] { [localName, serviceUUIDs] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(localName: try reader.next(), serviceUUIDs: try reader.next())
  }
}

extension CentralRestoration: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [[PeripheralSnapshot].self, ScanRequest?.self]
  }
  var members: [any BusRepresentable] { [peripherals, scan] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(peripherals: try reader.next(), scan: try reader.next())
  }
}

extension PeripheralRestoration: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [[ServiceDefinition].self, AdvertisementRequest?.self, [LocalAttributeIdentifier: [CentralSnapshot]].self]
  }
  var members: [any BusRepresentable] { [services, advertisement, subscriptions] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(services: try reader.next(), advertisement: try reader.next(), subscriptions: try reader.next())
  }
}

extension AdvertisementData: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [
      UInt8?.self, String?.self, [BluetoothUUID].self, [BluetoothUUID].self, [BluetoothUUID].self,
      [BluetoothUUID: [UInt8]].self, [UInt16: [UInt8]].self, Int8?.self, UInt16?.self, Bool.self,
    ]
  }
  var members: [any BusRepresentable] {
    [
      flags, localName, serviceUUIDs, solicitedServiceUUIDs, overflowServiceUUIDs, serviceData, manufacturerData,
      transmitPowerLevel, appearance, isConnectable,
    ]
  }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      flags: try reader.next(), localName: try reader.next(), serviceUUIDs: try reader.next(),
      solicitedServiceUUIDs: try reader.next(), overflowServiceUUIDs: try reader.next(), serviceData: try reader.next(),
      manufacturerData: try reader.next(), transmitPowerLevel: try reader.next(), appearance: try reader.next(),
      isConnectable: try reader.next())
  }
}

extension AppStatus: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [String.self, AppState.self, Int32?.self, Bool.self, Int.self, Int.self, Int.self, String?.self]
  }
  var members: [any BusRepresentable] {
    [bundleIdentifier, state, processIdentifier, quitByUser, pendingConnections, connections, launches, alert]
  }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      bundleIdentifier: try reader.next(), state: try reader.next(), processIdentifier: try reader.next(),
      quitByUser: try reader.next(), pendingConnections: try reader.next(), connections: try reader.next(),
      launches: try reader.next(), alert: try reader.next())
  }
}

extension SystemStatus: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [ManagerState.self, [AppStatus].self, [PairingQuestion].self, [WakeRecord].self, String?.self]
  }
  var members: [any BusRepresentable] { [bluetooth, apps, pairings, wakes, storeTrouble] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      bluetooth: try reader.next(), apps: try reader.next(), pairings: try reader.next(), wakes: try reader.next(),
      storeTrouble: try reader.next())
  }
}

extension WakeRecord: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [String.self, String.self, Double.self, Double.self, Int.self, Int.self, String?.self]
  }
  var members: [any BusRepresentable] { [app, because, unixSeconds, seconds, told, said, outcome] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      app: try reader.next(), because: try reader.next(), unixSeconds: try reader.next(), seconds: try reader.next(),
      told: try reader.next(), said: try reader.next(), outcome: try reader.next())
  }
}

extension PairingQuestion: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [UInt64.self, PairingQuestion.Kind.self, String.self, String?.self, UInt32.self]
  }
  var members: [any BusRepresentable] { [identifier, kind, address, name, passkey] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(
      identifier: try reader.next(), kind: try reader.next(), address: try reader.next(), name: try reader.next(),
      passkey: try reader.next())
  }
}

extension AppLinkError: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] {
    [AppLinkError.Code.self, String.self]
  }
  var members: [any BusRepresentable] { [code, message] }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    self.init(try reader.next(), try reader.next())
  }
}

/// Which of the two kinds of error it is, its code, and what happened (empty for ATT errors).
extension PeerError: BusStructure {
  static var memberTypes: [any BusRepresentable.Type] { [String.self, Int.self, String.self] }
  var members: [any BusRepresentable] {
    switch self {
    case .coreBluetooth(let code, let message): ["CoreBluetooth", code, message]
    case .att(let error): ["ATT", Int(error.rawValue), ""]
    }
  }
  init(_ reader: inout ArgumentReader) throws(BusError) {
    let kind: String = try reader.next()
    let code: Int = try reader.next()
    let message: String = try reader.next()
    switch kind {
    case "CoreBluetooth": self = .coreBluetooth(code: code, message: message)
    case "ATT":
      guard let raw = UInt8(exactly: code) else { throw malformed("\(code) is no ATT error") }
      self = .att(ATTError(rawValue: raw))
    default: throw malformed("\(kind) is no kind of error")
    }
  }
}
