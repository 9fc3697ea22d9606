import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Foundation
import Testing
import TimeTypes

@testable import BluetoothSystem

/// A bluetoothd that does as it is told, one well-behaved app, and one that is not.
struct Siege {
  static let good = "org.example.good"
  static let bad = "org.example.bad"
  static let central = ManagerIdentifier(1)
  static let door = ManagerIdentifier(2)
  static let offer = LocalAttributeIdentifier(
    UUID(uuid: (9, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1)))

  var system: BluetoothSystem
  var values: HostileValues
  var now = Instant.zero
  var maxima = Maxima()
  var complaints: [String] = []
  var steps = 0
  var requests = 0

  // bluetoothd
  private var devices: [ObjectPath: Properties] = [:]
  private var lastCallback: UInt64 = 0
  private var answers: [CallbackIdentifier: Result<CallbackReply, BlueZError>] = [:]

  // The well-behaved app
  private var goodSequence: UInt64 = 0
  private var goodLink = AppLinkIdentifier(1)
  private var nextValue: UInt32 = 0
  private var heard: [UInt32] = []
  private var completed: [UInt64] = []
  private var lastOperation: UInt64 = 10
  private var lock = PeerIdentifier(UUID())
  private var away = PeerIdentifier(UUID())

  // The hostile app
  private var badProcess: ProcessIdentity?
  private var badLink: AppLinkIdentifier?
  private var lastLink: UInt64 = 1
  private var lastProcess: Int32 = 200
  private var isBadFrozen = false

  private static let awayPath = WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_FF")

