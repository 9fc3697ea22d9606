import BlueZ
import BusValue
import TimeTypes

/// Which applications are accepted, and what their flags mean to a peer.
enum ApplicationCases {
  static let all = [kinds, elsewhere, silent, includes, levels, authorized, manyServices, battery, acquire]

  /// Registers a profile, and removes it if it was accepted.
  private static func tryProfile(_ uuids: [String], _ stage: Stage) async throws {
    let lock = stage.lock.main
    let outcome = try await stage.outcome(
      lock.registerApplication(ConformanceService.profile(uuids), at: ConformanceService.profileRoot))
    if outcome.isSuccess { try await stage.success(lock.unregisterApplication(ConformanceService.profileRoot)) }
  }

  private static func tryService(_ objects: ManagedObjects, _ stage: Stage) async throws {
    let lock = stage.lock.main
    let outcome = try await stage.outcome(lock.registerApplication(objects, at: ConformanceService.root))
    if outcome.isSuccess { try await stage.success(lock.unregisterApplication(ConformanceService.root)) }
  }

  static let kinds = ConformanceCase("applications of many kinds") { stage in
    try await stage.step("profiles") {
      // As in bluetoothctl 5.66.
      try await tryProfile(["register-application"], stage)
      try await tryProfile(["register-application", ConformanceService.service], stage)
      try await tryProfile([], stage)
    }
    try await stage.step("services that are bluetoothd's own") {
      for uuid in ["1800", "00001801-0000-1000-8000-00805f9b34fb"] {
        try await tryService(ConformanceService.service("own", uuid), stage)
      }
      try await tryService(ConformanceService.service("own", "180a"), stage)
    }
    try await stage.step("UUIDs of every length") {
      for uuid in ["180d", "0x180d", "0000180d", "0x0000180d", "18", "0x18", "heart"] {
        try await tryService(ConformanceService.service("heart", uuid, [("rate", "0x2a37", ["read"])]), stage)
      }
    }
    try await stage.step("flags") {
      for flags in [[], ["read", "teleport"], ["authorize"], ["extended-properties"], ["writable-auxiliaries"]] {
        try await tryService(ConformanceService.service("heart", "180d", [("rate", "2a37", flags)]), stage)
      }
    }
  }

  static let elsewhere = ConformanceCase("objects beside an application's root") { stage in
    let lock = stage.lock.main
    try await stage.step("objects of other kinds alone") {
      try await tryService([ConformanceService.path("thing"): ["org.example.Thing": ["Mood": .string("good")]]], stage)
    }
    try await stage.step("a service beside the root") {
      let objects = ConformanceService.service("heart", "180d", [("rate", "2a37", ["read"])])
      try await stage.outcome(lock.registerApplication(objects, at: ConformanceService.secondRoot))
      try await stage.outcome(lock.unregisterApplication(ConformanceService.secondRoot))
    }
    try await stage.step("an advertisement, twice") {
      try await stage.success(lock.registerAdvertisement())
      lock.answer("advertisement.GetAll", .hold)
      try await stage.expectError(lock.registerAdvertisement(), "org.bluez.Error.AlreadyExists")
    }
  }

  static let silent = ConformanceCase("an application that says nothing of its objects") { stage in
    let lock = stage.lock.main
    lock.answer("app.GetManagedObjects", .hold)
    try await stage.step("RegisterApplication") {
      let call = lock.registerApplication(ConformanceService.door(), at: ConformanceService.root)
      let outcome = try await stage.outcome(call)
      stage.expect(!outcome.isSuccess && outcome.took < .seconds(60), "it is told so in good time")
    }
    try await stage.step("answered later") {
      lock.answer("app.GetManagedObjects", nil)
      lock.answerHeld("app.GetManagedObjects", .success([Value.dictionary(key: "o", value: "a{sa{sv}}", [:])]))
    }
    try await stage.step("and registered then") {
      try await stage.success(lock.registerApplication(ConformanceService.door(), at: ConformanceService.root))
    }
  }

  static let includes = ConformanceCase("services that include services") { stage in
    let lock = stage.lock.main
    try await stage.step("another application") {
      try await stage.success(
        lock.registerApplication(ConformanceService.secondService(), at: ConformanceService.secondRoot))
    }
    try await stage.step("two services, each with the other, and with another application's") {
      var objects = ConformanceService.service("a", "180d", [("rate", "2a37", ["read"])], includes: ["b"])
      objects.merge(ConformanceService.service("b", "180f", [("level", "2a19", ["read"])], includes: ["a"])) { $1 }
      objects[ConformanceService.root.appending("b")]?[InterfaceName.gattService]?["Includes"] = .array(
        of: "o",
        [
          .path(ConformanceService.root.appending("a")), .path(ConformanceService.secondRoot.appending("second")),
          .path(ConformanceService.root.appending("nobody")),
        ])
      try await stage.success(lock.registerApplication(objects, at: ConformanceService.root))
      try await stage.success(lock.registerAdvertisement())
    }
    try await stage.discover()
    try await stage.step("what the phone sees of it") {
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("services") { stage.phone.isResolved }
    }
  }

