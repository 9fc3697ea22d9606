import AppLink
import BluetoothTypes
import FoundationEssentials
import SystemBus

/// Requests as method calls, and back. Each operation on a peripheral is a method of its own.
enum RequestCoding {
  static let shapes = table.shapes

  /// In the order of introspection.
  private static let table = MessageTable<Request>([
    createManager, resumeManager, heldPeripherals, destroyManager, scan, stopScan, connect, cancelConnection,
    watchConnections,
    discoverServices,
    discoverIncludedServices, discoverCharacteristics, discoverDescriptors, readCharacteristic, writeCharacteristic,
    setNotify, readDescriptor, writeDescriptor, readRSSI, openChannel, addService, removeService, removeAllServices,
    startAdvertising, stopAdvertising, updateValue, publishChannel, unpublishChannel, respond, completeAction,
    answerQuestion,
    showAlert, report, admit, handled,
  ])

  /// `nil` if no request has this name. The arguments' signature fits the shape.
  static func request(_ name: String, _ reader: ArgumentReader) throws(BusError) -> Request? {
    var reader = reader
    return try table.read(name, &reader)
  }

  // MARK: Managers

  private static let createManager = Message("CreateManager", ["manager", "role", "restore_identifier"]) {
    (manager: ManagerIdentifier, role: Role, restoreIdentifier: String?) in
    Request.createManager(manager, ManagerCreation(role: role, restoreIdentifier: restoreIdentifier))
  }
  private static let resumeManager = Message("ResumeManager", ["manager", "role", "restore_identifier", "view"]) {
    (manager: ManagerIdentifier, role: Role, restoreIdentifier: String?, view: ManagerView) in
    Request.resumeManager(manager, ManagerCreation(role: role, restoreIdentifier: restoreIdentifier), view)
  }
  private static let heldPeripherals = Message(
    "HeldPeripherals", ["manager", "peripherals", "options"], Request.heldPeripherals)
  private static let destroyManager = Message("DestroyManager", ["manager"], Request.destroyManager)

  // MARK: Central role

  private static let scan = central("Scan", ["scan"], CentralRequest.scan)
  private static let stopScan = central("StopScan") { CentralRequest.stopScan }
  private static let connect = central("Connect", ["peripheral", "options"], CentralRequest.connect)
  private static let cancelConnection = central(
    "CancelConnection", ["peripheral"], CentralRequest.cancelConnection)
  private static let watchConnections = central("WatchConnections", ["watch"], CentralRequest.watchConnections)

  private static func central<each Argument: BusRepresentable>(
    _ name: String, _ arguments: [String] = [],
    _ request: @escaping @Sendable (repeat each Argument) -> CentralRequest
  ) -> Message<Request, ManagerIdentifier, repeat each Argument> {
    Message<Request, ManagerIdentifier, repeat each Argument>(name, ["manager"] + arguments) {
      (manager: ManagerIdentifier, argument: repeat each Argument) in
      .central(manager, request(repeat each argument))
    }
  }

  // MARK: Operations on a peripheral

  private static let discoverServices = operation(
    "DiscoverServices", ["services"], PeripheralOperation.discoverServices)
  private static let discoverIncludedServices = operation(
    "DiscoverIncludedServices", ["services", "service"], PeripheralOperation.discoverIncludedServices)
  private static let discoverCharacteristics = operation(
    "DiscoverCharacteristics", ["characteristics", "service"], PeripheralOperation.discoverCharacteristics)
  private static let discoverDescriptors = operation(
    "DiscoverDescriptors", ["characteristic"], PeripheralOperation.discoverDescriptors)
  private static let readCharacteristic = operation(
    "ReadCharacteristic", ["characteristic"], PeripheralOperation.readCharacteristic)
  private static let writeCharacteristic = operation(
    "WriteCharacteristic", ["characteristic", "value", "with_response"], PeripheralOperation.writeCharacteristic)
  private static let setNotify = operation("SetNotify", ["notify", "characteristic"], PeripheralOperation.setNotify)
  private static let readDescriptor = operation("ReadDescriptor", ["descriptor"], PeripheralOperation.readDescriptor)
  private static let writeDescriptor = operation(
    "WriteDescriptor", ["descriptor", "value"], PeripheralOperation.writeDescriptor)
  private static let readRSSI = operation("ReadRSSI") { PeripheralOperation.readRSSI }
  private static let openChannel = operation("OpenChannel", ["psm"], PeripheralOperation.openChannel)

  private static func operation<each Argument: BusRepresentable>(
    _ name: String, _ arguments: [String] = [],
    _ operation: @escaping @Sendable (repeat each Argument) -> PeripheralOperation
  ) -> Message<Request, ManagerIdentifier, PeerIdentifier, OperationIdentifier, repeat each Argument> {
    Message<Request, ManagerIdentifier, PeerIdentifier, OperationIdentifier, repeat each Argument>(
      name, ["manager", "peripheral", "operation"] + arguments
    ) {
      (
        manager: ManagerIdentifier, peer: PeerIdentifier, identifier: OperationIdentifier,
        argument: repeat each Argument
      ) in
      .central(manager, .perform(peer, identifier, operation(repeat each argument)))
    }
  }

  // MARK: Peripheral role

