import BlueZ
import BusValue
import TimeTypes

/// AdvertisementMonitorManager1: passive scans, if bluetoothd runs with `Experimental = true`.
enum MonitorCases {
  static let all = [absent, registered, refused, passive, thresholds, arrivals]

  static let manager = "org.bluez.AdvertisementMonitorManager1"
  private static let interface = "org.bluez.AdvertisementMonitor1"
  private static let root = ObjectPath(unchecked: "/conformance/monitors")
  private static let experimental = WorldSetup(experimentalMachines: [.phone])

  private static func patterns(_ all: [(UInt8, UInt8, [UInt8])]) -> Value {
    .array(of: "(yyay)", all.map { .structure([.byte($0.0), .byte($0.1), .bytes($0.2)]) })
  }

  /// The flags in an advertisement of the lock.
  private static let flags = patterns([(0, 0x01, [0x06])])

  private static func monitor(_ patterns: Value = flags, _ more: Properties = [:]) -> Properties {
    (["Type": .string("or_patterns"), "Patterns": patterns] as Properties).merging(more) { $1 }
  }

  private static func register(_ monitors: [String: Properties], _ stage: Stage) -> OngoingCall {
    var objects: ManagedObjects = [:]
    for (name, properties) in monitors { objects[root.appending(name)] = [interface: properties] }
    stage.phone.main.export(objects, at: root)
    return stage.phone.main.call("adapter", manager, "RegisterMonitor", [.path(root)])
  }

  private static func unregister(_ stage: Stage) -> OngoingCall {
    stage.phone.main.call("adapter", manager, "UnregisterMonitor", [.path(root)])
  }

  static let absent = ConformanceCase("monitors without the switch") { stage in
    try await stage.step("RegisterMonitor") {
      try await stage.outcome(register(["near": monitor()], stage))
      try await stage.outcome(unregister(stage))
    }
  }

  static let registered = ConformanceCase("monitors are registered", setup: experimental) { stage in
    try await stage.step("the manager") { stage.phone.main.describe("adapter", manager) }
    try await stage.step("registered") {
      try await stage.success(register(["near": monitor()], stage))
      try await stage.need("its activation") { stage.phone.main.incoming("near.Activate") != nil }
    }
    try await stage.step("again") {
      try await stage.expectError(register(["near": monitor()], stage), "org.bluez.Error.AlreadyExists")
    }
    try await stage.step("another client, with the same patterns") {
      let other = try await stage.phone.client("other")
      other.export([root.appending("same"): [interface: monitor()]], at: root)
      try await stage.success(other.call("adapter", manager, "RegisterMonitor", [.path(root)]))
      try await stage.need("its activation") { other.incoming("same.Activate") != nil }
      try await stage.success(other.call("adapter", manager, "UnregisterMonitor", [.path(root)]))
    }
    try await stage.step("unregistered") { try await stage.success(unregister(stage)) }
    try await stage.step("once more") {
      try await stage.expectError(unregister(stage), "org.bluez.Error.DoesNotExist")
    }
    try await stage.step("nothing at all") { try await stage.success(register([:], stage)) }
    try await stage.step("taken back") { try await stage.success(unregister(stage)) }
    try await stage.step("a root that nobody serves") {
      stage.phone.main.unexport(root)
      try await stage.outcome(stage.phone.main.call("adapter", manager, "RegisterMonitor", [.path(root)]))
    }
  }

  static let refused = ConformanceCase("monitors that make no sense", setup: experimental) { stage in
    for (title, properties) in [
      ("without a type", ["Patterns": flags]), ("of another type", monitor(flags, ["Type": .string("and_patterns")])),
      ("without patterns", ["Type": .string("or_patterns")]), ("with no pattern", monitor(patterns([]))),
      ("with an empty one", monitor(patterns([(0, 1, [])]))), ("too long", monitor(patterns([(30, 0xFF, [1, 2])]))),
      ("of no type of data", monitor(patterns([(0, 0x40, [1])]))),
      ("too strong", monitor(flags, ["RSSIHighThreshold": .int16(21)])),
      ("crossed", monitor(flags, ["RSSIHighThreshold": .int16(-70), "RSSILowThreshold": .int16(-60)])),
      ("for too long", monitor(flags, ["RSSIHighTimeout": .uint16(301)])),
      ("sampled too rarely", monitor(flags, ["RSSISamplingPeriod": .uint16(300)])),
    ] {
      try await stage.step(title) {
        try await stage.success(register(["near": properties], stage))
        try await stage.need("its release") { stage.phone.main.incoming("near.Release") != nil }
        stage.phone.main.forgetIncoming("near.Release")
        try await stage.success(unregister(stage))
      }
    }
    for (title, properties) in [
      ("at the edges", monitor(flags, ["RSSIHighThreshold": .int16(20), "RSSILowThreshold": .int16(-127)])),
      ("with a time alone", monitor(flags, ["RSSILowTimeout": .uint16(300)])),
      ("with seven patterns", monitor(patterns((0..<7).map { (0, 0xFF, [$0]) }))),
    ] {
      try await stage.step(title) {
        try await stage.success(register(["near": properties], stage))
        try await stage.need("its activation") { stage.phone.main.incoming("near.Activate") != nil }
        stage.phone.main.forgetIncoming("near.Activate")
        try await stage.success(unregister(stage))
      }
    }
  }

  private static func found(_ name: String, _ stage: Stage) -> Bool {
    stage.phone.main.incoming("\(name).DeviceFound") != nil
  }

