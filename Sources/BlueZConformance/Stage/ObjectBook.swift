import BlueZ
import BusValue
import SystemBus

/// bluetoothd's objects as one client has seen them, with names that are the same on every machine.
struct ObjectBook: Sendable {
  private(set) var objects: ManagedObjects = [:]
  private var names: [ObjectPath: String] = [
    WellKnown.managerPath: "manager", WellKnown.firstAdapter: "adapter", secondAdapter: "adapter#2", .root: "root",
  ]
  private static let secondAdapter = WellKnown.adapter(1)
  private let peer: String
  /// The devices that have names, by adapter.
  private var deviceCounts: [ObjectPath: Int] = [:]
  /// The root of the case's own exports.
  private static let exported = "/conformance"

  /// - Parameter peer: the other machine.
  init(peer: String) { self.peer = peer }

  mutating func replace(_ all: ManagedObjects) {
    objects = [:]
    for path in all.keys.sorted() { add(path, all[path] ?? [:]) }
  }

  mutating func add(_ path: ObjectPath, _ interfaces: Interfaces) {
    objects[path, default: [:]].merge(interfaces) { $1 }
    guard names[path] == nil else { return }
    if interfaces[InterfaceName.device] != nil {
      let adapter = path.parent ?? .root
      let count = deviceCounts[adapter, default: 0] + 1
      deviceCounts[adapter] = count
      names[path] = (adapter == Self.secondAdapter ? "adapter#2/" : "") + peer + (count == 1 ? "" : "#\(count)")
      return
    }
    for interface in [InterfaceName.gattService, InterfaceName.gattCharacteristic, InterfaceName.gattDescriptor] {
      guard let uuid = interfaces[interface]?["UUID"]?.stringValue, let parent = path.parent else { continue }
      let name = "\(self.name(parent))/\(Wording.uuid(uuid))"
      // A handle may later belong to another attribute, which then gets the name.
      names[path] = name
    }
  }

  /// Returns whether the object is gone with it.
  @discardableResult
  mutating func remove(_ path: ObjectPath, _ interfaces: [String]) -> Bool {
    for interface in interfaces { objects[path]?[interface] = nil }
    let rest = (objects[path] ?? [:]).keys.filter { $0.hasPrefix("org.bluez") }
    guard rest.isEmpty else { return false }
    objects[path] = nil
    return true
  }

  /// A new attribute at an old path gets a new name.
  mutating func forgetName(_ path: ObjectPath) {
    if objects[path] == nil, path.text.contains("/service") { names[path] = nil }
  }

  mutating func change(_ path: ObjectPath, _ interface: String, _ changed: Properties, _ invalidated: [String]) {
    objects[path]?[interface]?.merge(changed) { $1 }
    for name in invalidated { objects[path]?[interface]?[name] = nil }
  }

  func name(_ path: ObjectPath) -> String {
    if let name = names[path] { return name }
    if path.text.hasPrefix(Self.exported) { return String(path.lastComponent) }
    return "<unknown object>"
  }

  /// The path of the object that has this name now.
  func path(_ name: String) -> ObjectPath? {
    objects.keys.sorted().first { names[$0] == name }
  }

  func property(_ name: String, _ interface: String, _ property: String) -> Value? {
    path(name).flatMap { objects[$0]?[interface]?[property] }
  }

  static func interfaces(_ value: Value?) -> Interfaces? {
    guard case .dictionary("s", "a{sv}", let members)? = value else { return nil }
    var result: Interfaces = [:]
    for (key, value) in members {
      guard let name = key.stringValue, let properties = value.propertiesValue else { return nil }
      result[name] = properties
    }
    return result
  }

  static func objects(_ value: Value?) -> ManagedObjects? {
    guard case .dictionary("o", "a{sa{sv}}", let members)? = value else { return nil }
    var result: ManagedObjects = [:]
    for (key, value) in members {
      guard let path = key.pathValue, let interfaces = interfaces(value) else { return nil }
      result[path] = interfaces
    }
    return result
  }
}
