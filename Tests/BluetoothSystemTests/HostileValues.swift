import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Foundation
import TimeTypes

@testable import BluetoothSystem

/// Values at the edges of their types, and requests made of them, in an order determined by a seed.
struct HostileValues {
  private var random: SplitMix64
  /// Identifiers that exist, of devices, attributes and requests.
  var peers: [PeerIdentifier] = []
  var attributes: [LocalAttributeIdentifier] = []
  var requests: [RemoteRequestIdentifier] = []
  var lastSequence: UInt64 = 0
  private var said: [AppLink.Request] = []

  init(seed: UInt64) {
    random = SplitMix64(state: seed)
    attributes = (0..<12).map { _ in LocalAttributeIdentifier(Self.uuid(&random)) }
  }

  mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
  mutating func chance(_ one: Int) -> Bool { below(one) == 0 }
  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

  private static func uuid(_ random: inout SplitMix64) -> UUID {
    var bytes = UUID().uuid
    withUnsafeMutableBytes(of: &bytes) { buffer in
      for index in 0..<16 { buffer[index] = UInt8(truncatingIfNeeded: random.next()) }
    }
    return UUID(uuid: bytes)
  }

  // MARK: Values

  mutating func number() -> UInt64 {
    pick([0, 1, 2, .max, .max - 1, 1 << 63, 1 << 62, 1 << 32, lastSequence, lastSequence &+ 1, random.next() % 64])
  }
  mutating func manager() -> ManagerIdentifier {
    ManagerIdentifier(chance(8) ? UInt32(truncatingIfNeeded: number()) : UInt32(1 + below(8)))
  }
  mutating func handle() -> AttributeHandle { pick([0, 1, 0x0A, 0x0B, 0x0C, 0xFFFF, 0xFFFE, UInt16(below(65536))]) }
  private mutating func anyUUID() -> UUID { chance(2) ? UUID(uuid: emptyIdentifier) : Self.uuid(&random) }
  mutating func peer() -> PeerIdentifier {
    if peers.isEmpty || chance(8) { return PeerIdentifier(anyUUID()) }
    return pick(peers)
  }
  mutating func attribute() -> LocalAttributeIdentifier {
    chance(8) ? LocalAttributeIdentifier(anyUUID()) : pick(attributes)
  }
  mutating func bluetooth() -> BluetoothUUID {
    pick([Desk.service, Desk.characteristic, BluetoothUUID(high: 0, low: 0), BluetoothUUID(high: .max, low: .max)])
  }
  mutating func seconds() -> Double {
    pick([0, -0.0, -1, 1, .nan, .infinity, -.infinity, 1e308, .leastNonzeroMagnitude, 86400])
  }
  mutating func text() -> String {
    switch below(8) {
    case 0: ""
    case 1: String(repeating: "x", count: 256)
    case 2: String(repeating: "y", count: chance(50) ? 100_000 : 257)
    case 3: "a\u{0}b\u{1F}c"
    case 4: "\u{1F}central\u{1F}=a"
    default: pick(["a", "b", "c", "d"])
    }
  }
  private mutating func count() -> Int { pick([0, 0, 1, 1, 2, 3, chance(20) ? 300 : 5, chance(500) ? 5000 : 2]) }
  mutating func bytes() -> [UInt8] {
    let count = pick([0, 1, 20, 512, 513, chance(500) ? 70_000 : 3])
    return [UInt8](repeating: UInt8(truncatingIfNeeded: number()), count: count)
  }
  mutating func many<Element>(_ make: (inout HostileValues) -> Element) -> [Element] {
    (0..<count()).map { _ in make(&self) }
  }
  private mutating func maybe<Value>(_ make: (inout HostileValues) -> Value) -> Value? { chance(3) ? nil : make(&self) }

