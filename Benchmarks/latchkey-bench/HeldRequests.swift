import AppLink
import BlueZ
import BluetoothSystem
import BluetoothTypes
import BusValue
import Foundation
import Glibc
import LatchkeyDaemon
import TimeTypes
import Worlds

/// What the decisions about many connection requests of one app cost, without the rest of latchkeyd: the memory for
/// each request, the time from the start to the app's restoration, and the cost of single events after that.
struct HeldRequests {
  struct Figures {
    /// Seconds from the opening of the store until its records are read.
    var reading: Double
    /// Seconds from then to the app's restoration.
    var seconds: Double
    /// The processor time of both parts.
    var processorSeconds: Double
    var bytesPerRequest: Double
    var restored: Int
  }

  /// A kind of event. Its cost includes the answers that it leads to.
  enum Kind: String, CaseIterable {
    case timePasses = "time that passes"
    case linkComes = "a link that comes"
    case attributeComes = "an attribute that appears"
    case valueComes = "a value that arrives"
    case linkGoes = "a link that goes"
    case made = "a request that is made"
    case cancelled = "a request that is cancelled"
    case madeAgain = "a request that is made again"
    case signal = "a signal"
    case deviceComes = "a new device"
    case deviceGoes = "a device that is gone"
  }

  private static let app = "org.example.collector"
  private static let service = "5b1c0002-0000-4c61-7463-686b65790000"
  private static let link = AppLinkIdentifier(1)
  private static let process = ProcessIdentity(processIdentifier: 100)
  private static let manager = ManagerIdentifier(1)

  private var system: BluetoothSystem
  private var now = Instant.zero
  private var restored = 0
  private var strangers = 0

