import BlueZ
import BusValue
import SystemBus

extension BlueZError {
  init(_ error: BusError) { self.init(name: error.name, message: error.message) }
}

extension BusError {
  init(_ error: BlueZError) { self.init(name: error.name, message: error.message) }

  /// The error for a call that the server has refused. The object may have gone after the call was accepted. In bluetoothd
  /// nothing lies between the two, so the error is that for an object that was never there.
  init(_ error: BlueZError, answering call: IncomingCall) {
    self = error.name == Name.unknownObject ? .nothingHandles(call, isObject: false) : BusError(error)
  }

  /// bluetoothd's error for an unknown object, interface or method, or for wrong arguments. The text, with its
  /// newline, is libdbus's (dbus/dbus-connection.c).
  static func nothingHandles(_ call: IncomingCall, isObject: Bool) -> BusError {
    BusError(
      name: isObject ? Name.unknownMethod : Name.unknownObject, message: BusError.unknownMethod(call).message + "\n")
  }
}

/// Objects and their changes, as D-Bus carries them.
enum ObjectCoding {
  /// Whether bluetoothd's object has `Properties`: only if one of its interfaces has any.
  static func hasProperties(_ interfaces: Interfaces?) -> Bool {
    interfaces?.values.contains { !$0.isEmpty } == true
  }

  /// - Parameters:
  ///   - ofDaemon: whether to include the standard interfaces, which bluetoothd lists with every object.
  ///   - known: what the object had before. bluetoothd announces what is new, and so a standard interface only once
  ///     (BlueZ, gdbus/object.c, g_dbus_register_interface).
  static func value(_ interfaces: Interfaces, ofDaemon: Bool = false, known: Interfaces? = nil) -> Value {
    var members = interfaces
    if ofDaemon {
      if known == nil { members[BusName.introspectable] = [:] }
      if hasProperties(interfaces), !hasProperties(known) { members[BusName.properties] = [:] }
    }
    return .dictionary(
      key: "s", value: "a{sv}",
      Dictionary(uniqueKeysWithValues: members.map { (Value.string($0.key), Value.properties($0.value)) }))
  }

  static func value(_ objects: ManagedObjects, ofDaemon: Bool = false) -> Value {
    .dictionary(
      key: "o", value: "a{sa{sv}}",
      Dictionary(uniqueKeysWithValues: objects.map { (Value.path($0.key), value($0.value, ofDaemon: ofDaemon)) }))
  }

  /// The standard interfaces, which have no properties, are left out.
  static func interfaces(_ value: Value) -> Interfaces? {
    guard case .dictionary("s", "a{sv}", let members) = value else { return nil }
    var interfaces = Interfaces()
    for (key, properties) in members {
      guard let name = key.stringValue, let properties = properties.propertiesValue else { return nil }
      if !isStandard(name) { interfaces[name] = properties }
    }
    return interfaces
  }

  static func objects(_ value: Value?) -> ManagedObjects? {
    guard case .dictionary("o", "a{sa{sv}}", let members)? = value else { return nil }
    var objects = ManagedObjects()
    for (key, value) in members {
      guard let path = key.pathValue, let interfaces = interfaces(value) else { return nil }
      objects[path] = interfaces
    }
    return objects
  }

  /// - Parameters:
  ///   - before: the interfaces of an object that gets or loses some; `nil` if it is new.
  ///   - after: the same after the signal; `nil` if it is gone.
  static func outgoing(_ signal: Signal, before: Interfaces? = nil, after: Interfaces? = nil) -> OutgoingSignal {
    switch signal {
    case .interfacesAdded(let path, let added):
      OutgoingSignal(
        path: .root, interface: BusName.objectManager, member: "InterfacesAdded",
        arguments: [.path(path), value(added, ofDaemon: true, known: before)])
    case .interfacesRemoved(let path, let removed):
      OutgoingSignal(
        path: .root, interface: BusName.objectManager, member: "InterfacesRemoved",
        arguments: [.path(path), .strings(removedNames(removed, before: before, isGone: after == nil))])
    case .propertiesChanged(let path, let interface, let changed, let invalidated):
      OutgoingSignal(
        path: path, interface: BusName.properties, member: "PropertiesChanged",
        arguments: [.string(interface), .properties(changed), .strings(invalidated)])
    case .disconnected(let path, let reason, let message):
      OutgoingSignal(
        path: path, interface: InterfaceName.device, member: "Disconnected",
        arguments: [.string(reason), .string(message)])
    }
  }

