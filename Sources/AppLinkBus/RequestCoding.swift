import AppLink
import BluetoothTypes
import BusValue
import FoundationEssentials
import SystemBus

/// Requests as method calls, and back. Operations on a peripheral are methods of their own.
enum RequestCoding {
  static let shapes: [MessageShape] = [
    MessageShape(
      "CreateManager", ["manager": ManagerIdentifier.self, "role": Role.self, "restore_identifier": String?.self]),
    MessageShape(
      "ResumeManager",
      [
        "manager": ManagerIdentifier.self, "role": Role.self, "restore_identifier": String?.self,
        "view": ManagerView.self,
      ]),
    MessageShape("DestroyManager", ["manager": ManagerIdentifier.self]),
    MessageShape("Scan", ["manager": ManagerIdentifier.self, "scan": ScanRequest.self]),
    MessageShape("StopScan", ["manager": ManagerIdentifier.self]),
    MessageShape(
      "Connect",
      ["manager": ManagerIdentifier.self, "peripheral": PeerIdentifier.self, "options": ConnectOptions.self]),
    MessageShape("CancelConnection", ["manager": ManagerIdentifier.self, "peripheral": PeerIdentifier.self]),
    operation("DiscoverServices", ["services": Optional<[BluetoothUUID]>.self]),
    operation(
      "DiscoverIncludedServices", ["services": Optional<[BluetoothUUID]>.self, "service": AttributeHandle.self]),
    operation(
      "DiscoverCharacteristics",
      ["characteristics": Optional<[BluetoothUUID]>.self, "service": AttributeHandle.self]),
    operation("DiscoverDescriptors", ["characteristic": AttributeHandle.self]),
    operation("ReadCharacteristic", ["characteristic": AttributeHandle.self]),
    operation(
      "WriteCharacteristic",
      ["characteristic": AttributeHandle.self, "value": [UInt8].self, "with_response": Bool.self]),
    operation("SetNotify", ["notify": Bool.self, "characteristic": AttributeHandle.self]),
    operation("ReadDescriptor", ["descriptor": AttributeHandle.self]),
    operation("WriteDescriptor", ["descriptor": AttributeHandle.self, "value": [UInt8].self]),
    operation("ReadRSSI", [:]),
    MessageShape("AddService", ["manager": ManagerIdentifier.self, "service": ServiceDefinition.self]),
    MessageShape("RemoveService", ["manager": ManagerIdentifier.self, "service": LocalAttributeIdentifier.self]),
    MessageShape("RemoveAllServices", ["manager": ManagerIdentifier.self]),
    MessageShape(
      "StartAdvertising", ["manager": ManagerIdentifier.self, "advertisement": AdvertisementRequest.self]),
    MessageShape("StopAdvertising", ["manager": ManagerIdentifier.self]),
    MessageShape(
      "UpdateValue",
      [
        "manager": ManagerIdentifier.self, "characteristic": LocalAttributeIdentifier.self, "value": [UInt8].self,
        "centrals": Optional<[PeerIdentifier]>.self,
      ]),
    MessageShape(
      "Respond",
      ["request": RemoteRequestIdentifier.self, "error": ATTError?.self, "value": Optional<[UInt8]>.self]),
    MessageShape("CompleteAction", ["action": ActionIdentifier.self, "error": String?.self]),
    MessageShape("ShowAlert", ["text": String?.self]),
    MessageShape("Handled", ["through": EventSequence.self]),
  ]

  private static func operation(
    _ name: String, _ arguments: KeyValuePairs<String, any BusRepresentable.Type>
  ) -> MessageShape {
    var shape = MessageShape(
      name,
      ["manager": ManagerIdentifier.self, "peripheral": PeerIdentifier.self, "operation": OperationIdentifier.self])
    shape.inputs += MessageShape(name, arguments).inputs
    return shape
  }

  static func message(_ request: Request) -> WireMessage {
    switch request {
    case .createManager(let manager, let creation):
      WireMessage("CreateManager", [manager, creation.role, creation.restoreIdentifier])
    case .resumeManager(let manager, let creation, let view):
      WireMessage("ResumeManager", [manager, creation.role, creation.restoreIdentifier, view])
    case .destroyManager(let manager): WireMessage("DestroyManager", [manager])
    case .scan(let manager, let scan): WireMessage("Scan", [manager, scan])
    case .stopScan(let manager): WireMessage("StopScan", [manager])
    case .connect(let manager, let peer, let options): WireMessage("Connect", [manager, peer, options])
    case .cancelConnection(let manager, let peer): WireMessage("CancelConnection", [manager, peer])
    case .perform(let manager, let peer, let identifier, let operation):
      message(operation, [manager, peer, identifier])
    case .addService(let manager, let service): WireMessage("AddService", [manager, service])
    case .removeService(let manager, let service): WireMessage("RemoveService", [manager, service])
    case .removeAllServices(let manager): WireMessage("RemoveAllServices", [manager])
    case .startAdvertising(let manager, let advertisement):
      WireMessage("StartAdvertising", [manager, advertisement])
    case .stopAdvertising(let manager): WireMessage("StopAdvertising", [manager])
    case .updateValue(let manager, let characteristic, let value, let centrals):
      WireMessage("UpdateValue", [manager, characteristic, value, centrals])
    case .respond(let request, let error, let value): WireMessage("Respond", [request, error, value])
    case .completeAction(let action, let error): WireMessage("CompleteAction", [action, error])
    case .showAlert(let text): WireMessage("ShowAlert", [text])
    case .handled(let sequence): WireMessage("Handled", [sequence])
    }
  }

