import BlueZ
import BusValue
import TimeTypes

/// All properties of LEAdvertisement1, changes of an advertisement, and what scanners keep.
enum AdvertisementCases {
  static let all = [limits, timeout, changes, kept, icons, filterLimits]

  private static let path = ConformanceService.advertisementPath
  private static func peripheral(_ more: Properties) -> Properties {
    (["Type": .string("peripheral"), "Discoverable": .bool(true)] as Properties).merging(more) { $1 }
  }

  private static func register(_ properties: Properties, _ stage: Stage) -> OngoingCall {
    stage.lock.main.registerAdvertisement([path: [InterfaceName.advertisement: properties]])
  }

  static let limits = ConformanceCase("advertisements at their limits") { stage in
    let data = { (kind: UInt8, bytes: [UInt8]) -> Value in
      .dictionary(key: "y", value: "v", [.byte(kind): .variant(.bytes(bytes))])
    }
    for (title, properties) in [
      ("power", [["TxPower": .int16(20)], ["TxPower": .int16(21)], ["TxPower": .int16(-128)], ["TxPower": .byte(0)]]),
      ("broadcast", [["Type": .string("broadcast")], ["Type": .string("broadcast"), "Discoverable": .bool(false)]]),
      ("channels", [["SecondaryChannel": .string("1M")], ["SecondaryChannel": .string("9M")]]),
      (
        "raw data",
        [
          ["Data": data(0x01, [6])], ["Data": data(0x26, [1, 2])], ["Data": data(0xFF, [1, 2, 3])],
          ["Data": data(0x2E, [1, 2, 3, 4, 5, 6])], ["Data": data(0x24, [UInt8](repeating: 7, count: 40))],
        ]
      ),
      (
        "intervals",
        [
          ["MinInterval": .uint32(100)], ["MinInterval": .uint32(100), "MaxInterval": .uint32(100)],
          ["MinInterval": .uint32(200), "MaxInterval": .uint32(100)], ["MaxInterval": .uint32(100)],
          ["MinInterval": .uint32(19), "MaxInterval": .uint32(100)],
        ]
      ),
      (
        "includes",
        [
          ["Includes": .strings(["tx-power", "appearance", "local-name"])], ["Includes": .strings(["colour"])],
          ["Includes": .strings(["tx-power", "local-name"])], ["Includes": .strings(["appearance"])],
          ["Includes": .strings(["rsi"])], ["Includes": .strings(["local-name"]), "LocalName": .string("other")],
          ["Includes": .strings(["appearance"]), "Appearance": .uint16(64)], ["LocalName": .string("")],
        ]
      ),
      (
        "durations",
        [
          ["Timeout": .uint16(10), "DiscoverableTimeout": .uint16(20)], ["Timeout": .uint32(10)],
          ["Timeout": .uint16(20), "DiscoverableTimeout": .uint16(10)], ["Duration": .uint16(2)],
        ]
      ),
      (
        "lengths",
        [
          ["ManufacturerData": manufacturer([UInt8](repeating: 1, count: 24))],
          ["ManufacturerData": manufacturer([UInt8](repeating: 1, count: 25))],
          ["ManufacturerData": manufacturer([UInt8](repeating: 1, count: 28))],
          ["LocalName": .string(String(repeating: "n", count: 29))],
          ["LocalName": .string(String(repeating: "n", count: 60))],
        ]
      ),
      (
        "UUIDs",
        [
          ["ServiceUUIDs": .strings(["180d", "0x180d", "0000180d"])], ["ServiceUUIDs": .strings(["0x0000180d"])],
          ["ServiceUUIDs": .strings(["18"])], ["SolicitUUIDs": .strings(["0x180f"])],
        ]
      ),
    ] as [(String, [Properties])] {
      try await stage.step(title) {
        for one in properties {
          let outcome = try await stage.outcome(register(peripheral(one), stage))
          if outcome.isSuccess { try await stage.success(stage.lock.main.unregisterAdvertisement()) }
        }
      }
    }
  }

  private static func manufacturer(_ bytes: [UInt8], company: UInt16 = 0xFFFF) -> Value {
    .dictionary(key: "q", value: "v", [.uint16(company): .variant(.bytes(bytes))])
  }

  static let timeout = ConformanceCase("an advertisement with an end") { stage in
    try await stage.step("registered for two seconds", quiet: .seconds(5)) {
      try await stage.success(register(peripheral(["Timeout": .uint16(2)]), stage))
      try await stage.need("its end") { stage.lock.main.incoming("advertisement.Release") != nil }
    }
    try await stage.step("unregistered") {
      try await stage.expectError(
        stage.lock.main.unregisterAdvertisement(), "org.bluez.Error.DoesNotExist", "Does Not Exist")
    }
  }

  /// Scans without an end, and reports every advertisement heard.
  private static func listen(_ stage: Stage) async throws {
    try await stage.step("the phone listens") {
      try await stage.success(
        stage.phone.adapter(
          "SetDiscoveryFilter", [.properties(["Transport": .string("le"), "DuplicateData": .bool(true)])]))
      try await stage.success(stage.phone.adapter("StartDiscovery"))
      try await stage.need("the lock") { stage.phone.hasDevice }
    }
  }

