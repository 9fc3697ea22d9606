import BlueZ
import BusValue

/// The first moments of a link to a bonded peer: it is shown before it can be used, and it can be used before it carries
/// everything.
enum LinkStartCases {
  static let all = [mtu, tooEarly, cutWrite, cutValue]

  private static let offer = "lock/door/offer"
  private static let long = [UInt8](0..<100)
  /// Another value with the same beginning.
  private static func long(_ number: UInt8) -> [UInt8] { long.dropLast() + [number] }

  /// Bonds and subscribes the phone, and then takes it away.
  private static func away(_ stage: Stage) async throws {
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("the phone subscribes") {
      try await stage.success(stage.phone.characteristic("offer", "StartNotify"))
      try await stage.need("the lock's application to hear of it") {
        stage.lock.main.incoming("offer.StartNotify") != nil
      }
    }
    try await stage.step("lost") { try await stage.lose() }
  }

  /// The MTU that the phone's bluetoothd shows now, or `nil` if it shows none. How often this is asked depends on
  /// chance, so it is not recorded.
  private static func mtu(_ stage: Stage) async throws -> Value? {
    let call = stage.phone.main.call(
      offer, "org.freedesktop.DBus.Properties", "GetAll", [.string(InterfaceName.gattCharacteristic)],
      quietly: true)
    return try await stage.success(call).first?.propertiesValue?["MTU"]
  }

  private static func returns(_ stage: Stage) async throws {
    try await stage.perform(.range(true))
    try await stage.need("the link at both ends", atMost: .seconds(60)) {
      stage.phone.isConnected && stage.lock.isConnected
    }
  }

  /// The phone returns, and something is done while the link can be used but its MTU is not agreed on yet. That time is
  /// a tenth of a second, which a busy host may miss. In that case the phone leaves and returns again.
  ///
  /// - Parameter wasLate: whether it was done too late, which shows when the services are resolved.
  private static func early(
    _ stage: Stage, _ body: () async throws -> Void, wasLate: () -> Bool
  ) async throws {
    try await inTime(stage) { _ in
      var seen = try await mtu(stage)
      while seen == nil {
        await stage.recorder.pass(.milliseconds(5))
        seen = try await mtu(stage)
      }
      guard seen == .uint16(23) else { return false }
      try await body()
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isResolved }
      return !wasLate()
    }
  }

  /// The phone returns, and something is done at once. If that was too late, the phone leaves and returns again.
  ///
  /// - Parameter attempt: returns whether it was in time. It gets a number that no other attempt has.
  private static func inTime(_ stage: Stage, _ attempt: (UInt8) async throws -> Bool) async throws {
    for number in UInt8(1)...8 {
      try await returns(stage)
      if try await attempt(number) { return }
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isResolved }
      try await stage.lose()
      await stage.recorder.settle(quiet: stage.world.quiet, atMost: .seconds(60))
      stage.recorder.forgetThisStep()
    }
    throw Stuck(
      description: "eight times, nothing was done before the link carried everything, or it made no difference")
  }

  static let mtu = ConformanceCase("the MTU of a link") { stage in
    try await away(stage)
    try await stage.step("without a link") {
      stage.expect(try await mtu(stage) == nil, "without a link there is no MTU")
    }
    try await stage.step("back") {
      try await returns(stage)
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isResolved }
      stage.expect(try await mtu(stage) == .uint16(517), "the MTU is agreed on before services are resolved")
    }
  }

  static let tooEarly = ConformanceCase("used too early") { stage in
    try await away(stage)
    try await stage.step("back") {
      try await inTime(stage) { number in
        let read = stage.phone.read("offer")
        stage.lock.main.emit(long(number), from: ConformanceService.path("offer"))
        let outcome = try await stage.outcome(read)
        try await stage.need("the services") { stage.phone.isResolved && stage.lock.isResolved }
        return outcome.errorText == "org.bluez.Error.Failed: Not connected"
          && stage.phone.property(offer, InterfaceName.gattCharacteristic, "Value") != .bytes(long(number))
      }
    }
    try await stage.step("later") { stage.lock.main.emit(long, from: ConformanceService.path("offer")) }
    stage.expect(
      stage.phone.property(offer, InterfaceName.gattCharacteristic, "Value") == .bytes(long), "the value has arrived")
  }

  static let cutWrite = ConformanceCase("a long write before the MTU is agreed on") { stage in
    try await away(stage)
    try await stage.step("back") {
      try await early(stage) {
        stage.lock.main.forgetIncoming("command.WriteValue")
        try await stage.success(stage.phone.write("command", long))
      } wasLate: {
        stage.lock.main.incoming("command.WriteValue")?.first == .bytes(long)
      }
    }
    stage.expect(
      stage.lock.main.incoming("command.WriteValue")?.first == .bytes(Array(long.prefix(18))),
      "it succeeds after its first piece")
  }

  static let cutValue = ConformanceCase("a value before the MTU is agreed on") { stage in
    try await away(stage)
    try await stage.step("back") {
      try await early(stage) {
        stage.lock.main.emit(long, from: ConformanceService.path("offer"))
      } wasLate: {
        // All of it has arrived, or nobody has heard it, which is chance.
        stage.phone.property(offer, InterfaceName.gattCharacteristic, "Value") != .bytes(Array(long.prefix(18)))
      }
    }
    stage.expect(
      stage.phone.property(offer, InterfaceName.gattCharacteristic, "Value") == .bytes(Array(long.prefix(18))),
      "18 bytes have arrived")
  }
}
