import BlueZ
import BusValue
import SystemBus

/// What a client exports to bluetoothd, and how it answers calls.
struct Exports: Sendable {
  enum Answer: Sendable {
    case values([Value])
    case error(String, String)
    /// Held until the case answers it.
    case hold
  }

  private var roots: [ObjectPath: ManagedObjects] = [:]
  /// By the object's last path component and the method, such as `offer.ReadValue` or `agent.RequestConfirmation`.
  var answers: [String: Answer] = [:]

  mutating func add(_ objects: ManagedObjects, at root: ObjectPath) { roots[root] = objects }
  mutating func remove(_ root: ObjectPath) { roots[root] = nil }

  mutating func change(_ path: ObjectPath, to interfaces: Interfaces?, below root: ObjectPath) {
    roots[root]?[path] = interfaces
  }

  func interfaces(of path: ObjectPath) -> Interfaces? {
    for objects in roots.values {
      if let interfaces = objects[path] { return interfaces }
    }
    return nil
  }

  mutating func setValue(_ value: [UInt8], at path: ObjectPath) {
    for root in roots.keys where roots[root]?[path]?[InterfaceName.gattCharacteristic] != nil {
      roots[root]?[path]?[InterfaceName.gattCharacteristic]?["Value"] = .bytes(value)
    }
  }

  /// Answers calls that only read the objects. `nil` for any other call.
  func standardAnswer(_ call: IncomingCall) -> Result<[Value], BusError>? {
    if answers["\(call.path.lastComponent).\(call.member)"] != nil { return nil }
    switch (call.interface, call.member) {
    case (InterfaceName.objectManager, "GetManagedObjects"):
      guard let objects = roots[call.path] else { return .failure(.unknownObject(call)) }
      return .success([Self.encode(objects)])
    case (InterfaceName.properties, "GetAll"):
      guard let name = call.arguments.first?.stringValue, let properties = interfaces(of: call.path)?[name] else {
        return .failure(.unknownObject(call))
      }
      return .success([.properties(properties)])
    case (InterfaceName.properties, "Get"):
      guard call.arguments.count == 2, let name = call.arguments[0].stringValue,
        let property = call.arguments[1].stringValue, let value = interfaces(of: call.path)?[name]?[property]
      else { return .failure(.unknownObject(call)) }
      return .success([.variant(value)])
    default: return nil
    }
  }

  /// The default result of a GATT or agent method.
  mutating func answer(_ call: IncomingCall) -> Answer {
    let key = "\(call.path.lastComponent).\(call.member)"
    if let answer = answers[key] { return answer }
    guard let interfaces = interfaces(of: call.path) else {
      return .error("org.freedesktop.DBus.Error.UnknownObject", "no such object")
    }
    switch call.member {
    case "ReadValue":
      return .values([interfaces[InterfaceName.gattCharacteristic]?["Value"] ?? .bytes([])])
    case "WriteValue":
      if let value = call.arguments.first?.bytesValue { setValue(value, at: call.path) }
      return .values([])
    case "RequestPasskey": return .values([.uint32(0)])
    case "RequestPinCode": return .values([.string("0000")])
    default: return .values([])
    }
  }

  private static func encode(_ objects: ManagedObjects) -> Value {
    .dictionary(
      key: "o", value: "a{sa{sv}}",
      Dictionary(
        uniqueKeysWithValues: objects.map { (Value.path($0.key), encode($0.value)) }))
  }

  static func encode(_ interfaces: Interfaces) -> Value {
    .dictionary(
      key: "s", value: "a{sv}",
      Dictionary(uniqueKeysWithValues: interfaces.map { (Value.string($0.key), Value.properties($0.value)) }))
  }
}