  private static let addService = peripheral("AddService", ["service"], PeripheralRequest.addService)
  private static let removeService = peripheral("RemoveService", ["service"], PeripheralRequest.removeService)
  private static let removeAllServices = peripheral("RemoveAllServices") { PeripheralRequest.removeAllServices }
  private static let startAdvertising = peripheral(
    "StartAdvertising", ["advertisement"], PeripheralRequest.startAdvertising)
  private static let stopAdvertising = peripheral("StopAdvertising") { PeripheralRequest.stopAdvertising }
  private static let updateValue = peripheral(
    "UpdateValue", ["characteristic", "value", "centrals"], PeripheralRequest.updateValue)
  private static let publishChannel = peripheral(
    "PublishChannel", ["psm", "requires_encryption"], PeripheralRequest.publishChannel)
  private static let unpublishChannel = peripheral("UnpublishChannel", ["psm"], PeripheralRequest.unpublishChannel)
  private static let respond = Message("Respond", ["request", "error", "value"], Request.respond)

  private static func peripheral<each Argument: BusRepresentable>(
    _ name: String, _ arguments: [String] = [],
    _ request: @escaping @Sendable (repeat each Argument) -> PeripheralRequest
  ) -> Message<Request, ManagerIdentifier, repeat each Argument> {
    Message<Request, ManagerIdentifier, repeat each Argument>(name, ["manager"] + arguments) {
      (manager: ManagerIdentifier, argument: repeat each Argument) in
      .peripheral(manager, request(repeat each argument))
    }
  }

  // MARK: The user, and receipts for events

  private static let completeAction = Message("CompleteAction", ["action", "error"], Request.completeAction)
  private static let answerQuestion = Message("AnswerQuestion", ["action", "text"]) {
    (action: ActionIdentifier, answer: LongText) in Request.answerQuestion(action, text: answer.text)
  }
  private static let showAlert = Message("ShowAlert", ["text"], Request.showAlert)
  private static let report = Message("Report", ["kind", "subject", "text"]) {
    (kind: AppReport.Kind, subject: String, text: String) in
    Request.report(AppReport(kind, subject: subject, text: text))
  }
  private static let admit = Message("Admit", ["accepts_pairings", "proven", "known"]) {
    (acceptsPairings: Bool, proven: [PeerIdentifier], known: [PeerIdentifier]) in
    Request.admit(CentralAdmission(acceptsPairings: acceptsPairings, proven: proven, known: known))
  }
  private static let handled = Message("Handled", ["through"], Request.handled)

  // MARK: Writing

  static func message(_ request: Request) -> WireMessage {
    switch request {
    case .createManager(let manager, let creation): createManager(manager, creation.role, creation.restoreIdentifier)
    case .resumeManager(let manager, let creation, let view):
      resumeManager(manager, creation.role, creation.restoreIdentifier, view)
    case .heldPeripherals(let manager, let peripherals, let options): heldPeripherals(manager, peripherals, options)
    case .destroyManager(let manager): destroyManager(manager)
    case .central(let manager, let request): message(manager, request)
    case .peripheral(let manager, let request): message(manager, request)
    case .respond(let request, let error, let value): respond(request, error, value)
    case .completeAction(let action, let error): completeAction(action, error)
    case .answerQuestion(let action, let text): answerQuestion(action, LongText(text))
    case .showAlert(let text): showAlert(text)
    case .report(let news): report(news.kind, news.subject, news.text)
    case .admit(let admission): admit(admission.acceptsPairings, admission.proven, admission.known)
    case .handled(let sequence): handled(sequence)
    }
  }

  private static func message(_ manager: ManagerIdentifier, _ request: CentralRequest) -> WireMessage {
    switch request {
    case .scan(let request): scan(manager, request)
    case .stopScan: stopScan(manager)
    case .connect(let peer, let options): connect(manager, peer, options)
    case .cancelConnection(let peer): cancelConnection(manager, peer)
    case .watchConnections(let watch): watchConnections(manager, watch)
    case .perform(let peer, let identifier, let operation): message(manager, peer, identifier, operation)
    }
  }

  private static func message(
    _ manager: ManagerIdentifier, _ peer: PeerIdentifier, _ identifier: OperationIdentifier,
    _ operation: PeripheralOperation
  ) -> WireMessage {
    switch operation {
    case .discoverServices(let uuids): discoverServices(manager, peer, identifier, uuids)
    case .discoverIncludedServices(let uuids, let service):
      discoverIncludedServices(manager, peer, identifier, uuids, service)
    case .discoverCharacteristics(let uuids, let service):
      discoverCharacteristics(manager, peer, identifier, uuids, service)
    case .discoverDescriptors(let characteristic): discoverDescriptors(manager, peer, identifier, characteristic)
    case .readCharacteristic(let characteristic): readCharacteristic(manager, peer, identifier, characteristic)
    case .writeCharacteristic(let characteristic, let value, let withResponse):
      writeCharacteristic(manager, peer, identifier, characteristic, value, withResponse)
    case .setNotify(let notify, let characteristic): setNotify(manager, peer, identifier, notify, characteristic)
    case .readDescriptor(let descriptor): readDescriptor(manager, peer, identifier, descriptor)
    case .writeDescriptor(let descriptor, let value): writeDescriptor(manager, peer, identifier, descriptor, value)
    case .readRSSI: readRSSI(manager, peer, identifier)
    case .openChannel(let psm): openChannel(manager, peer, identifier, psm)
    }
  }

  private static func message(_ manager: ManagerIdentifier, _ request: PeripheralRequest) -> WireMessage {
    switch request {
    case .addService(let service): addService(manager, service)
    case .removeService(let service): removeService(manager, service)
    case .removeAllServices: removeAllServices(manager)
    case .startAdvertising(let advertisement): startAdvertising(manager, advertisement)
    case .stopAdvertising: stopAdvertising(manager)
    case .updateValue(let characteristic, let value, let centrals):
      updateValue(manager, characteristic, value, centrals)
    case .publishChannel(let psm, let requiresEncryption): publishChannel(manager, psm, requiresEncryption)
    case .unpublishChannel(let psm): unpublishChannel(manager, psm)
    }
  }
}