  mutating func creation() -> ManagerCreation {
    ManagerCreation(role: chance(2) ? .central : .peripheral, restoreIdentifier: maybe { $0.text() })
  }
  mutating func options() -> ConnectOptions {
    ConnectOptions(
      notifyOnConnection: chance(2), notifyOnDisconnection: chance(2), notifyOnNotification: chance(2),
      enableAutoReconnect: chance(2), startDelaySeconds: seconds())
  }
  mutating func scan() -> ScanRequest {
    ScanRequest(
      services: maybe { $0.many { $0.bluetooth() } }, allowDuplicates: chance(2),
      solicitedServices: many { $0.bluetooth() })
  }
  mutating func advertisement() -> AdvertisementRequest {
    AdvertisementRequest(localName: maybe { $0.text() }, serviceUUIDs: many { $0.bluetooth() })
  }
  mutating func definition() -> ServiceDefinition {
    ServiceDefinition(
      identifier: attribute(), uuid: bluetooth(), isPrimary: chance(2), includedServices: many { $0.attribute() },
      characteristics: many { values in
        CharacteristicDefinition(
          identifier: values.attribute(), uuid: values.bluetooth(),
          properties: CharacteristicProperties(rawValue: UInt16(truncatingIfNeeded: values.random.next())),
          permissions: AttributePermissions(rawValue: UInt8(truncatingIfNeeded: values.random.next())),
          value: values.maybe { $0.bytes() },
          descriptors: values.chance(4)
            ? values.many { DescriptorDefinition(uuid: $0.bluetooth(), value: $0.bytes()) } : [])
      })
  }
  mutating func operation() -> PeripheralOperation {
    switch below(10) {
    case 0: .discoverServices(maybe { $0.many { $0.bluetooth() } })
    case 1: .discoverIncludedServices(maybe { $0.many { $0.bluetooth() } }, service: handle())
    case 2: .discoverCharacteristics(maybe { $0.many { $0.bluetooth() } }, service: handle())
    case 3: .discoverDescriptors(characteristic: handle())
    case 4: .readCharacteristic(handle())
    case 5: .writeCharacteristic(handle(), value: bytes(), withResponse: chance(2))
    case 6: .setNotify(chance(2), characteristic: handle())
    case 7: .readDescriptor(handle())
    case 8: .writeDescriptor(handle(), value: bytes())
    default: .readRSSI
    }
  }
  mutating func snapshot() -> PeripheralSnapshot {
    PeripheralSnapshot(
      identifier: peer(), name: maybe { $0.text() },
      state: pick([.disconnected, .connecting, .connected, .disconnecting]),
      services: maybe { values in
        values.many { values in
          ServiceSnapshot(
            handle: values.handle(), uuid: values.bluetooth(),
            includedServices: values.maybe { $0.many { $0.handle() } },
            characteristics: values.maybe { values in
              values.many {
                CharacteristicSnapshot(
                  handle: $0.handle(), uuid: $0.bluetooth(), properties: [.read, .notify], isNotifying: $0.chance(2))
              }
            })
        }
      }, mtu: pick([0, -1, .max, .min, 23, 517]))
  }
  mutating func view() -> ManagerView {
    var options: [PeerIdentifier: ConnectOptions] = [:]
    for peer in many({ $0.peer() }) { options[peer] = self.options() }
    var subscriptions: [LocalAttributeIdentifier: [PeerIdentifier]] = [:]
    for attribute in many({ $0.attribute() }) { subscriptions[attribute] = many { $0.peer() } }
    return ManagerView(
      state: maybe { $0.pick([.unknown, .resetting, .poweredOff, .poweredOn]) },
      peripherals: (0..<below(4)).map { _ in snapshot() }, connectOptions: options, scan: maybe { $0.scan() },
      discovered: many { $0.peer() }, services: (0..<below(3)).map { _ in definition() },
      advertisement: maybe { $0.advertisement() }, subscriptions: subscriptions)
  }

  // MARK: Requests