  private static let securityFlags: [(name: String, uuid: String, flags: [String])] = [
    ("encryptRead", ConformanceService.uuid(0xd001), ["encrypt-read"]),
    ("authenticatedRead", ConformanceService.uuid(0xd002), ["encrypt-authenticated-read"]),
    ("secureRead", ConformanceService.uuid(0xd003), ["secure-read"]),
    ("encryptWrite", ConformanceService.uuid(0xd004), ["encrypt-write"]),
    ("authenticatedWrite", ConformanceService.uuid(0xd005), ["encrypt-authenticated-write"]),
    ("secureWrite", ConformanceService.uuid(0xd006), ["secure-write"]),
  ]

  private static func openLevels(
    _ stage: Stage, _ characteristics: [(name: String, uuid: String, flags: [String])], agent: String
  ) async throws {
    try await stage.step("the lock serves them") {
      try await stage.success(
        stage.lock.main.registerApplication(
          ConformanceService.service("levels", ConformanceService.uuid(0xd000), characteristics),
          at: ConformanceService.root))
      try await stage.success(stage.lock.main.registerAdvertisement())
    }
    try await stage.registerAgents(agent)
    try await stage.discover()
    try await stage.step("the phone pairs") {
      try await stage.success(stage.phone.device("Pair"))
      try await stage.need("the services", atMost: .seconds(60)) {
        stage.phone.isResolved && stage.lock.isConnected && stage.lock.isBonded
      }
    }
  }

  private static func attribute(_ name: String, _ member: String, _ arguments: [Value], _ stage: Stage) -> OngoingCall {
    stage.phone.main.call("lock/levels/\(name)", InterfaceName.gattCharacteristic, member, arguments)
  }

  static let levels = ConformanceCase("levels of security") { stage in
    try await openLevels(stage, securityFlags, agent: "NoInputNoOutput")
    for one in securityFlags {
      try await stage.step(one.flags[0]) {
        // A failure may take the link with it.
        if !stage.phone.isConnected {
          try await stage.outcome(stage.phone.device("Connect"))
          try await stage.need("services") { stage.phone.isResolved }
        }
        let isRead = one.flags[0].hasSuffix("read")
        let call =
          isRead
          ? attribute(one.name, "ReadValue", [.properties([:])], stage)
          : attribute(one.name, "WriteValue", [.bytes([1]), .properties(["type": .string("request")])], stage)
        _ = await stage.outcomeIfAny(call, of: stage.phone.main, within: .seconds(20))
      }
    }
  }

  static let authorized = ConformanceCase("writes that are asked about, and reliable ones") { stage in
    try await openLevels(
      stage,
      [
        ("authorized", ConformanceService.uuid(0xd007), ["read", "write", "authorize"]),
        ("reliable", ConformanceService.uuid(0xd008), ["read", "reliable-write"]),
      ], agent: "NoInputNoOutput")
    for (title, name, options) in [
      ("a plain write", "authorized", ["type": .string("request")]),
      ("at an offset", "authorized", ["type": .string("request"), "offset": .uint16(2)]),
      ("once more", "authorized", ["offset": .uint16(2)]),
      ("a reliable write", "reliable", ["type": .string("reliable")]),
      ("without a kind", "reliable", [:]), ("as a request", "reliable", ["type": .string("request")]),
      ("as a command", "reliable", ["type": .string("command")]),
      ("reliable where it is not", "authorized", ["type": .string("reliable")]),
    ] as [(String, String, Properties)] {
      try await stage.step(title) {
        let call = attribute(name, "WriteValue", [.bytes(Array("value".utf8)), .properties(options)], stage)
        _ = await stage.outcomeIfAny(call, of: stage.phone.main)
      }
    }
    try await stage.step("refused") {
      stage.lock.main.answer("authorized.WriteValue", .error("org.bluez.Error.NotAuthorized", "no"))
      let call = attribute(
        "authorized", "WriteValue", [.bytes(Array("value".utf8)), .properties(["offset": .uint16(2)])], stage)
      _ = await stage.outcomeIfAny(call, of: stage.phone.main)
    }
    try await stage.step("the lock trusts the phone") {
      stage.lock.main.answer("authorized.WriteValue", nil)
      try await stage.success(stage.lock.set("phone", InterfaceName.device, "Trusted", .bool(true)))
      let call = attribute(
        "authorized", "WriteValue", [.bytes(Array("value".utf8)), .properties(["offset": .uint16(2)])], stage)
      _ = await stage.outcomeIfAny(call, of: stage.phone.main)
    }
    try await stage.step("options of the wrong kind") {
      for (member, arguments) in [
        ("ReadValue", [.properties(["offset": .uint32(1)])]), ("ReadValue", [.properties(["offset": .string("1")])]),
        ("WriteValue", [.bytes([1]), .properties(["offset": .uint32(1)])]),
        ("WriteValue", [.bytes([1]), .properties(["type": .uint16(1)])]),
        ("WriteValue", [.bytes([1]), .properties(["type": .string("shout")])]),
        ("ReadValue", [.properties(["colour": .string("red")])]),
      ] as [(String, [Value])] {
        _ = await stage.outcomeIfAny(attribute("authorized", member, arguments, stage), of: stage.phone.main)
      }
    }
  }

