import BlueZ
import BusValue
import TimeTypes

/// What programs ask that know less than they could: properties that are missing, descriptors of bluetoothd's own.
enum StrangerCases {
  static let all = [missing, descriptors, trusted]

  static let missing = ConformanceCase("properties that are missing") { stage in
    let phone = stage.phone
    try await stage.openDoor()
    try await stage.discover()
    try await stage.step("connected") {
      try await stage.success(phone.device("Connect"))
      try await stage.need("services") { phone.isResolved }
    }
    try await stage.step("set") {
      for (object, interface, name, value) in [
        ("adapter", InterfaceName.adapter, "ExperimentalFeatures", Value.strings([])),
        ("lock", InterfaceName.device, "Icon", .string("phone")), ("lock", InterfaceName.device, "RSSI", .int16(3)),
        ("lock", InterfaceName.device, "WakeAllowed", .bool(true)),
        ("lock", InterfaceName.device, "PreferredBearer", .string("le")),
        ("lock/door/command", InterfaceName.gattCharacteristic, "NotifyAcquired", .bool(true)),
        ("lock/door/command", InterfaceName.gattCharacteristic, "Notifying", .bool(true)),
        ("lock/door/offer", InterfaceName.gattCharacteristic, "Value", .bytes([1])),
        ("adapter", InterfaceName.advertisingManager, "SupportedSecondaryChannels", .strings([])),
        ("adapter", InterfaceName.gattManager, "Anything", .bool(true)), ("adapter", "", "Powered", .bool(true)),
      ] {
        try await stage.outcome(phone.set(object, interface, name, value))
      }
    }
    try await stage.step("read") {
      for (object, interface, name) in [
        ("adapter", InterfaceName.adapter, "ExperimentalFeatures"), ("lock", InterfaceName.device, "Icon"),
        ("lock/door/command", InterfaceName.gattCharacteristic, "NotifyAcquired"), ("adapter", "", "Powered"),
      ] {
        try await stage.outcome(
          phone.main.call(object, InterfaceName.properties, "Get", [.string(interface), .string(name)]))
      }
      for (object, interface) in [
        ("adapter", ""), ("adapter", InterfaceName.device), ("adapter", InterfaceName.properties),
        ("manager", InterfaceName.agentManager),
      ] {
        try await stage.outcome(phone.main.call(object, InterfaceName.properties, "GetAll", [.string(interface)]))
      }
    }
    try await stage.step("long and odd names") {
      for (object, interface, name) in [
        ("lock", InterfaceName.device, String(repeating: "lock ", count: 60)),
        ("adapter", InterfaceName.adapter, "my\tphone"), ("adapter", InterfaceName.adapter, ""),
      ] {
        try await stage.outcome(phone.set(object, interface, "Alias", .string(name)))
      }
    }
  }

  static let descriptors = ConformanceCase("an application with descriptors of bluetoothd's own") { stage in
    let (lock, phone) = (stage.lock.main, stage.phone)
    var objects = ConformanceService.service(
      "heart", "180d", [("rate", "2a37", ["read", "notify"]), ("place", "2a38", ["read"])])
    for (characteristic, name, uuid) in [
      ("rate", "ccc", "2902"), ("rate", "text", "2901"), ("rate", "format", "2904"), ("place", "text", "2901"),
    ] {
      let path = ConformanceService.root.appending("heart").appending(characteristic)
      objects[path.appending(name)] = [
        InterfaceName.gattDescriptor: [
          "UUID": .string(uuid), "Characteristic": .path(path), "Flags": .strings(["read", "write"]),
        ]
      ]
    }
    try await stage.step("registered") {
      for name in ["ccc", "text", "format"] { lock.answer("\(name).ReadValue", .values([.bytes([7, 7])])) }
      try await stage.outcome(lock.registerApplication(objects, at: ConformanceService.root))
      try await stage.success(lock.registerAdvertisement())
    }
    try await stage.discover()
    try await stage.step("connected") {
      try await stage.success(phone.device("Connect"))
      try await stage.need("services") { phone.isResolved }
    }
    try await stage.step("subscribed") {
      let names = phone.main.book.objects.keys.map { phone.main.book.name($0) }
      guard
        let rate = names.filter({ $0.hasPrefix("lock/") }).first(where: {
          $0.hasSuffix("00002a37-0000-1000-8000-00805f9b34fb")
        })
      else { return }
      try await stage.outcome(phone.main.call(rate, InterfaceName.gattCharacteristic, "StartNotify"))
      lock.emit([1, 2], from: ConformanceService.root.appending("heart").appending("rate"))
      await stage.recorder.pass(.seconds(2))
      try await stage.outcome(phone.main.call(rate, InterfaceName.gattCharacteristic, "StopNotify"))
    }
    try await stage.step("its descriptors") {
      let book = phone.main.book
      for path in book.objects.keys.sorted() where book.objects[path]?[InterfaceName.gattDescriptor] != nil {
        let name = book.name(path)
        guard name.contains("2a3") else { continue }
        try await stage.outcome(
          phone.main.call(path, named: name, InterfaceName.gattDescriptor, "ReadValue", [.properties([:])]))
        try await stage.outcome(
          phone.main.call(
            path, named: name, InterfaceName.gattDescriptor, "WriteValue", [.bytes([1, 0]), .properties([:])]))
      }
    }
  }

  static let trusted = ConformanceCase("a trusted device that was only found") { stage in
    let phone = stage.phone
    try await stage.openDoor()
    try await stage.discover()
    try await stage.step("trusted") {
      try await stage.success(phone.set("lock", InterfaceName.device, "Trusted", .bool(true)))
      try await stage.success(phone.set("lock", InterfaceName.device, "Alias", .string("the lock")))
    }
    try await stage.step("a minute later") {
      await stage.recorder.pass(.seconds(60))
      stage.phone.main.describe("lock", InterfaceName.device)
    }
    try await stage.step("bluetoothd restarts") { try await stage.restart(phone, killed: false) }
  }
}
