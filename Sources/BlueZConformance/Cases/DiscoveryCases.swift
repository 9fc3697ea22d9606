import BlueZ
import BusValue
import TimeTypes

/// The objects at the start, and finding devices.
enum DiscoveryCases {
  static let all = [objects, discover, undiscoverable, filter, classic, vanish, power, clientGone]

  static let objects = ConformanceCase("objects at the start") { stage in
    try await stage.step("what is on the bus") {
      let client = stage.phone.main
      for (object, interface) in [
        ("manager", InterfaceName.agentManager), ("adapter", InterfaceName.adapter),
        ("adapter", InterfaceName.gattManager), ("adapter", InterfaceName.advertisingManager),
      ] {
        let path = client.book.path(object)
        stage.expect(path.flatMap { client.book.objects[$0]?[interface] } != nil, "\(object) has \(interface)")
        client.describe(object, interface)
      }
      try await stage.success(client.call("adapter", InterfaceName.adapter, "GetDiscoveryFilters"))
    }
  }

  static let discover = ConformanceCase("discover") { stage in
    try await stage.openDoor()
    try await stage.step("the phone discovers") {
      try await stage.success(stage.phone.adapter("SetDiscoveryFilter", [.properties(["Transport": .string("le")])]))
      try await stage.success(stage.phone.adapter("StartDiscovery"))
      try await stage.need("the lock") { stage.phone.hasDevice }
    }
    stage.expect(stage.phone.deviceProperty("RSSI") != nil, "a discovered device has an RSSI")
    try await stage.step("a second StartDiscovery") {
      try await stage.expectError(stage.phone.adapter("StartDiscovery"), "org.bluez.Error.InProgress")
    }
    try await stage.step("discovery stops") {
      try await stage.success(stage.phone.adapter("StopDiscovery"))
    }
    stage.expect(stage.phone.deviceProperty("RSSI") == nil, "without discovery there is no RSSI")
    try await stage.step("a second StopDiscovery") {
      try await stage.expectError(
        stage.phone.adapter("StopDiscovery"), "org.bluez.Error.Failed", "No discovery started")
    }
  }

  static let undiscoverable = ConformanceCase("discover who does not want to be found") { stage in
    try await stage.openDoor(advertisement: ConformanceService.advertisement(isDiscoverable: nil))
    for (title, properties) in [
      ("without a filter", Properties()), ("any device of Low Energy", ["Transport": .string("le")]),
      ("near devices", ["RSSI": .int16(-100)]),
      ("the door's service", ["UUIDs": .strings([ConformanceService.service])]),
    ] {
      try await stage.step(title) {
        try await stage.success(stage.phone.adapter("SetDiscoveryFilter", [.properties(properties)]))
        try await stage.success(stage.phone.adapter("StartDiscovery"))
        await stage.recorder.pass(.seconds(8))
        try await stage.success(stage.phone.adapter("StopDiscovery"))
      }
    }
    stage.expect(
      stage.phone.deviceProperty("UUIDs") == .strings([ConformanceService.service]), "who looks for it finds it")
  }

  static let filter = ConformanceCase("discovery filters") { stage in
    try await stage.openDoor()
    try await stage.step("a filter for another service") {
      try await stage.success(
        stage.phone.adapter(
          "SetDiscoveryFilter",
          [.properties(["UUIDs": .strings([ConformanceService.second]), "Transport": .string("le")])]))
      try await stage.success(stage.phone.adapter("StartDiscovery"))
      await stage.recorder.pass(.seconds(8))
    }
    stage.expect(!stage.phone.hasDevice, "what does not fit the filter is not told")
    try await stage.step("the filter becomes the door's service") {
      try await stage.success(
        stage.phone.adapter(
          "SetDiscoveryFilter",
          [.properties(["UUIDs": .strings([ConformanceService.service]), "Transport": .string("le")])]))
      try await stage.need("the lock") { stage.phone.hasDevice }
    }
    try await stage.step("filters that make no sense") {
      for properties: Properties in [
        ["Transport": .string("carrier pigeon")], ["Colour": .string("red")], ["RSSI": .string("near")],
        ["UUIDs": .strings(["no UUID"])],
      ] {
        try await stage.expectError(
          stage.phone.adapter("SetDiscoveryFilter", [.properties(properties)]), "org.bluez.Error.InvalidArguments")
      }
    }
  }

  static let classic = ConformanceCase("a discovery for classic Bluetooth alone") { stage in
    func set(_ transport: String) -> OngoingCall {
      stage.phone.adapter("SetDiscoveryFilter", [.properties(["Transport": .string(transport)])])
    }
    try await stage.openDoor()
    try await stage.step("it can't begin on an adapter for Low Energy") {
      try await stage.success(set("bredr"))
      try await stage.expectError(stage.phone.adapter("StartDiscovery"), "org.bluez.Error.InProgress")
      try await stage.outcome(stage.phone.adapter("StopDiscovery"))
    }
    try await stage.step("another one can") {
      try await stage.success(set("le"))
      try await stage.success(stage.phone.adapter("StartDiscovery"))
      try await stage.need("the lock") { stage.phone.hasDevice }
    }
  }

  static let vanish = ConformanceCase("a device that was only found vanishes") { stage in
    try await stage.openDoor()
    try await stage.discover()
    let found = stage.recorder.time.now
    try await stage.step("nobody looks any more") {
      try await stage.need("the device to vanish", atMost: .seconds(120)) { !stage.phone.hasDevice }
    }
    let took = stage.recorder.time.now - found
    stage.expect(took > .seconds(20) && took < .seconds(60), "it vanishes after about 30 s, not \(took)")
  }

  static let power = ConformanceCase("a device that was only found, and power") { stage in
    try await stage.openDoor()
    try await stage.discover()
    try await stage.step("the adapter is switched off") {
      try await stage.perform(.range(false))
      try await stage.success(stage.phone.power(false))
    }
    try await stage.step("and on again") {
      try await stage.perform(.range(true))
      try await stage.success(stage.phone.power(true))
    }
    try await stage.discover()
    try await stage.step("the adapter is blocked") {
      try await stage.perform(.range(false))
      try await stage.perform(.block(.phone, true))
    }
    try await stage.step("and not any more") {
      try await stage.perform(.range(true))
      try await stage.perform(.block(.phone, false))
      try await stage.need("power") {
        stage.phone.property("adapter", InterfaceName.adapter, "Powered") == .bool(true)
      }
    }
  }

  static let clientGone = ConformanceCase("discovery ends with its client") { stage in
    let client = try await stage.phone.client("app")
    try await stage.step("an app discovers") {
      try await stage.success(client.call("adapter", InterfaceName.adapter, "StartDiscovery"))
      try await stage.need("discovery") {
        stage.phone.property("adapter", InterfaceName.adapter, "Discovering") == .bool(true)
      }
    }
    try await stage.step("the app is gone") {
      client.close()
      try await stage.need("the end of discovery") {
        stage.phone.property("adapter", InterfaceName.adapter, "Discovering") == .bool(false)
      }
    }
  }
}