  private static func message(_ operation: PeripheralOperation, _ target: [any BusRepresentable]) -> WireMessage {
    func wire(_ name: String, _ arguments: [any BusRepresentable]) -> WireMessage {
      WireMessage(name, target + arguments)
    }
    return switch operation {
    case .discoverServices(let uuids): wire("DiscoverServices", [uuids])
    case .discoverIncludedServices(let uuids, let service): wire("DiscoverIncludedServices", [uuids, service])
    case .discoverCharacteristics(let uuids, let service): wire("DiscoverCharacteristics", [uuids, service])
    case .discoverDescriptors(let characteristic): wire("DiscoverDescriptors", [characteristic])
    case .readCharacteristic(let characteristic): wire("ReadCharacteristic", [characteristic])
    case .writeCharacteristic(let characteristic, let value, let withResponse):
      wire("WriteCharacteristic", [characteristic, value, withResponse])
    case .setNotify(let notify, let characteristic): wire("SetNotify", [notify, characteristic])
    case .readDescriptor(let descriptor): wire("ReadDescriptor", [descriptor])
    case .writeDescriptor(let descriptor, let value): wire("WriteDescriptor", [descriptor, value])
    case .readRSSI: wire("ReadRSSI", [])
    }
  }

  /// `nil` where no request has this name. The arguments' signature fits the shape.
  static func request(_ name: String, _ reader: ArgumentReader) throws(BusError) -> Request? {
    var reader = reader
    switch name {
    case "CreateManager": return .createManager(try reader.next(), try creation(&reader))
    case "ResumeManager": return .resumeManager(try reader.next(), try creation(&reader), try reader.next())
    case "DestroyManager": return .destroyManager(try reader.next())
    case "Scan": return .scan(try reader.next(), try reader.next())
    case "StopScan": return .stopScan(try reader.next())
    case "Connect": return .connect(try reader.next(), try reader.next(), try reader.next())
    case "CancelConnection": return .cancelConnection(try reader.next(), try reader.next())
    case "AddService": return .addService(try reader.next(), try reader.next())
    case "RemoveService": return .removeService(try reader.next(), try reader.next())
    case "RemoveAllServices": return .removeAllServices(try reader.next())
    case "StartAdvertising": return .startAdvertising(try reader.next(), try reader.next())
    case "StopAdvertising": return .stopAdvertising(try reader.next())
    case "UpdateValue":
      return .updateValue(
        try reader.next(), try reader.next(), value: try reader.next(), centrals: try reader.next())
    case "Respond": return .respond(try reader.next(), result: try reader.next(), value: try reader.next())
    case "CompleteAction": return .completeAction(try reader.next(), error: try reader.next())
    case "ShowAlert": return .showAlert(try reader.next())
    case "Handled": return .handled(through: try reader.next())
    default: return try perform(name, &reader)
    }
  }

  private static func creation(_ reader: inout ArgumentReader) throws(BusError) -> ManagerCreation {
    ManagerCreation(role: try reader.next(), restoreIdentifier: try reader.next())
  }

  private static func perform(_ name: String, _ reader: inout ArgumentReader) throws(BusError) -> Request? {
    guard shapes.contains(where: { $0.name == name }) else { return nil }
    let manager: ManagerIdentifier = try reader.next()
    let peer: PeerIdentifier = try reader.next()
    let identifier: OperationIdentifier = try reader.next()
    guard let operation = try operation(name, &reader) else { return nil }
    return .perform(manager, peer, identifier, operation)
  }

  private static func operation(
    _ name: String, _ reader: inout ArgumentReader
  ) throws(BusError) -> PeripheralOperation? {
    switch name {
    case "DiscoverServices": return .discoverServices(try reader.next())
    case "DiscoverIncludedServices":
      return .discoverIncludedServices(try reader.next(), service: try reader.next())
    case "DiscoverCharacteristics": return .discoverCharacteristics(try reader.next(), service: try reader.next())
    case "DiscoverDescriptors": return .discoverDescriptors(characteristic: try reader.next())
    case "ReadCharacteristic": return .readCharacteristic(try reader.next())
    case "WriteCharacteristic":
      return .writeCharacteristic(try reader.next(), value: try reader.next(), withResponse: try reader.next())
    case "SetNotify": return .setNotify(try reader.next(), characteristic: try reader.next())
    case "ReadDescriptor": return .readDescriptor(try reader.next())
    case "WriteDescriptor": return .writeDescriptor(try reader.next(), value: try reader.next())
    case "ReadRSSI": return .readRSSI
    default: return nil
    }
  }
}

