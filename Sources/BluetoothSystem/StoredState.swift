import AppLink
import BluetoothTypes
import FoundationEssentials

/// Everything the system has promised, as it is on disk: small records by key, so that a change is one row.
public struct StoredState: Sendable, Hashable {
  public private(set) var records: [StoreKey: StoredRecord] = [:]
  public init() {}

  public init(_ records: some Sequence<StoredRecord>) {
    for record in records { self.records[record.key] = record }
  }

  public mutating func apply(_ change: StoreChange) {
    switch change {
    case .put(let record): records[record.key] = record
    case .remove(let key): records[key] = nil
    }
  }
}

/// One change of what is on disk.
public enum StoreChange: Sendable, Hashable {
  case put(StoredRecord)
  case remove(StoreKey)
}

/// The name of a record: unique within its kind.
public struct StoreKey: Sendable, Hashable, Comparable {
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    case settings, app, manager, peripheral, service, peer, subscription
  }
  public let kind: Kind
  public let name: String
  public init(_ kind: Kind, _ name: String) {
    self.kind = kind
    self.name = name
  }
  public static func < (left: Self, right: Self) -> Bool {
    (left.kind.rawValue, left.name) < (right.kind.rawValue, right.name)
  }
}

/// A manager for good: by its restore identifier where it has one, else by its number in its app's process.
public struct ManagerKey: Sendable, Hashable, Comparable, Codable {
  public var app: String
  public var role: Role
  public var restoreIdentifier: String?
  /// 0 where there is a restore identifier.
  public var number: UInt32

  public init(app: String, role: Role, restoreIdentifier: String?, number: UInt32 = 0) {
    self.app = app
    self.role = role
    self.restoreIdentifier = restoreIdentifier
    self.number = number
  }

  var text: String { "\(app)\u{1F}\(role.rawValue)\u{1F}\(restoreIdentifier.map { "=" + $0 } ?? "#\(number)")" }

  /// Managers without a restore identifier come before those with one.
  public static func < (left: Self, right: Self) -> Bool {
    if left.app != right.app { return left.app < right.app }
    if left.role != right.role { return left.role.rawValue < right.role.rawValue }
    switch (left.restoreIdentifier, right.restoreIdentifier) {
    case (let left?, let right?): return left < right
    case (nil, nil): return left.number < right.number
    case (let left, _): return left == nil
    }
  }
}

public enum StoredRecord: Sendable, Hashable, Codable {
  case settings(SettingsRecord)
  case app(AppRecord)
  case manager(ManagerRecord)
  case peripheral(PeripheralRecord)
  case service(ServiceRecord)
  case peer(PeerRecord)
  case subscription(SubscriptionRecord)

  public var key: StoreKey {
    switch self {
    case .settings: StoreKey(.settings, "")
    case .app(let record): StoreKey(.app, record.bundleIdentifier)
    case .manager(let record): StoreKey(.manager, record.key.text)
    case .peripheral(let record): PeripheralRecord.key(record.manager, record.peer)
    case .service(let record): StoreKey(.service, record.definition.identifier.uuidString)
    case .peer(let record): StoreKey(.peer, record.identifier.uuidString)
    case .subscription(let record): record.key
    }
  }
}

public struct SettingsRecord: Sendable, Hashable, Codable {
  /// Keeps peers' identifiers apart from other machines'.
  public var salt: UInt64
  /// The user's own switch.
  public var bluetoothOn: Bool
  /// How often this machine's GATT database was given another mark (`DatabaseMark`); `nil`: never.
  public var databaseMark: UInt32?

  public init(salt: UInt64, bluetoothOn: Bool, databaseMark: UInt32? = nil) {
    self.salt = salt
    self.bluetoothOn = bluetoothOn
    self.databaseMark = databaseMark
  }
}

public struct AppRecord: Sendable, Hashable, Codable {
  public var bundleIdentifier: String
  public var state: AppState
  public var process: ProcessIdentity?
  public var quitByUser: Bool
  public var launches: Int
}

public struct ManagerRecord: Sendable, Hashable, Codable {
  public var key: ManagerKey
  public var scan: ScanRequest?
  public var advertisement: AdvertisementRequest?
  /// Who the app was told is subscribed: whoever of them has gone by the next start, it is told of then.
  public var subscribers: [LocalAttributeIdentifier: Set<PeerIdentifier>]

  public init(
    key: ManagerKey, scan: ScanRequest? = nil, advertisement: AdvertisementRequest? = nil,
    subscribers: [LocalAttributeIdentifier: Set<PeerIdentifier>] = [:]
  ) {
    self.key = key
    self.scan = scan
    self.advertisement = advertisement
    self.subscribers = subscribers
  }
}

/// One peripheral as one manager has it.
public struct PeripheralRecord: Sendable, Hashable, Codable {
  public var manager: ManagerKey
  public var peer: PeerIdentifier
  public var options: ConnectOptions
  /// The app holds a connection request, or the connection that came of it.
  public var isWanted: Bool
  /// The state the app was last told.
  public var told: PeripheralState
  /// What the app has discovered and subscribed to.
  public var services: [ServiceSnapshot]?

  public init(
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

public struct ServiceRecord: Sendable, Hashable, Codable {
  public var manager: ManagerKey
  public var definition: ServiceDefinition
  /// The service declaration's handle; its attributes follow.
  public var handle: AttributeHandle
  /// The order in which services were published.
  public var order: Int
}

/// A remote device that an app has to do with.
public struct PeerRecord: Sendable, Hashable, Codable {
  public var identifier: PeerIdentifier
  /// The identity address, once bonded.
  public var address: DeviceAddress
  public var name: String?
  /// An app has asked for a connection to it, so a link that nobody asked for is the system's doing.
  public var wasRequested: Bool
  /// Services that apps have found on it, so that their absence is noticed; `nil`: none.
  public var services: [BluetoothUUID]?
  /// This system bonded with it, unattended and for an app, and no link has come up with that bond since; `nil`: no.
  public var isBondUnproven: Bool?

  public init(
    identifier: PeerIdentifier, address: DeviceAddress, name: String? = nil, wasRequested: Bool,
    services: [BluetoothUUID]? = nil, isBondUnproven: Bool? = nil
  ) {
    self.isBondUnproven = isBondUnproven
    self.identifier = identifier
    self.address = address
    self.name = name
    self.wasRequested = wasRequested
    self.services = services
  }
}

/// A bonded central's subscription: it holds until the central ends it, over links and restarts.
public struct SubscriptionRecord: Sendable, Hashable, Codable {
  public var central: PeerIdentifier
  public var characteristic: LocalAttributeIdentifier

  var key: StoreKey { Self.key(central, characteristic) }
  static func key(_ central: PeerIdentifier, _ characteristic: LocalAttributeIdentifier) -> StoreKey {
    StoreKey(.subscription, central.uuidString + "\u{1F}" + characteristic.uuidString)
  }
}
