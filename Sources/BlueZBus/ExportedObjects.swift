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
    /// bluetoothd has been asked to let it go. Calls on one connection are served in order, so the same path may be
    /// registered anew without waiting for the answer.
    var isLeaving = false
  }

  private var exports: [ObjectPath: Export] = [:]

  /// Exports what a request registers, and marks what it takes back, before it is sent. The refusal, where the path is
  /// exported already.
  mutating func add(_ request: Request) -> BlueZError? {
    if let path = Self.path(takenBackBy: request) { exports[path]?.isLeaving = true }
    guard let (root, export) = Self.export(of: request) else { return nil }
    guard exports[root]?.isLeaving != false else { return .alreadyExists }
    exports[root] = export
    return nil
  }

  /// A registration that failed, and one that was undone, is exported no more.
  mutating func finish(_ request: Request, succeeded: Bool) {
    if let (root, _) = Self.export(of: request) {
      if succeeded { exports[root]?.isRegistered = true } else { exports[root] = nil }
      return
    }
    // What was registered at the same path meanwhile stays.
    guard let path = Self.path(takenBackBy: request), exports[path]?.isLeaving == true else { return }
    if succeeded { exports[path] = nil } else { exports[path]?.isLeaving = false }
  }

  /// bluetoothd has dropped an advertisement or an agent.
  mutating func released(_ path: ObjectPath, by callback: Callback) {
    guard case .release = callback, exports[path]?.isApplication == false else { return }
    exports[path] = nil
  }

  /// Remembers a characteristic's new value; whether there is such a characteristic.
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

  /// Remembers what an advertisement says now; whether there is such an advertisement.
  mutating func change(_ properties: Properties, gone: [String], ofAdvertisement path: ObjectPath) -> Bool {
    guard exports[path]?.objects[path]?[InterfaceName.advertisement] != nil else { return false }
    exports[path]?.objects[path]?[InterfaceName.advertisement]?.merge(properties) { $1 }
    for name in gone { exports[path]?.objects[path]?[InterfaceName.advertisement]?[name] = nil }
    return true
  }

  /// Exports one more object below a root, or one no more; whether there is such a root.
  mutating func change(_ path: ObjectPath, to interfaces: Interfaces?, below root: ObjectPath) -> Bool {
    guard exports[root]?.isApplication == true, path.isWithin(root) else { return false }
    exports[root]?.objects[path] = interfaces
    return true
  }

  /// Answers what the standard interfaces ask; `nil` where the call is another.
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
    // A call may leave its interface out; then the first that has the method is meant.
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
      .unregisterMonitor(let path):
      path
    default: nil
    }
  }

  private static func export(of request: Request) -> (ObjectPath, Export)? {
    switch request {
    case .registerApplication(let root, let objects), .registerMonitor(let root, let objects):
      (root, Export(objects: objects, isApplication: true))
    case .registerAdvertisement(let path, let properties):
      (path, Export(objects: [path: [InterfaceName.advertisement: properties]], isApplication: false))
    case .registerAgent(let path, _): (path, Export(objects: [path: [InterfaceName.agent: [:]]], isApplication: false))
    default: nil
    }
  }
}