/// How an app attaches.
enum AttachCoding {
  static let shape = MessageShape(
    "Attach",
    ["protocol_version": UInt32.self, "bundle_identifier": String.self, "last_event": EventSequence?.self],
    returns: [
      "centrals_to_restore": [String].self, "peripherals_to_restore": [String].self,
      "background_modes": [String].self,
    ])

  static func message(_ attachment: Attachment) -> WireMessage {
    WireMessage(shape.name, [attachment.protocolVersion, attachment.bundleIdentifier, attachment.lastEvent])
  }

  static func attachment(_ reader: ArgumentReader) throws(BusError) -> Attachment {
    var reader = reader
    return Attachment(
      protocolVersion: try reader.next(), bundleIdentifier: try reader.next(), lastEvent: try reader.next())
  }

  static func values(_ reply: AttachReply) -> [Value] {
    [reply.centralsToRestore.busValue, reply.peripheralsToRestore.busValue, reply.backgroundModes.busValue]
  }

  static func reply(_ values: [Value]) throws(BusError) -> AttachReply {
    var reader = ArgumentReader(values)
    return AttachReply(
      centralsToRestore: try reader.next(), peripheralsToRestore: try reader.next(),
      backgroundModes: try reader.next())
  }
}

/// Queries as method calls, and back.
enum QueryCoding {
  static let shapes: [MessageShape] = [
    MessageShape(
      "RetrievePeripherals", ["manager": ManagerIdentifier.self, "identifiers": [PeerIdentifier].self],
      returns: ["peripherals": [PeripheralSnapshot].self]),
    MessageShape(
      "RetrieveConnectedPeripherals", ["manager": ManagerIdentifier.self, "services": [BluetoothUUID].self],
      returns: ["peripherals": [PeripheralSnapshot].self]),
  ]

  static func message(_ query: Query) -> WireMessage {
    switch query {
    case .retrievePeripherals(let manager, let peers): WireMessage("RetrievePeripherals", [manager, peers])
    case .retrieveConnectedPeripherals(let manager, let services):
      WireMessage("RetrieveConnectedPeripherals", [manager, services])
    }
  }

  static func query(_ name: String, _ reader: ArgumentReader) throws(BusError) -> Query? {
    var reader = reader
    switch name {
    case "RetrievePeripherals": return .retrievePeripherals(try reader.next(), try reader.next())
    case "RetrieveConnectedPeripherals":
      return .retrieveConnectedPeripherals(try reader.next(), withServices: try reader.next())
    default: return nil
    }
  }
}

/// The user's requests as method calls, and back.
enum ControlCoding {
  static let shapes: [MessageShape] = [
    MessageShape("OpenApp", ["bundle_identifier": String.self]),
    MessageShape("LeaveApp", ["bundle_identifier": String.self]),
    MessageShape("QuitApp", ["bundle_identifier": String.self]),
    MessageShape("ReclaimApp", ["bundle_identifier": String.self]),
    MessageShape("PerformAction", ["bundle_identifier": String.self, "name": String.self]),
    MessageShape("SetBluetooth", ["on": Bool.self]),
    MessageShape("GetStatus", returns: ["status": SystemStatus.self]),
    MessageShape("AttendPairings", returns: ["status": SystemStatus.self]),
    MessageShape(
      "AnswerPairing", ["question": UInt64.self, "is_accepted": Bool.self, "passkey": UInt32.self]),
    MessageShape("Pair", ["device": String.self]),
  ]

  static func message(_ request: ControlRequest) -> WireMessage {
    switch request {
    case .openApp(let app): WireMessage("OpenApp", [app])
    case .leaveApp(let app): WireMessage("LeaveApp", [app])
    case .quitApp(let app): WireMessage("QuitApp", [app])
    case .reclaimApp(let app): WireMessage("ReclaimApp", [app])
    case .performAction(let app, let name): WireMessage("PerformAction", [app, name])
    case .setBluetooth(let on): WireMessage("SetBluetooth", [on])
    case .status: WireMessage("GetStatus", [])
    case .attendPairings: WireMessage("AttendPairings", [])
    case .answerPairing(let answer):
      WireMessage("AnswerPairing", [answer.question, answer.isAccepted, answer.passkey])
    case .pair(let device): WireMessage("Pair", [device])
    }
  }

  static func request(_ name: String, _ reader: ArgumentReader) throws(BusError) -> ControlRequest? {
    var reader = reader
    switch name {
    case "OpenApp": return .openApp(bundleIdentifier: try reader.next())
    case "LeaveApp": return .leaveApp(bundleIdentifier: try reader.next())
    case "QuitApp": return .quitApp(bundleIdentifier: try reader.next())
    case "ReclaimApp": return .reclaimApp(bundleIdentifier: try reader.next())
    case "PerformAction": return .performAction(bundleIdentifier: try reader.next(), name: try reader.next())
    case "SetBluetooth": return .setBluetooth(on: try reader.next())
    case "GetStatus": return .status
    case "AttendPairings": return .attendPairings
    case "AnswerPairing":
      return .answerPairing(
        PairingAnswer(question: try reader.next(), isAccepted: try reader.next(), passkey: try reader.next()))
    case "Pair": return .pair(device: try reader.next())
    default: return nil
    }
  }
}