  static let manyServices = ConformanceCase("a read while many services come") { stage in
    try await stage.bond()
    try await stage.step("they come") {
      var objects = ManagedObjects()
      for number in UInt16(0)..<30 {
        let name = "service\(number + 10)"
        objects.merge(
          ConformanceService.service(
            name, ConformanceService.uuid(0xe000 + number),
            [("one", ConformanceService.uuid(0xe100 + number), ["read"])],
            at: ConformanceService.secondRoot)
        ) { $1 }
      }
      let first = Wording.uuid(ConformanceService.uuid(0xe000))
      let last = Wording.uuid(ConformanceService.uuid(0xe000 + 29))
      let registration = stage.lock.main.registerApplication(objects, at: ConformanceService.secondRoot)
      try await stage.success(registration)
      // Before the phone has heard of a change, it may be told once that it is out of sync (ATT error 0x12).
      try await stage.need("the first of them") { stage.phone.has("lock/\(first)") }
      let call = stage.phone.read("offer")
      let outcome = try await stage.outcome(call)
      // How many there are by then depends on the machines' speed.
      stage.expect(outcome.isSuccess, outcome.errorText)
      try await stage.need("the last of them") { stage.phone.has("lock/\(last)") }
    }
  }

  static let battery = ConformanceCase("a battery") { stage in
    let lock = stage.lock.main
    try await stage.lockTellsOfBattery()
    try await stage.registerAgents()
    try await stage.discover()
    try await stage.step("the phone pairs") {
      try await stage.success(stage.phone.device("Pair"))
      try await stage.need("the services", atMost: .seconds(60)) {
        stage.phone.isResolved && stage.lock.isConnected && stage.lock.isBonded
      }
    }
    try await stage.step("it runs down") {
      lock.emit([42], from: ConformanceService.root.appending("power").appending("level"))
    }
    try await stage.step("the phone writes and reads it itself") {
      let level = "lock/battery/batteryLevel"
      _ = await stage.outcomeIfAny(
        stage.phone.main.call(level, InterfaceName.gattCharacteristic, "ReadValue", [.properties([:])]),
        of: stage.phone.main)
    }
    try await stage.step("lost") { try await stage.lose() }
  }

  /// For calls that pass file descriptors, only failures are tested, because descriptors don't pass through ssh.
  static let acquire = ConformanceCase("AcquireNotify and AcquireWrite where they can't be") { stage in
    try await stage.openDoor()
    try await stage.discover()
    try await stage.step("connected") {
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("services") { stage.phone.isResolved }
    }
    try await stage.step("of the wrong characteristics") {
      for (name, member) in [
        ("command", "AcquireNotify"), ("command", "AcquireWrite"), ("offer", "AcquireWrite"),
      ] {
        try await stage.outcome(stage.phone.characteristic(name, member, [.properties([:])]))
      }
    }
    try await stage.step("beside StartNotify") {
      try await stage.success(stage.phone.characteristic("offer", "StartNotify"))
      try await stage.outcome(stage.phone.characteristic("offer", "AcquireNotify", [.properties([:])]))
    }
    try await stage.step("away") {
      try await stage.lose()
      try await stage.outcome(stage.phone.characteristic("offer", "AcquireNotify", [.properties([:])]))
      try await stage.outcome(stage.phone.characteristic("remark", "AcquireWrite", [.properties([:])]))
    }
  }
}