  /// An object that goes takes the standard interfaces along (BlueZ, gdbus/object.c, object_path_unref).
  private static func removedNames(_ names: [String], before: Interfaces?, isGone: Bool) -> [String] {
    guard isGone else { return own(names) }
    return (hasProperties(before) ? [BusName.properties] : []) + [BusName.introspectable] + own(names)
  }

  /// The names without those of the standard interfaces.
  private static func own(_ names: [String]) -> [String] { names.filter { !isStandard($0) } }

  private static func isStandard(_ name: String) -> Bool { name.hasPrefix("org.freedesktop.DBus.") }

  /// `nil` if it is not one of the four signals, or is malformed.
  static func signal(_ signal: IncomingSignal) -> Signal? {
    let arguments = signal.arguments
    switch (signal.interface, signal.member, signal.signature) {
    case (BusName.objectManager, "InterfacesAdded", "oa{sa{sv}}"):
      guard let path = arguments[0].pathValue, let added = interfaces(arguments[1]) else { return nil }
      return .interfacesAdded(path: path, added)
    case (BusName.objectManager, "InterfacesRemoved", "oas"):
      guard let path = arguments[0].pathValue, let removed = arguments[1].stringsValue else { return nil }
      return .interfacesRemoved(path: path, own(removed))
    case (BusName.properties, "PropertiesChanged", "sa{sv}as"):
      guard let interface = arguments[0].stringValue, let changed = arguments[1].propertiesValue,
        let invalidated = arguments[2].stringsValue
      else { return nil }
      return .propertiesChanged(path: signal.path, interface: interface, changed: changed, invalidated: invalidated)
    case (InterfaceName.device, "Disconnected", "ss"):
      guard let reason = arguments[0].stringValue, let message = arguments[1].stringValue else { return nil }
      return .disconnected(path: signal.path, reason: reason, message: message)
    default: return nil
    }
  }

  /// Applies the changes that a signal describes.
  static func apply(_ signal: Signal, to objects: inout ManagedObjects) {
    switch signal {
    case .interfacesAdded(let path, let added): objects[path, default: [:]].merge(added) { $1 }
    case .interfacesRemoved(let path, let removed):
      for name in removed { objects[path]?[name] = nil }
      if objects[path]?.isEmpty == true { objects[path] = nil }
    case .propertiesChanged(let path, let interface, let changed, let invalidated):
      objects[path]?[interface]?.merge(changed) { $1 }
      for name in invalidated { objects[path]?[interface]?[name] = nil }
    case .disconnected: break
    }
  }

  /// The introspection document of an object, or of a path above one. `nil` if there is neither.
  ///
  /// - Parameter daemon: the interfaces of bluetoothd's own objects, with all properties that an object may have. `nil`
  ///   for objects of a client, which are described by the properties that they have.
  static func introspection(
    of path: ObjectPath, in objects: ManagedObjects, managerAt root: ObjectPath,
    ofDaemon daemon: [String: InterfaceDescription]? = nil
  ) -> String? {
    let children = Introspection.children(of: path, among: objects.keys)
    guard objects[path] != nil || !children.isEmpty || path == root else { return nil }
    var interfaces = [InterfaceDescription.introspectable]
    if path == root { interfaces.append(.objectManager) }
    if let own = objects[path] {
      if daemon == nil || hasProperties(own) { interfaces.append(.properties) }
      for (name, properties) in own.sorted(by: { $0.key < $1.key }) {
        var description = (daemon ?? Interfaces1.all)[name] ?? InterfaceDescription(name)
        if daemon == nil {
          description.properties = properties.sorted { $0.key < $1.key }.map {
            InterfaceDescription.Property($0.key, $0.value.signature)
          }
        }
        interfaces.append(description)
      }
    }
    return Introspection.document(interfaces: interfaces, children: children)
  }
}
