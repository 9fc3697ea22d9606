import BluetoothTypes
import FoundationEssentials

/// `CBPeripheralState`, with its raw values.
public enum PeripheralState: UInt8, Sendable, Hashable, Codable {
  case disconnected = 0
  case connecting, connected, disconnecting
}

/// A remote peripheral as one app sees it, with what that app has discovered and subscribed to so far.
public struct PeripheralSnapshot: Sendable, Hashable, Codable {
  public var identifier: PeerIdentifier
  public var name: String?
  public var state: PeripheralState
  /// `nil` before the first discovery.
  public var services: [ServiceSnapshot]?
  /// The connection's ATT MTU in bytes.
  public var mtu: Int
  public init(
    identifier: PeerIdentifier, name: String? = nil, state: PeripheralState = .disconnected,
    services: [ServiceSnapshot]? = nil, mtu: Int = ATTLimits.defaultMTU
  ) {
    self.identifier = identifier
    self.name = name
    self.state = state
    self.services = services
    self.mtu = mtu
  }
}

public struct ServiceSnapshot: Sendable, Hashable, Codable {
  public var handle: AttributeHandle
  public var uuid: BluetoothUUID
  public var isPrimary: Bool
  /// Handles of included services, or `nil` before they were discovered.
  public var includedServices: [AttributeHandle]?
  public var characteristics: [CharacteristicSnapshot]?
  public init(
    handle: AttributeHandle, uuid: BluetoothUUID, isPrimary: Bool = true,
    includedServices: [AttributeHandle]? = nil, characteristics: [CharacteristicSnapshot]? = nil
  ) {
    self.handle = handle
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.includedServices = includedServices
    self.characteristics = characteristics
  }
}

public struct CharacteristicSnapshot: Sendable, Hashable, Codable {
  public var handle: AttributeHandle
  public var uuid: BluetoothUUID
  public var properties: CharacteristicProperties
  public var isNotifying: Bool
  public var descriptors: [DescriptorSnapshot]?
  public init(
    handle: AttributeHandle, uuid: BluetoothUUID, properties: CharacteristicProperties, isNotifying: Bool = false,
    descriptors: [DescriptorSnapshot]? = nil
  ) {
    self.handle = handle
    self.uuid = uuid
    self.properties = properties
    self.isNotifying = isNotifying
    self.descriptors = descriptors
  }
}

public struct DescriptorSnapshot: Sendable, Hashable, Codable {
  public var handle: AttributeHandle
  public var uuid: BluetoothUUID
  public init(handle: AttributeHandle, uuid: BluetoothUUID) {
    self.handle = handle
    self.uuid = uuid
  }
}

/// A remote central.
public struct CentralSnapshot: Sendable, Hashable, Codable {
  public var identifier: PeerIdentifier
  /// How many bytes fit in one notification: the link's MTU minus three.
  public var maximumUpdateValueLength: Int
  public init(identifier: PeerIdentifier, maximumUpdateValueLength: Int) {
    self.identifier = identifier
    self.maximumUpdateValueLength = maximumUpdateValueLength
  }
}
