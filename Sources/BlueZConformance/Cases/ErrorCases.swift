import BlueZ
import BusValue

/// Invalid calls, and bluetoothd's errors for them.
enum ErrorCases {
  static let all = [registrations, agents, properties, unknown]

  static let registrations = ConformanceCase("registrations that make no sense") { stage in
    let lock = stage.lock.main
    try await stage.step("applications") {
      try await stage.expectError(
        lock.unregisterApplication(ConformanceService.root), "org.bluez.Error.DoesNotExist", "Does Not Exist")
      try await stage.outcome(lock.registerApplication([:], at: ConformanceService.root))
      try await stage.success(lock.registerApplication(ConformanceService.door(), at: ConformanceService.root))
      try await stage.expectError(
        lock.registerApplication(ConformanceService.door(), at: ConformanceService.root),
        "org.bluez.Error.AlreadyExists", "Already Exists")
      try await stage.success(lock.unregisterApplication(ConformanceService.root))
    }
    try await stage.step("applications whose objects make no sense") {
      for (name, value) in [
        ("Flags", Value.strings(["teleport"])), ("UUID", .string("no UUID")), ("Service", .path(.root)),
      ] {
        var objects = ConformanceService.door()
        objects[ConformanceService.path("offer")]?[InterfaceName.gattCharacteristic]?[name] = value
        try await stage.outcome(lock.registerApplication(objects, at: ConformanceService.root))
        _ = try await stage.outcome(lock.unregisterApplication(ConformanceService.root))
      }
    }
    try await stage.step("advertisements") {
      try await stage.expectError(
        lock.unregisterAdvertisement(), "org.bluez.Error.DoesNotExist", "Does Not Exist")
      try await stage.success(lock.registerAdvertisement())
      try await stage.expectError(
        lock.registerAdvertisement(), "org.bluez.Error.AlreadyExists", "Already Exists")
      try await stage.success(lock.unregisterAdvertisement())
    }
    try await stage.step("advertisements that make no sense") {
      for properties: Properties in [
        [:], ["Type": .string("shout")], ["Type": .string("peripheral"), "ServiceUUIDs": .strings(["no UUID"])],
        ["Type": .string("peripheral"), "ManufacturerData": .string("none")],
        [
          "Type": .string("peripheral"),
          "ServiceUUIDs": .strings([ConformanceService.service, ConformanceService.second]),
        ],
      ] {
        let outcome = try await stage.outcome(
          lock.registerAdvertisement([ConformanceService.advertisementPath: [InterfaceName.advertisement: properties]]))
        if outcome.isSuccess { try await stage.success(lock.unregisterAdvertisement()) }
      }
    }
  }

  static let agents = ConformanceCase("agents") { stage in
    let phone = stage.phone.main
    try await stage.step("registered and not") {
      try await stage.expectError(phone.requestDefaultAgent(), "org.bluez.Error.DoesNotExist", "Does Not Exist")
      try await stage.outcome(phone.registerAgent("Telepathy"))
      try await stage.success(phone.registerAgent("DisplayYesNo"))
      try await stage.expectError(
        phone.registerAgent("DisplayYesNo"), "org.bluez.Error.AlreadyExists", "Already Exists")
      try await stage.success(phone.requestDefaultAgent())
    }
    let other = try await stage.phone.client("other")
    try await stage.step("another agent") {
      try await stage.success(other.registerAgent("KeyboardOnly"))
      try await stage.success(other.requestDefaultAgent())
    }
    try await stage.step("the other is gone") { other.close() }
    try await stage.step("unregistered") {
      let path = Value.path(ConformanceService.agentPath)
      try await stage.success(phone.call("manager", InterfaceName.agentManager, "UnregisterAgent", [path]))
      try await stage.expectError(
        phone.call("manager", InterfaceName.agentManager, "UnregisterAgent", [path]), "org.bluez.Error.DoesNotExist")
    }
    try await stage.step("registered, and bluetoothd restarts") {
      try await stage.success(phone.registerAgent("DisplayYesNo"))
      try await stage.restart(stage.phone, killed: false)
    }
    stage.expect(phone.incoming("agent.Release") != nil, "the agent is released")
  }

  static let properties = ConformanceCase("properties") { stage in
    try await stage.openDoor()
    try await stage.discover()
    let phone = stage.phone
    try await stage.step("of the adapter, set") {
      for (name, value) in [
        ("Alias", Value.string("my phone")), ("Alias", .string("")), ("Discoverable", .bool(true)),
        ("Discoverable", .bool(false)), ("DiscoverableTimeout", .uint32(10)), ("Pairable", .bool(true)),
        ("Pairable", .bool(false)), ("PairableTimeout", .uint32(10)), ("Powered", .bool(true)),
      ] {
        try await stage.success(phone.set("adapter", InterfaceName.adapter, name, value))
      }
    }
    try await stage.step("of the device, set") {
      for (name, value) in [
        ("Alias", Value.string("my lock")), ("Trusted", .bool(true)), ("Trusted", .bool(false)),
        ("Blocked", .bool(true)),
        ("Blocked", .bool(false)),
      ] {
        try await stage.success(phone.set("lock", InterfaceName.device, name, value))
      }
    }
    try await stage.step("that can't be set") {
      for (object, interface, name, value) in [
        ("adapter", InterfaceName.adapter, "Address", Value.string("00:11:22:33:44:55")),
        ("adapter", InterfaceName.adapter, "Powered", .string("yes")),
        ("adapter", InterfaceName.adapter, "Colour", .string("red")),
        ("lock", InterfaceName.device, "Connected", .bool(true)), ("lock", InterfaceName.device, "Trusted", .uint32(1)),
        ("lock", "org.bluez.Nothing1", "Trusted", .bool(true)),
      ] {
        let outcome = try await stage.outcome(phone.set(object, interface, name, value))
        stage.expect(!outcome.isSuccess, "\(name) can't be set so")
      }
    }
    try await stage.step("that can't be read") {
      for (interface, name) in [(InterfaceName.device, "Colour"), ("org.bluez.Nothing1", "Trusted")] {
        try await stage.outcome(
          phone.main.call("lock", InterfaceName.properties, "Get", [.string(interface), .string(name)]))
      }
    }
  }

  static let unknown = ConformanceCase("objects and methods that are not there") { stage in
    try await stage.openDoor()
    try await stage.discover()
    let phone = stage.phone.main
    try await stage.step("objects") {
      try await stage.outcome(phone.call("nobody", InterfaceName.device, "Connect"))
      try await stage.outcome(stage.phone.adapter("RemoveDevice", [.path(ConformanceService.root)]))
    }
    try await stage.step("methods") {
      try await stage.outcome(phone.call("lock", InterfaceName.device, "Explode"))
      try await stage.outcome(phone.call("lock", InterfaceName.device, "Connect", [.string("now")]))
      try await stage.outcome(phone.call("adapter", InterfaceName.device, "Connect"))
      try await stage.outcome(phone.call("lock", InterfaceName.device, "ConnectProfile", [.string("no UUID")]))
      try await stage.outcome(
        phone.call("lock", InterfaceName.device, "ConnectProfile", [.string(ConformanceService.second)]))
      try await stage.outcome(
        phone.call("lock", InterfaceName.device, "DisconnectProfile", [.string(ConformanceService.second)]))
    }
  }
}
