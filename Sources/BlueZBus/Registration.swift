import BlueZ
import BusValue
import SystemBus

/// What a client registers, and with which adapter. Each adapter has its own registrations.
struct Registration: Hashable {
  enum Kind { case application, advertisement, monitors, batteries }
  var kind: Kind
  var adapter: ObjectPath
  /// The root, or the advertisement's path.
  var path: ObjectPath

  init(kind: Kind, adapter: ObjectPath, path: ObjectPath) {
    self.kind = kind
    self.adapter = adapter
    self.path = path
  }

  /// What a request registers or withdraws, or `nil` if it does neither.
  init?(_ request: Request, with adapter: ObjectPath) {
    switch request {
    case .registerApplication(let root, _), .unregisterApplication(let root):
      self.init(kind: .application, adapter: adapter, path: root)
    case .registerAdvertisement(let path, _), .unregisterAdvertisement(let path):
      self.init(kind: .advertisement, adapter: adapter, path: path)
    case .registerMonitor(let root, _), .unregisterMonitor(let root):
      self.init(kind: .monitors, adapter: adapter, path: root)
    case .registerBatteryProvider(let root), .unregisterBatteryProvider(let root):
      self.init(kind: .batteries, adapter: adapter, path: root)
    default: return nil
    }
  }
}

extension MethodCall {
  /// Asks a client for its objects.
  static func objects(of client: String, _ root: ObjectPath) -> MethodCall {
    MethodCall(to: client, path: root, interface: BusName.objectManager, member: "GetManagedObjects")
  }

  /// Asks a client for the properties of its advertisement.
  static func advertisement(of client: String, _ path: ObjectPath) -> MethodCall {
    MethodCall(
      to: client, path: path, interface: BusName.properties, member: "GetAll",
      arguments: [.string(InterfaceName.advertisement)])
  }
}

extension MatchRule {
  /// Changes of the properties of a client's objects.
  static func changes(of client: String) -> MatchRule {
    MatchRule(sender: client, interface: BusName.properties, member: "PropertiesChanged")
  }

  /// Objects that a client adds and removes.
  static func arrivals(of client: String) -> MatchRule {
    MatchRule(sender: client, interface: BusName.objectManager)
  }
}
