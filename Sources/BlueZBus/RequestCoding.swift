import BlueZ
import BluetoothTypes
import BusValue
import SystemBus

/// Requests as method calls, and back.
enum RequestCoding {
  struct Call: Equatable {
    var interface: String
    var member: String
    var arguments: [Value] = []
  }

  /// What a server has to do with an incoming call.
  enum Incoming: Equatable {
    case request(Request)
    /// The client's objects at this root must be fetched to complete the request.
    case application(root: ObjectPath)
    /// The properties of the client's advertisement must be fetched to complete the request.
    case advertisement(ObjectPath)
    /// The same for the monitors at this root.
    case monitors(root: ObjectPath)
  }

  static func call(_ request: Request, onDescriptor: Bool = false) -> Call {
    func standard(_ interface: String, _ member: String, _ arguments: [Value] = []) -> Call {
      Call(interface: interface, member: member, arguments: arguments)
    }
    func adapter(_ member: String, _ arguments: [Value] = []) -> Call {
      Call(interface: InterfaceName.adapter, member: member, arguments: arguments)
    }
    func device(_ member: String, _ arguments: [Value] = []) -> Call {
      Call(interface: InterfaceName.device, member: member, arguments: arguments)
    }
    func attribute(_ member: String, _ arguments: [Value] = []) -> Call {
      let interface = onDescriptor ? InterfaceName.gattDescriptor : InterfaceName.gattCharacteristic
      return Call(interface: interface, member: member, arguments: arguments)
    }
    let noOptions = Value.properties([:])
    switch request {
    case .getManagedObjects: return standard(BusName.objectManager, "GetManagedObjects")
    case .getProperty(let interface, let name):
      return standard(BusName.properties, "Get", [.string(interface), .string(name)])
    case .getAllProperties(let interface): return standard(BusName.properties, "GetAll", [.string(interface)])
    case .setProperty(let interface, let name, let value):
      return standard(BusName.properties, "Set", [.string(interface), .string(name), .variant(value)])
    case .startDiscovery: return adapter("StartDiscovery")
    case .stopDiscovery: return adapter("StopDiscovery")
    case .setDiscoveryFilter(let filter): return adapter("SetDiscoveryFilter", [.properties(filter.members)])
    case .getDiscoveryFilters: return adapter("GetDiscoveryFilters")
    case .removeDevice(let path): return adapter("RemoveDevice", [.path(path)])
    case .connectDevice(let members): return adapter("ConnectDevice", [.properties(members)])
    case .getServiceRecords: return device("GetServiceRecords")
    case .connect: return device("Connect")
    case .disconnect: return device("Disconnect")
    case .connectProfile(let uuid): return device("ConnectProfile", [.string(uuid.description)])
    case .disconnectProfile(let uuid): return device("DisconnectProfile", [.string(uuid.description)])
    case .pair: return device("Pair")
    case .cancelPairing: return device("CancelPairing")
    case .readValue(let offset):
      return attribute("ReadValue", [.properties(offset == 0 ? [:] : ["offset": .uint16(offset)])])
    case .writeValue(let value, let options):
      return attribute("WriteValue", [.bytes(value), .properties(properties(options))])
    case .startNotify: return attribute("StartNotify")
    case .stopNotify: return attribute("StopNotify")
    case .acquireNotify: return attribute("AcquireNotify", [noOptions])
    case .acquireWrite: return attribute("AcquireWrite", [noOptions])
    case .registerApplication(let root, _):
      return standard(InterfaceName.gattManager, "RegisterApplication", [.path(root), noOptions])
    case .unregisterApplication(let root):
      return standard(InterfaceName.gattManager, "UnregisterApplication", [.path(root)])
    case .registerAdvertisement(let path, _):
      return standard(InterfaceName.advertisingManager, "RegisterAdvertisement", [.path(path), noOptions])
    case .unregisterAdvertisement(let path):
      return standard(InterfaceName.advertisingManager, "UnregisterAdvertisement", [.path(path)])
    case .registerMonitor(let root, _):
      return standard(InterfaceName.advertisementMonitorManager, "RegisterMonitor", [.path(root)])
    case .unregisterMonitor(let root):
      return standard(InterfaceName.advertisementMonitorManager, "UnregisterMonitor", [.path(root)])
    case .registerBatteryProvider(let root):
      return standard(InterfaceName.batteryProviderManager, "RegisterBatteryProvider", [.path(root)])
    case .unregisterBatteryProvider(let root):
      return standard(InterfaceName.batteryProviderManager, "UnregisterBatteryProvider", [.path(root)])
    case .registerAgent(let path, let capability):
      return standard(InterfaceName.agentManager, "RegisterAgent", [.path(path), .string(capability.rawValue)])
    case .requestDefaultAgent(let path):
      return standard(InterfaceName.agentManager, "RequestDefaultAgent", [.path(path)])
    case .unregisterAgent(let path): return standard(InterfaceName.agentManager, "UnregisterAgent", [.path(path)])
    case .registerProfile(let path, let name, let isServer):
      return standard(
        InterfaceName.profileManager, "RegisterProfile",
        [.path(path), .string(name), .properties(isServer ? [:] : ["Role": .string("client")])])
    case .unregisterProfile(let path):
      return standard(InterfaceName.profileManager, "UnregisterProfile", [.path(path)])
    case .readConnectionRSSI: return standard(Interfaces1.simulatedController, "ReadConnectionRSSI")
    case .openChannel(let psm): return standard(Interfaces1.simulatedController, "OpenChannel", [.uint16(psm)])
    case .listenForChannels(let psm, let requiresEncryption):
      return standard(
        Interfaces1.simulatedController, "ListenForChannels", [.uint16(psm), .bool(requiresEncryption)])
    case .acceptChannel(let psm): return standard(Interfaces1.simulatedController, "AcceptChannel", [.uint16(psm)])
    case .stopListening(let psm): return standard(Interfaces1.simulatedController, "StopListening", [.uint16(psm)])
    }
  }

