import AppLink
import BluetoothTypes
import BusValue
import FoundationEssentials
import SystemBus

/// Events as signals to one app, and back. The first argument is the event's sequence number, the second the manager
/// (0 for the app itself). Each way in which an operation can end is a signal of its own.
enum EventCoding {
  static let shapes: [MessageShape] = table.shapes.map { shape in
    var shape = shape
    shape.inputs.insert(
      contentsOf: [.init("sequence", EventSequence.self), .init("manager", ManagerIdentifier.self)], at: 0)
    return shape
  }

  /// In the order of introspection.
  private static let table = MessageTable<Event.Body>([
    managerRejected, stateChanged, willRestoreCentral, restoredPeripherals, willRestorePeripheral, discovered,
    connected, failedToConnect,
    disconnected, operationFailed, operationDone, servicesDiscovered, includedServicesDiscovered,
    characteristicsDiscovered, descriptorsDiscovered, valueRead, notifyingChanged, rssiRead, channelReady, valueUpdated,
    nameChanged, servicesModified, connectionEvent, serviceAdded, advertisingStarted, subscribed, unsubscribed,
    readRequested, writeRequested, requestExpired, actionRequested, questionAsked, updateCredit, channelPublished,
    channelUnpublished, channelOpened, mtuChanged, actionWithdrawn,
  ])

  static func message(_ event: Event) -> WireMessage {
    var message = message(event.body)
    message.arguments.insert(
      contentsOf: [event.sequence.busValue, (event.manager ?? Self.app).busValue], at: 0)
    return message
  }

  /// Throws if no event has this name, or if the arguments do not fit.
  static func event(_ name: String, _ values: [Value]) throws(BusError) -> Event {
    var reader = ArgumentReader(values)
    let sequence: EventSequence = try reader.next()
    let manager: ManagerIdentifier = try reader.next()
    guard let body = try table.read(name, &reader) else { throw malformed("\(name) is not an event") }
    return Event(sequence: sequence, manager: manager == app ? nil : manager, body: body)
  }

  /// The manager's number that stands for the app itself. Apps number their managers from 1.
  private static let app = ManagerIdentifier(0)

  // MARK: Managers

  private static let managerRejected = Message("ManagerRejected", ["error"], Event.Body.managerRejected)
  private static let stateChanged = Message("StateChanged", ["state"], Event.Body.stateChanged)
  private static let willRestoreCentral = Message(
    "WillRestoreCentral", ["restoration"], Event.Body.willRestoreCentral)
  private static let restoredPeripherals = Message(
    "RestoredPeripherals", ["peripherals"], Event.Body.restoredPeripherals)
  private static let willRestorePeripheral = Message(
    "WillRestorePeripheral", ["restoration"], Event.Body.willRestorePeripheral)

  // MARK: Central role

  private static let discovered = Message(
    "Discovered", ["peripheral", "advertisement", "rssi"], Event.Body.discovered)
  private static let connected = Message("Connected", ["peripheral"], Event.Body.connected)
  private static let failedToConnect = Message(
    "FailedToConnect", ["peripheral", "error"], Event.Body.failedToConnect)
  private static let disconnected = Message(
    "Disconnected", ["peripheral", "error", "unix_seconds", "is_reconnecting"], Event.Body.disconnected)
  private static let valueUpdated = Message(
    "ValueUpdated", ["peripheral", "characteristic", "value"], Event.Body.valueUpdated)
  private static let nameChanged = Message("NameChanged", ["peripheral", "name"], Event.Body.nameChanged)
  private static let mtuChanged = Message("MTUChanged", ["peer", "mtu"], Event.Body.mtuChanged)
  private static let servicesModified = Message(
    "ServicesModified", ["peripheral", "invalidated"], Event.Body.servicesModified)
  private static let connectionEvent = Message(
    "ConnectionEvent", ["peripheral", "is_connected"], Event.Body.connectionEvent)

  // MARK: How an operation ended

  private static let operationFailed = result("OperationFailed", ["error"], OperationResult.failed)
  private static let operationDone = result("OperationDone") { OperationResult.done }
  private static let servicesDiscovered = result("ServicesDiscovered", ["services"], OperationResult.services)
  private static let includedServicesDiscovered = result(
    "IncludedServicesDiscovered", ["service", "services"], OperationResult.includedServices)
  private static let characteristicsDiscovered = result(
    "CharacteristicsDiscovered", ["service", "characteristics"], OperationResult.characteristics)
  private static let descriptorsDiscovered = result(
    "DescriptorsDiscovered", ["characteristic", "descriptors"], OperationResult.descriptors)
  private static let valueRead = result("ValueRead", ["value"], OperationResult.value)
  private static let notifyingChanged = result("NotifyingChanged", ["notifying"], OperationResult.notifying)
  private static let rssiRead = result("RSSIRead", ["rssi"], OperationResult.rssi)
  private static let channelReady = result("ChannelReady", ["socket", "mtu"], OperationResult.channel)

  private static func result<each Argument: BusRepresentable>(
    _ name: String, _ arguments: [String] = [],
    _ result: @escaping @Sendable (repeat each Argument) -> OperationResult
  ) -> Message<Event.Body, PeerIdentifier, OperationIdentifier, repeat each Argument> {
    Message<Event.Body, PeerIdentifier, OperationIdentifier, repeat each Argument>(
      name, ["peripheral", "operation"] + arguments
    ) { (peer: PeerIdentifier, operation: OperationIdentifier, argument: repeat each Argument) in
      .operationCompleted(peer, operation, result(repeat each argument))
    }
  }