  /// Starts with this many requests, for devices that are bonded and away, and restores the app.
  static func measure(_ count: Int) throws -> Figures {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("latchkey-bench-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try fill(folder, count)
    let before = try ProcessFigures(pid: getpid()).residentKiB
    let begin = ProcessFigures.processorSeconds()
    var stored = StoredState()
    let reading = try ContinuousClock().measure {
      let stateFolder = try StateFolder(path: folder, machine: "bench")
      let store = try Store(stateFolder)
      stored = try store.load()
      store.close()
      withExtendedLifetime(stateFolder) {}
    }
    var holder: HeldRequests?
    let took = ContinuousClock().measure { holder = HeldRequests(stored, count) }
    let processorSeconds = ProcessFigures.processorSeconds() - begin
    let after = try ProcessFigures(pid: getpid()).residentKiB
    return withExtendedLifetime(holder) {
      Figures(
        reading: reading / .seconds(1), seconds: took / .seconds(1), processorSeconds: processorSeconds,
        bytesPerRequest: Double(after - before) * 1024 / Double(count), restored: holder?.restored ?? 0)
    }
  }

  private static func fill(_ folder: String, _ count: Int) throws {
    let stateFolder = try StateFolder(path: folder, machine: "bench")
    let store = try Store(stateFolder)
    try store.write(records(count).records.values.map { .put($0) })
    store.close()
    // The folder must be unlocked before it is taken again.
    withExtendedLifetime(stateFolder) {}
  }

  /// Starts with this many requests, spread evenly over a number of apps. One of the apps runs.
  init(holding count: Int, apps: Int = 1) { self.init(Self.records(count, apps: apps), count, apps: apps) }

  private init(_ stored: StoredState, _ count: Int, apps: Int = 1) {
    system = BluetoothSystem(
      configuration: .init(),
      apps: (0..<apps).map { number in
        AppDeclaration(bundleIdentifier: Self.name(number), backgroundModes: ["bluetooth-central"])
      }, stored: stored, seed: 1)
    carryOut(.started)
    carryOut(.daemon(.appeared(Self.objects(count))))
    carryOut(.control(.openApp(bundleIdentifier: Self.app), AnswerToken(1)))
    carryOut(.appLaunched(Self.app, Self.process))
    carryOut(.attach(Self.link, Self.process, Attachment(bundleIdentifier: Self.app), AnswerToken(2)))
    carryOut(
      .request(Self.link, .createManager(Self.manager, ManagerCreation(role: .central, restoreIdentifier: "many"))))
  }

  /// Carries out rounds of an event of each kind, in their order. Those of one kind are carried out by a function of
  /// their own, which a program that counts instructions finds by its name.
  mutating func carryOut(rounds: Int, counting counted: Kind) {
    for _ in 0..<rounds {
      for kind in Kind.allCases { if kind == counted { carryOutCounted(kind) } else { carryOut(kind) } }
    }
  }

  @inline(never) private mutating func carryOutCounted(_ kind: Kind) { carryOut(kind) }

  mutating func carryOut(_ kind: Kind) {
    switch kind {
    case .timePasses:
      now = now + .seconds(1)
      carryOut(.timePassed)
    case .linkComes: change(["Connected": .bool(true)])
    case .attributeComes:
      carryOut(
        .daemon(
          .signal(
            .interfacesAdded(
              path: Self.characteristic,
              [InterfaceName.gattCharacteristic: ["UUID": .string(Self.service), "Flags": .strings(["notify"])]]))))
    case .valueComes:
      carryOut(
        .daemon(
          .signal(
            .propertiesChanged(
              path: Self.characteristic, interface: InterfaceName.gattCharacteristic,
              changed: ["Value": .bytes([1, 2, 3])], invalidated: []))))
    case .linkGoes:
      now = now + .seconds(20)
      change(["Connected": .bool(false)])
    // The end of the link has ended the request, so one has to be made before one can be cancelled.
    case .made, .madeAgain:
      carryOut(.request(Self.link, .central(Self.manager, .connect(Self.peer(0), ConnectOptions()))))
    case .cancelled: carryOut(.request(Self.link, .central(Self.manager, .cancelConnection(Self.peer(0)))))
    case .signal: change(["RSSI": .int16(-60)])
    case .deviceComes:
      strangers += 1
      let stranger = 1_000_000 + strangers
      carryOut(
        .daemon(.signal(.interfacesAdded(path: Self.path(stranger), Self.device(stranger, isBonded: false)))))
    case .deviceGoes:
      carryOut(
        .daemon(
          .signal(.interfacesRemoved(path: Self.path(1_000_000 + strangers), [InterfaceName.device]))))
    }
  }

  private mutating func change(_ properties: Properties) {
    carryOut(
      .daemon(
        .signal(
          .propertiesChanged(
            path: Self.path(0), interface: InterfaceName.device, changed: properties, invalidated: []))))
  }

  /// Carries out an event. Answers what it asks of bluetoothd and of the app, and carries those answers out, too.
  private mutating func carryOut(_ event: BluetoothSystem.Event) {
    var open = [event]
    var next = 0
    while next < open.count {
      defer { next += 1 }
      // As latchkeyd does: a turn that makes a promise is undone if it can't be written.
      let before = open[next].asksForPromise ? system : nil
      for effect in system.handle(open[next], at: now) {
        switch effect {
        case .bluez(.call(let call, _, _)): open.append(.daemon(.reply(call, .success(.none))))
        case .event(let event, _):
          switch event.body {
          case .restoredPeripherals(let peripherals): restored += peripherals.count
          case .willRestoreCentral(let restoration): restored += restoration.peripherals.count
          default: break
          }
          open.append(.request(Self.link, .handled(through: event.sequence)))
        default: break
        }
      }
      withExtendedLifetime(before) {}
    }
  }

  // MARK: Devices

  private static func peer(_ number: Int) -> PeerIdentifier {
    let bytes = withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) }
    return PeerIdentifier(
      UUID(
        uuid: (
          0xB5, 0x1C, 0, 0, 0, 0, 0x80, 0, bytes[0] | 0x80, bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6],
          bytes[7]
        )))
  }

  private static func address(_ number: Int) -> DeviceAddress {
    DeviceAddress(bits: 0x001B_DC00_0000 + UInt64(number), kind: .public)
  }

  private static func path(_ number: Int) -> ObjectPath {
    WellKnown.firstAdapter.appending(
      "dev_" + address(number).description.map { $0 == ":" ? "_" : String($0) }.joined())
  }

  private static func objects(_ count: Int) -> ManagedObjects {
    var objects: ManagedObjects = [WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]]
    for number in 0..<count { objects[path(number)] = device(number, isBonded: true) }
    return objects
  }

  private static func device(_ number: Int, isBonded: Bool) -> Interfaces {
    [
      InterfaceName.device: [
        "Address": .string(address(number).description), "AddressType": .string("public"), "Bonded": .bool(isBonded),
        "Paired": .bool(isBonded), "Trusted": .bool(isBonded), "Connected": .bool(false),
        "UUIDs": .array(of: "s", [.string(service)]),
      ]
    ]
  }

  /// A characteristic of the first device.
  private static let characteristic = path(0).appending("service0010").appending("char0011")

  private static func name(_ number: Int) -> String { number == 0 ? app : "\(app)\(number)" }

  private static func records(_ count: Int, apps: Int = 1) -> StoredState {
    let managers = (0..<apps).map { ManagerKey(app: name($0), role: .central, restoreIdentifier: "many") }
    var records: [StoredRecord] = managers.map { .manager(ManagerRecord(key: $0)) }
    for number in 0..<count {
      records.append(
        .peer(PeerRecord(identifier: peer(number), address: address(number), wasRequested: true)))
      records.append(
        .peripheral(
          PeripheralRecord(manager: managers[number % apps], peer: peer(number), isWanted: true, told: .connecting)))
    }
    return StoredState(records)
  }
}
