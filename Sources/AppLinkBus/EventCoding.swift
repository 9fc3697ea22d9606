import AppLink
import BluetoothTypes
import BusValue
import FoundationEssentials
import SystemBus

/// Events as signals to one app, and back. Each has its place in what the app is told first, its manager second. The
/// ways in which an operation can end are signals of their own.
enum EventCoding {
  static let shapes: [MessageShape] = [
    event("ManagerRejected", ["error": AppLinkError.self]),
    event("StateChanged", ["state": ManagerState.self]),
    event("WillRestoreCentral", ["restoration": CentralRestoration.self]),
    event("WillRestorePeripheral", ["restoration": PeripheralRestoration.self]),
    event(
      "Discovered", ["peripheral": PeripheralSnapshot.self, "advertisement": AdvertisementData.self, "rssi": Int8.self]),
    event("Connected", ["peripheral": PeripheralSnapshot.self]),
    event("FailedToConnect", ["peripheral": PeerIdentifier.self, "error": PeerError.self]),
    event(
      "Disconnected",
      [
        "peripheral": PeerIdentifier.self, "error": PeerError?.self, "unix_seconds": Double.self,
        "is_reconnecting": Bool.self,
      ]),
    result("OperationFailed", ["error": PeerError.self]),
    result("OperationDone", [:]),
    result("ServicesDiscovered", ["services": [ServiceSnapshot].self]),
    result("IncludedServicesDiscovered", ["service": AttributeHandle.self, "services": [ServiceSnapshot].self]),
    result(
      "CharacteristicsDiscovered",
      ["service": AttributeHandle.self, "characteristics": [CharacteristicSnapshot].self]),
    result(
      "DescriptorsDiscovered", ["characteristic": AttributeHandle.self, "descriptors": [DescriptorSnapshot].self]),
    result("ValueRead", ["value": [UInt8].self]),
    result("NotifyingChanged", ["notifying": Bool.self]),
    result("RSSIRead", ["rssi": Int8.self]),
    event(
      "ValueUpdated",
      ["peripheral": PeerIdentifier.self, "characteristic": AttributeHandle.self, "value": [UInt8].self]),
    event("NameChanged", ["peripheral": PeerIdentifier.self, "name": String?.self]),
    event("ServicesModified", ["peripheral": PeerIdentifier.self, "invalidated": [AttributeHandle].self]),
    event("ServiceAdded", ["service": LocalAttributeIdentifier.self, "error": PeerError?.self]),
    event("AdvertisingStarted", ["error": PeerError?.self]),
    event("Subscribed", ["central": CentralSnapshot.self, "characteristic": LocalAttributeIdentifier.self]),
    event("Unsubscribed", ["central": CentralSnapshot.self, "characteristic": LocalAttributeIdentifier.self]),
    event(
      "ReadRequested",
      [
        "request": RemoteRequestIdentifier.self, "central": CentralSnapshot.self,
        "characteristic": LocalAttributeIdentifier.self, "offset": Int.self,
      ]),
    event(
      "WriteRequested",
      [
        "request": RemoteRequestIdentifier.self, "central": CentralSnapshot.self,
        "characteristic": LocalAttributeIdentifier.self, "offset": Int.self, "value": [UInt8].self,
        "with_response": Bool.self,
      ]),
    event("RequestExpired", ["request": RemoteRequestIdentifier.self]),
    // The app itself is told, and no manager: its number is 0.
    event("ActionRequested", ["action": ActionIdentifier.self, "name": String.self]),
    event("UpdateCredit", ["credit": Int.self]),
  ]

  private static func event(
    _ name: String, _ arguments: KeyValuePairs<String, any BusRepresentable.Type>
  ) -> MessageShape {
    var shape = MessageShape(name, ["sequence": EventSequence.self, "manager": ManagerIdentifier.self])
    shape.inputs += MessageShape(name, arguments).inputs
    return shape
  }

  private static func result(
    _ name: String, _ arguments: KeyValuePairs<String, any BusRepresentable.Type>
  ) -> MessageShape {
    var shape = event(name, ["peripheral": PeerIdentifier.self, "operation": OperationIdentifier.self])
    shape.inputs += MessageShape(name, arguments).inputs
    return shape
  }

  static func message(_ event: Event) -> WireMessage {
    func wire(_ name: String, _ arguments: [any BusRepresentable]) -> WireMessage {
      WireMessage(name, [event.sequence] + arguments)
    }
    switch event.body {
    case .managerRejected(let manager, let error): return wire("ManagerRejected", [manager, error])
    case .stateChanged(let manager, let state): return wire("StateChanged", [manager, state])
    case .willRestoreCentral(let manager, let restoration): return wire("WillRestoreCentral", [manager, restoration])
    case .willRestorePeripheral(let manager, let restoration):
      return wire("WillRestorePeripheral", [manager, restoration])
    case .discovered(let manager, let peripheral, let advertisement, let rssi):
      return wire("Discovered", [manager, peripheral, advertisement, rssi])
    case .connected(let manager, let peripheral): return wire("Connected", [manager, peripheral])
    case .failedToConnect(let manager, let peer, let error): return wire("FailedToConnect", [manager, peer, error])
    case .disconnected(let manager, let peer, let error, let unixSeconds, let isReconnecting):
      return wire("Disconnected", [manager, peer, error, unixSeconds, isReconnecting])
    case .operationCompleted(let manager, let peer, let operation, let result):
      let (name, arguments) = message(result)
      return wire(name, [manager, peer, operation] + arguments)
    case .valueUpdated(let manager, let peer, let characteristic, let value):
      return wire("ValueUpdated", [manager, peer, characteristic, value])
    case .nameChanged(let manager, let peer, let name): return wire("NameChanged", [manager, peer, name])
    case .servicesModified(let manager, let peer, let invalidated):
      return wire("ServicesModified", [manager, peer, invalidated])
    case .serviceAdded(let manager, let service, let error): return wire("ServiceAdded", [manager, service, error])
    case .advertisingStarted(let manager, let error): return wire("AdvertisingStarted", [manager, error])
    case .subscribed(let manager, let central, let characteristic):
      return wire("Subscribed", [manager, central, characteristic])
    case .unsubscribed(let manager, let central, let characteristic):
      return wire("Unsubscribed", [manager, central, characteristic])
    case .readRequested(let manager, let request, let central, let characteristic, let offset):
      return wire("ReadRequested", [manager, request, central, characteristic, offset])
    case .writeRequested(
      let manager, let request, let central, let characteristic, let offset, let value, let withResponse):
      return wire("WriteRequested", [manager, request, central, characteristic, offset, value, withResponse])
    case .requestExpired(let manager, let request): return wire("RequestExpired", [manager, request])
    case .actionRequested(let action, let name): return wire("ActionRequested", [ManagerIdentifier(0), action, name])
    case .updateCredit(let manager, let credit): return wire("UpdateCredit", [manager, credit])
    }
  }