  /// Reads a call of a method that its interface describes. Throws `InvalidArgs` if the arguments are invalid.
  static func incoming(_ call: IncomingCall, interface: String) throws(BusError) -> Incoming {
    guard let incoming = try incoming(Arguments(call.arguments), interface, call.member) else {
      throw .nothingHandles(call, isObject: true)
    }
    return incoming
  }

  private static func incoming(
    _ arguments: Arguments, _ interface: String, _ member: String
  ) throws(BusError) -> Incoming? {
    switch (interface, member) {
    case (BusName.properties, "Set"):
      return .request(
        .setProperty(
          interface: try arguments.string(0), name: try arguments.string(1), value: try arguments.value(2).unwrapped))
    case (InterfaceName.adapter, "StartDiscovery"): return .request(.startDiscovery)
    case (InterfaceName.adapter, "StopDiscovery"): return .request(.stopDiscovery)
    case (InterfaceName.adapter, "SetDiscoveryFilter"):
      guard let filter = DiscoveryFilter(members: try arguments.properties(0)) else { throw BusError(invalidArguments) }
      return .request(.setDiscoveryFilter(filter))
    case (InterfaceName.adapter, "GetDiscoveryFilters"): return .request(.getDiscoveryFilters)
    case (InterfaceName.adapter, "RemoveDevice"): return .request(.removeDevice(try arguments.path(0)))
    case (InterfaceName.adapter, "ConnectDevice"): return .request(.connectDevice(try arguments.properties(0)))
    case (InterfaceName.device, "GetServiceRecords"): return .request(.getServiceRecords)
    case (InterfaceName.device, "Connect"): return .request(.connect)
    case (InterfaceName.device, "Disconnect"): return .request(.disconnect)
    case (InterfaceName.device, "ConnectProfile"):
      guard let uuid = ProfileName.uuid(try arguments.string(0)) else {
        throw BusError(.invalidArguments("br-connection-invalid-argument"))
      }
      return .request(.connectProfile(uuid))
    case (InterfaceName.device, "DisconnectProfile"):
      guard let uuid = ProfileName.uuid(try arguments.string(0)) else { throw BusError(invalidArguments) }
      return .request(.disconnectProfile(uuid))
    case (InterfaceName.device, "Pair"): return .request(.pair)
    case (InterfaceName.device, "CancelPairing"): return .request(.cancelPairing)
    case (InterfaceName.gattCharacteristic, "ReadValue"), (InterfaceName.gattDescriptor, "ReadValue"):
      return .request(.readValue(offset: try offset(try arguments.properties(0))))
    case (InterfaceName.gattCharacteristic, "WriteValue"):
      return .request(.writeValue(try arguments.bytes(0), try writeOptions(try arguments.properties(1))))
    case (InterfaceName.gattDescriptor, "WriteValue"):
      // A descriptor is always written by a request. bluetoothd does not look at a type there.
      return .request(
        .writeValue(try arguments.bytes(0), WriteOptions(kind: nil, offset: try offset(try arguments.properties(1)))))
    case (InterfaceName.gattCharacteristic, "StartNotify"): return .request(.startNotify)
    case (InterfaceName.gattCharacteristic, "StopNotify"): return .request(.stopNotify)
    case (InterfaceName.gattCharacteristic, "AcquireNotify"): return .request(.acquireNotify)
    case (InterfaceName.gattCharacteristic, "AcquireWrite"): return .request(.acquireWrite)
    case (InterfaceName.gattManager, "RegisterApplication"): return .application(root: try arguments.path(0))
    case (InterfaceName.gattManager, "UnregisterApplication"):
      return .request(.unregisterApplication(root: try arguments.path(0)))
    case (InterfaceName.advertisingManager, "RegisterAdvertisement"): return .advertisement(try arguments.path(0))
    case (InterfaceName.advertisingManager, "UnregisterAdvertisement"):
      return .request(.unregisterAdvertisement(path: try arguments.path(0)))
    case (InterfaceName.advertisementMonitorManager, "RegisterMonitor"): return .monitors(root: try arguments.path(0))
    case (InterfaceName.advertisementMonitorManager, "UnregisterMonitor"):
      return .request(.unregisterMonitor(root: try arguments.path(0)))
    case (InterfaceName.batteryProviderManager, "RegisterBatteryProvider"):
      return .request(.registerBatteryProvider(root: try arguments.path(0)))
    case (InterfaceName.batteryProviderManager, "UnregisterBatteryProvider"):
      return .request(.unregisterBatteryProvider(root: try arguments.path(0)))
    case (InterfaceName.agentManager, "RegisterAgent"):
      let text = try arguments.string(1)
      // An empty text means KeyboardDisplay (BlueZ, doc/org.bluez.AgentManager.rst).
      guard let capability = text.isEmpty ? .keyboardDisplay : AgentCapability(rawValue: text) else {
        throw BusError(invalidArguments)
      }
      return .request(.registerAgent(path: try arguments.path(0), capability: capability))
    case (InterfaceName.agentManager, "RequestDefaultAgent"):
      return .request(.requestDefaultAgent(path: try arguments.path(0)))
    case (InterfaceName.agentManager, "UnregisterAgent"):
      return .request(.unregisterAgent(path: try arguments.path(0)))
    case (InterfaceName.profileManager, "RegisterProfile"):
      let role = options("Role", try arguments.properties(2)).last?.stringValue
      return .request(
        .registerProfile(
          path: try arguments.path(0), name: try arguments.string(1), isServer: role != "client"))
    case (InterfaceName.profileManager, "UnregisterProfile"):
      return .request(.unregisterProfile(path: try arguments.path(0)))
    case (Interfaces1.simulatedController, "ReadConnectionRSSI"): return .request(.readConnectionRSSI)
    case (Interfaces1.simulatedController, "OpenChannel"):
      return .request(.openChannel(psm: try arguments.unsigned16(0)))
    case (Interfaces1.simulatedController, "ListenForChannels"):
      return .request(
        .listenForChannels(psm: try arguments.unsigned16(0), requiresEncryption: try arguments.flag(1)))
    case (Interfaces1.simulatedController, "AcceptChannel"):
      return .request(.acceptChannel(psm: try arguments.unsigned16(0)))
    case (Interfaces1.simulatedController, "StopListening"):
      return .request(.stopListening(psm: try arguments.unsigned16(0)))
    default: return nil
    }
  }

