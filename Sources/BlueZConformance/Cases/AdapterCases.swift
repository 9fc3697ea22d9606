import BlueZ
import BusValue

/// A machine with two adapters: what each of them has for itself, and what they share.
enum AdapterCases {
  static let all = [second, first, centrals, subscribers, peripherals, agents]

  private static let two = "adapter#2"

  private static func isPowered(_ party: Party, _ adapter: String) -> Bool {
    party.property(adapter, InterfaceName.adapter, "Powered") == .bool(true)
  }

  private static func isDiscovering(_ party: Party, _ adapter: String) -> Bool {
    party.property(adapter, InterfaceName.adapter, "Discovering") == .bool(true)
  }

  /// Both sides are named by the adapter: `lock` for the first one, `adapter#2/lock`.
  private static func has(_ party: Party, _ device: String, _ property: String) -> Bool {
    party.property(device, InterfaceName.device, property) == .bool(true)
  }

  private static func plugIn(_ stage: Stage, _ party: Party) async throws {
    try await stage.step("the \(party.name)'s second controller is plugged in") {
      try await stage.perform(.plugSecond(party.name, true))
      try await stage.need("the second adapter") { isPowered(party, two) }
    }
  }

  private static func discover(_ stage: Stage, on adapter: String, _ device: String) async throws {
    try await stage.success(
      stage.phone.adapter("SetDiscoveryFilter", [.properties(["Transport": .string("le")])], on: adapter))
    try await stage.success(stage.phone.adapter("StartDiscovery", on: adapter))
    try await stage.need("\(adapter) to find the lock") { stage.phone.has(device) }
    await stage.recorder.settle(quiet: .seconds(2), atMost: .seconds(5))
  }

  static let second = ConformanceCase(
    "a second adapter comes and goes", setup: WorldSetup(twoControllers: [.phone])
  ) { stage in
    let phone = stage.phone
    try await plugIn(stage, phone)
    try await stage.step("both") {
      for adapter in ["adapter", two] { phone.main.describe(adapter, InterfaceName.adapter) }
      phone.main.describe(two, InterfaceName.advertisingManager)
    }
    try await stage.step("the second is switched off and on") {
      for isOn in [false, true] {
        try await stage.success(phone.set(two, InterfaceName.adapter, "Powered", .bool(isOn)))
        try await stage.need("its power") { isPowered(phone, two) == isOn }
      }
    }
    try await stage.step("the first has another alias") {
      try await stage.success(phone.set("adapter", InterfaceName.adapter, "Alias", .string("the first")))
    }
    try await stage.step("both are blocked, and not any more") {
      for isBlocked in [true, false] {
        try await stage.perform(.block(.phone, isBlocked))
        try await stage.need("power") { ["adapter", two].allSatisfy { isPowered(phone, $0) == !isBlocked } }
      }
    }
    try await stage.step("bluetoothd is restarted") {
      try await stage.restart(phone, killed: false)
      try await stage.need("the second adapter") { isPowered(phone, two) }
    }
    try await stage.step("it is unplugged") {
      try await stage.perform(.plugSecond(.phone, false))
      try await stage.need("it to go") { !phone.has(two) }
    }
    stage.expect(phone.isPowered, "the first stays")
  }

  static let first = ConformanceCase(
    "the first adapter goes, and the second stays", setup: WorldSetup(twoControllers: [.phone])
  ) { stage in
    let phone = stage.phone
    try await stage.openDoor()
    try await plugIn(stage, phone)
    try await stage.step("both find the lock") {
      for (adapter, device) in [("adapter", "lock"), (two, "\(two)/lock")] {
        try await discover(stage, on: adapter, device)
      }
    }
    try await stage.step("the first is unplugged") {
      try await stage.perform(.plug(.phone, false))
      try await stage.need("it to go") { !phone.has("adapter") }
    }
    stage.expect(isDiscovering(phone, two), "the second goes on discovering")
    stage.expect(phone.has("\(two)/lock") && !phone.has("lock"), "a device belongs to its adapter")
    try await stage.step("what is left") {
      phone.main.describe(two, InterfaceName.adapter)
      try await stage.success(phone.adapter("StopDiscovery", on: two))
    }
    try await stage.step("it is back") {
      try await stage.perform(.plug(.phone, true))
      try await stage.need("the first") { phone.isPowered }
    }
    try await stage.step("both again") {
      for adapter in ["adapter", two] { phone.main.describe(adapter, InterfaceName.adapter) }
    }
  }

