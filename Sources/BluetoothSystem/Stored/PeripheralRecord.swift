import AppLink
import BluetoothTypes
import FoundationEssentials

/// One peripheral as one manager sees it.
package struct PeripheralRecord: Sendable, Hashable {
  package var manager: ManagerKey
  package var peer: PeerIdentifier
  package var options: ConnectOptions
  /// The app holds a connection request, or the connection that resulted from it.
  package var isWanted: Bool
  /// The connection's state after the last event that the app has handled (`Peripheral.delivered`).
  package var told: PeripheralState
  /// What the app has discovered and subscribed to.
  package var services: [ServiceSnapshot]?

  package init(
    manager: ManagerKey, peer: PeerIdentifier, options: ConnectOptions = ConnectOptions(), isWanted: Bool,
    told: PeripheralState, services: [ServiceSnapshot]? = nil
  ) {
    self.manager = manager
    self.peer = peer
    self.options = options
    self.isWanted = isWanted
    self.told = told
    self.services = services
  }

  static func key(_ manager: ManagerKey, _ peer: PeerIdentifier) -> StoreKey {
    StoreKey(.peripheral, manager.text + "\u{1F}" + peer.uuidString)
  }
}

extension PeripheralRecord {
  struct OnDisk: DiskForm {
    var manager: ManagerKey.OnDisk
    var peer: UUID
    /// Missing: each option has its default.
    var options: Options?
    var isWanted: Bool
    var told: State
    /// Missing: the app has not discovered any.
    var services: [Service]?

    enum CodingKeys: String, CodingKey {
      case manager = "manager"
      case peer = "peer"
      case options = "options"
      case isWanted = "isWanted"
      case told = "told"
      case services = "services"
    }

    init(_ record: PeripheralRecord) {
      manager = ManagerKey.OnDisk(record.manager)
      peer = record.peer.rawValue
      options = record.options == ConnectOptions() ? nil : Options(record.options)
      isWanted = record.isWanted
      told = State(record.told)
      services = record.services.map { Service.list($0) }
    }

    var value: PeripheralRecord {
      get throws {
        PeripheralRecord(
          manager: manager.value, peer: PeerIdentifier(peer), options: options?.value ?? ConnectOptions(),
          isWanted: isWanted,
          told: told.value, services: try services?.values)
      }
    }
  }

  struct Options: DiskForm {
    /// Missing, each of these: no.
    var notifyOnConnection: Bool?
    var notifyOnDisconnection: Bool?
    var notifyOnNotification: Bool?
    var enableAutoReconnect: Bool?
    /// Missing: 0.
    var startDelaySeconds: Double?

    enum CodingKeys: String, CodingKey {
      case notifyOnConnection = "notifyOnConnection"
      case notifyOnDisconnection = "notifyOnDisconnection"
      case notifyOnNotification = "notifyOnNotification"
      case enableAutoReconnect = "enableAutoReconnect"
      case startDelaySeconds = "startDelaySeconds"
    }

    init(_ options: ConnectOptions) {
      notifyOnConnection = options.notifyOnConnection ? true : nil
      notifyOnDisconnection = options.notifyOnDisconnection ? true : nil
      notifyOnNotification = options.notifyOnNotification ? true : nil
      enableAutoReconnect = options.enableAutoReconnect ? true : nil
      startDelaySeconds = options.startDelaySeconds == 0 ? nil : options.startDelaySeconds
    }

    var value: ConnectOptions {
      ConnectOptions(
        notifyOnConnection: notifyOnConnection ?? false, notifyOnDisconnection: notifyOnDisconnection ?? false,
        notifyOnNotification: notifyOnNotification ?? false, enableAutoReconnect: enableAutoReconnect ?? false,
        startDelaySeconds: startDelaySeconds ?? 0)
    }
  }

  enum State: String, DiskForm {
    case disconnected = "disconnected"
    case connecting = "connecting"
    case connected = "connected"
    case disconnecting = "disconnecting"

    init(_ value: PeripheralState) {
      switch value {
      case .disconnected: self = .disconnected
      case .connecting: self = .connecting
      case .connected: self = .connected
      case .disconnecting: self = .disconnecting
      }
    }

    var value: PeripheralState {
      switch self {
      case .disconnected: .disconnected
      case .connecting: .connecting
      case .connected: .connected
      case .disconnecting: .disconnecting
      }
    }
  }

  struct Service: DiskForm {
    var handle: UInt16
    var uuid: UUIDOnDisk
    var isPrimary: Bool
    /// Handles. Missing: the app has not discovered them.
    var includedServices: [UInt16]?
    /// Missing: the app has not discovered them.
    var characteristics: [Characteristic]?

    enum CodingKeys: String, CodingKey {
      case handle = "handle"
      case uuid = "uuid"
      case isPrimary = "isPrimary"
      case includedServices = "includedServices"
      case characteristics = "characteristics"
    }

    init(_ service: ServiceSnapshot) {
      handle = service.handle
      uuid = UUIDOnDisk(service.uuid)
      isPrimary = service.isPrimary
      includedServices = service.includedServices
      characteristics = service.characteristics.map { Characteristic.list($0) }
    }

    var value: ServiceSnapshot {
      get throws {
        ServiceSnapshot(
          handle: handle, uuid: try uuid.value, isPrimary: isPrimary, includedServices: includedServices,
          characteristics: try characteristics?.values)
      }
    }
  }

  struct Characteristic: DiskForm {
    var handle: UInt16
    var uuid: UUIDOnDisk
    /// Bits, as in `CBCharacteristicProperties`.
    var properties: UInt16
    /// The app has subscribed to it.
    var isNotifying: Bool
    /// Missing: the app has not discovered them.
    var descriptors: [Descriptor]?

    enum CodingKeys: String, CodingKey {
      case handle = "handle"
      case uuid = "uuid"
      case properties = "properties"
      case isNotifying = "isNotifying"
      case descriptors = "descriptors"
    }

    init(_ characteristic: CharacteristicSnapshot) {
      handle = characteristic.handle
      uuid = UUIDOnDisk(characteristic.uuid)
      properties = characteristic.properties.rawValue
      isNotifying = characteristic.isNotifying
      descriptors = characteristic.descriptors.map { Descriptor.list($0) }
    }

    var value: CharacteristicSnapshot {
      get throws {
        CharacteristicSnapshot(
          handle: handle, uuid: try uuid.value, properties: CharacteristicProperties(rawValue: properties),
          isNotifying: isNotifying, descriptors: try descriptors?.values)
      }
    }
  }

  struct Descriptor: DiskForm {
    var handle: UInt16
    var uuid: UUIDOnDisk

    enum CodingKeys: String, CodingKey {
      case handle = "handle"
      case uuid = "uuid"
    }

    init(_ descriptor: DescriptorSnapshot) {
      handle = descriptor.handle
      uuid = UUIDOnDisk(descriptor.uuid)
    }

    var value: DescriptorSnapshot { get throws { DescriptorSnapshot(handle: handle, uuid: try uuid.value) } }
  }
}
