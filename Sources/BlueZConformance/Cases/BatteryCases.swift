import BlueZ
import BusValue
import TimeTypes

/// BatteryProviderManager1: clients that know of a device's battery.
enum BatteryCases {
  static let all = [provided, both]

  private static let manager = InterfaceName.batteryProviderManager
  private static let interface = InterfaceName.batteryProvider
  private static let root = ObjectPath(unchecked: "/conformance/batteries")

  private static func register(_ client: Client, _ root: ObjectPath = root) -> OngoingCall {
    client.call("adapter", manager, "RegisterBatteryProvider", [.path(root)])
  }

  private static func unregister(_ client: Client, _ root: ObjectPath = root) -> OngoingCall {
    client.call("adapter", manager, "UnregisterBatteryProvider", [.path(root)])
  }

  private static func battery(of device: ObjectPath, _ percentage: Value? = .byte(50)) -> Properties {
    var properties: Properties = ["Device": .path(device), "Source": .string("a sensor")]
    properties["Percentage"] = percentage
    return properties
  }

  private static func add(_ name: String, _ properties: Properties, by client: Client) {
    client.tell(root.appending(name), has: [interface: properties], of: interface, below: root)
  }

  private static func remove(_ name: String, by client: Client) {
    client.tell(root.appending(name), has: nil, of: interface, below: root)
  }

  private static func percentage(_ stage: Stage) -> Value? {
    stage.phone.property("lock", InterfaceName.battery, "Percentage")
  }

  private static func hasBattery(_ stage: Stage) -> Bool {
    stage.phone.main.book.path("lock").map { stage.phone.main.book.objects[$0]?[InterfaceName.battery] != nil } ?? false
  }

  static let provided = ConformanceCase("a battery that a client provides") { stage in
    let phone = stage.phone.main
    try await stage.bond()
    guard let lock = phone.book.path("lock") else { throw Stuck(description: "the lock has no path") }
    try await stage.step("a provider without a battery") {
      phone.export([:], at: root)
      try await stage.success(register(phone))
      try await stage.expectError(register(phone), "org.bluez.Error.AlreadyExists", "Provider already exists")
    }
    try await stage.step("another client, with the same root") {
      let other = try await stage.phone.client("other")
      other.export([:], at: root)
      try await stage.expectError(register(other), "org.bluez.Error.AlreadyExists", "Provider already exists")
      try await stage.expectError(unregister(other), "org.bluez.Error.DoesNotExist", "Provider does not exist")
    }
    try await stage.step("batteries of nothing") {
      let nobody = ObjectPath(unchecked: "/org/bluez/hci0/dev_00_00_00_00_00_00")
      add("unknown", battery(of: nobody), by: phone)
      add("homeless", ["Percentage": .byte(50)], by: phone)
      await stage.recorder.pass(.seconds(2))
    }
    stage.expect(!hasBattery(stage), "no device has a battery")
    try await stage.step("a battery") {
      add("one", battery(of: lock), by: phone)
      try await stage.need("the battery") { percentage(stage) == .byte(50) }
    }
    try await stage.step("a second one of the same device") {
      add("two", battery(of: lock, .byte(20)), by: phone)
      phone.change(root.appending("two"), interface, ["Percentage": .byte(10)])
      await stage.recorder.pass(.seconds(2))
    }
    stage.expect(percentage(stage) == .byte(50), "the first one stays")
    for (title, changed, gone) in [
      ("it runs down", ["Percentage": .byte(40)], []), ("more than full", ["Percentage": .byte(101)], []),
      ("of another type", ["Percentage": .uint16(30)], []), ("no longer valid", [:], ["Percentage"]),
    ] as [(String, Properties, [String])] {
      try await stage.step(title) {
        phone.change(root.appending("one"), interface, changed, gone: gone)
        await stage.recorder.pass(.seconds(1))
      }
    }
    try await stage.step("the second one goes, and then the first") {
      remove("two", by: phone)
      try await stage.need("no battery") { !hasBattery(stage) }
      remove("one", by: phone)
      await stage.recorder.pass(.seconds(1))
    }
    try await stage.step("one without a percentage") {
      add("three", battery(of: lock, nil), by: phone)
      try await stage.need("the battery") { hasBattery(stage) }
      phone.change(root.appending("three"), interface, ["Percentage": .byte(7)])
      try await stage.need("its percentage") { percentage(stage) == .byte(7) }
    }
    try await stage.step("unregistered") {
      try await stage.success(unregister(phone))
      try await stage.need("no battery") { !hasBattery(stage) }
      try await stage.expectError(unregister(phone), "org.bluez.Error.DoesNotExist", "Provider does not exist")
    }
    let other = try await stage.phone.client("a second other")
    try await stage.step("a provider that has one already") {
      other.export([root.appending("four"): [interface: battery(of: lock, .byte(99))]], at: root)
      try await stage.success(register(other))
      try await stage.need("the battery") { percentage(stage) == .byte(99) }
    }
    try await stage.step("it dies") {
      other.close()
      try await stage.need("no battery") { !hasBattery(stage) }
    }
    try await stage.step("one for a device that goes") {
      phone.export([root.appending("five"): [interface: battery(of: lock)]], at: root)
      try await stage.success(register(phone))
      try await stage.need("the battery") { hasBattery(stage) }
      try await stage.success(stage.phone.adapter("RemoveDevice", [.path(lock)]))
      try await stage.need("the device to vanish") { stage.phone.deviceProperty("Address") == nil }
    }
    try await stage.step("and the battery") {
      phone.change(root.appending("five"), interface, ["Percentage": .byte(3)])
      await stage.recorder.pass(.seconds(1))
      try await stage.success(unregister(phone))
    }
  }