  init(seed: UInt64) {
    let modes = ["bluetooth-central", "bluetooth-peripheral"]
    system = BluetoothSystem(
      apps: [
        AppDeclaration(bundleIdentifier: Self.good, backgroundModes: modes),
        AppDeclaration(bundleIdentifier: Self.bad, backgroundModes: seed.isMultiple(of: 3) ? [] : modes),
      ], stored: StoredState(), seed: seed)
    values = HostileValues(seed: seed)
    handle(.started)
    var objects: ManagedObjects = [WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]]
    for number in 1...6 { describe("C0:FF:EE:00:00:0\(number)", bonded: number < 4, &objects) }
    describe("C0:FF:EE:00:00:FF", bonded: true, &objects)
    handle(.daemon(.appeared(objects)))
    values.peers = (1...6).compactMap { DeviceAddress("C0:FF:EE:00:00:0\($0)", kind: .random) }
      .map { system.identifier(for: $0) }
    lock = system.identifier(for: Desk.address)
    if let address = DeviceAddress("C0:FF:EE:00:00:FF", kind: .random) { away = system.identifier(for: address) }
    startGood()
  }

  private mutating func describe(_ address: String, bonded: Bool, _ objects: inout ManagedObjects) {
    let path = WellKnown.firstAdapter.appending("dev_" + address.replacing(":", with: "_"))
    devices[path] = [
      "Address": .string(address), "AddressType": .string("random"), "Bonded": .bool(bonded), "Paired": .bool(bonded),
      "Connected": .bool(false), "ServicesResolved": .bool(false), "UUIDs": .strings([Desk.service.description]),
    ]
    objects[path] = [InterfaceName.device: devices[path] ?? [:]]
    let service = path.appending("service000a")
    objects[service] = [
      InterfaceName.gattService: ["UUID": .string(Desk.service.description), "Primary": .bool(true)]
    ]
    objects[service.appending("char000b")] = [
      InterfaceName.gattCharacteristic: [
        "UUID": .string(Desk.characteristic.description),
        "Flags": .strings(["read", "write", "write-without-response", "notify"]),
      ]
    ]
  }

  private mutating func complain(_ text: String) {
    if complaints.count < 10 { complaints.append("step \(steps): \(text)") }
  }

  // MARK: A turn

  mutating func handle(_ event: BluetoothSystem.Event) {
    var open = [event]
    var turns = 0
    while !open.isEmpty {
      turns += 1
      guard turns < 10_000 else { return complain("the system does not come to rest") }
      let effects = system.handle(open.removeFirst(), at: now)
      maxima.note(system, effects)
      if let deadline = system.earliestDeadline, deadline <= now {
        complain("a deadline in the past: \(deadline) at \(now)")
      }
      for effect in effects { take(effect, &open) }
    }
  }

  private mutating func take(_ effect: BluetoothSystem.Effect, _ open: inout [BluetoothSystem.Event]) {
    switch effect {
    case .store(.put(let record)):
      if steps.isMultiple(of: 16), (try? StoredRecord(record.row())) != record {
        complain("can't be stored: \(record.key)")
      }
    case .bluez(.call(let identifier, let path, let request)):
      if let reply = answer(path, request, &open) { open.append(.daemon(.reply(identifier, reply))) }
    case .bluez(.answer(let identifier, let result)): answers[identifier] = result
    case .event(let event, let link):
      if link == goodLink {
        hear(event, &open)
      } else if link == badLink {
        hearBad(event)
      } else {
        complain("an event for nobody")
      }
    case .kill(Self.bad, let process):
      guard process == badProcess else { return complain("another process is killed") }
      badProcess = nil
      if let link = badLink { open.append(.detached(link)) }
      badLink = nil
      isBadFrozen = false
      open.append(.appEnded(Self.bad, process, how: "signal 9"))
    case .kill(let name, _): complain("\(name) is killed")
    case .suspend(Self.bad, _): isBadFrozen = true
    case .resume(Self.bad, _): isBadFrozen = false
    case .suspend(let name, _): complain("\(name) is suspended")
    case .launch(Self.bad, _):
      guard badProcess == nil else { return complain("launched twice") }
      if values.chance(4) {
        open.append(.appLaunchFailed(Self.bad, "no"))
      } else {
        lastProcess += 1
        let process = ProcessIdentity(processIdentifier: lastProcess)
        badProcess = process
        open.append(.appLaunched(Self.bad, process))
      }
    case .launch(let name, _): if goodSequence > 0 { complain("\(name) is launched") }
    case .record(.deadlineOverdue, let fields): complain("overdue: \(fields)")
    default: break
    }
  }

  private mutating func change(_ path: ObjectPath, _ changed: Properties, _ open: inout [BluetoothSystem.Event]) {
    devices[path]?.merge(changed) { _, new in new }
    open.append(
      .daemon(
        .signal(.propertiesChanged(path: path, interface: InterfaceName.device, changed: changed, invalidated: []))))
  }

  private mutating func answer(
    _ path: ObjectPath, _ request: BlueZ.Request, _ open: inout [BluetoothSystem.Event]
  ) -> Result<Reply, BlueZError>? {
    switch request {
    case .readValue: return .success(.bytes([1, 2, 3]))
    case .connect:
      guard path != Self.awayPath else { return .failure(.failed("le-connection-abort-by-local")) }
      change(path, ["Connected": .bool(true), "ServicesResolved": .bool(true)], &open)
      return .success(.none)
    case .disconnect:
      change(path, ["Connected": .bool(false), "ServicesResolved": .bool(false)], &open)
      return .success(.none)
    case .readConnectionRSSI: return .success(.rssi(-50))
    case .getAllProperties: return .success(.properties(devices[path] ?? [:]))
    case .getManagedObjects: return .success(.objects(devices.mapValues { [InterfaceName.device: $0] }))
    default: return .success(.none)
    }
  }

  // MARK: The well-behaved app

  private mutating func say(_ request: AppLink.Request) { handle(.request(goodLink, request)) }

  private mutating func startGood() {
    let process = ProcessIdentity(processIdentifier: 100)
    handle(.attach(goodLink, process, Attachment(bundleIdentifier: Self.good), AnswerToken(1)))
    say(.createManager(Self.central, ManagerCreation(role: .central, restoreIdentifier: "good")))
    say(.createManager(Self.door, ManagerCreation(role: .peripheral, restoreIdentifier: "door")))
    say(
      .peripheral(
        Self.door,
        .addService(
          ServiceDefinition(
            identifier: Self.offer, uuid: Desk.service,
            characteristics: [
              CharacteristicDefinition(
                identifier: Self.offer, uuid: Desk.characteristic, properties: [.read, .write],
                permissions: [.readable, .writeable])
            ]))))
    say(.central(Self.central, .connect(lock, ConnectOptions(enableAutoReconnect: true))))
    say(.central(Self.central, .connect(away, ConnectOptions())))
    linkUp()
    say(.central(Self.central, .perform(lock, OperationIdentifier(1), .discoverServices(nil))))
    say(.central(Self.central, .perform(lock, OperationIdentifier(2), .discoverCharacteristics(nil, service: 0x0a))))
    say(.central(Self.central, .perform(lock, OperationIdentifier(3), .setNotify(true, characteristic: 0x0b))))
    say(.handled(through: EventSequence(goodSequence)))
    completed = []
  }

  private mutating func linkUp() {
    var open: [BluetoothSystem.Event] = []
    change(Desk.devicePath, ["Connected": .bool(true), "ServicesResolved": .bool(true)], &open)
    for event in open { handle(event) }
  }

  private mutating func hear(_ event: AppLink.Event, _ open: inout [BluetoothSystem.Event]) {
    if event.sequence.rawValue != goodSequence + 1 {
      complain("event \(event.sequence.rawValue) after \(goodSequence)")
    }
    goodSequence = event.sequence.rawValue
    switch event.body {
    case .valueUpdated(_, _, let bytes):
      heard.append(bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) })
    case .operationCompleted(_, let identifier, .value([1, 2, 3])): completed.append(identifier.rawValue)
    case .operationCompleted(_, _, .failed(let error)): complain("an operation failed: \(error)")
    case .readRequested(let request, _, _, _):
      open.append(.request(goodLink, .respond(request, result: nil, value: [7])))
    case .disconnected, .failedToConnect, .servicesModified, .requestExpired, .managerRejected:
      complain("told of \(event.body.kind)")
    default: break
    }
    open.append(.request(goodLink, .handled(through: event.sequence)))
  }

  /// What the well-behaved app was promised still holds.
  private mutating func checkGood() {
    guard devices[Desk.devicePath]?["Connected"] == .bool(true) else { return complain("its link was ended") }
    let value = nextValue
    nextValue &+= 1
    heard = []
    handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: Desk.characteristicPath, interface: InterfaceName.gattCharacteristic,
            changed: ["Value": .bytes((0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) })],
            invalidated: []))))
    if heard != [value] { complain("the value \(value) arrived as \(heard)") }
    completed = []
    lastOperation += 1
    say(.central(Self.central, .perform(lock, OperationIdentifier(lastOperation), .readCharacteristic(0x0b))))
    // What the hostile app asked for before goes first. An operation without an answer takes 40 s at most.
    if completed != [lastOperation] { complain("operation \(lastOperation) was answered by \(completed)") }
    readDoor()
    let key = ManagerKey(app: Self.good, role: .central, restoreIdentifier: "good")
    if system.held[key, away]?.isWanted != true { complain("its request is not held any more") }
  }

  private mutating func readDoor() {
    guard let service = system.publishing.services[Self.offer], let path = service.paths[Self.offer] else {
      return complain("its service is gone")
    }
    lastCallback += 1
    let callback = CallbackIdentifier(lastCallback)
    handle(
      .daemon(.callback(callback, path: path, .readValue(RemoteRequest(device: Desk.devicePath, offset: 0, mtu: 517)))))
    if answers.removeValue(forKey: callback) != .success(.bytes([7])) { complain("a central was not answered") }
    answers = [:]
  }

  // MARK: The hostile app

  private mutating func hearBad(_ event: AppLink.Event) {
    // Its requests from before it was frozen may be answered. It must not be told anything else.
    let isAnswer = [AppLink.Event.Kind.managerRejected, .stateChanged, .willRestoreState].contains(event.body.kind)
    if isBadFrozen, !isAnswer { complain("told of \(event.body.kind) while suspended") }
    values.lastSequence = event.sequence.rawValue
    switch event.body {
    case .readRequested(let request, _, _, _), .writeRequested(let request, _, _, _, _, _):
      if values.requests.count > 32 { values.requests.removeFirst() }
      values.requests.append(request)
    default: break
    }
  }

  mutating func step() {
    steps += 1
    switch values.below(100) {
    case 0:
      handle(
        .control(
          values.pick([
            .openApp(bundleIdentifier: Self.bad), .openApp(bundleIdentifier: Self.bad),
            .leaveApp(bundleIdentifier: Self.bad),
            .leaveApp(bundleIdentifier: Self.bad), .quitApp(bundleIdentifier: Self.bad),
            .reclaimApp(bundleIdentifier: Self.bad),
          ]), AnswerToken(0)))
    case 1: if values.chance(4) { dieBad() }
    case 2:
      if values.chance(4), let link = badLink {
        badLink = nil
        handle(.detached(link))
      }
    case 3, 4, 5: pass()
    case 6: if values.chance(4) { air() }
    case 7: handle(.query(badLink ?? AppLinkIdentifier(77), values.query(), AnswerToken(3)))
    default:
      if badLink == nil { attachBad() }
      requests += 1
      handle(.request(badLink ?? AppLinkIdentifier(1 << 40 | values.number()), values.request()))
    }
    if steps.isMultiple(of: 50) { checkGood() }
    // The bus lets no app rename another's.
    if system.apps[Self.good]?.link != goodLink { complain("it was detached") }
  }

  private mutating func dieBad() {
    guard let process = badProcess else { return }
    badProcess = nil
    if let link = badLink { handle(.detached(link)) }
    badLink = nil
    isBadFrozen = false
    handle(.appEnded(Self.bad, process, how: "signal 9"))
  }

  private mutating func attachBad() {
    if badProcess == nil {
      lastProcess += 1
      badProcess = ProcessIdentity(processIdentifier: lastProcess)
    }
    guard let process = badProcess else { return }
    lastLink += 1
    let link = AppLinkIdentifier(lastLink)
    badLink = link
    let claimed = values.chance(4) ? EventSequence(values.number()) : nil
    let attachment = Attachment(
      protocolVersion: values.chance(10) ? .max : Attachment.currentProtocolVersion,
      bundleIdentifier: values.chance(10) ? values.text() : Self.bad, lastEvent: claimed)
    handle(.attach(link, process, attachment, AnswerToken(5)))
    if system.apps[Self.bad]?.process == process || system.apps[Self.bad]?.link == link { return }
    // Refused, as the carrier would do it: that link is not used any more.
    badLink = nil
    badProcess = system.apps[Self.bad]?.process
  }

  private mutating func pass() {
    let end =
      now
      + values.pick([.milliseconds(1), .milliseconds(10), .milliseconds(200), .seconds(1), .seconds(11), .seconds(45)])
    var rings = 0
    while let deadline = system.nextDeadline, deadline <= end {
      rings += 1
      guard rings < 10_000 else { return complain("alarms without end") }
      now = max(now, deadline)
      handle(.timePassed)
    }
    now = end
    handle(.timePassed)
  }

  /// Other devices come and go. The well-behaved app's peripheral stays.
  private mutating func air() {
    let path = WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_0\(2 + values.below(5))")
    var open: [BluetoothSystem.Event] = []
    let isUp = values.chance(2)
    change(path, ["Connected": .bool(isUp), "ServicesResolved": .bool(isUp), "RSSI": .int16(-60)], &open)
    for event in open { handle(event) }
    guard isUp, let service = system.publishing.services.values.first(where: { $0.manager.app == Self.bad }),
      let place = service.characteristics.keys.min()
    else { return }
    for kind in [nil, WriteOptions.Kind.command, .request] {
      lastCallback += 1
      let request = RemoteRequest(device: path, offset: 0, mtu: 517, kind: kind)
      handle(
        .daemon(
          .callback(
            CallbackIdentifier(lastCallback), path: place, kind == nil ? .readValue(request) : .writeValue([1], request)
          )))
    }
  }
}
