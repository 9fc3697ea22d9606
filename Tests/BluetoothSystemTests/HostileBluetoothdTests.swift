import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Foundation
import ProcessTesting
import Testing
import TimeTypes

@testable import BluetoothSystem

/// A bluetoothd that sends anything at any time, to a system with two well-behaved apps.
struct Bedlam {
  private struct Guest {
    let bundle: String
    var app: ScriptedApp
    var process: ProcessIdentity
    var link: AppLinkIdentifier
    var isFrozen = false
  }

  var system: BluetoothSystem
  var values: HostileValues
  var now = Instant.zero
  var maxima = Maxima()
  var complaints: [String] = []
  var messages = 0
  private var guests: [Guest] = []
  private var calls: [CallIdentifier] = []
  private var exported: [ObjectPath] = []
  private var lastCallback: UInt64 = 0
  private var open: Set<CallbackIdentifier> = []
  private var isSane = false
  private var lastNumber: UInt64 = 100
  private var sane: [ObjectPath: Properties] = [:]
  /// Everything that a sane bluetoothd has.
  private var saneObjects = ManagedObjects()
  private var turns = 0

  init(seed: UInt64) {
    values = HostileValues(seed: seed)
    let modes = ["bluetooth-central", "bluetooth-peripheral"]
    let names = ["org.example.phone", "org.example.door"]
    system = BluetoothSystem(
      apps: names.map { AppDeclaration(bundleIdentifier: $0, backgroundModes: modes) }, stored: StoredState(),
      seed: seed)
    handle(.started)
    for (name, part) in zip(names, [ScriptedApp.Part.phone, .door]) {
      lastNumber += 1
      guests.append(
        Guest(
          bundle: name, app: ScriptedApp(part), process: ProcessIdentity(processIdentifier: Int32(lastNumber)),
          link: AppLinkIdentifier(lastNumber)))
      attach(guests.count - 1)
    }
  }

  private mutating func complain(_ text: String) {
    if complaints.count < 10 { complaints.append("message \(messages): \(text)") }
  }

  private mutating func attach(_ index: Int) {
    let guest = guests[index]
    var todo: [BluetoothSystem.Event] = [
      .attach(guest.link, guest.process, Attachment(bundleIdentifier: guest.bundle), AnswerToken(guest.link.rawValue))
    ]
    todo += guest.app.attached().map { .request(guest.link, $0) }
    for event in todo { handle(event) }
  }

  mutating func handle(_ event: BluetoothSystem.Event) {
    var todo = [event]
    turns = 0
    while !todo.isEmpty {
      turns += 1
      guard turns < 10_000 else { return complain("the system does not come to rest") }
      let effects = system.handle(todo.removeFirst(), at: now)
      maxima.note(system, effects)
      if let deadline = system.earliestDeadline, deadline <= now {
        complain("a deadline in the past: \(deadline) at \(now)")
      }
      for effect in effects { take(effect, &todo) }
    }
  }

  private mutating func take(_ effect: BluetoothSystem.Effect, _ todo: inout [BluetoothSystem.Event]) {
    switch effect {
    case .store(.put(let record)):
      if messages.isMultiple(of: 16), (try? StoredRecord(record.row())) != record {
        complain("can't be stored: \(record.key)")
      }
    case .bluez(.call(let identifier, let path, let request)):
      if case .registerApplication(_, let objects) = request {
        exported = Array((exported + objects.keys.sorted()).suffix(32))
      }
      if isSane { return reply(identifier, path, request, &todo) }
      calls.append(identifier)
      if calls.count > 64 { calls.removeFirst() }
    case .bluez(.answer(let callback, _)):
      if open.remove(callback) == nil { complain("\(callback) is answered twice, or was never asked") }
    case .event(let event, let link):
      guard let index = guests.firstIndex(where: { $0.link == link }) else { return complain("an event for nobody") }
      guests[index].app.isSuspended = guests[index].isFrozen
      let requests = guests[index].app.receive(event)
      todo += requests.map { .request(link, $0) }
      if let first = guests[index].app.complaints.first {
        complain("\(guests[index].bundle): \(first)")
        guests[index].app.complaints = []
      }
    case .suspend(let name, _): freeze(name, true)
    case .resume(let name, _): freeze(name, false)
    case .kill(let name, let process):
      // The app behaves well, but may be sent more than any app could handle.
      guard let index = guests.firstIndex(where: { $0.bundle == name }) else { return }
      guests[index].isFrozen = false
      guests[index].app.die()
      todo += [.detached(guests[index].link), .appEnded(name, process, how: "signal 9")]
      relaunched(index)
    case .launch(let name, _):
      guard let index = guests.firstIndex(where: { $0.bundle == name }) else { return }
      todo.append(.appLaunched(name, guests[index].process))
      todo.append(
        .attach(guests[index].link, guests[index].process, Attachment(bundleIdentifier: name), AnswerToken(1)))
      todo += guests[index].app.attached().map { .request(guests[index].link, $0) }
    case .record(.deadlineOverdue, let fields): complain("overdue: \(fields)")
    default: break
    }
  }

