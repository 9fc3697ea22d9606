import BlueZ
import BusValue
import SystemBus
import TimeTypes

/// A case can't continue, because something it depends on did not happen.
struct Stuck: Error, CustomStringConvertible {
  let description: String
}

/// One machine of a case: its bus, and the clients on it.
final class Party {
  let name: MachineName
  /// The client that records everything bluetoothd sends, and makes most of a case's calls.
  private(set) var main: Client
  private var others: [Client] = []
  private let world: any ConformanceWorld
  private let recorder: Recorder
  private var wording = Wording()

  init(_ name: MachineName, world: any ConformanceWorld, recorder: Recorder) throws {
    self.name = name
    self.world = world
    self.recorder = recorder
    main = try Client(
      column: name.rawValue, address: world.busAddress(of: name), peer: name.peer.rawValue,
      recorder: recorder)
  }

  /// Another process on the machine.
  func client(_ title: String) async throws -> Client {
    let client = try Client(
      column: "\(name.rawValue), \(title)", address: world.busAddress(of: name), peer: name.peer.rawValue,
      names: main, recorder: recorder)
    client.teach(wording)
    others.append(client)
    try await recorder.need("\(title) to see bluetoothd") { client.isBluetoothdThere ? true : nil }
    return client
  }

  func teach(_ wording: Wording) {
    self.wording = wording
    for client in [main] + others { client.teach(wording) }
  }

  func closeAll() {
    for client in [main] + others { client.close() }
    others = []
  }

  /// After a boot: none of the earlier clients exists any more.
  func reopen() throws {
    main = try Client(
      column: name.rawValue, address: world.busAddress(of: name), peer: name.peer.rawValue,
      book: main.book, recorder: recorder)
    main.teach(wording)
  }

  // MARK: Properties

  func property(_ object: String, _ interface: String, _ name: String) -> Value? {
    main.book.property(object, interface, name)
  }

  /// The name of the other machine's Device1 here.
  var peer: String { name.peer.rawValue }
  func deviceProperty(_ property: String) -> Value? { self.property(peer, InterfaceName.device, property) }
  func has(_ object: String) -> Bool { main.book.path(object) != nil }
  var hasDevice: Bool { has(peer) }
  var isConnected: Bool { deviceProperty("Connected") == .bool(true) }
  var isResolved: Bool { deviceProperty("ServicesResolved") == .bool(true) }
  var isBonded: Bool { deviceProperty("Bonded") == .bool(true) }
  var isPowered: Bool { property("adapter", InterfaceName.adapter, "Powered") == .bool(true) }

  // MARK: Calls of the main client

  /// - Parameter adapter: `adapter` or `adapter#2`.
  func adapter(_ member: String, _ arguments: [Value] = [], on adapter: String = "adapter") -> OngoingCall {
    main.call(adapter, InterfaceName.adapter, member, arguments)
  }

  func device(_ member: String, _ arguments: [Value] = []) -> OngoingCall {
    main.call(peer, InterfaceName.device, member, arguments)
  }

  /// - Parameter attribute: for example `offer`, in the door's service.
  func characteristic(_ attribute: String, _ member: String, _ arguments: [Value] = []) -> OngoingCall {
    main.call("\(peer)/door/\(attribute)", InterfaceName.gattCharacteristic, member, arguments)
  }

  func read(_ attribute: String) -> OngoingCall { characteristic(attribute, "ReadValue", [.properties([:])]) }

  func write(_ attribute: String, _ value: [UInt8], _ options: Properties = ["type": .string("request")]) -> OngoingCall
  {
    characteristic(attribute, "WriteValue", [.bytes(value), .properties(options)])
  }

  func set(_ object: String, _ interface: String, _ name: String, _ value: Value) -> OngoingCall {
    main.call(object, InterfaceName.properties, "Set", [.string(interface), .string(name), .variant(value)])
  }

  func power(_ isOn: Bool) -> OngoingCall { set("adapter", InterfaceName.adapter, "Powered", .bool(isOn)) }
}

extension Client {
  func registerApplication(
    _ objects: ManagedObjects, at root: ObjectPath, on adapter: String = "adapter"
  ) -> OngoingCall {
    export(objects, at: root)
    return call(adapter, InterfaceName.gattManager, "RegisterApplication", [.path(root), .properties([:])])
  }

  func unregisterApplication(_ root: ObjectPath, on adapter: String = "adapter") -> OngoingCall {
    call(adapter, InterfaceName.gattManager, "UnregisterApplication", [.path(root)])
  }

  func registerAdvertisement(
    _ objects: ManagedObjects = ConformanceService.advertisement(), on adapter: String = "adapter"
  ) -> OngoingCall {
    let path = ConformanceService.advertisementPath
    export(objects, at: path)
    return call(adapter, InterfaceName.advertisingManager, "RegisterAdvertisement", [.path(path), .properties([:])])
  }

  func unregisterAdvertisement(on adapter: String = "adapter") -> OngoingCall {
    call(
      adapter, InterfaceName.advertisingManager, "UnregisterAdvertisement",
      [.path(ConformanceService.advertisementPath)])
  }

  func registerAgent(_ capability: String) -> OngoingCall {
    let path = ConformanceService.agentPath
    export([path: [InterfaceName.agent: [:]]], at: path)
    return call("manager", InterfaceName.agentManager, "RegisterAgent", [.path(path), .string(capability)])
  }

  func requestDefaultAgent() -> OngoingCall {
    call("manager", InterfaceName.agentManager, "RequestDefaultAgent", [.path(ConformanceService.agentPath)])
  }
}
