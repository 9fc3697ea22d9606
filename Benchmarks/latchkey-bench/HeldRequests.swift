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

/// What the decisions about many connection requests of one app cost, without latchkeyd around them: memory for each
/// request, the time from the start to the app's restoration, and what single events cost after that.
struct HeldRequests {
  struct Figures {
    /// From the opening of the store to the records in it.
    var reading: Double
    /// From there to the app's restoration.
    var seconds: Double
    /// Both, of the processor.
    var processorSeconds: Double
    var bytesPerRequest: Double
    var restored: Int
  }

  private static let app = "org.example.collector"
  private static let service = "5b1c0002-0000-4c61-7463-686b65790000"
  private static let link = AppLinkIdentifier(1)
  private static let process = ProcessIdentity(processIdentifier: 100)
  private static let manager = ManagerIdentifier(1)

  private var system: BluetoothSystem
  private var now = Instant.zero
  private var restored = 0

  /// Starts with this many requests, for devices that are bonded and away, and restores the app.
  static func measure(_ count: Int) throws -> Figures {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("latchkey-bench-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try fill(folder, count)
    let before = try ProcessFigures(pid: getpid()).residentKiB
    let begin = processorSeconds()
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
    let processorSeconds = processorSeconds() - begin
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

  private static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Starts with this many requests.
  init(holding count: Int) { self.init(Self.records(count), count) }

  private init(_ stored: StoredState, _ count: Int) {
    system = BluetoothSystem(
      configuration: .init(),
      apps: [AppDeclaration(bundleIdentifier: Self.app, backgroundModes: ["bluetooth-central"])], stored: stored,
      seed: 1)
    carryOut(.started)
    carryOut(.daemon(.appeared(Self.objects(count))))
    carryOut(.control(.openApp(bundleIdentifier: Self.app), AnswerToken(1)))
    carryOut(.appLaunched(Self.app, Self.process))
    carryOut(.attach(Self.link, Self.process, Attachment(bundleIdentifier: Self.app), AnswerToken(2)))
    carryOut(
      .request(Self.link, .createManager(Self.manager, ManagerCreation(role: .central, restoreIdentifier: "many"))))
  }

  /// Time passes, a link comes and goes, a request is cancelled and made again, and a signal arrives.
  mutating func carryOutRound() {
    now = now + .seconds(1)
    carryOut(.timePassed)
    change(["Connected": .bool(true)])
    now = now + .seconds(20)
    change(["Connected": .bool(false)])
    carryOut(.request(Self.link, .central(Self.manager, .cancelConnection(Self.peer(0)))))
    carryOut(.request(Self.link, .central(Self.manager, .connect(Self.peer(0), ConnectOptions()))))
    change(["RSSI": .int16(-60)])
  }

  private mutating func change(_ properties: Properties) {
    carryOut(
      .daemon(
        .signal(
          .propertiesChanged(
            path: Self.path(0), interface: InterfaceName.device, changed: properties, invalidated: []))))
  }

  /// Carries out an event, and the answers to what it asks of bluetoothd and of the app.
  private mutating func carryOut(_ event: BluetoothSystem.Event) {
    var open = [event]
    var next = 0
    while next < open.count {
      defer { next += 1 }
      // As latchkeyd does: a turn that could not be written is undone.
      let before = system
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
    for number in 0..<count {
      objects[path(number)] = [
        InterfaceName.device: [
          "Address": .string(address(number).description), "AddressType": .string("public"), "Bonded": .bool(true),
          "Paired": .bool(true), "Trusted": .bool(true), "Connected": .bool(false),
          "UUIDs": .array(of: "s", [.string(service)]),
        ]
      ]
    }
    return objects
  }

  private static func records(_ count: Int) -> StoredState {
    let manager = ManagerKey(app: app, role: .central, restoreIdentifier: "many")
    var records: [StoredRecord] = [.manager(ManagerRecord(key: manager))]
    for number in 0..<count {
      records.append(
        .peer(PeerRecord(identifier: peer(number), address: address(number), wasRequested: true)))
      records.append(
        .peripheral(
          PeripheralRecord(manager: manager, peer: peer(number), isWanted: true, told: .connecting)))
    }
    return StoredState(records)
  }
}