  static let both = ConformanceCase("a battery of a device, and one that a client provides") { stage in
    let (lock, phone) = (stage.lock.main, stage.phone.main)
    let level = ConformanceService.root.appending("power").appending("level")
    try await stage.lockTellsOfBattery()
    try await stage.registerAgents()
    try await stage.discover()
    try await stage.step("the phone pairs") {
      try await stage.success(stage.phone.device("Pair"))
      try await stage.need("the battery", atMost: .seconds(60)) {
        stage.phone.isResolved && stage.lock.isBonded && percentage(stage) == .byte(80)
      }
    }
    guard let device = phone.book.path("lock") else { throw Stuck(description: "the lock has no path") }
    try await stage.step("a client's is second") {
      phone.export([root.appending("one"): [interface: battery(of: device)]], at: root)
      try await stage.success(register(phone))
      await stage.recorder.pass(.seconds(2))
      try await stage.success(unregister(phone))
    }
    stage.expect(percentage(stage) == .byte(80), "the device's own stays")
    try await stage.step("the link is lost, and a client's is first") {
      try await stage.lose()
      try await stage.need("no battery") { !hasBattery(stage) }
      try await stage.success(register(phone))
      try await stage.need("the battery") { percentage(stage) == .byte(50) }
    }
    try await stage.step("connected again") {
      try await stage.perform(.range(true))
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("services") { stage.phone.isResolved }
      await stage.recorder.pass(.seconds(3))
    }
    try await stage.step("the device's runs down") {
      lock.emit([42], from: level)
      await stage.recorder.pass(.seconds(2))
    }
    stage.expect(percentage(stage) == .byte(50), "the client's stays")
    try await stage.step("the client's goes") {
      try await stage.success(unregister(phone))
      try await stage.need("no battery") { !hasBattery(stage) }
      lock.emit([41], from: level)
      await stage.recorder.pass(.seconds(2))
    }
  }
}

extension Stage {
  /// Gives the lock a Battery Service with 80 %, and advertises.
  func lockTellsOfBattery() async throws {
    let lock = lock.main
    try await step("the lock tells of its battery") {
      let objects = ConformanceService.service("power", "180f", [("level", "2a19", ["read", "notify"])])
      lock.answer("level.ReadValue", .values([.bytes([80])]))
      try await success(lock.registerApplication(objects, at: ConformanceService.root))
      try await success(lock.registerAdvertisement())
    }
  }
}