  static let passive = ConformanceCase("a passive scan", setup: experimental) { stage in
    try await stage.openDoor()
    try await stage.step("nobody is meant") {
      try await stage.success(register(["near": monitor(patterns([(0, 0x01, [0x7F])]))], stage))
      await stage.recorder.pass(.seconds(8))
      try await stage.success(unregister(stage))
    }
    stage.expect(!stage.phone.hasDevice, "what no monitor matches is not told")
    try await stage.step("services are no pattern") {
      let bytes: [UInt8] = [0x10, 0x7B, 0x8E]
      try await stage.success(register(["near": monitor(patterns([(0, 0x07, bytes)]))], stage))
      await stage.recorder.pass(.seconds(8))
      try await stage.success(unregister(stage))
    }
    try await stage.step("whoever wants to be found") {
      try await stage.success(register(["near": monitor()], stage))
      try await stage.need("the lock") { found("near", stage) && stage.phone.hasDevice }
    }
    stage.expect(
      stage.phone.property("adapter", InterfaceName.adapter, "Discovering") == .bool(false), "nobody discovers")
    try await stage.step("a discovery beside it") {
      try await stage.success(stage.phone.adapter("StartDiscovery"))
      await stage.recorder.pass(.seconds(4))
      try await stage.success(stage.phone.adapter("StopDiscovery"))
    }
    try await stage.step("and after it") {
      stage.phone.main.forgetIncoming("near.DeviceFound")
      try await stage.need("the lock again") { found("near", stage) }
    }
    try await stage.step("out of range") {
      try await stage.perform(.range(false))
      try await stage.need("the device to vanish", atMost: .seconds(120)) { !stage.phone.hasDevice }
    }
  }

  static let thresholds = ConformanceCase("a monitor with thresholds", setup: experimental) { stage in
    var advertisement = ConformanceService.advertisement()
    let often: Properties = ["MinInterval": .uint32(100), "MaxInterval": .uint32(100)]
    for path in advertisement.keys { advertisement[path]?[InterfaceName.advertisement]?.merge(often) { $1 } }
    try await stage.openDoor(advertisement: advertisement)
    let properties: Properties = [
      "RSSIHighThreshold": .int16(-100), "RSSIHighTimeout": .uint16(3), "RSSILowThreshold": .int16(-110),
      "RSSILowTimeout": .uint16(12),
    ]
    let begun = stage.recorder.time.now
    try await stage.step("near") {
      try await stage.success(register(["near": monitor(flags, properties)], stage))
      try await stage.need("the lock") { found("near", stage) }
    }
    let took = stage.recorder.time.now - begun
    stage.expect(took > .seconds(2), "it is found after 3 s, not \(took)")
    try await stage.step("gone") {
      try await stage.perform(.range(false))
      try await stage.need("its loss") { stage.phone.main.incoming("near.DeviceLost") != nil }
    }
    try await stage.step("back") {
      stage.phone.main.forgetIncoming("near.DeviceFound")
      stage.phone.main.forgetIncoming("near.DeviceLost")
      try await stage.perform(.range(true))
      try await stage.need("the lock") { found("near", stage) }
    }
    // A device that is heard while the adapter is being switched off gets an object again; any other has none.
    try await stage.step("the adapter is switched off") {
      try await stage.perform(.range(false))
      try await stage.success(stage.phone.power(false))
      try await stage.need("its loss") { stage.phone.main.incoming("near.DeviceLost") != nil }
    }
    try await stage.step("and on again") {
      stage.phone.main.forgetIncoming("near.DeviceFound")
      stage.phone.main.forgetIncoming("near.DeviceLost")
      try await stage.perform(.range(true))
      try await stage.success(stage.phone.power(true))
      try await stage.need("the lock") { found("near", stage) }
    }
    // What the monitor has found is then lost like any device that is no longer heard.
    try await stage.step("the adapter is blocked") {
      try await stage.perform(.range(false))
      try await stage.perform(.block(.phone, true))
    }
    try await stage.step("and time passes") {
      try await stage.need("its loss") { stage.phone.main.incoming("near.DeviceLost") != nil }
    }
    try await stage.step("and it is not blocked any more") {
      try await stage.perform(.block(.phone, false))
      try await stage.need("the device to vanish", atMost: .seconds(120)) {
        !stage.phone.hasDevice
          && stage.phone.property("adapter", InterfaceName.adapter, "Powered") == .bool(true)
      }
    }
  }

  static let arrivals = ConformanceCase("monitors that come and go", setup: experimental) { stage in
    let phone = stage.phone.main
    func tell(_ name: String, _ properties: Properties?) {
      phone.tell(root.appending(name), has: properties.map { [interface: $0] }, of: interface, below: root)
    }
    try await stage.openDoor()
    try await stage.step("none") { try await stage.success(register([:], stage)) }
    try await stage.step("one comes that makes no sense") {
      tell("bad", ["Type": .string("none")])
      try await stage.need("its release") { phone.incoming("bad.Release") != nil }
    }
    try await stage.step("and one that does") {
      tell("near", monitor())
      try await stage.need("the lock") { found("near", stage) && stage.phone.hasDevice }
    }
    try await stage.step("it goes") { tell("near", nil) }
    try await stage.step("and nobody is told any more") {
      phone.forgetIncoming("near.DeviceFound")
      await stage.recorder.pass(.seconds(5))
    }
    stage.expect(!found("near", stage), "who is gone is not told")
  }
}
