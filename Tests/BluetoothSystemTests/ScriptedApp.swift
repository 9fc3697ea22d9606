import AppLink
import BluetoothTypes
import FoundationEssentials

@testable import BluetoothSystem

/// An app as its developer would write it, together with what its library does, in one small state machine: it takes
/// events and returns requests. It also keeps watch: an impossible event is recorded as a complaint.
struct ScriptedApp {
  enum Part { case phone, door }

  static let service = BluetoothUUID(high: 0x1A2B_3C4D_0000_4000, low: 0x8000_0000_0000_0001)
  static let offerUUID = BluetoothUUID(high: 0x1A2B_3C4D_0000_4000, low: 0x8000_0000_0000_0002)
  static let commandUUID = BluetoothUUID(high: 0x1A2B_3C4D_0000_4000, low: 0x8000_0000_0000_0003)
  static let manager = ManagerIdentifier(1)

  let part: Part
  var process: ProcessIdentity?
  var isSuspended = false
  var link: AppLinkIdentifier?
  var hasHeard = false
  var lastEvent: UInt64 = 0
  var view = ManagerView()
  var lastOperation: UInt64 = 0
  var complaints: [String] = []
  var told: [String] = []
  /// Writes that the door accepted. Each answers a different offer.
  var unlocks = 0
  private var nextOffer: UInt8 = 1
  private var openOffer: UInt8?

  init(_ part: Part) { self.part = part }

  mutating func die() {
    process = nil
    isSuspended = false
    link = nil
    hasHeard = false
    lastEvent = 0
    view = ManagerView()
    openOffer = nil
  }

  private var creation: ManagerCreation {
    part == .phone
      ? ManagerCreation(role: .central, restoreIdentifier: "home")
      : ManagerCreation(role: .peripheral, restoreIdentifier: "lock")
  }

  func attached() -> [Request] {
    hasHeard
      ? [.resumeManager(Self.manager, creation, view)] : [.createManager(Self.manager, creation)]
  }

  mutating func receive(_ event: AppLink.Event) -> [Request] {
    if event.sequence.rawValue != lastEvent + 1 {
      complaints.append("event \(event.sequence.rawValue) after \(lastEvent)")
    }
    if isSuspended { complaints.append("told of \(event.body.kind) while suspended") }
    lastEvent = event.sequence.rawValue
    told.append(event.body.kind.rawValue)
    let requests = part == .phone ? phone(event.body) : door(event.body)
    hasHeard = true
    return requests + [.handled(through: event.sequence)]
  }

  // MARK: The phone

  private mutating func phone(_ body: AppLink.Event.Body) -> [Request] {
    switch body {
    case .willRestoreCentral(let restoration):
      if hasHeard { complaints.append("willRestoreState is not the first") }
      view.peripherals = restoration.peripherals
      return []
    case .stateChanged(let state):
      view.state = state
      guard state == .poweredOn else { return [] }
      guard let known = view.peripherals.first else {
        view.scan = ScanRequest(services: [Self.service])
        return [.central(Self.manager, .scan(ScanRequest(services: [Self.service])))]
      }
      return known.state == .disconnected ? connect(known.identifier) : []
    case .discovered(let snapshot, _, _):
      view.scan = nil
      if view.peripherals.isEmpty { view.peripherals = [snapshot] }
      return [.central(Self.manager, .stopScan)] + connect(snapshot.identifier)
    case .connected(let snapshot):
      if view.peripherals.first?.state == .connected { complaints.append("connected twice") }
      view.peripherals = [snapshot]
      return explore(snapshot)
    case .disconnected(let peer, _, _, _):
      if view.peripherals.first?.state != .connected { complaints.append("disconnected, but was not connected") }
      if view.peripherals.isEmpty { return [] }
      view.peripherals[0].state = .disconnected
      return connect(peer)
    case .failedToConnect(let peer, _):
      if !view.peripherals.isEmpty { view.peripherals[0].state = .disconnected }
      return connect(peer)
    case .operationCompleted(let peer, _, let result): return completed(peer, result)
    case .valueUpdated(let peer, _, let value):
      if view.peripherals.first?.state != .connected { complaints.append("a value, but not connected") }
      return accept(value, from: peer)
    default: return []
    }
  }

  private mutating func accept(_ value: [UInt8], from peer: PeerIdentifier) -> [Request] {
    guard value != [0], let command = handle(Self.commandUUID) else { return [] }
    return [perform(peer, .writeCharacteristic(command, value: value, withResponse: true))]
  }

  private mutating func connect(_ peer: PeerIdentifier) -> [Request] {
    if !view.peripherals.isEmpty { view.peripherals[0].state = .connecting }
    view.connectOptions[peer] = ConnectOptions()
    return [.central(Self.manager, .connect(peer, ConnectOptions()))]
  }