  // MARK: Options

  /// The error of bluetoothd's own parsers, not the bus's.
  static let invalidArguments = BlueZError.invalidArguments("Invalid arguments in method call")

  /// The values of an option, whose name bluetoothd takes in capitals, too (src/gatt-client.c, parse_options;
  /// src/profile.c, parse_ext_opt). If it is written in several ways, bluetoothd takes the last one in the message. A
  /// message that was read has no order any more, so the order of the names counts: capitals come first.
  private static func options(_ name: String, _ options: Properties) -> [Value] {
    options.filter { $0.key.lowercased() == name.lowercased() }.sorted { $0.key < $1.key }.map(\.value)
  }

  private static func properties(_ options: WriteOptions) -> Properties {
    var properties = Properties()
    properties["type"] = options.kind.map { .string($0.rawValue) }
    if options.offset != 0 { properties["offset"] = .uint16(options.offset) }
    return properties
  }

  private static func offset(_ properties: Properties) throws(BusError) -> UInt16 {
    var offset: UInt16 = 0
    for value in options("offset", properties) {
      guard case .uint16(let given) = value else { throw BusError(invalidArguments) }
      offset = given
    }
    return offset
  }

  private static func writeOptions(_ properties: Properties) throws(BusError) -> WriteOptions {
    WriteOptions(kind: try kind(properties), offset: try offset(properties))
  }