  mutating func request() -> AppLink.Request {
    if chance(20), !said.isEmpty { return pick(said) }
    let request = newRequest()
    if said.count < 64 { said.append(request) } else { said[below(64)] = request }
    return request
  }

  private mutating func newRequest() -> AppLink.Request {
    switch below(22) {
    case 0: .createManager(manager(), creation())
    case 1: chance(4) ? .resumeManager(manager(), creation(), view()) : .createManager(manager(), creation())
    case 2: chance(3) ? .destroyManager(manager()) : .handled(through: EventSequence(lastSequence))
    case 3: .central(manager(), .scan(scan()))
    case 4: .central(manager(), .stopScan)
    case 5, 6: .central(manager(), .connect(peer(), options()))
    case 7: .central(manager(), .cancelConnection(peer()))
    case 8, 9, 10, 11: .central(manager(), .perform(peer(), OperationIdentifier(number()), operation()))
    case 12, 13: .peripheral(manager(), .addService(definition()))
    case 14: .peripheral(manager(), .removeService(attribute()))
    case 15: chance(4) ? .peripheral(manager(), .removeAllServices) : .peripheral(manager(), .stopAdvertising)
    case 16: .peripheral(manager(), .startAdvertising(advertisement()))
    case 17, 18:
      .peripheral(manager(), .updateValue(attribute(), value: bytes(), centrals: maybe { $0.many { $0.peer() } }))
    case 19:
      .respond(
        requests.isEmpty || chance(2) ? RemoteRequestIdentifier(number()) : pick(requests),
        result: maybe { ATTError(rawValue: UInt8(truncatingIfNeeded: $0.number())) }, value: maybe { $0.bytes() })
    default: .handled(through: EventSequence(chance(2) ? number() : lastSequence))
    }
  }

  mutating func query() -> Query {
    chance(2)
      ? .retrievePeripherals(manager(), many { $0.peer() })
      : .retrieveConnectedPeripherals(manager(), withServices: many { $0.bluetooth() })
  }

  // MARK: bluetoothd's messages

  private static let names = [
    "Address", "AddressType", "Connected", "ServicesResolved", "Paired", "Bonded", "Trusted", "UUIDs", "RSSI", "Name",
    "Powered", "PowerState", "Discovering", "Pairable", "Value", "Flags", "UUID", "Primary", "MTU", "ManufacturerData",
    "ServiceData", "AdvertisingFlags", "TxPower", "Appearance", "Includes", "Handle", "Blocked", "Adapter",
  ]