  private mutating func perform(_ peer: PeerIdentifier, _ operation: PeripheralOperation) -> Request {
    lastOperation += 1
    return .central(Self.manager, .perform(peer, OperationIdentifier(lastOperation), operation))
  }

  private func handle(_ uuid: BluetoothUUID) -> AttributeHandle? {
    view.peripherals.first?.services?.flatMap { $0.characteristics ?? [] }.first { $0.uuid == uuid }?.handle
  }

  private mutating func explore(_ snapshot: PeripheralSnapshot) -> [Request] {
    guard let service = snapshot.services?.first(where: { $0.uuid == Self.service }) else {
      return [perform(snapshot.identifier, .discoverServices([Self.service]))]
    }
    guard let characteristics = service.characteristics else {
      return [perform(snapshot.identifier, .discoverCharacteristics(nil, service: service.handle))]
    }
    guard let offer = characteristics.first(where: { $0.uuid == Self.offerUUID }) else { return [] }
    // What the door sent while the link came up may be lost, but its offer can be read.
    guard !offer.isNotifying else { return [perform(snapshot.identifier, .readCharacteristic(offer.handle))] }
    return [perform(snapshot.identifier, .setNotify(true, characteristic: offer.handle))]
  }

  private mutating func completed(_ peer: PeerIdentifier, _ result: OperationResult) -> [Request] {
    guard !view.peripherals.isEmpty else { return [] }
    switch result {
    case .services(let services):
      if services.isEmpty { return [] }
      view.peripherals[0].services = services
      return explore(view.peripherals[0])
    case .characteristics(let service, let found):
      guard let index = view.peripherals[0].services?.firstIndex(where: { $0.handle == service }) else { return [] }
      view.peripherals[0].services?[index].characteristics = found
      return explore(view.peripherals[0])
    case .notifying(let on):
      guard let handle = handle(Self.offerUUID), let place = view.peripherals[0].services?.place(of: handle) else {
        return []
      }
      view.peripherals[0].services?[place.service].characteristics?[place.characteristic].isNotifying = on
      return []
    case .value(let value): return accept(value, from: peer)
    default: return []
    }
  }

  // MARK: The door

  static let offer = LocalAttributeIdentifier(
    UUID(uuid: (1, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1)))
  static let command = LocalAttributeIdentifier(
    UUID(uuid: (1, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 2)))
  static let definition = ServiceDefinition(
    identifier: LocalAttributeIdentifier(UUID(uuid: (1, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 3))),
    uuid: service,
    characteristics: [
      CharacteristicDefinition(
        identifier: offer, uuid: offerUUID, properties: [.read, .notify, .notifyEncryptionRequired],
        permissions: [.readable, .readEncryptionRequired]),
      CharacteristicDefinition(
        identifier: command, uuid: commandUUID, properties: [.write],
        permissions: [.writeable, .writeEncryptionRequired]),
    ])

  private mutating func door(_ body: AppLink.Event.Body) -> [Request] {
    switch body {
    case .willRestorePeripheral(let restoration):
      if hasHeard { complaints.append("willRestoreState is not the first") }
      view.services = restoration.services
      view.advertisement = restoration.advertisement
      view.subscriptions = restoration.subscriptions.mapValues { $0.map(\.identifier) }
      return []
    case .stateChanged(let state):
      view.state = state
      guard state == .poweredOn, view.services.isEmpty else { return [] }
      view.services = [Self.definition]
      view.advertisement = AdvertisementRequest(localName: "Door", serviceUUIDs: [Self.service])
      return [
        .peripheral(Self.manager, .addService(Self.definition)),
        .peripheral(
          Self.manager, .startAdvertising(AdvertisementRequest(localName: "Door", serviceUUIDs: [Self.service]))),
      ]
    case .subscribed(let central, let characteristic):
      if view.subscriptions[characteristic]?.contains(central.identifier) == true {
        complaints.append("subscribed twice")
      }
      view.subscriptions[characteristic, default: []].append(central.identifier)
      let value = nextOffer
      nextOffer &+= 1
      openOffer = value
      return [.peripheral(Self.manager, .updateValue(characteristic, value: [value], centrals: nil))]
    case .unsubscribed(let central, let characteristic):
      if view.subscriptions[characteristic]?.contains(central.identifier) != true {
        complaints.append("unsubscribed, but was not subscribed")
      }
      view.subscriptions[characteristic]?.removeAll { $0 == central.identifier }
      return []
    case .writeRequested(let request, _, _, _, let value, _):
      if let openOffer, value == [openOffer] {
        unlocks += 1
        self.openOffer = nil
      }
      return [.respond(request, result: nil, value: nil)]
    case .readRequested(let request, _, _, _): return [.respond(request, result: nil, value: [openOffer ?? 0])]
    default: return []
    }
  }
}