  static let centrals = ConformanceCase(
    "each adapter finds and connects by itself", setup: WorldSetup(twoControllers: [.phone])
  ) { stage in
    let phone = stage.phone
    try await stage.openDoor()
    try await plugIn(stage, phone)
    try await stage.step("the second discovers") {
      try await discover(stage, on: two, "\(two)/lock")
      try await stage.expectError(
        phone.adapter("StopDiscovery"), "org.bluez.Error.Failed", "No discovery started")
    }
    stage.expect(!phone.hasDevice && !isDiscovering(phone, "adapter"), "the first does not")
    try await stage.step("it stops, and the first discovers") {
      try await stage.success(phone.adapter("StopDiscovery", on: two))
      try await discover(stage, on: "adapter", "lock")
      stage.expect(!isDiscovering(phone, two), "the second does not")
      try await stage.success(phone.adapter("StopDiscovery"))
    }
    try await stage.step("the second connects") {
      try await stage.success(phone.main.call("\(two)/lock", InterfaceName.device, "Connect"))
      try await stage.need("services") { has(phone, "\(two)/lock", "ServicesResolved") }
    }
    stage.expect(!phone.isConnected, "the first has no link")
    try await stage.step("the first connects, too") {
      try await stage.success(phone.device("Connect"))
      try await stage.need("services") { phone.isResolved }
    }
    try await stage.step("the second disconnects") {
      try await stage.success(phone.main.call("\(two)/lock", InterfaceName.device, "Disconnect"))
      try await stage.need("its link to end") { !has(phone, "\(two)/lock", "Connected") }
    }
    stage.expect(phone.isConnected, "the first keeps its link")
    try await stage.step("the first reads") { try await stage.success(phone.read("offer")) }
    try await stage.step("a device of one adapter is unknown to the other") {
      guard let path = phone.main.book.path("lock") else { return }
      try await stage.expectError(
        phone.adapter("RemoveDevice", [.path(path)], on: two), "org.bluez.Error.DoesNotExist")
    }
    try await stage.step("the second is unplugged") {
      try await stage.perform(.plugSecond(.phone, false))
      try await stage.need("it to go") { !phone.has(two) }
    }
    stage.expect(phone.isConnected, "the first still keeps its link")
  }

  /// Two centrals at one lock, which are one machine with two adapters.
  static let subscribers = ConformanceCase(
    "two centrals subscribe", setup: WorldSetup(twoControllers: [.phone])
  ) { stage in
    let phone = stage.phone
    try await stage.openDoor()
    try await plugIn(stage, phone)
    let devices = [("adapter", "lock"), (two, "\(two)/lock")]
    for (adapter, device) in devices {
      try await stage.step("\(device) is found and connected") {
        try await discover(stage, on: adapter, device)
        try await stage.success(phone.adapter("StopDiscovery", on: adapter))
        try await stage.success(phone.main.call(device, InterfaceName.device, "Connect"))
        try await stage.need("services") { has(phone, device, "ServicesResolved") }
      }
    }
    func call(_ device: String, _ member: String) -> OngoingCall {
      phone.main.call("\(device)/door/offer", InterfaceName.gattCharacteristic, member)
    }
    for (_, device) in devices {
      try await stage.step("\(device): StartNotify") { try await stage.success(call(device, "StartNotify")) }
    }
    try await stage.step("a value") { stage.lock.main.emit([1], from: ConformanceService.path("offer")) }
    try await stage.step("lock: StopNotify") { try await stage.success(call("lock", "StopNotify")) }
    try await stage.step("a value for the other") {
      stage.lock.main.emit([2], from: ConformanceService.path("offer"))
    }
    try await stage.step("lock: StartNotify again") { try await stage.success(call("lock", "StartNotify")) }
    try await stage.step("\(two)/lock disconnects") {
      try await stage.success(phone.main.call("\(two)/lock", InterfaceName.device, "Disconnect"))
      try await stage.need("its link to end") { !has(phone, "\(two)/lock", "Connected") }
    }
    try await stage.step("a value for who is left") {
      stage.lock.main.emit([3], from: ConformanceService.path("offer"))
    }
    try await stage.step("lock disconnects") {
      try await stage.success(phone.device("Disconnect"))
      try await stage.need("its link to end") { !phone.isConnected }
    }
  }

