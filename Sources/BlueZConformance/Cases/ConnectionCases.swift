import BlueZ
import BusValue

/// `Connect()` and `Disconnect()`, without a bond.
enum ConnectionCases {
  static let all = [connect, absent, canceled, unbondedLoss, blocked]

  static let connect = ConformanceCase("connect and disconnect") { stage in
    try await stage.openDoor()
    try await stage.discover()
    try await stage.step("Disconnect without a link") {
      // The documentation lists an error for this.
      try await stage.success(stage.phone.device("Disconnect"))
    }
    try await stage.step("Connect") {
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("services") { stage.phone.isResolved && stage.lock.isConnected }
    }
    stage.expect(stage.phone.has("lock/door/offer"), "the door's characteristics are on the bus")
    try await stage.step("the devices as they are now") {
      stage.phone.main.describe("lock", InterfaceName.device)
      stage.lock.main.describe("phone", InterfaceName.device)
    }
    try await stage.step("Connect again") { try await stage.success(stage.phone.device("Connect")) }
    try await stage.step("Disconnect") {
      let outcome = try await stage.outcome(stage.phone.device("Disconnect"))
      stage.expect(
        outcome.isSuccess && outcome.took > .seconds(1), "Disconnect succeeds, and takes about two seconds")
    }
    stage.expect(!stage.phone.isConnected, "the link is gone")
    try await stage.step("forgotten", quiet: .seconds(8)) {
      try await stage.need("the device to vanish", atMost: .seconds(120)) { !stage.phone.hasDevice }
    }
  }

  static let absent = ConformanceCase("Connect to an absent device") { stage in
    try await stage.openDoor()
    try await stage.discover()
    try await stage.perform(.range(false))
    try await stage.step("Connect, and once more meanwhile") {
      let call = stage.phone.device("Connect")
      let client = try await stage.phone.client("app")
      try await stage.expectError(
        client.call("lock", InterfaceName.device, "Connect"), "org.bluez.Error.InProgress")
      let outcome = try await stage.outcome(call)
      stage.expect(
        outcome.errorText == "org.bluez.Error.Failed: le-connection-abort-by-local", "not: \(outcome.errorText)")
      stage.expect(outcome.took > .seconds(34) && outcome.took < .seconds(60), "after about 41 s, not \(outcome.took)")
    }
  }

  static let canceled = ConformanceCase("Disconnect during a pending Connect") { stage in
    try await stage.openDoor()
    try await stage.discover()
    try await stage.perform(.range(false))
    try await stage.step("Connect and Disconnect") {
      let call = stage.phone.device("Connect")
      await stage.recorder.pass(.seconds(5))
      try await stage.outcome(stage.phone.device("Disconnect"))
      let outcome = try await stage.outcome(call)
      stage.expect(
        outcome.errorText == "org.bluez.Error.Failed: br-connection-canceled", "not: \(outcome.errorText)")
    }
  }

  static let blocked = ConformanceCase("a device that is blocked") { stage in
    let phone = stage.phone
    try await stage.openDoor()
    try await stage.discover()
    try await stage.step("blocked") {
      try await stage.success(phone.set("lock", InterfaceName.device, "Blocked", .bool(true)))
    }
    // The other side's lines are left out, because it may or may not see a link that lasts only a moment.
    try await stage.step("Connect") {
      try await stage.expectError(
        phone.device("Connect"), "org.bluez.Error.Failed", "le-connection-abort-by-local")
      stage.expect(!phone.isConnected, "no link is told")
      await stage.recorder.pass(.seconds(5))
    }
    try await stage.step("Pair") {
      try await stage.expectError(phone.device("Pair"), "org.bluez.Error.AuthenticationTimeout")
      await stage.recorder.pass(.seconds(5))
    }
    if !phone.hasDevice { try await stage.discover() }
    try await stage.step("connected") {
      phone.main.describe("lock", InterfaceName.device)
      try await stage.outcome(phone.set("lock", InterfaceName.device, "Blocked", .bool(false)))
      try await stage.success(phone.device("Connect"))
      try await stage.need("services") { phone.isResolved && stage.lock.isConnected }
    }
    try await stage.step("blocked while it is connected") {
      try await stage.success(phone.set("lock", InterfaceName.device, "Blocked", .bool(true)))
      try await stage.need("the end of the link") { !phone.isConnected && !stage.lock.isConnected }
    }
  }

  static let unbondedLoss = ConformanceCase("a loss without a bond") { stage in
    try await stage.openDoor()
    try await stage.discover()
    try await stage.step("Connect") {
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("services") { stage.phone.isResolved && stage.lock.isConnected }
    }
    try await stage.register(profile: stage.phone.main)
    try await stage.step("the link is lost") {
      try await stage.lose()
      try await stage.need("the device to vanish", atMost: .seconds(120)) { !stage.phone.hasDevice }
    }
    try await stage.step("back in range") { stage.expect(try await !stage.returns(), "the phone does not look for it") }
  }
}