  private mutating func relaunched(_ index: Int) {
    lastNumber += 1
    guests[index].process = ProcessIdentity(processIdentifier: Int32(lastNumber))
    guests[index].link = AppLinkIdentifier(lastNumber)
  }

  private mutating func freeze(_ name: String, _ isFrozen: Bool) {
    for index in guests.indices where guests[index].bundle == name { guests[index].isFrozen = isFrozen }
  }

  // MARK: Random messages

  mutating func step() {
    messages += 1
    switch values.below(40) {
    case 0:
      handle(
        .daemon(.appeared([:].merging((0..<values.below(4)).map { _ in (values.path(), values.interfaces()) }) { $1 })))
    case 1: appear(saneDevice: values.chance(2))
    case 2:
      if values.chance(3) {
        handle(.daemon(.vanished))
        open = []
      }
    case 3, 4, 5, 6, 7, 8, 9, 10:
      guard !calls.isEmpty else { return }
      let call = values.pick(calls)
      handle(.daemon(.reply(call, values.reply())))
      // Some are answered a second time.
      if !values.chance(4) { calls.removeAll { $0 == call } }
    case 11: handle(.daemon(.reply(CallIdentifier(values.number()), values.reply())))
    case 12, 13, 14, 15:
      lastCallback += 1
      let (path, callback) = values.callback(exported)
      let identifier = CallbackIdentifier(lastCallback)
      open.insert(identifier)
      handle(.daemon(.callback(identifier, path: path, callback)))
    case 16, 17: pass(values.pick([.milliseconds(1), .milliseconds(250), .seconds(1), .seconds(6), .seconds(46)]))
    case 18: if values.chance(50) { flood() }
    case 19: control()
    default: handle(.daemon(.signal(values.signal())))
    }
    if open.count > 512 { complain("\(open.count) callbacks are not answered") }
  }

  /// Hundreds of values, or of devices, at once.
  private mutating func flood() {
    let addresses = values.chance(2)
    for number in 0..<500 {
      messages += 1
      if addresses {
        let path = WellKnown.firstAdapter.appending("dev_flood_\(number)")
        let address = DeviceAddress(bits: UInt64(number) | values.number() << 16 & 0xFFFF_FFFF_FFFF, kind: .random)
        handle(
          .daemon(
            .signal(
              .interfacesAdded(
                path: path,
                [InterfaceName.device: ["Address": .string(address.description), "AddressType": .string("random")]]))))
        if values.chance(2) { handle(.daemon(.signal(.interfacesRemoved(path: path, [InterfaceName.device])))) }
      } else {
        handle(
          .daemon(
            .signal(
              .propertiesChanged(
                path: Desk.characteristicPath, interface: InterfaceName.gattCharacteristic,
                changed: ["Value": .bytes(values.bytes())], invalidated: []))))
      }
    }
  }

  private mutating func control() {
    let name = values.pick(guests.map(\.bundle))
    handle(
      .control(
        values.chance(2) ? .openApp(bundleIdentifier: name) : .leaveApp(bundleIdentifier: name), AnswerToken(9)))
  }