  static let changes = ConformanceCase("an advertisement that changes") { stage in
    let lock = stage.lock.main
    try await stage.step("advertised") {
      try await stage.success(
        register(peripheral(["LocalName": .string("first"), "ServiceUUIDs": .strings(["180d"])]), stage))
    }
    try await listen(stage)
    try await stage.step("another name") {
      lock.change(path, InterfaceName.advertisement, ["LocalName": .string("second")])
      try await stage.need("the name") { stage.phone.deviceProperty("Name") == .string("second") }
    }
    try await stage.step("another service") {
      lock.change(path, InterfaceName.advertisement, ["ServiceUUIDs": .strings(["180f"])])
      try await stage.need("the service") {
        stage.phone.deviceProperty("UUIDs")?.stringsValue?.contains { $0.hasPrefix("0000180f") } == true
      }
    }
    try await stage.step("a change that makes no sense") {
      lock.change(path, InterfaceName.advertisement, ["ServiceUUIDs": .string("none")])
      lock.change(path, InterfaceName.advertisement, ["LocalName": .string("third")])
      try await stage.need("the name") { stage.phone.deviceProperty("Name") == .string("third") }
    }
    try await stage.step("an end is given to it", quiet: .seconds(5)) {
      lock.change(path, InterfaceName.advertisement, ["Timeout": .uint16(1)])
      try await stage.need("its end") { lock.incoming("advertisement.Release") != nil }
    }
  }

  static let kept = ConformanceCase("what was advertised is kept") { stage in
    let lock = stage.lock.main
    let look: () async throws -> Void = {
      for name in ["ManufacturerData", "ServiceData", "TxPower"] {
        try await stage.outcome(
          stage.phone.main.call(
            "lock", InterfaceName.properties, "Get", [.string(InterfaceName.device), .string(name)]))
      }
    }
    try await stage.step("advertised with data") {
      try await stage.success(
        register(
          peripheral([
            "LocalName": .string("full"), "ManufacturerData": manufacturer([1, 2]),
            "ServiceData": .properties(["180d": .bytes([3])]), "Includes": .strings(["tx-power"]),
          ]), stage))
    }
    try await listen(stage)
    try await stage.step("what it says", look)
    try await stage.step("without data") {
      lock.change(
        path, InterfaceName.advertisement, ["LocalName": .string("empty")],
        gone: ["ManufacturerData", "ServiceData", "Includes"])
      try await stage.need("the name") { stage.phone.deviceProperty("Name") == .string("empty") }
      try await look()
    }
    try await stage.step("with another company's") {
      lock.change(
        path, InterfaceName.advertisement,
        ["ManufacturerData": manufacturer([4], company: 0x1234), "LocalName": .string("other")])
      try await stage.need("the name") { stage.phone.deviceProperty("Name") == .string("other") }
      await stage.recorder.pass(.seconds(2))
      try await look()
    }
    try await stage.step("nobody listens") {
      try await stage.success(stage.phone.adapter("StopDiscovery"))
      try await stage.need("what is volatile to go") {
        stage.phone.deviceProperty("RSSI") == nil && stage.phone.deviceProperty("TxPower") == nil
      }
      try await look()
    }
  }

  static let icons = ConformanceCase("icons") { stage in
    let lock = stage.lock.main
    try await stage.step("advertised") {
      try await stage.success(register(peripheral(["Appearance": .uint16(0x03C1)]), stage))
    }
    try await listen(stage)
    for appearance: UInt16 in [0x0040, 0x00C0, 0x03C3, 0x03C5, 0x0140, 0x03C7] {
      try await stage.step("appearance \(appearance)") {
        lock.change(path, InterfaceName.advertisement, ["Appearance": .uint16(appearance)])
        try await stage.need("it") { stage.phone.deviceProperty("Appearance") == .uint16(appearance) }
      }
    }
  }

  static let filterLimits = ConformanceCase("discovery filters at their limits") { stage in
    for (title, filters) in [
      (
        "strength",
        [
          ["RSSI": .int16(-127)], ["RSSI": .int16(-128)], ["RSSI": .int16(20)], ["RSSI": .int16(21)],
          ["RSSI": .int16(-32768)], ["RSSI": .int32(-50)],
        ]
      ),
      (
        "loss",
        [
          ["Pathloss": .uint16(137)], ["Pathloss": .uint16(138)], ["Pathloss": .uint16(50), "RSSI": .int16(-50)],
        ]
      ),
      (
        "UUIDs",
        [
          ["UUIDs": .strings(["180d", "0x180d", "0000180d"])], ["UUIDs": .strings(["18"])],
          ["UUIDs": .string("180d")],
        ]
      ),
      (
        "others",
        [
          ["Transport": .string("smoke")], ["Pattern": .string("")], ["Pattern": .uint16(1)],
          ["DuplicateData": .string("no")], ["Discoverable": .bool(true)], ["Colour": .string("red")],
        ]
      ),
    ] as [(String, [Properties])] {
      try await stage.step(title) {
        for filter in filters {
          try await stage.outcome(stage.phone.adapter("SetDiscoveryFilter", [.properties(filter)]))
        }
      }
    }
  }
}
