import BlueZ
import BusValue
import Glibc
import SystemBus

/// Calls on a client's objects as method calls, and back.
enum CallbackCoding {
  static func call(_ callback: Callback, onDescriptor: Bool) -> RequestCoding.Call {
    func attribute(_ member: String, _ arguments: [Value] = []) -> RequestCoding.Call {
      let interface = onDescriptor ? InterfaceName.gattDescriptor : InterfaceName.gattCharacteristic
      return RequestCoding.Call(interface: interface, member: member, arguments: arguments)
    }
    func agent(_ member: String, _ arguments: [Value] = []) -> RequestCoding.Call {
      RequestCoding.Call(interface: InterfaceName.agent, member: member, arguments: arguments)
    }
    switch callback {
    case .readValue(let request): return attribute("ReadValue", [.properties(properties(request))])
    case .writeValue(let value, let request):
      return attribute("WriteValue", [.bytes(value), .properties(properties(request))])
    case .startNotify: return attribute("StartNotify")
    case .stopNotify: return attribute("StopNotify")
    case .confirm: return attribute("Confirm")
    case .acquireNotify(let request): return attribute("AcquireNotify", [.properties(properties(request))])
    case .acquireWrite(let request): return attribute("AcquireWrite", [.properties(properties(request))])
    case .assignHandle(let interface, let handle):
      return RequestCoding.Call(
        interface: InterfaceName.properties, member: "Set",
        arguments: [.string(interface), .string("Handle"), .variant(.uint16(handle))])
    case .monitor(let call): return self.call(call)
    case .release(let interface): return RequestCoding.Call(interface: interface, member: "Release")
    case .requestPinCode(let device): return agent("RequestPinCode", [.path(device)])
    case .requestPasskey(let device): return agent("RequestPasskey", [.path(device)])
    case .displayPasskey(let device, let passkey, let entered):
      return agent("DisplayPasskey", [.path(device), .uint32(passkey), .uint16(entered)])
    case .requestConfirmation(let device, let passkey):
      return agent("RequestConfirmation", [.path(device), .uint32(passkey)])
    case .requestAuthorization(let device): return agent("RequestAuthorization", [.path(device)])
    case .authorizeService(let device, let uuid):
      return agent("AuthorizeService", [.path(device), .string(uuid.description)])
    case .cancel: return agent("Cancel")
    }
  }

  private static func call(_ call: MonitorCall) -> RequestCoding.Call {
    let interface = InterfaceName.advertisementMonitor
    return switch call {
    case .activate: RequestCoding.Call(interface: interface, member: "Activate")
    case .deviceFound(let path):
      RequestCoding.Call(interface: interface, member: "DeviceFound", arguments: [.path(path)])
    case .deviceLost(let path):
      RequestCoding.Call(interface: interface, member: "DeviceLost", arguments: [.path(path)])
    }
  }

  /// Reads a call on an exported object that has its interface.
  static func callback(_ call: IncomingCall, interface: String) throws(BusError) -> Callback {
    guard let method = Interfaces1.all[interface]?.methods.first(where: { $0.name == call.member }) else {
      throw .unknownMethod(call)
    }
    guard call.signature == method.signature else {
      throw .invalidArguments(
        "\(interface).\(call.member) takes (\(method.signature)), and not (\(call.signature))")
    }
    let arguments = Arguments(call.arguments)
    switch (interface, call.member) {
    case (InterfaceName.gattCharacteristic, "ReadValue"), (InterfaceName.gattDescriptor, "ReadValue"):
      return .readValue(try request(try arguments.properties(0)))
    case (InterfaceName.gattCharacteristic, "WriteValue"), (InterfaceName.gattDescriptor, "WriteValue"):
      return .writeValue(try arguments.bytes(0), try request(try arguments.properties(1)))
    case (InterfaceName.gattCharacteristic, "StartNotify"): return .startNotify
    case (InterfaceName.gattCharacteristic, "StopNotify"): return .stopNotify
    case (InterfaceName.gattCharacteristic, "Confirm"): return .confirm
    case (InterfaceName.gattCharacteristic, "AcquireNotify"):
      return .acquireNotify(try request(try arguments.properties(0)))
    case (InterfaceName.gattCharacteristic, "AcquireWrite"):
      return .acquireWrite(try request(try arguments.properties(0)))
    case (InterfaceName.advertisementMonitor, "Activate"): return .monitor(.activate)
    case (InterfaceName.advertisementMonitor, "DeviceFound"): return .monitor(.deviceFound(try arguments.path(0)))
    case (InterfaceName.advertisementMonitor, "DeviceLost"): return .monitor(.deviceLost(try arguments.path(0)))
    case (_, "Release"): return .release(interface: interface)
    case (InterfaceName.agent, "RequestPinCode"): return .requestPinCode(device: try arguments.path(0))
    case (InterfaceName.agent, "RequestPasskey"): return .requestPasskey(device: try arguments.path(0))
    case (InterfaceName.agent, "DisplayPasskey"):
      return .displayPasskey(
        device: try arguments.path(0), passkey: try arguments.unsigned32(1), entered: try arguments.unsigned16(2))
    case (InterfaceName.agent, "RequestConfirmation"):
      return .requestConfirmation(device: try arguments.path(0), passkey: try arguments.unsigned32(1))
    case (InterfaceName.agent, "RequestAuthorization"):
      return .requestAuthorization(device: try arguments.path(0))
    case (InterfaceName.agent, "AuthorizeService"):
      return .authorizeService(device: try arguments.path(0), uuid: try arguments.uuid(1))
    case (InterfaceName.agent, "Cancel"): return .cancel
    default: throw .unknownMethod(call)
    }
  }