  mutating func pass(_ duration: Duration) {
    let end = now + duration
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

  private mutating func appear(saneDevice: Bool) {
    var objects: ManagedObjects = [WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]]
    if saneDevice {
      sane = [WellKnown.firstAdapter: ["Powered": .bool(true)]]
      sane[Desk.devicePath] = [
        "Address": .string(Desk.address.description), "AddressType": .string("random"), "Bonded": .bool(true),
        "Paired": .bool(true), "Connected": .bool(false), "ServicesResolved": .bool(false), "RSSI": .int16(-50),
        "UUIDs": .strings([ScriptedApp.service.description]),
      ]
      objects[Desk.devicePath] = [InterfaceName.device: sane[Desk.devicePath] ?? [:]]
      objects[Desk.servicePath] = [
        InterfaceName.gattService: ["UUID": .string(ScriptedApp.service.description), "Primary": .bool(true)]
      ]
      for (handle, uuid, flags) in [
        ("char000b", ScriptedApp.offerUUID, ["read", "notify"]), ("char000c", ScriptedApp.commandUUID, ["write"]),
      ] {
        objects[Desk.servicePath.appending(handle)] = [
          InterfaceName.gattCharacteristic: ["UUID": .string(uuid.description), "Flags": .strings(flags)]
        ]
      }
    }
    if saneDevice { saneObjects = objects }
    open = []
    calls = []
    handle(.daemon(.vanished))
    handle(.daemon(.appeared(objects)))
  }

  // MARK: Back to normal

  /// The next bluetoothd behaves correctly. Checks that the phone's app gets its link, and the door's app its
  /// service.
  mutating func comeToSense() {
    isSane = true
    for guest in guests { handle(.control(.openApp(bundleIdentifier: guest.bundle), AnswerToken(9))) }
    appear(saneDevice: true)
    pass(.seconds(120))
    let properties: Properties = ["Connected": .bool(true), "ServicesResolved": .bool(true)]
    handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: Desk.devicePath, interface: InterfaceName.device, changed: properties, invalidated: []))))
    pass(.seconds(10))
    let wanted = system.held.peers.flatMap(system.held.holders).filter { $0.manager.app == "org.example.phone" }
    if !wanted.contains(where: \.peripheral.isWanted), guests[0].app.view.scan == nil {
      complain("the phone wants nothing")
    }
    let published = system.publishing.services.values.filter { $0.manager.app == "org.example.door" }
    let isWanted = system.managers.values.contains { $0.key.app == "org.example.door" && !$0.services.isEmpty }
    let registrations = system.publishing.applications
    if isWanted, !published.contains(where: { registrations[$0.root]?.isDone == true }) {
      complain(
        "the door publishes nothing: Bluetooth is \(system.bluez.state), \(registrations), "
          + "the app is \(system.apps["org.example.door"].map { "\($0.state)" } ?? "none")")
    }
  }

  private mutating func reply(
    _ identifier: CallIdentifier, _ path: ObjectPath, _ request: BlueZ.Request, _ todo: inout [BluetoothSystem.Event]
  ) {
    let result: Result<Reply, BlueZError> =
      switch request {
      case .readValue: .success(.bytes([0]))
      case .readConnectionRSSI: .success(.rssi(-50))
      case .getAllProperties: .success(.properties(sane[path] ?? [:]))
      case .getManagedObjects: .success(.objects(saneObjects))
      case .connect: .failure(.failed("le-connection-abort-by-local"))
      default: .success(.none)
      }
    todo.append(.daemon(.reply(identifier, result)))
  }
}

@Suite("A hostile bluetoothd", .serialized, .ownThread)
struct HostileBluetoothdTests {
  @Test(
    "M6, M8, L13, A2: whatever bluetoothd sends, apps get consistent events, and the next bluetoothd works",
    arguments: 0..<HostileAppTests.seeds)
  func bedlam(number: Int) {
    let seed = HostileAppTests.firstSeed &+ UInt64(number)
    var bedlam = Bedlam(seed: seed)
    let start = ContinuousClock.now
    while bedlam.messages < HostileAppTests.requests / HostileAppTests.seeds, bedlam.complaints.isEmpty {
      bedlam.step()
    }
    bedlam.comeToSense()
    let complaints = bedlam.complaints
    #expect(complaints.isEmpty, "seed \(seed): \(complaints)")
    let maxima = bedlam.maxima
    #expect(maxima.queue <= 8001, "seed \(seed)")
    #expect(maxima.calls <= 2048, "seed \(seed)")
    #expect(maxima.remoteRequests <= 256, "seed \(seed)")
    #expect(maxima.identifiers <= 20_000, "seed \(seed)")
    print("hostile bluetoothd, seed \(seed): \(bedlam.messages) messages in \(ContinuousClock.now - start); \(maxima)")
  }
}
