import BlueZ
import BusValue

/// The first moments of a link to a bonded peer: it is shown before it can be used, and it can be used before it carries
/// everything.
enum LinkStartCases {
  static let all = [mtu, tooEarly, cutWrite, cutValue]

  private static let offer = "lock/door/offer"
  private static let long = [UInt8](0..<100)

  /// Bonded, subscribed, and away.
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

  /// What the phone's bluetoothd shows of the link now; `nil` if nothing.
  private static func mtu(_ stage: Stage) async throws -> Value? {
    let call = stage.phone.main.call(
      offer, "org.freedesktop.DBus.Properties", "GetAll", [.string(InterfaceName.gattCharacteristic)])
    return try await stage.success(call).first?.propertiesValue?["MTU"]
  }

  private static func returns(_ stage: Stage) async throws {
    try await stage.perform(.range(true))
    try await stage.need("the link at both ends", atMost: .seconds(60)) {
      stage.phone.isConnected && stage.lock.isConnected
    }
  }

  /// The link can be used, and its MTU is not agreed on.
  private static func early(_ stage: Stage) async throws {
    try await returns(stage)
    while try await mtu(stage) == nil { await stage.recorder.pass(.milliseconds(5)) }
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
      try await returns(stage)
      try await stage.expectError(stage.phone.read("offer"), "org.bluez.Error.Failed", "Not connected")
      stage.lock.main.emit(long, from: ConformanceService.path("offer"))
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isResolved }
    }
    stage.expect(
      stage.phone.property(offer, InterfaceName.gattCharacteristic, "Value") != .bytes(long),
      "nobody has heard the value")
    try await stage.step("later") { stage.lock.main.emit(long, from: ConformanceService.path("offer")) }
    stage.expect(
      stage.phone.property(offer, InterfaceName.gattCharacteristic, "Value") == .bytes(long), "the value has arrived")
  }

  static let cutWrite = ConformanceCase("a long write before the MTU is agreed on") { stage in
    try await away(stage)
    try await stage.step("back") {
      try await early(stage)
      try await stage.success(stage.phone.write("command", long))
    }
    stage.expect(
      stage.lock.main.incoming("command.WriteValue")?.first == .bytes(Array(long.prefix(18))),
      "it succeeds after its first piece")
  }

  static let cutValue = ConformanceCase("a value before the MTU is agreed on") { stage in
    try await away(stage)
    try await stage.step("back") {
      try await early(stage)
      stage.lock.main.emit(long, from: ConformanceService.path("offer"))
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isResolved }
    }
    stage.expect(
      stage.phone.property(offer, InterfaceName.gattCharacteristic, "Value") == .bytes(Array(long.prefix(18))),
      "18 bytes have arrived")
  }
}
