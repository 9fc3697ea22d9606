import BlueZ
import BusValue
import SystemBus

/// What a client of bluetoothd exports for it: applications, advertisements and agents.
struct ExportedObjects {
  private struct Export {
    var objects: ManagedObjects
    /// GetManagedObjects is served at the root.
    var isApplication: Bool
    /// bluetoothd has accepted it.
    var isRegistered = false
    /// bluetoothd has been asked to release it. Calls on one connection are served in order, so the same path may be
    /// registered again without waiting for the answer.
    var isLeaving = false
  }

  private var exports: [ObjectPath: Export] = [:]

  /// Before a request is sent: exports what it registers, and marks what it withdraws. Returns an error if the path
  /// is already exported.
  mutating func add(_ request: Request) -> BlueZError? {
    if let path = Self.path(takenBackBy: request) { exports[path]?.isLeaving = true }
    guard let (root, export) = Self.export(of: request) else { return nil }
    guard exports[root]?.isLeaving != false else { return .alreadyExists }
    exports[root] = export
    return nil
  }

  /// Failed and withdrawn registrations are no longer exported.
  mutating func finish(_ request: Request, succeeded: Bool) {
    if let (root, _) = Self.export(of: request) {
      if succeeded { exports[root]?.isRegistered = true } else { exports[root] = nil }
      return
    }
    // What has been registered at the same path in the meantime stays.
    guard let path = Self.path(takenBackBy: request), exports[path]?.isLeaving == true else { return }
    if succeeded { exports[path] = nil } else { exports[path]?.isLeaving = false }
  }

  /// bluetoothd has dropped an advertisement or an agent.
  mutating func released(_ path: ObjectPath, by callback: Callback) {
    guard case .release = callback, exports[path]?.isApplication == false else { return }
    exports[path] = nil
  }

  /// Stores a characteristic's new value. Returns whether the characteristic exists.
  mutating func setValue(_ value: [UInt8], at path: ObjectPath) -> Bool {
    for (root, export) in exports
    where export.isApplication && export.objects[path]?[InterfaceName.gattCharacteristic] != nil {
      var object = export.objects[path] ?? [:]
      object.update(GattCharacteristic1.self) { $0.value = value }
      exports[root]?.objects[path] = object
      return true
    }
    return false
  }

  /// Stores an advertisement's changed properties. Returns whether the advertisement exists.
  mutating func change(_ properties: Properties, gone: [String], ofAdvertisement path: ObjectPath) -> Bool {
    guard exports[path]?.objects[path]?[InterfaceName.advertisement] != nil else { return false }
    exports[path]?.objects[path]?[InterfaceName.advertisement]?.merge(properties) { $1 }
    for name in gone { exports[path]?.objects[path]?[InterfaceName.advertisement]?[name] = nil }
    return true
  }

  /// Adds, changes or removes an object below a root. Returns whether the root exists.
  mutating func change(_ path: ObjectPath, to interfaces: Interfaces?, below root: ObjectPath) -> Bool {
    guard exports[root]?.isApplication == true, path.isWithin(root) else { return false }
    exports[root]?.objects[path] = interfaces
    return true
  }

  /// Answers a call of a standard interface. Returns `nil` for any other call.
  func answer(_ call: IncomingCall) throws(BusError) -> [Value]? {
    switch (call.interface, call.member) {
    case (BusName.objectManager, "GetManagedObjects"):
      guard let application = exports[call.path], application.isApplication else { throw .unknownObject(call) }
      return [ObjectCoding.value(application.objects)]
    case (BusName.introspectable, "Introspect"):
      let root = exports.first { $0.key == call.path && $0.value.isApplication }?.key ?? ObjectPath.root
      let all = exports.values.reduce(into: ManagedObjects()) { $0.merge($1.objects) { $1 } }
      guard let text = ObjectCoding.introspection(of: call.path, in: all, managerAt: root) else {
        throw .unknownObject(call)
      }
      return [.string(text)]
    case (BusName.properties, "GetAll"):
      let interfaces = try interfaces(call)
      guard call.signature == "s", let properties = interfaces[try Arguments(call.arguments).string(0)] else {
        throw .invalidArguments("no such interface")
      }
      return [.properties(properties)]
    case (BusName.properties, "Get"):
      let interfaces = try interfaces(call)
      guard call.signature == "ss",
        let value = interfaces[try Arguments(call.arguments).string(0)]?[try Arguments(call.arguments).string(1)]
      else { throw .invalidArguments("no such property") }
      return [.variant(value)]
    case (BusName.properties, "Set"):
      throw BusError(name: BusError.Name.propertyReadOnly, message: "this object's properties can't be set")
    default: return nil
    }
  }

  /// Reads a call on an exported object.
  func callback(_ call: IncomingCall) throws(BusError) -> Callback {
    let interfaces = try interfaces(call)
    // A call may omit its interface. It then means the first interface that has the method.
    let interface =
      call.interface
      ?? interfaces.keys.sorted().first { name in
        Interfaces1.all[name]?.methods.contains { $0.name == call.member } == true
      }
    guard let interface, interfaces[interface] != nil else { throw .unknownMethod(call) }
    return try CallbackCoding.callback(call, interface: interface)
  }

  private func interfaces(_ call: IncomingCall) throws(BusError) -> Interfaces {
    for export in exports.values {
      if let interfaces = export.objects[call.path] { return interfaces }
    }
    throw .unknownObject(call)
  }

  private static func path(takenBackBy request: Request) -> ObjectPath? {
    switch request {
    case .unregisterApplication(let path), .unregisterAdvertisement(let path), .unregisterAgent(let path),
      .unregisterMonitor(let path), .unregisterBatteryProvider(let path):
      path
    default: nil
    }
  }

  private static func export(of request: Request) -> (ObjectPath, Export)? {
    switch request {
    case .registerApplication(let root, let objects), .registerMonitor(let root, let objects):
      (root, Export(objects: objects, isApplication: true))
    case .registerBatteryProvider(let root): (root, Export(objects: [:], isApplication: true))
    case .registerAdvertisement(let path, let properties):
      (path, Export(objects: [path: [InterfaceName.advertisement: properties]], isApplication: false))
    case .registerAgent(let path, _): (path, Export(objects: [path: [InterfaceName.agent: [:]]], isApplication: false))
    default: nil
    }
  }
}
