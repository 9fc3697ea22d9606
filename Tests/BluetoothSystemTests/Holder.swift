import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import TimeTypes

@testable import BluetoothSystem

/// A system that has started with many requests of one app, for devices that are bonded and away, or subscribed to.
struct Holder {
  static let app = "org.example.collector"
  static let key = ManagerKey(app: app, role: .central, restoreIdentifier: "many")
  static let creation = ManagerCreation(role: .central, restoreIdentifier: "many")
  static let manager = ManagerIdentifier(1)
  static let link = AppLinkIdentifier(1)
  private static let process = ProcessIdentity(processIdentifier: 100)
  private static let service = "12345678-0000-4000-8000-000000000001"
  private static let characteristic = BluetoothUUID("12345678-0000-4000-8000-000000000002")!

  var system: BluetoothSystem
  var now = Instant.zero
  /// What the app was told since it was started.
  var told: [AppLink.Event.Body] = []
  /// Where bluetoothd was asked to subscribe.
  var started: [ObjectPath] = []
  private let count: Int
  private var stored: StoredState

  init(_ count: Int, isSubscribed: Bool = false) {
    self.count = count
    var records: [StoredRecord] = [.manager(ManagerRecord(key: Self.key))]
    for number in 0..<count {
      records.append(.peer(Self.peerRecord(number)))
      records.append(
        .peripheral(
          PeripheralRecord(
            manager: Self.key, peer: Self.peer(number), isWanted: true,
            told: isSubscribed ? .connected : .connecting,
            services: isSubscribed ? Self.subscribedServices : nil)))
    }
    stored = StoredState(records)
    system = Self.makeSystem(stored)
    carryOut(.started)
    carryOut(.daemon(.appeared(Self.objects(count, isSubscribed: isSubscribed))))
    carryOut(.control(.openApp(bundleIdentifier: Self.app), AnswerToken(1)))
    carryOut(.appLaunched(Self.app, Self.process))
    carryOut(.attach(Self.link, Self.process, Attachment(bundleIdentifier: Self.app), AnswerToken(2)))
    carryOut(.request(Self.link, .createManager(Self.manager, Self.creation)))
    carryOut(.timePassed)
  }

  /// A new system on the same store, to which the running app has attached.
  func restarted(lastEvent: EventSequence) -> Holder {
    var next = self
    next.system = Self.makeSystem(stored)
    next.told = []
    next.carryOut(.started)
    next.carryOut(.daemon(.appeared(Self.objects(count, isSubscribed: false))))
    let attachment = Attachment(bundleIdentifier: Self.app, lastEvent: lastEvent)
    next.carryOut(.attach(Self.link, Self.process, attachment, AnswerToken(1)))
    return next
  }

  private static func makeSystem(_ stored: StoredState) -> BluetoothSystem {
    BluetoothSystem(
      apps: [AppDeclaration(bundleIdentifier: app, backgroundModes: ["bluetooth-central"])], stored: stored, seed: 1)
  }

  /// Carries out an event and all answers to what it asks of bluetoothd and the app. Returns what the app was told.
  @discardableResult mutating func carryOut(_ event: BluetoothSystem.Event) -> [AppLink.Event.Body] {
    var open = [event]
    var news: [AppLink.Event.Body] = []
    while !open.isEmpty {
      for effect in system.handle(open.removeFirst(), at: now) {
        switch effect {
        case .store(let change): stored.apply(change)
        case .bluez(.call(let call, let path, let request)):
          if case .startNotify = request { started.append(path) }
          open.append(.daemon(.reply(call, .success(.none))))
        case .event(let event, _):
          news.append(event.body)
          open.append(.request(Self.link, .handled(through: event.sequence)))
        default: break
        }
      }
    }
    told += news
    return news
  }

  /// How many peripherals are looked at while something happens.
  mutating func examined(_ work: (inout Self) -> Void) -> Int {
    let before = system.changes.examined
    work(&self)
    return system.changes.examined - before
  }

  // MARK: Devices

  static func peer(_ number: Int) -> PeerIdentifier {
    PeerIdentifier(
      UUID(uuid: (1, 2, 3, 4, 5, 6, 0x80, 0, 0x80, 0, 0, 0, 0, 0, UInt8(number >> 8 & 255), UInt8(number & 255))))
  }

  static func peerRecord(_ number: Int) -> PeerRecord {
    PeerRecord(identifier: peer(number), address: address(number), wasRequested: true)
  }

  static func identifier(_ number: Int, in system: inout BluetoothSystem) -> PeerIdentifier {
    system.identifier(for: address(number))
  }

  private static func address(_ number: Int) -> DeviceAddress {
    DeviceAddress(bits: 0x001B_DC00_0000 + UInt64(number), kind: .public)
  }

  static func path(_ number: Int) -> ObjectPath { WellKnown.firstAdapter.appending("dev_\(100_000 + number)") }
  static func characteristicPath(_ number: Int) -> ObjectPath {
    path(number).appending("service000a").appending("char000b")
  }

  static func properties(_ number: Int, isSubscribed: Bool = false) -> Properties {
    [
      "Address": .string(address(number).description), "AddressType": .string("public"), "Bonded": .bool(true),
      "Paired": .bool(true), "Connected": .bool(isSubscribed), "ServicesResolved": .bool(isSubscribed),
      "UUIDs": .array(of: "s", [.string(service)]),
    ]
  }

  static func objects(_ count: Int, isSubscribed: Bool) -> ManagedObjects {
    var objects: ManagedObjects = [WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]]
    for number in 0..<count {
      objects[path(number)] = [InterfaceName.device: properties(number, isSubscribed: isSubscribed)]
      guard isSubscribed else { continue }
      let place = path(number).appending("service000a")
      objects[place] = [InterfaceName.gattService: ["UUID": .string(service), "Primary": .bool(true)]]
      objects[characteristicPath(number)] = [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(characteristic.description), "Flags": .array(of: "s", [.string("notify")]),
          "Service": .path(place),
        ]
      ]
    }
    return objects
  }

  private static let subscribedServices = [
    ServiceSnapshot(
      handle: 0x0a, uuid: BluetoothUUID(service)!,
      characteristics: [
        CharacteristicSnapshot(handle: 0x0b, uuid: characteristic, properties: [.notify], isNotifying: true)
      ])
  ]
}

extension BluetoothSystem.Event {
  private static func changed(_ path: ObjectPath, _ interface: String, _ properties: Properties) -> Self {
    .daemon(
      .signal(.propertiesChanged(path: path, interface: interface, changed: properties, invalidated: [])))
  }

  static func connection(of number: Int, isUp: Bool) -> Self {
    changed(Holder.path(number), InterfaceName.device, ["Connected": .bool(isUp)])
  }

  static func value(_ value: [UInt8], of number: Int) -> Self {
    changed(Holder.characteristicPath(number), InterfaceName.gattCharacteristic, ["Value": .bytes(value)])
  }

  static func seen(_ number: Int) -> Self {
    .daemon(
      .signal(
        .interfacesAdded(
          path: Holder.path(number), [InterfaceName.device: Holder.properties(number)])))
  }
}

extension AppLink.Event.Body {
  static func value(_ value: [UInt8], of number: Int) -> Self {
    .valueUpdated(Holder.peer(number), characteristic: 0x0b, value: value)
  }

  /// How many peripherals it restores.
  var restoredCount: Int? {
    switch self {
    case .restoredPeripherals(let peripherals): peripherals.count
    case .willRestoreCentral(let restoration): restoration.peripherals.count
    default: nil
    }
  }
}