  static func values(_ reply: CallbackReply) -> [Value] {
    switch reply {
    case .none: []
    case .bytes(let bytes): [.bytes(bytes)]
    case .pinCode(let code): [.string(code)]
    case .passkey(let passkey): [.uint32(passkey)]
    case .channel(let descriptor, let mtu): [.fileDescriptor(descriptor), .uint16(mtu)]
    }
  }

  /// What the client's object returned. If the method returned something else, that is an error: `NotSupported` for a
  /// value, as for bluetoothd (src/gatt-database.c, read_reply_cb and write_reply_cb), otherwise `InvalidArgs`.
  static func reply(_ values: [Value], to callback: Callback) -> Result<CallbackReply, BlueZError> {
    let reply: CallbackReply?
    switch (callback, values.first) {
    case (.readValue, let value):
      guard let bytes = value?.rawBytes else { return .failure(.notSupported) }
      reply = .bytes(bytes)
    case (.writeValue, _):
      guard values.count < 2 else { return .failure(.notSupported) }
      reply = CallbackReply.none
    case (.requestPinCode, .string(let code)?): reply = .pinCode(code)
    case (.requestPasskey, .uint32(let passkey)?): reply = .passkey(passkey)
    case (.acquireNotify, .fileDescriptor(let descriptor)?), (.acquireWrite, .fileDescriptor(let descriptor)?):
      var mtu: UInt16 = 0
      if case .uint16(let told)? = values.last { mtu = told }
      reply = .channel(fileDescriptor: descriptor, mtu: mtu)
    case (.requestPinCode, _), (.requestPasskey, _), (.acquireNotify, _), (.acquireWrite, _): reply = nil
    default: reply = CallbackReply.none
    }
    guard let reply else {
      return .failure(BlueZError(.invalidArgs, "the client's object returned what the method doesn't"))
    }
    return .success(reply)
  }

  private static func properties(_ request: RemoteRequest) -> Properties {
    var properties: Properties = [
      "device": .path(request.device), "mtu": .uint16(request.mtu), "link": .string("LE"),
    ]
    if request.offset != 0 { properties["offset"] = .uint16(request.offset) }
    properties["type"] = request.kind.map { .string($0.rawValue) }
    if request.isPreparation { properties["prepare-authorize"] = .bool(true) }
    return properties
  }

  private static func request(_ properties: Properties) throws(BusError) -> RemoteRequest {
    guard let device = properties["device"]?.pathValue else { throw .invalidArguments("the device is missing") }
    var request = RemoteRequest(device: device, mtu: 23, kind: try RequestCoding.kind(properties))
    if case .uint16(let mtu)? = properties["mtu"] { request.mtu = mtu }
    if case .uint16(let offset)? = properties["offset"] { request.offset = offset }
    request.isPreparation = properties["prepare-authorize"]?.boolValue == true
    return request
  }
}

extension Value {
  /// What bluetoothd takes for the bytes of a value. It asks for an array, and not for the type of its elements: of an
  /// array of numbers it takes as many bytes as there are elements, from the beginning of the array's memory
  /// (src/gatt-database.c, dbus_message_iter_get_fixed_array). `nil` for anything else.
  var rawBytes: [UInt8]? {
    if let bytesValue { return bytesValue }
    guard case .array(_, let elements) = self else { return nil }
    var memory: [UInt8] = []
    for element in elements where memory.count < elements.count {
      guard let bytes = element.littleEndianBytes else { return nil }
      memory += bytes
    }
    return Array(memory.prefix(elements.count))
  }

  /// The bytes of a number in a message, or `nil` for a value of another kind.
  private var littleEndianBytes: [UInt8]? {
    func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
      withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
    return switch self {
    case .byte(let value): [value]
    case .bool(let value): bytes(UInt32(value ? 1 : 0))
    case .int16(let value): bytes(value)
    case .uint16(let value): bytes(value)
    case .int32(let value): bytes(value)
    case .uint32(let value): bytes(value)
    case .int64(let value): bytes(value)
    case .uint64(let value): bytes(value)
    case .double(let value): bytes(value.bitPattern)
    case .string, .path, .signature, .bytes, .array, .dictionary, .structure, .variant, .fileDescriptor: nil
    }
  }
}

extension [Value] {
  /// Closes descriptors that a client sent and that the answer does not use. A client may put descriptors anywhere.
  func closeDescriptors(but answer: Result<CallbackReply, BlueZError>) {
    var taken: Int32?
    if case .success(.channel(let descriptor, _)) = answer { taken = descriptor }
    for value in self where value != taken.map({ .fileDescriptor($0) }) { value.closeDescriptors() }
  }
}
