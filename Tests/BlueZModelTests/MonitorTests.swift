import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

/// AdvertisementMonitor1: passive scans, which bluetoothd has with `--experimental`.
@Suite struct MonitorTests {
  private static let root = ObjectPath(unchecked: "/monitors")
  private static func path(_ name: String) -> ObjectPath { root.appending(name) }

  private static func patterns(_ all: [(UInt8, UInt8, [UInt8])]) -> Value {
    .array(of: "(yyay)", all.map { .structure([.byte($0.0), .byte($0.1), .bytes($0.2)]) })
  }

  /// Low Energy only and generally discoverable, as at the beginning of the door's advertisement.
  private static let flags = patterns([(0, 0x01, [0x06])])
  private static let nobody = patterns([(0, 0x01, [0x7F])])

  private static func monitor(_ patterns: Value = flags, _ more: Properties = [:]) -> Interfaces {
    [
      InterfaceName.advertisementMonitor: (["Type": .string("or_patterns"), "Patterns": patterns] as Properties)
        .merging(more) { $1 }
    ]
  }

  /// A door that advertises, and a phone that may have monitors.
  private static func bench(isDiscoverable: Bool = true) -> Bench {
    var bench = Bench(isExperimental: true)
    bench.serveLock(encrypted: false, isDiscoverable: isDiscoverable)
    return bench
  }

  private func calls(_ bench: Bench, of name: String? = nil) -> [Callback] {
    bench.callbacks.filter { $0.machine == Bench.phone && (name == nil || $0.path == Self.path(name ?? "")) }
      .map(\.callback)
  }

  private func found(_ bench: Bench, by name: String) -> [(at: Instant, call: MonitorCall)] {
    bench.callbacks.compactMap { entry in
      guard entry.path == Self.path(name), case .monitor(let call) = entry.callback, call != .activate else {
        return nil
      }
      return (entry.at, call)
    }
  }

  private static let released = Callback.release(interface: InterfaceName.advertisementMonitor)