  mutating func value(_ depth: Int = 0) -> Value {
    switch below(depth < 3 ? 17 : 12) {
    case 0, 1, 2: .bool(chance(2))
    case 3: .int16(pick([.min, .max, 0, -60, 127]))
    case 4: .uint16(pick([.max, 0, 1, 23, 517]))
    case 5: .uint64(number())
    case 6: .int64(pick([.min, .max, -1]))
    case 7: .double(seconds())
    case 8:
      .string(
        pick([text(), "on", "off", "off-blocked", "random", "public", "C0:FF:EE:00:00:01", Desk.service.description]))
    case 9: .path(path())
    case 10: .bytes(bytes())
    case 11: .uint32(.max)
    case 12: .strings((0..<count()).map { _ in chance(2) ? Desk.service.description : text() })
    case 13: .array(of: "v", (0..<3).map { _ in .variant(value(depth + 1)) })
    case 14: .dictionary(key: "q", value: "v", [.uint16(UInt16(below(65536))): .variant(value(depth + 1))])
    case 15: .structure([value(depth + 1)])
    default: .variant(value(depth + 1))
    }
  }
  mutating func path() -> ObjectPath {
    let adapter = WellKnown.firstAdapter
    let device = chance(2) ? Desk.devicePath : adapter.appending("dev_C0_FF_EE_00_00_0\(below(10))")
    switch below(10) {
    case 0: return .root
    case 1: return adapter
    case 2: return ObjectPath(unchecked: "/org/bluez/hci\(below(3))")
    case 3, 4, 5: return device
    case 6: return device.appending("service000a")
    case 7: return device.appending("service000a").appending("char000b")
    case 8: return device.appending(pick(["service", "char", "descffff", "char0000", "service000a", "charzz"]))
    default: return device.appending("service000a").appending("char000\(below(10))").appending("desc000\(below(10))")
    }
  }
  mutating func interface() -> String {
    pick([
      InterfaceName.adapter, InterfaceName.device, InterfaceName.device, InterfaceName.gattService,
      InterfaceName.gattCharacteristic, InterfaceName.gattDescriptor, "org.example.None",
    ])
  }
  mutating func properties() -> Properties {
    var properties: Properties = [:]
    for _ in 0..<below(6) { properties[pick(Self.names)] = value() }
    if chance(2) { properties["Connected"] = .bool(chance(2)) }
    if chance(3) { properties["ServicesResolved"] = .bool(chance(2)) }
    if chance(3) { properties["Address"] = .string("C0:FF:EE:00:00:0\(below(10))") }
    if chance(20) {
      properties["Address"] = .string(DeviceAddress(bits: random.next() & 0xFFFF_FFFF_FFFF, kind: .random).description)
    }
    return properties
  }
  mutating func interfaces() -> Interfaces {
    var interfaces: Interfaces = [:]
    for _ in 0...below(3) { interfaces[interface()] = properties() }
    return interfaces
  }
  mutating func reply() -> Result<Reply, BlueZError> {
    switch below(12) {
    case 0, 1, 2, 3: .success(.none)
    case 4: .success(.bytes(bytes()))
    case 5: .success(.rssi(pick([.min, .max, 0])))
    case 6: .success(.properties(properties()))
    case 7: .success(.objects([path(): interfaces()]))
    case 8: .success(.value(value()))
    default:
      .failure(
        pick([
          .inProgress, .notReady, .notConnected, .alreadyExists, .doesNotExist, .failed(text()), .failed("key-missing"),
          .attError(ATTError(rawValue: UInt8(below(256)))), .unknownObject(path()), .notPermitted("Not paired"),
          BlueZError(name: text(), message: "ATT error: 0x"), BlueZError(name: "", message: text()),
        ]))
    }
  }
  mutating func callback(_ exported: [ObjectPath]) -> (ObjectPath, Callback) {
    let place = exported.isEmpty || chance(4) ? path() : pick(exported)
    let remote = RemoteRequest(
      device: path(), offset: pick([0, 1, 512, .max]), mtu: pick([0, 3, 23, 517, .max]),
      kind: pick([nil, .command, .request, .reliable]))
    let callback: Callback =
      switch below(14) {
      case 0, 1, 2: .readValue(remote)
      case 3, 4, 5: .writeValue(bytes(), remote)
      case 6: .startNotify
      case 7: .stopNotify
      case 8:
        .release(interface: pick([InterfaceName.advertisement, InterfaceName.gattProfile, InterfaceName.agent, ""]))
      case 9: .requestPasskey(device: path())
      case 10: .displayPasskey(device: path(), passkey: .max, entered: .max)
      case 11: .requestConfirmation(device: path(), passkey: .max)
      case 12: .requestAuthorization(device: path())
      default: .cancel
      }
    return (place, callback)
  }
  mutating func signal() -> Signal {
    switch below(10) {
    case 0, 1: .interfacesAdded(path: path(), interfaces())
    case 2: .interfacesRemoved(path: path(), (0...below(3)).map { _ in interface() })
    case 3: .disconnected(path: path(), reason: pick(["org.bluez.Reason.Authentication", text()]), message: text())
    default:
      .propertiesChanged(
        path: path(), interface: interface(), changed: properties(),
        invalidated: chance(4) ? (0..<below(3)).map { _ in pick(Self.names) } : [])
    }
  }
}

/// All zeros.
private let emptyIdentifier: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