  static func kind(_ properties: Properties) throws(BusError) -> WriteOptions.Kind? {
    var type: String?
    for value in options("type", properties) {
      guard let text = value.stringValue else { throw BusError(invalidArguments) }
      type = text
    }
    guard let type else { return nil }
    guard let kind = WriteOptions.Kind(rawValue: type.lowercased()) else { throw BusError(.notSupported) }
    return kind
  }
}

/// The arguments of a message, by position.
struct Arguments {
  private let values: [Value]
  init(_ values: [Value]) { self.values = values }

  func value(_ index: Int) throws(BusError) -> Value {
    guard values.indices.contains(index) else { throw .invalidArguments("argument \(index + 1) is missing") }
    return values[index]
  }
  func path(_ index: Int) throws(BusError) -> ObjectPath {
    guard let path = try value(index).pathValue else { throw wrong(index, "an object path") }
    return path
  }
  func string(_ index: Int) throws(BusError) -> String {
    guard let text = try value(index).stringValue else { throw wrong(index, "a string") }
    return text
  }
  func bytes(_ index: Int) throws(BusError) -> [UInt8] {
    guard let bytes = try value(index).bytesValue else { throw wrong(index, "bytes") }
    return bytes
  }
  func properties(_ index: Int) throws(BusError) -> Properties {
    guard let properties = try value(index).propertiesValue else { throw wrong(index, "a{sv}") }
    return properties
  }
  func uuid(_ index: Int) throws(BusError) -> BluetoothUUID {
    guard let uuid = BluetoothUUID(try string(index)) else { throw wrong(index, "a UUID") }
    return uuid
  }
  func unsigned32(_ index: Int) throws(BusError) -> UInt32 {
    guard case .uint32(let value) = try value(index) else { throw wrong(index, "of type u") }
    return value
  }
  func flag(_ index: Int) throws(BusError) -> Bool {
    guard case .bool(let value) = try value(index) else { throw wrong(index, "a boolean") }
    return value
  }
  func unsigned16(_ index: Int) throws(BusError) -> UInt16 {
    guard case .uint16(let value) = try value(index) else { throw wrong(index, "of type q") }
    return value
  }

  private func wrong(_ index: Int, _ wanted: String) -> BusError {
    .invalidArguments("argument \(index + 1) is not \(wanted)")
  }
}
