import BlueZ
import BusValue

/// For each kind of connection request: which events it survives.
enum AutoConnectCases {
  static let all = [
    bondOnly, profile, applicationKilled, disconnectDisarms, trusted, failedConnectRearms, adapterOff, blocked,
    unplugged,
  ]

  static let bondOnly = ConformanceCase("a bond alone") { stage in
    try await stage.bond()
    try await stage.step("lost") { try await stage.lose() }
    try await stage.step("back in range") {
      stage.expect(try await !stage.returns(within: .seconds(30)), "a bond alone arms nothing")
    }
    try await stage.step("Connect") {
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isConnected }
    }
  }

  static let profile = ConformanceCase("a bond and a profile") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("the phone subscribes") {
      try await stage.success(stage.phone.characteristic("offer", "StartNotify"))
      try await stage.need("the lock's application to hear of it") {
        stage.lock.main.incoming("offer.StartNotify") != nil
      }
    }
    for round in ["first", "second"] {
      try await stage.step("lost, the \(round) time") { try await stage.lose() }
      stage.expect(stage.phone.has("lock/door/offer"), "the attributes stay on the bus")
      stage.lock.main.forgetIncoming("offer.StartNotify")
      try await stage.step("back, the \(round) time") {
        try await stage.perform(.range(true))
        try await stage.need("the link at the lock", atMost: .seconds(60)) { stage.lock.isConnected }
        try await stage.need("the services") { stage.phone.isResolved && stage.lock.isResolved }
        stage.lock.main.emit(Array("welcome".utf8), from: ConformanceService.path("offer"))
      }
      stage.expect(
        stage.lock.main.incoming("offer.StartNotify") == nil, "a reconnect is no StartNotify for the application")
      stage.expect(
        stage.phone.property("lock/door/offer", InterfaceName.gattCharacteristic, "Value")
          == .bytes(Array("welcome".utf8)), "the subscription holds on the new link")
    }
  }

  static let applicationKilled = ConformanceCase("the application that registered the profile dies") { stage in
    let app = try await stage.phone.client("app")
    try await stage.bond(profile: app)
    try await stage.step("the application dies") { app.close() }
    try await stage.step("lost") { try await stage.lose() }
    try await stage.step("back in range") { stage.expect(try await stage.returns(), "still armed") }
  }

  static let disconnectDisarms = ConformanceCase("Disconnect disarms") { stage in
    let app = try await stage.phone.client("app")
    try await stage.bond(profile: app)
    try await stage.step("Disconnect") {
      let outcome = try await stage.outcome(stage.phone.device("Disconnect"))
      stage.expect(outcome.isSuccess, outcome.errorText)
      await stage.recorder.pass(.seconds(20))
    }
    stage.expect(!stage.phone.isConnected, "Disconnect disarms")
    try await stage.step("the profile is registered again") {
      try await stage.success(app.unregisterApplication(ConformanceService.profileRoot))
      try await stage.success(
        app.registerApplication(ConformanceService.profile(), at: ConformanceService.profileRoot))
      await stage.recorder.pass(.seconds(30))
    }
    stage.expect(stage.phone.isConnected, "that arms again")
  }

  static let trusted = ConformanceCase("Disconnect of a trusted device") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("the lock is trusted") {
      try await stage.success(stage.phone.set("lock", InterfaceName.device, "Trusted", .bool(true)))
    }
    try await stage.step("Disconnect", quiet: .seconds(8)) {
      try await stage.success(stage.phone.device("Disconnect"))
      await stage.recorder.pass(.seconds(20))
    }
    stage.expect(stage.phone.isConnected, "a trusted device is not disarmed")
  }

  static let failedConnectRearms = ConformanceCase("a failed Connect arms again") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("Disconnect") { try await stage.success(stage.phone.device("Disconnect")) }
    try await stage.perform(.range(false))
    try await stage.step("Connect fails") {
      try await stage.expectError(
        stage.phone.device("Connect"), "org.bluez.Error.Failed", "le-connection-abort-by-local")
    }
    try await stage.step("back in range") {
      stage.expect(try await stage.returns(), "a failed Connect has armed it again")
    }
  }

  static let adapterOff = ConformanceCase("the adapter is switched off and on") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("off") {
      try await stage.success(stage.phone.power(false))
      try await stage.need("the loss", atMost: .seconds(60)) { !stage.phone.isConnected && !stage.lock.isConnected }
    }
    try await stage.step("calls on what is off") {
      try await stage.expectError(
        stage.phone.device("Connect"), "org.bluez.Error.Failed", "Input/output error")
      try await stage.expectError(stage.phone.device("Pair"), "org.bluez.Error.AlreadyExists")
      try await stage.expectError(stage.phone.adapter("StartDiscovery"), "org.bluez.Error.NotReady")
      try await stage.expectError(stage.phone.adapter("StopDiscovery"), "org.bluez.Error.NotReady")
      try await stage.outcome(stage.phone.adapter("SetDiscoveryFilter", [.properties([:])]))
      try await stage.outcome(stage.phone.read("offer"))
    }
    try await stage.step("on") {
      try await stage.success(stage.phone.power(true))
      stage.expect(
        await stage.recorder.wait(atMost: .seconds(40)) { stage.phone.isResolved ? true : nil } ?? false,
        "still armed")
    }
    try await stage.step("off, and Disconnect") {
      try await stage.success(stage.phone.power(false))
      try await stage.need("the loss", atMost: .seconds(60)) { !stage.phone.isPowered && !stage.lock.isConnected }
      try await stage.success(stage.phone.device("Disconnect"))
    }
    try await stage.step("on again") {
      try await stage.success(stage.phone.power(true))
      await stage.recorder.pass(.seconds(20))
    }
    stage.expect(!stage.phone.isConnected, "that disarms here too")
  }

  static let blocked = ConformanceCase("rfkill") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("blocked") {
      try await stage.perform(.block(.phone, true))
      try await stage.need("the loss", atMost: .seconds(60)) { !stage.phone.isConnected && !stage.lock.isConnected }
    }
    try await stage.step("power on what is blocked") { try await stage.outcome(stage.phone.power(true)) }
    try await stage.step("unblocked") {
      try await stage.perform(.block(.phone, false))
      stage.expect(
        await stage.recorder.wait(atMost: .seconds(40)) { stage.phone.isResolved ? true : nil } ?? false,
        "still armed")
    }
  }

  static let unplugged = ConformanceCase("the controller is unplugged and back") { stage in
    let app = try await stage.phone.client("app")
    try await stage.bond(profile: app)
    try await stage.step("unplugged") {
      try await stage.perform(.plug(.phone, false))
      try await stage.need("the adapter to leave", atMost: .seconds(60)) {
        !stage.phone.has("adapter") && !stage.lock.isConnected
      }
    }
    try await stage.step("back") {
      try await stage.perform(.plug(.phone, true))
      try await stage.need("the adapter") { stage.phone.isPowered && stage.phone.hasDevice }
      await stage.recorder.pass(.seconds(20))
    }
    stage.expect(!stage.phone.isConnected, "cleared until registered again")
    try await stage.step("the profile is registered again") {
      try await stage.outcome(app.unregisterApplication(ConformanceService.profileRoot))
      try await stage.outcome(
        app.registerApplication(ConformanceService.profile(), at: ConformanceService.profileRoot))
      await stage.recorder.pass(.seconds(30))
    }
    stage.expect(stage.phone.isConnected, "that arms again")
  }
}