  // MARK: Peripheral role

  private static let serviceAdded = Message("ServiceAdded", ["service", "error"], Event.Body.serviceAdded)
  private static let advertisingStarted = Message(
    "AdvertisingStarted", ["error"], Event.Body.advertisingStarted)
  private static let subscribed = Message("Subscribed", ["central", "characteristic"], Event.Body.subscribed)
  private static let unsubscribed = Message("Unsubscribed", ["central", "characteristic"], Event.Body.unsubscribed)
  private static let readRequested = Message(
    "ReadRequested", ["request", "central", "characteristic", "offset"], Event.Body.readRequested)
  private static let writeRequested = Message(
    "WriteRequested", ["request", "central", "characteristic", "offset", "value", "with_response"],
    Event.Body.writeRequested)
  private static let requestExpired = Message("RequestExpired", ["request"], Event.Body.requestExpired)
  private static let updateCredit = Message("UpdateCredit", ["credit"], Event.Body.updateCredit)
  private static let channelPublished = Message("ChannelPublished", ["psm", "error"], Event.Body.channelPublished)
  private static let channelUnpublished = Message(
    "ChannelUnpublished", ["psm", "error"], Event.Body.channelUnpublished)
  private static let channelOpened = Message(
    "ChannelOpened", ["central", "psm", "socket", "mtu"], Event.Body.channelOpened)

  // MARK: The user

  private static let actionRequested = Message("ActionRequested", ["action", "name"], Event.Body.actionRequested)
  private static let questionAsked = Message("QuestionAsked", ["action", "name", "argument"]) {
    (action: ActionIdentifier, name: String, argument: LongText) in
    Event.Body.questionAsked(action, name: name, argument: argument.text)
  }
  private static let actionWithdrawn = Message("ActionWithdrawn", ["action"], Event.Body.actionWithdrawn)

  // MARK: Writing

  private static func message(_ body: Event.Body) -> WireMessage {
    switch body {
    case .managerRejected(let error): managerRejected(error)
    case .stateChanged(let state): stateChanged(state)
    case .willRestoreCentral(let restoration): willRestoreCentral(restoration)
    case .restoredPeripherals(let peripherals): restoredPeripherals(peripherals)
    case .willRestorePeripheral(let restoration): willRestorePeripheral(restoration)
    case .discovered(let peripheral, let advertisement, let rssi): discovered(peripheral, advertisement, rssi)
    case .connected(let peripheral): connected(peripheral)
    case .failedToConnect(let peer, let error): failedToConnect(peer, error)
    case .disconnected(let peer, let error, let unixSeconds, let isReconnecting):
      disconnected(peer, error, unixSeconds, isReconnecting)
    case .operationCompleted(let peer, let operation, let result): message(peer, operation, result)
    case .valueUpdated(let peer, let characteristic, let value): valueUpdated(peer, characteristic, value)
    case .nameChanged(let peer, let name): nameChanged(peer, name)
    case .mtuChanged(let peer, let mtu): mtuChanged(peer, mtu)
    case .servicesModified(let peer, let invalidated): servicesModified(peer, invalidated)
    case .connectionEvent(let peripheral, let isConnected): connectionEvent(peripheral, isConnected)
    case .serviceAdded(let service, let error): serviceAdded(service, error)
    case .advertisingStarted(let error): advertisingStarted(error)
    case .subscribed(let central, let characteristic): subscribed(central, characteristic)
    case .unsubscribed(let central, let characteristic): unsubscribed(central, characteristic)
    case .readRequested(let request, let central, let characteristic, let offset):
      readRequested(request, central, characteristic, offset)
    case .writeRequested(let request, let central, let characteristic, let offset, let value, let withResponse):
      writeRequested(request, central, characteristic, offset, value, withResponse)
    case .requestExpired(let request): requestExpired(request)
    case .updateCredit(let credit): updateCredit(credit)
    case .channelPublished(let psm, let error): channelPublished(psm, error)
    case .channelUnpublished(let psm, let error): channelUnpublished(psm, error)
    case .channelOpened(let central, let psm, let socket, let mtu): channelOpened(central, psm, socket, mtu)
    case .actionRequested(let action, let name): actionRequested(action, name)
    case .questionAsked(let action, let name, let argument): questionAsked(action, name, LongText(argument))
    case .actionWithdrawn(let action): actionWithdrawn(action)
    }
  }

  private static func message(
    _ peer: PeerIdentifier, _ operation: OperationIdentifier, _ result: OperationResult
  ) -> WireMessage {
    switch result {
    case .failed(let error): operationFailed(peer, operation, error)
    case .done: operationDone(peer, operation)
    case .services(let services): servicesDiscovered(peer, operation, services)
    case .includedServices(let service, let services): includedServicesDiscovered(peer, operation, service, services)
    case .characteristics(let service, let characteristics):
      characteristicsDiscovered(peer, operation, service, characteristics)
    case .descriptors(let characteristic, let descriptors):
      descriptorsDiscovered(peer, operation, characteristic, descriptors)
    case .value(let value): valueRead(peer, operation, value)
    case .notifying(let notifying): notifyingChanged(peer, operation, notifying)
    case .rssi(let rssi): rssiRead(peer, operation, rssi)
    case .channel(let socket, let mtu): channelReady(peer, operation, socket, mtu)
    }
  }
}
