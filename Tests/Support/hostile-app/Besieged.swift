import AppLink
import AppLinkBus
import BlueZ
import BlueZBus
import BluetoothTypes
import BusValue
import Glibc
import Synchronization

/// An app that wants one thing, and prints a line every time it gets it.
final class Reader: AppLinkDelegate {
  private static let manager = ManagerIdentifier(1)
  private let address: String
  private let bundle: String
  private let service: BluetoothUUID

  private struct State {
    var link: AppLinkClient?
    var lastEvent: EventSequence?
    var device: PeerIdentifier?
    var handle: AttributeHandle?
    var operations: UInt64 = 0
    var reads = 0
    var isOn = false
  }
  private let state = Mutex(State())

  init(address: String, bundle: String, service: BluetoothUUID) {
    self.address = address
    self.bundle = bundle
    self.service = service
  }

  func run() async throws {
    let link = AppLinkClient(address: address, logger: logger, delegate: self)
    state.withLock { $0.link = link }
    try link.start()
    while true { try await Task.sleep(for: .seconds(3600)) }
  }

  var attachment: AppLink.Attachment {
    Attachment(bundleIdentifier: bundle, lastEvent: state.withLock { $0.lastEvent })
  }

  func linkDidAttach(_ reply: AttachReply) {
    say("attached")
    Task { [address, bundle] in
      _ = try? await ControlClient(address: address).perform(.openApp(bundleIdentifier: bundle))
    }
    send(.createManager(Self.manager, ManagerCreation(role: .central)))
  }

  func linkDidDetach() { fail("detached") }
  func linkWasRefused(_ error: AppLinkError) { fail("refused: \(error)") }

  private func send(_ request: AppLink.Request) { state.withLock { $0.link }?.send(request) }

  /// Looks for the device, or waits for the one that it has found.
  private func begin() {
    if let device = state.withLock({ $0.device }) {
      send(.central(Self.manager, .connect(device, ConnectOptions())))
    } else {
      send(.central(Self.manager, .scan(ScanRequest(services: [service]))))
    }
  }

  private func perform(_ operation: PeripheralOperation) {
    let next = state.withLock { state -> (PeerIdentifier, OperationIdentifier)? in
      state.operations += 1
      return state.device.map { ($0, OperationIdentifier(state.operations)) }
    }
    if let (device, identifier) = next { send(.central(Self.manager, .perform(device, identifier, operation))) }
  }

  func linkDidReceive(_ event: Event) {
    state.withLock { $0.lastEvent = event.sequence }
    switch event.body {
    case .stateChanged(.poweredOn):
      say("on")
      state.withLock { $0.isOn = true }
      begin()
    case .stateChanged:
      say("off")
      state.withLock { $0.isOn = false }
    case .discovered(let peripheral, _, _):
      let isFirst = state.withLock { state in
        defer { state.device = state.device ?? peripheral.identifier }
        return state.device == nil
      }
      guard isFirst else { break }
      send(.central(Self.manager, .stopScan))
      send(.central(Self.manager, .connect(peripheral.identifier, ConnectOptions())))
    case .connected: perform(.discoverServices([service]))
    case .operationCompleted(_, _, .services(let services)):
      guard let found = services.first(where: { $0.uuid == service }) else { fail("no service") }
      perform(.discoverCharacteristics(nil, service: found.handle))
    case .operationCompleted(_, _, .characteristics(_, let characteristics)):
      guard let found = characteristics.first else { fail("no characteristic") }
      state.withLock { $0.handle = found.handle }
      perform(.readCharacteristic(found.handle))
    case .operationCompleted(_, _, .value([7, 7])):
      let (reads, handle) = state.withLock { state in
        state.reads += 1
        return (state.reads, state.handle)
      }
      say("read \(reads)")
      if let handle { perform(.readCharacteristic(handle)) }
    case .disconnected:
      say("lost")
      if state.withLock({ $0.isOn }) { begin() }
    // An operation that was under way when its link was lost.
    case .operationCompleted(_, _, .failed(let error)): say("lost an operation: \(error)")
    case .operationCompleted(_, _, let other): fail("\(other)")
    case .failedToConnect, .servicesModified, .managerRejected: fail("\(event.body)")
    default: break
    }
    send(.handled(through: event.sequence))
  }
}

/// A peripheral that answers every read.
final class Door: Sendable {
  private let service: BluetoothUUID
  private let client = Mutex<BlueZClient?>(nil)

  init(service: BluetoothUUID) { self.service = service }

  func start(address: String) throws {
    let client = BlueZClient(address: address, logger: logger) { [self] message in hear(message) }
    self.client.withLock { $0 = client }
    try client.start()
  }

  private func tell(_ message: ClientMessage) { client.withLock { $0 }?.send(message) }

  private func hear(_ message: DaemonMessage) {
    switch message {
    case .appeared: serve()
    case .reply(CallIdentifier(2), .success): say("open")
    case .reply(_, .failure(let error)): fail("\(error)")
    case .callback(let callback, _, .readValue): tell(.answer(callback, .success(.bytes([7, 7]))))
    case .callback(let callback, _, _): tell(.answer(callback, .success(.none)))
    default: break
    }
  }

  private func serve() {
    let root = ObjectPath(unchecked: "/app")
    let place = root.appending("service")
    let objects: ManagedObjects = [
      place: [InterfaceName.gattService: ["UUID": .string(service.description), "Primary": .bool(true)]],
      place.appending("value"): [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(service.description), "Service": .path(place), "Flags": .strings(["read"]),
        ]
      ],
    ]
    tell(.call(CallIdentifier(1), path: WellKnown.firstAdapter, .registerApplication(root: root, objects: objects)))
    let properties: Properties = [
      "Type": .string("peripheral"), "ServiceUUIDs": .strings([service.description]), "Discoverable": .bool(true),
      "MinInterval": .uint32(100), "MaxInterval": .uint32(100),
    ]
    tell(
      .call(
        CallIdentifier(2), path: WellKnown.firstAdapter,
        .registerAdvertisement(path: ObjectPath(unchecked: "/advertisement"), properties: properties)))
  }
}
