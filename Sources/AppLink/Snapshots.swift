import BluetoothTypes
import FoundationEssentials

/// `CBPeripheralState`, with its raw values.
package enum PeripheralState: UInt8, Sendable, Hashable, Codable {
  case disconnected = 0
  case connecting, connected, disconnecting
}

/// A remote peripheral as one app sees it, with what that app has discovered and subscribed to so far.
package struct PeripheralSnapshot: Sendable, Hashable, Codable {
  package var identifier: PeerIdentifier
  package var name: String?
  package var state: PeripheralState
  /// `nil` before the first discovery.
  package var services: [ServiceSnapshot]?
  /// The connection's ATT MTU in bytes.
  package var mtu: Int
  package init(
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

/// A service of a remote peripheral, as far as the app has discovered it.
package struct ServiceSnapshot: Sendable, Hashable, Codable {
  package var handle: AttributeHandle
  package var uuid: BluetoothUUID
  package var isPrimary: Bool
  /// Handles of included services, or `nil` before they were discovered.
  package var includedServices: [AttributeHandle]?
  package var characteristics: [CharacteristicSnapshot]?
  package init(
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

/// A characteristic of a remote peripheral, as far as the app has discovered it.
package struct CharacteristicSnapshot: Sendable, Hashable, Codable {
  package var handle: AttributeHandle
  package var uuid: BluetoothUUID
  package var properties: CharacteristicProperties
  /// Whether the app is subscribed to it.
  package var isNotifying: Bool
  package var descriptors: [DescriptorSnapshot]?
  package init(
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

/// A descriptor of a remote peripheral's characteristic.
package struct DescriptorSnapshot: Sendable, Hashable, Codable {
  package var handle: AttributeHandle
  package var uuid: BluetoothUUID
  package init(handle: AttributeHandle, uuid: BluetoothUUID) {
    self.handle = handle
    self.uuid = uuid
  }
}

/// A remote central.
package struct CentralSnapshot: Sendable, Hashable, Codable {
  package var identifier: PeerIdentifier
  /// How many bytes fit in one notification: the link's MTU minus three, and at most 512.
  package var maximumUpdateValueLength: Int
  package init(identifier: PeerIdentifier, maximumUpdateValueLength: Int) {
    self.identifier = identifier
    self.maximumUpdateValueLength = maximumUpdateValueLength
  }
}