  @Test("C7: without --experimental there is no manager of monitors, and its methods are unknown")
  func isSwitched() {
    var plain = Bench()
    #expect(plain.phoneObjects[Bench.adapter]?[InterfaceName.advertisementMonitorManager] == nil)
    let refused = plain.ask(Bench.phone, Bench.adapter, .registerMonitor(root: Self.root, objects: [:]))
    #expect(refused?.error?.name.hasSuffix("UnknownMethod") == true)
    let experimental = Bench(isExperimental: true)
    #expect(
      experimental.phoneObjects[Bench.adapter]?[InterfaceName.advertisementMonitorManager] == [
        "SupportedMonitorTypes": .strings(["or_patterns"]), "SupportedFeatures": .strings([]),
      ])
  }

  @Test(
    "C7: a monitor is activated after the answer; what matches becomes a device, and is found at every advertisement")
  func finds() throws {
    var bench = Self.bench(isDiscoverable: false)
    let patterns = Self.patterns([(0, 0x01, [0x04])])
    let objects: ManagedObjects = [
      Self.path("near"): Self.monitor(patterns), Self.path("none"): Self.monitor(Self.nobody),
    ]
    #expect(
      bench.ask(Bench.phone, Bench.adapter, .registerMonitor(root: Self.root, objects: objects)) == .success(.none))
    #expect(calls(bench) == [.monitor(.activate), .monitor(.activate)])
    bench.run(.seconds(5))
    let lock = try #require(bench.lockPath)
    let all = found(bench, by: "near")
    #expect(all.count > 10 && all.allSatisfy { $0.call == .deviceFound(lock) })
    #expect(found(bench, by: "none").isEmpty)
    // No scan request was sent, so the name in the scan response is unknown.
    #expect(bench.device(lock, "Name") == nil && bench.device(lock, "RSSI") != nil)
    #expect(bench.phoneObjects[Bench.adapter]?[InterfaceName.adapter]?["Discovering"] == .bool(false))
  }

  @Test("C7: a found device is lost 30 s after it was last heard; a monitor without thresholds is not told")
  func vanishes() {
    var bench = Self.bench()
    bench.call(Bench.phone, Bench.adapter, .registerMonitor(root: Self.root, objects: [Self.path("a"): Self.monitor()]))
    bench.run(.seconds(3))
    bench.command(.shield(machine: Bench.door, isOn: true))
    bench.run(.seconds(28))
    #expect(bench.lockPath != nil)
    bench.run(.seconds(4))
    #expect(bench.lockPath == nil)
    #expect(!found(bench, by: "a").contains { if case .deviceLost = $0.call { true } else { false } })
  }

  @Test("C7: monitors continue while a discovery begins and ends; devices that do not match are not reported")
  func besideDiscovery() {
    var bench = Self.bench()
    bench.call(
      Bench.phone, Bench.adapter,
      .registerMonitor(
        root: Self.root, objects: [Self.path("a"): Self.monitor(), Self.path("b"): Self.monitor(Self.nobody)]))
    bench.run(.seconds(1))
    #expect(bench.ask(Bench.phone, Bench.adapter, .startDiscovery)?.isSuccess == true)
    bench.run(.seconds(3))
    #expect(bench.lockPath.flatMap { bench.device($0, "Name") } == .string("Front door"))
    #expect(bench.ask(Bench.phone, Bench.adapter, .stopDiscovery)?.isSuccess == true)
    bench.callbacks = []
    bench.run(.seconds(3))
    #expect(found(bench, by: "a").count > 5)
    #expect(bench.ask(Bench.phone, Bench.adapter, .unregisterMonitor(root: Self.root)) == .success(.none))
    #expect(calls(bench).suffix(2) == [Self.released, Self.released])
    bench.callbacks = []
    bench.run(.seconds(40))
    #expect(bench.callbacks.isEmpty && bench.lockPath == nil)
  }

  @Test("C7: what makes no sense is released, before the answer, and the others stay")
  func nonsense() {
    let bad: [(String, Interfaces)] = [
      ("noType", [InterfaceName.advertisementMonitor: ["Patterns": Self.flags]]),
      ("type", Self.monitor(Self.flags, ["Type": .string("and_patterns")])),
      ("typeOfType", Self.monitor(Self.flags, ["Type": .byte(1)])),
      ("noPatterns", [InterfaceName.advertisementMonitor: ["Type": .string("or_patterns")]]),
      ("empty", Self.monitor(Self.patterns([]))),
      ("otherKind", Self.monitor(.strings(["06"]))),
      ("nothing", Self.monitor(Self.patterns([(0, 1, [])]))),
      ("tooLong", Self.monitor(Self.patterns([(0, 0xFF, [UInt8](repeating: 1, count: 32))]))),
      ("tooFar", Self.monitor(Self.patterns([(30, 0xFF, [1, 2])]))),
      ("beyond", Self.monitor(Self.patterns([(31, 0xFF, [1])]))),
      ("kind0", Self.monitor(Self.patterns([(0, 0, [1])]))),
      ("kind", Self.monitor(Self.patterns([(0, 0x3E, [1])]))),
      ("oneOfTwo", Self.monitor(Self.patterns([(0, 1, [6]), (0, 0x40, [1])]))),
      ("high", Self.monitor(Self.flags, ["RSSIHighThreshold": .int16(21)])),
      ("low", Self.monitor(Self.flags, ["RSSILowThreshold": .int16(-128)])),
      ("crossed", Self.monitor(Self.flags, ["RSSIHighThreshold": .int16(-70), "RSSILowThreshold": .int16(-60)])),
      ("forEver", Self.monitor(Self.flags, ["RSSIHighTimeout": .uint16(301)])),
      ("signed", Self.monitor(Self.flags, ["RSSIHighTimeout": .int16(3)])),
      ("sampling", Self.monitor(Self.flags, ["RSSISamplingPeriod": .uint16(300)])),
    ]
    var bench = Self.bench()
    var objects: ManagedObjects = [
      Self.path("good"): Self.monitor(), Self.path("other"): [InterfaceName.gattService: [:]],
    ]
    for (name, interfaces) in bad { objects[Self.path(name)] = interfaces }
    #expect(
      bench.ask(Bench.phone, Bench.adapter, .registerMonitor(root: Self.root, objects: objects)) == .success(.none))
    for (name, _) in bad { #expect(calls(bench, of: name) == [Self.released], "\(name)") }
    #expect(calls(bench, of: "good") == [.monitor(.activate)])
    #expect(calls(bench, of: "other").isEmpty)
    #expect(calls(bench).last == .monitor(.activate), "the kernel answers after bluetoothd has read them all")
  }

  @Test("C7: missing thresholds get defaults, and the limits are accepted")
  func thresholds() {
    var bench = Self.bench()
    let good: [Properties] = [
      ["RSSIHighThreshold": .int16(20), "RSSILowThreshold": .int16(-127)], ["RSSIHighThreshold": .int16(-60)],
      ["RSSILowThreshold": .int16(-60)], ["RSSIHighTimeout": .uint16(300)], ["RSSILowTimeout": .uint16(1)],
      ["RSSISamplingPeriod": .uint16(255)], ["RSSISamplingPeriod": .uint16(0)], ["RSSISamplingPeriod": .uint16(256)],
      ["RSSIHighThreshold": .int16(127), "RSSILowThreshold": .int16(127), "RSSIHighTimeout": .uint16(0)],
    ]
    var objects = ManagedObjects()
    for (number, more) in good.enumerated() { objects[Self.path("m\(number)")] = Self.monitor(Self.flags, more) }
    bench.call(Bench.phone, Bench.adapter, .registerMonitor(root: Self.root, objects: objects))
    #expect(calls(bench) == good.map { _ in .monitor(.activate) })
  }

  @Test("C7: with thresholds a device is found once it was strong for long enough, and lost once nothing is heard")
  func tracks() throws {
    var bench = Self.bench()
    let thresholds: Properties = [
      "RSSIHighThreshold": .int16(-90), "RSSIHighTimeout": .uint16(3), "RSSILowThreshold": .int16(-100),
      "RSSILowTimeout": .uint16(4),
    ]
    bench.call(
      Bench.phone, Bench.adapter,
      .registerMonitor(root: Self.root, objects: [Self.path("a"): Self.monitor(Self.flags, thresholds)]))
    let begin = bench.now
    bench.run(.seconds(10))
    let lock = try #require(bench.lockPath)
    #expect(found(bench, by: "a").map(\.call) == [.deviceFound(lock)], "once")
    let took = try #require(found(bench, by: "a").first).at - begin
    // Counted in whole seconds of the clock.
    #expect(took >= .seconds(2) && took <= .seconds(5), "\(took)")
    bench.command(.shield(machine: Bench.door, isOn: true))
    let lost = bench.now
    bench.run(.seconds(10))
    #expect(found(bench, by: "a").map(\.call) == [.deviceFound(lock), .deviceLost(lock)])
    let after = try #require(found(bench, by: "a").last).at - lost
    #expect(after >= .milliseconds(3500) && after <= .milliseconds(4100), "\(after)")
    bench.command(.shield(machine: Bench.door, isOn: false))
    bench.run(.seconds(10))
    #expect(found(bench, by: "a").map(\.call) == [.deviceFound(lock), .deviceLost(lock), .deviceFound(lock)])
  }

  @Test("C7: a device that goes far is lost while it is still heard")
  func weakens() throws {
    var bench = Self.bench()
    let thresholds: Properties = [
      "RSSIHighThreshold": .int16(-66), "RSSIHighTimeout": .uint16(1), "RSSILowThreshold": .int16(-72),
      "RSSILowTimeout": .uint16(2),
    ]
    bench.call(
      Bench.phone, Bench.adapter,
      .registerMonitor(root: Self.root, objects: [Self.path("a"): Self.monitor(Self.flags, thresholds)]))
    bench.command(.move(machine: Bench.phone, x: 0.2, y: 0))
    bench.run(.seconds(6))
    let lock = try #require(bench.lockPath)
    #expect(found(bench, by: "a").map(\.call) == [.deviceFound(lock)])
    bench.command(.move(machine: Bench.phone, x: 25, y: 0))
    bench.run(.seconds(15))
    #expect(found(bench, by: "a").map(\.call) == [.deviceFound(lock), .deviceLost(lock)])
    #expect(bench.lockPath != nil)
  }

  @Test("C7: patterns are compared with what bluetoothd 5.82 keeps of an advertisement, and with nothing else")
  func patterns() {
    var bench = Bench(isExperimental: true)
    bench.call(
      Bench.door, Bench.adapter,
      .registerAdvertisement(
        path: ObjectPath(unchecked: "/advertisement"),
        properties: [
          "Type": .string("peripheral"), "Discoverable": .bool(true), "ServiceUUIDs": .strings(["180d"]),
          "LocalName": .string("first"), "ServiceData": .properties(["180f": .bytes([42, 7])]),
          "ManufacturerData": .dictionary(key: "q", value: "v", [.uint16(0x1234): .variant(.bytes([9, 8]))]),
        ]))
    let matching: [String: (UInt8, UInt8, [UInt8])] = [
      "company": (0, 0xFF, [0x34, 0x12]), "companysData": (2, 0xFF, [9, 8]), "theirEnd": (3, 0xFF, [8]),
      "serviceData": (0, 0x16, [42]), "serviceDataOfAnyKind": (1, 0x21, [7]), "flags": (0, 0x01, [0x06]),
    ]
    let missing: [String: (UInt8, UInt8, [UInt8])] = [
      "anotherCompany": (0, 0xFF, [0x35]), "longer": (2, 0xFF, [9, 8, 7]), "service": (0, 0x03, [0x0D, 0x18]),
      "name": (0, 0x09, [0x66]), "serviceOfData": (0, 0x16, [0x0F, 0x18]), "power": (0, 0x0A, [0]),
    ]
    var objects = ManagedObjects()
    for (name, pattern) in matching.merging(missing, uniquingKeysWith: { $1 }) {
      objects[Self.path(name)] = Self.monitor(Self.patterns([pattern]))
    }
    objects[Self.path("either")] = Self.monitor(Self.patterns([(0, 0x0A, [0]), (0, 0x01, [0x06])]))
    bench.call(Bench.phone, Bench.adapter, .registerMonitor(root: Self.root, objects: objects))
    bench.run(.seconds(5))
    for name in matching.keys.sorted() + ["either"] { #expect(!found(bench, by: name).isEmpty, "\(name)") }
    for name in missing.keys.sorted() { #expect(found(bench, by: name).isEmpty, "\(name)") }
  }

  @Test("C7: the kernel has room for 32 lists of at most 7 patterns; equal lists are shared")
  func limits() {
    var bench = Self.bench()
    var objects = ManagedObjects()
    for number in 0..<33 {
      objects[Self.path("m\(10 + number)")] = Self.monitor(Self.patterns([(0, 0xFF, [UInt8(number)])]))
    }
    objects[Self.path("many")] = Self.monitor(Self.patterns((0..<8).map { (0, 0xFF, [UInt8($0)]) }))
    objects[Self.path("shared")] = Self.monitor(Self.patterns([(0, 0xFF, [0])]))
    #expect(
      bench.ask(Bench.phone, Bench.adapter, .registerMonitor(root: Self.root, objects: objects)) == .success(.none))
    for number in 0..<32 { #expect(calls(bench, of: "m\(10 + number)") == [.monitor(.activate)]) }
    for name in ["m42", "many"] { #expect(calls(bench, of: name) == [Self.released], "\(name)") }
    #expect(calls(bench, of: "shared") == [.monitor(.activate)])
  }

  @Test("C7: a root is registered once for each client; it ends with its client, without a word")
  func ownership() {
    var bench = Self.bench()
    let (one, other) = (ClientIdentifier(":1.70"), ClientIdentifier(":1.71"))
    let request = Request.registerMonitor(root: Self.root, objects: [Self.path("a"): Self.monitor()])
    #expect(bench.ask(Bench.phone, Bench.adapter, request, from: one) == .success(.none))
    #expect(bench.ask(Bench.phone, Bench.adapter, request, from: one)?.error == .alreadyExists)
    #expect(bench.ask(Bench.phone, Bench.adapter, request, from: other) == .success(.none))
    let taking = Request.unregisterMonitor(root: Self.root)
    #expect(bench.ask(Bench.phone, Bench.adapter, taking, from: Bench.system)?.error == .doesNotExist)
    bench.callbacks = []
    bench.vanish(Bench.phone, one)
    #expect(!calls(bench).contains(Self.released))
    bench.run(.seconds(3))
    #expect(bench.callbacks.allSatisfy { $0.client == other } && !bench.callbacks.isEmpty)
    #expect(bench.ask(Bench.phone, Bench.adapter, taking, from: other) == .success(.none))
    #expect(bench.ask(Bench.phone, Bench.adapter, taking, from: other)?.error == .doesNotExist)
  }

  @Test("C7: monitors come and go below a root that is registered")
  func comesAndGoes() {
    var bench = Self.bench()
    bench.call(Bench.phone, Bench.adapter, .registerMonitor(root: Self.root, objects: [:]))
    bench.run(.seconds(2))
    #expect(calls(bench).isEmpty && bench.lockPath == nil)
    let properties = Self.monitor()[InterfaceName.advertisementMonitor] ?? [:]
    for _ in 0..<2 {
      bench.send(Bench.phone, .monitorAdded(root: Self.root, path: Self.path("a"), properties))
    }
    bench.send(Bench.phone, .monitorAdded(root: ObjectPath(unchecked: "/other"), path: Self.path("b"), properties))
    bench.send(Bench.phone, .monitorAdded(root: Self.root, path: Self.path("bad"), ["Type": .string("none")]))
    #expect(calls(bench) == [.monitor(.activate), Self.released])
    bench.run(.seconds(2))
    #expect(!found(bench, by: "a").isEmpty)
    bench.send(Bench.phone, .monitorRemoved(root: Self.root, path: Self.path("a")))
    bench.callbacks = []
    bench.run(.seconds(2))
    #expect(bench.callbacks.isEmpty)
  }

  @Test(
    "C7: power that goes loses what was found; monitors work again with it, and a bluetoothd that stops releases them")
  func power() throws {
    var bench = Self.bench()
    let thresholds: Properties = ["RSSIHighThreshold": .int16(-100), "RSSIHighTimeout": .uint16(1)]
    bench.call(
      Bench.phone, Bench.adapter,
      .registerMonitor(
        root: Self.root,
        objects: [Self.path("a"): Self.monitor(Self.flags, thresholds), Self.path("b"): Self.monitor()]))
    bench.run(.seconds(5))
    let lock = try #require(bench.lockPath)
    func set(_ bench: inout Bench, _ isOn: Bool) {
      bench.call(
        Bench.phone, Bench.adapter,
        .setProperty(interface: InterfaceName.adapter, name: "Powered", value: .bool(isOn)))
    }
    set(&bench, false)
    #expect(found(bench, by: "a").last?.call == .deviceLost(lock))
    #expect(bench.lockPath == nil, "who was only found is gone")
    bench.callbacks = []
    bench.run(.seconds(10))
    #expect(bench.callbacks.isEmpty)
    set(&bench, true)
    bench.run(.seconds(5))
    #expect(found(bench, by: "a").map(\.call) == [.deviceFound(lock)], "it is found anew")
    #expect(!found(bench, by: "b").isEmpty)
    bench.callbacks = []
    bench.command(.stopBluetoothd(machine: Bench.phone, killed: false))
    #expect(calls(bench, of: "a").last == Self.released && calls(bench, of: "b").last == Self.released)
    bench.command(.startBluetoothd(machine: Bench.phone))
    bench.callbacks = []
    bench.run(.seconds(5))
    #expect(bench.callbacks.isEmpty && bench.lockPath == nil)
  }

  @Test("C7: where the adapter is blocked, what was found is there, and lost as whatever is not heard any more")
  func blocked() throws {
    var bench = Self.bench()
    let thresholds: Properties = ["RSSIHighThreshold": .int16(-100), "RSSIHighTimeout": .uint16(1)]
    bench.call(
      Bench.phone, Bench.adapter,
      .registerMonitor(root: Self.root, objects: [Self.path("a"): Self.monitor(Self.flags, thresholds)]))
    bench.run(.seconds(5))
    let lock = try #require(bench.lockPath)
    bench.callbacks = []
    bench.command(.block(machine: Bench.phone, isOn: true))
    #expect(bench.callbacks.isEmpty && bench.lockPath == lock)
    bench.run(.seconds(10))
    #expect(found(bench, by: "a").map(\.call) == [.deviceLost(lock)])
    #expect(bench.lockPath == lock)
  }

  @Test("C7: a controller that is pulled out takes its monitors with it")
  func unplugged() {
    var bench = Self.bench()
    bench.call(Bench.phone, Bench.adapter, .registerMonitor(root: Self.root, objects: [Self.path("a"): Self.monitor()]))
    bench.run(.seconds(2))
    bench.command(.plug(machine: Bench.phone, isOn: false))
    #expect(calls(bench, of: "a").last == Self.released)
    bench.callbacks = []
    bench.command(.plug(machine: Bench.phone, isOn: true))
    bench.run(.seconds(3))
    #expect(bench.callbacks.isEmpty)
  }
}
