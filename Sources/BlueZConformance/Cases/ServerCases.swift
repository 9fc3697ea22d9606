import BlueZ
import BusValue
import SystemBus

/// The lock's side: applications and advertisements that come and go.
enum ServerCases {
  static let all = [applicationDies, applicationDiesWhileAway, applicationDiesWithHandle, anotherService, unanswered]

  static let applicationDies = ConformanceCase("the lock's application dies while connected") { stage in
    let app = try await stage.lock.client("app")
    try await open(app, stage)
    app.answer("command.WriteValue", .hold)
    try await stage.step("it dies over a write") {
      let call = stage.phone.write("command", Array("open".utf8))
      try await stage.need("the write") { app.isHolding("command.WriteValue") }
      app.close()
      _ = await stage.outcomeIfAny(call, of: stage.phone.main)
      try await stage.need("the service to leave") { !stage.phone.has("lock/door") }
    }
    try await stage.step("a write to what is gone") {
      let outcome = try await stage.outcome(stage.phone.write("command", Array("open".utf8)))
      stage.expect(outcome.errorName == "org.freedesktop.DBus.Error.UnknownObject", outcome.errorText)
    }
    try await stage.step("another takes its place") {
      try await stage.success(
        stage.lock.main.registerApplication(ConformanceService.door(), at: ConformanceService.root))
      try await stage.need("the service") { stage.phone.has("lock/door/offer") }
    }
    try await stage.step("a value for a subscription of before") {
      stage.lock.main.emit(Array("anybody".utf8), from: ConformanceService.path("offer"))
    }
  }

  static let applicationDiesWhileAway = ConformanceCase("the lock's application dies while away") { stage in
    let app = try await stage.lock.client("app")
    try await open(app, stage)
    try await stage.register(profile: stage.phone.main)
    try await stage.step("lost") { try await stage.lose() }
    try await stage.step("the application is another") {
      app.close()
      try await stage.success(
        stage.lock.main.registerApplication(ConformanceService.door(), at: ConformanceService.root))
      try await stage.success(stage.lock.main.registerAdvertisement())
    }
    try await stage.step("back in range") { stage.expect(try await stage.returns(), "still armed") }
    try await stage.step("a value") {
      stage.lock.main.emit(Array("anybody".utf8), from: ConformanceService.path("offer"))
    }
  }

  static let applicationDiesWithHandle = ConformanceCase("fixed handles, the application dies while away") { stage in
    let app = try await stage.lock.client("app")
    try await open(app, stage, handle: 0x0100)
    try await stage.register(profile: stage.phone.main)
    try await stage.step("lost") { try await stage.lose() }
    try await stage.step("the application is another") {
      app.close()
      try await stage.success(
        stage.lock.main.registerApplication(ConformanceService.door(handle: 0x0100), at: ConformanceService.root))
      try await stage.success(stage.lock.main.registerAdvertisement())
    }
    try await stage.step("back in range") { stage.expect(try await stage.returns(), "still armed") }
    try await stage.step("a value") {
      stage.lock.main.emit(Array("anybody".utf8), from: ConformanceService.path("offer"))
    }
  }

  static let anotherService = ConformanceCase("a service comes and goes") { stage in
    try await stage.bond()
    try await stage.step("another service") {
      try await stage.success(
        stage.lock.main.registerApplication(ConformanceService.secondService(), at: ConformanceService.secondRoot))
      try await stage.need("it to be seen") { stage.phone.has("lock/second/extra") }
    }
    try await stage.step("and goes") {
      try await stage.success(stage.lock.main.unregisterApplication(ConformanceService.secondRoot))
      try await stage.need("its end to be seen") { !stage.phone.has("lock/second") }
    }
    stage.expect(stage.phone.has("lock/door/offer"), "the other service is left alone")
  }

  static let unanswered = ConformanceCase("the link drops over an unanswered request") { stage in
    try await stage.bond()
    stage.lock.main.answer("command.WriteValue", .hold)
    try await stage.step("a write, and the link drops", quiet: .seconds(15)) {
      let before = stage.lock.main.appearances
      let call = stage.phone.write("command", Array("open".utf8))
      try await stage.need("the write") { stage.lock.main.isHolding("command.WriteValue") }
      try await stage.lose()
      _ = await stage.outcomeIfAny(call, of: stage.phone.main)
      let died = await stage.recorder.wait(atMost: .seconds(30)) {
        stage.lock.main.appearances > before && stage.lock.isPowered ? true : nil
      }
      stage.expect(died == true, "that kills bluetoothd, which is started again")
    }
  }

  /// Bonded with a door that another process serves, and subscribed to its offer.
  private static func open(_ app: Client, _ stage: Stage, handle: UInt16? = nil) async throws {
    try await stage.openDoor(app, handle: handle)
    try await stage.registerAgents()
    try await stage.discover()
    try await stage.step("the phone pairs and subscribes") {
      try await stage.success(stage.phone.device("Pair"))
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isBonded }
      try await stage.success(stage.phone.characteristic("offer", "StartNotify"))
      try await stage.need("the application to hear of it") { app.incoming("offer.StartNotify") != nil }
    }
  }
}
