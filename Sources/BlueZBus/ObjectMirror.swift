import BlueZ
import BusValue
import SystemBus

/// The objects that a server of org.bluez shows, and what can be answered from them alone.
struct ObjectMirror {
  private(set) var objects: ManagedObjects
  /// The interfaces that objects can have.
  private let descriptions: [String: InterfaceDescription]

  /// - Parameter isExperimental: bluetoothd runs with `--experimental`.
  init(_ objects: ManagedObjects, isExperimental: Bool) {
    self.objects = objects
    descriptions = isExperimental ? Interfaces1.ofExperimentalDaemon : Interfaces1.ofDaemon
  }

  mutating func apply(_ signal: Signal) { ObjectCoding.apply(signal, to: &objects) }

  /// The interface of a call, if the object has it with a method of this name and exactly these arguments. Like
  /// bluetoothd, it refuses a call without an interface (BlueZ, gdbus/object.c).
  func interface(of call: IncomingCall) throws(BusError) -> String {
    let interfaces = objects[call.path]
    guard interfaces != nil || objects.keys.contains(where: { $0.isWithin(call.path) }) || call.path == .root else {
      throw .nothingHandles(call, isObject: false)
    }
    let description: InterfaceDescription? =
      switch call.interface {
      case BusName.introspectable: .introspectable
      case BusName.objectManager: call.path == .root ? .objectManager : nil
      case BusName.properties: ObjectCoding.hasProperties(interfaces) ? .properties : nil
      case Interfaces1.simulatedController:
        interfaces?[InterfaceName.device] == nil && interfaces?[InterfaceName.adapter] == nil
          ? nil : descriptions[Interfaces1.simulatedController]
      case let name?: interfaces?[name] == nil ? nil : descriptions[name]
      case nil: nil
      }
    guard let description,
      description.methods.contains(where: { $0.name == call.member && $0.signature == call.signature })
    else { throw .nothingHandles(call, isObject: true) }
    return description.name
  }

  /// Answers a call from the mirror if possible. Returns `nil` for any other call.
  func answer(_ call: IncomingCall, _ interface: String) throws(BusError) -> [Value]? {
    let arguments = Arguments(call.arguments)
    switch (interface, call.member) {
    case (BusName.objectManager, "GetManagedObjects"): return [ObjectCoding.value(objects, ofDaemon: true)]
    case (BusName.introspectable, "Introspect"):
      guard let text = ObjectCoding.introspection(of: call.path, in: objects, managerAt: .root, ofDaemon: descriptions)
      else { throw .nothingHandles(call, isObject: false) }
      return [.string(text)]
    case (BusName.properties, "GetAll"): return [.properties(try properties(call, arguments))]
    case (BusName.properties, "Get"):
      let name = try arguments.string(1)
      guard let value = try properties(call, arguments)[name] else {
        throw .invalidArguments("No such property '\(name)'")
      }
      return [.variant(value)]
    default: return nil
    }
  }

  /// The properties of the interface that the first argument names.
  private func properties(_ call: IncomingCall, _ arguments: Arguments) throws(BusError) -> Properties {
    let name = try arguments.string(0)
    // The standard interfaces of the object have none.
    if [BusName.properties, BusName.introspectable].contains(name) { return [:] }
    guard let properties = objects[call.path]?[name] else { throw .invalidArguments("No such interface '\(name)'") }
    return properties
  }
}