  static let peripherals = ConformanceCase(
    "each adapter serves and advertises by itself", setup: WorldSetup(twoControllers: [.lock])
  ) { stage in
    let (lock, phone) = (stage.lock, stage.phone)
    try await plugIn(stage, lock)
    try await stage.step("the second opens the door") {
      try await stage.success(
        lock.main.registerApplication(ConformanceService.door(), at: ConformanceService.root, on: two))
      try await stage.success(lock.main.registerAdvertisement(on: two))
    }
    try await stage.step("the first has nothing of it") {
      for adapter in ["adapter", two] { lock.main.describe(adapter, InterfaceName.advertisingManager) }
      try await stage.expectError(
        lock.main.unregisterApplication(ConformanceService.root), "org.bluez.Error.DoesNotExist")
      try await stage.expectError(lock.main.unregisterAdvertisement(), "org.bluez.Error.DoesNotExist")
    }
    try await stage.discover()
    stage.expect(!phone.has("lock#2"), "one adapter advertises")
    try await stage.step("the phone connects") {
      try await stage.success(phone.device("Connect"))
      try await stage.need("services") { phone.isResolved && has(lock, "\(two)/phone", "Connected") }
      try await stage.success(phone.read("offer"))
    }
    stage.expect(!lock.hasDevice, "the link is the second adapter's")
    try await stage.step("the first advertises the same, and serves nothing") {
      try await stage.success(lock.main.registerAdvertisement())
    }
    try await stage.step("the phone finds it") {
      try await stage.success(phone.adapter("StartDiscovery"))
      try await stage.need("the first adapter") { phone.has("lock#2") }
      await stage.recorder.settle(quiet: .seconds(2), atMost: .seconds(5))
      try await stage.success(phone.adapter("StopDiscovery"))
    }
    try await stage.step("and connects") {
      try await stage.success(phone.main.call("lock#2", InterfaceName.device, "Connect"))
      try await stage.need("services") { has(phone, "lock#2", "ServicesResolved") && lock.isConnected }
    }
    stage.expect(phone.has("lock/door/offer") && !phone.has("lock#2/door/offer"), "only the second has the door")
    try await stage.step("the first is switched off") {
      try await stage.success(lock.power(false))
      try await stage.need("its link to end") { !has(phone, "lock#2", "Connected") }
    }
    try await stage.step("the door is still there") { try await stage.success(phone.read("offer")) }
    try await stage.step("the second closes it") {
      try await stage.success(lock.main.unregisterAdvertisement(on: two))
      try await stage.success(lock.main.unregisterApplication(ConformanceService.root, on: two))
      try await stage.need("its services to go") { !phone.has("lock/door/offer") }
    }
  }

  static let agents = ConformanceCase(
    "an agent is for all adapters, a bond for one", setup: WorldSetup(twoControllers: [.phone])
  ) { stage in
    let phone = stage.phone
    try await stage.openDoor()
    try await stage.registerAgents()
    try await plugIn(stage, phone)
    stage.expect(
      phone.property(two, InterfaceName.adapter, "Pairable") == .bool(true), "there is an agent already")
    for (adapter, device) in [("adapter", "lock"), (two, "\(two)/lock")] {
      try await stage.step("\(adapter) finds the lock") {
        try await discover(stage, on: adapter, device)
        try await stage.success(phone.adapter("StopDiscovery", on: adapter))
      }
    }
    try await stage.step("the second pairs") {
      try await stage.success(phone.main.call("\(two)/lock", InterfaceName.device, "Pair"))
      try await stage.need("services") { has(phone, "\(two)/lock", "ServicesResolved") && stage.lock.isBonded }
    }
    stage.expect(has(phone, "\(two)/lock", "Bonded") && !phone.isBonded, "the bond is the second adapter's")
    try await stage.step("the agent leaves") {
      try await stage.success(
        phone.main.call(
          "manager", InterfaceName.agentManager, "UnregisterAgent", [.path(ConformanceService.agentPath)]))
    }
    try await stage.step("the second forgets the lock") {
      guard let path = phone.main.book.path("\(two)/lock") else { return }
      try await stage.success(phone.adapter("RemoveDevice", [.path(path)], on: two))
      try await stage.need("it to go") { !phone.has("\(two)/lock") }
    }
  }
}