  private static func message(_ result: OperationResult) -> (String, [any BusRepresentable]) {
    switch result {
    case .failed(let error): ("OperationFailed", [error])
    case .done: ("OperationDone", [])
    case .services(let services): ("ServicesDiscovered", [services])
    case .includedServices(let service, let services): ("IncludedServicesDiscovered", [service, services])
    case .characteristics(let service, let characteristics):
      ("CharacteristicsDiscovered", [service, characteristics])
    case .descriptors(let characteristic, let descriptors): ("DescriptorsDiscovered", [characteristic, descriptors])
    case .value(let value): ("ValueRead", [value])
    case .notifying(let notifying): ("NotifyingChanged", [notifying])
    case .rssi(let rssi): ("RSSIRead", [rssi])
    }
  }

  /// Throws where no event has this name, or where the arguments are none of its.
  static func event(_ name: String, _ values: [Value]) throws(BusError) -> Event {
    var reader = ArgumentReader(values)
    let sequence: EventSequence = try reader.next()
    let manager: ManagerIdentifier = try reader.next()
    return Event(sequence: sequence, body: try body(name, manager, &reader))
  }

  private static func body(
    _ name: String, _ manager: ManagerIdentifier, _ reader: inout ArgumentReader
  ) throws(BusError) -> Event.Body {
    switch name {
    case "ManagerRejected": return .managerRejected(manager, try reader.next())
    case "StateChanged": return .stateChanged(manager, try reader.next())
    case "WillRestoreCentral": return .willRestoreCentral(manager, try reader.next())
    case "WillRestorePeripheral": return .willRestorePeripheral(manager, try reader.next())
    case "Discovered": return .discovered(manager, try reader.next(), try reader.next(), rssi: try reader.next())
    case "Connected": return .connected(manager, try reader.next())
    case "FailedToConnect": return .failedToConnect(manager, try reader.next(), try reader.next())
    case "Disconnected":
      return .disconnected(
        manager, try reader.next(), error: try reader.next(), unixSeconds: try reader.next(),
        isReconnecting: try reader.next())
    case "ValueUpdated":
      return .valueUpdated(manager, try reader.next(), characteristic: try reader.next(), value: try reader.next())
    case "NameChanged": return .nameChanged(manager, try reader.next(), try reader.next())
    case "ServicesModified": return .servicesModified(manager, try reader.next(), invalidated: try reader.next())
    case "ServiceAdded": return .serviceAdded(manager, try reader.next(), error: try reader.next())
    case "AdvertisingStarted": return .advertisingStarted(manager, error: try reader.next())
    case "Subscribed": return .subscribed(manager, try reader.next(), try reader.next())
    case "Unsubscribed": return .unsubscribed(manager, try reader.next(), try reader.next())
    case "ReadRequested":
      return .readRequested(
        manager, try reader.next(), try reader.next(), try reader.next(), offset: try reader.next())
    case "WriteRequested":
      return .writeRequested(
        manager, try reader.next(), try reader.next(), try reader.next(), offset: try reader.next(),
        value: try reader.next(), withResponse: try reader.next())
    case "RequestExpired": return .requestExpired(manager, try reader.next())
    case "ActionRequested": return .actionRequested(try reader.next(), name: try reader.next())
    case "UpdateCredit": return .updateCredit(manager, try reader.next())
    default:
      return .operationCompleted(manager, try reader.next(), try reader.next(), try result(name, &reader))
    }
  }

  private static func result(_ name: String, _ reader: inout ArgumentReader) throws(BusError) -> OperationResult {
    switch name {
    case "OperationFailed": return .failed(try reader.next())
    case "OperationDone": return .done
    case "ServicesDiscovered": return .services(try reader.next())
    case "IncludedServicesDiscovered": return .includedServices(of: try reader.next(), try reader.next())
    case "CharacteristicsDiscovered": return .characteristics(of: try reader.next(), try reader.next())
    case "DescriptorsDiscovered": return .descriptors(of: try reader.next(), try reader.next())
    case "ValueRead": return .value(try reader.next())
    case "NotifyingChanged": return .notifying(try reader.next())
    case "RSSIRead": return .rssi(try reader.next())
    default: throw malformed("\(name) is no event")
    }
  }
}
