import BlueZ
import BusValue

/// What bluetoothd does with applications' answers, with services that they remove, and with clients that change their
/// minds.
enum AnswerCases {
  static let all = [answers, handles, changes, removal, together]

  private static func attribute(_ name: String) -> String { "lock/door/\(name)" }

  private static func read(_ stage: Stage) -> OngoingCall {
    stage.phone.main.call(
      attribute("offer"), InterfaceName.gattCharacteristic, "ReadValue", [.properties([:])])
  }

  private static func meet(_ stage: Stage) async throws {
    try await stage.openDoor()
    try await stage.discover()
    try await stage.step("the phone connects") {
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("services") { stage.phone.isResolved && stage.lock.isConnected }
    }
  }

  static let answers = ConformanceCase("what applications may answer") { stage in
    try await meet(stage)
    let lock = stage.lock.main
    try await stage.step("other types") {
      for values: [Value] in [
        [.string("offer")], [], [.variant(.bytes([1]))], [.array(of: "u", [.uint32(1), .uint32(2)])],
        [.bytes([1]), .string("more")], [.bytes(Array(repeating: 1, count: 600))],
      ] {
        lock.answer("offer.ReadValue", .values(values))
        try await stage.outcome(read(stage))
      }
    }
    try await stage.step("errors with a number") {
      for text in ["0x81", "0x9f", "0xa0", "129", "0201", "0", "-1", "", "0x", "0x85 and so on"] {
        lock.answer("offer.ReadValue", .error("org.bluez.Error.Failed", text))
        try await stage.outcome(read(stage))
      }
    }
    try await stage.step("other errors") {
      for name in ["org.bluez.Error.ImproperlyConfigured", "org.bluez.Error.InProgress", "org.example.Error"] {
        lock.answer("offer.ReadValue", .error(name, "no"))
        try await stage.outcome(read(stage))
      }
      lock.answer("command.WriteValue", .values([.string("a"), .string("b")]))
      try await stage.outcome(
        stage.phone.main.call(
          attribute("command"), InterfaceName.gattCharacteristic, "WriteValue",
          [.bytes([1]), .properties(["type": .string("request")])]))
    }
  }

  static let handles = ConformanceCase("handles that bluetoothd chooses") { stage in
    var objects = ConformanceService.door(handle: 0)
    let name = InterfaceName.gattCharacteristic
    objects[ConformanceService.path("offer")]?[name]?["Handle"] = .uint16(0)
    try await stage.step("any") {
      try await stage.success(stage.lock.main.registerApplication(objects, at: ConformanceService.root))
      try await stage.success(stage.lock.main.unregisterApplication(ConformanceService.root))
    }
    try await stage.step("of another type, and too far away") {
      for handle in [Value.int32(0), .uint16(0x4000)] {
        objects[ConformanceService.path("offer")]?[name]?["Handle"] = handle
        let outcome = try await stage.outcome(
          stage.lock.main.registerApplication(objects, at: ConformanceService.root))
        stage.expect(!outcome.isSuccess, "it is refused")
      }
    }
  }

  static let changes = ConformanceCase("what applications take away") { stage in
    try await meet(stage)
    let lock = stage.lock.main
    let offer = ConformanceService.path("offer")
    try await stage.step("the phone subscribes") {
      try await stage.success(
        stage.phone.main.call(attribute("offer"), InterfaceName.gattCharacteristic, "StartNotify"))
    }
    try await stage.step("a value is no longer valid") {
      lock.change(offer, InterfaceName.gattCharacteristic, [:], gone: ["Value"])
    }
    try await stage.step("a value of another type") {
      lock.change(offer, InterfaceName.gattCharacteristic, ["Value": .string("offer")])
      lock.change(offer, InterfaceName.gattCharacteristic, ["Value": .array(of: "u", [.uint32(1), .uint32(2)])])
    }
    try await stage.step("a service") {
      lock.tell(
        ConformanceService.root.appending("door"), has: nil, of: InterfaceName.gattService,
        below: ConformanceService.root)
      try await stage.need("the service to go") { stage.phone.main.book.path(attribute("offer")) == nil }
    }
    try await stage.step("and the application") {
      try await stage.success(lock.unregisterApplication(ConformanceService.root))
    }
  }

  static let removal = ConformanceCase("removed and disconnected in the middle") { stage in
    try await meet(stage)
    try await stage.step("RemoveDevice with a link") {
      guard let path = stage.phone.main.book.path("lock") else { return }
      let outcome = try await stage.outcome(stage.phone.adapter("RemoveDevice", [.path(path)]))
      stage.expect(
        outcome.isSuccess && outcome.took > .seconds(1), "it takes as long as Disconnect, not \(outcome.took)")
    }
    try await stage.registerAgents("DisplayYesNo")
    for party in [stage.lock, stage.phone] { party.main.answer("agent.RequestConfirmation", .hold) }
    try await stage.discover()
    try await stage.step("Disconnect during a pairing") {
      let pair = stage.phone.device("Pair")
      try await stage.need("the questions") {
        [stage.lock, stage.phone].allSatisfy { $0.main.isHolding("agent.RequestConfirmation") }
      }
      try await stage.success(stage.phone.device("Disconnect"))
      try await stage.expectError(pair, "org.bluez.Error.AuthenticationCanceled", "Authentication Canceled")
    }
  }

  static let together = ConformanceCase("calls while the same is under way") { stage in
    try await meet(stage)
    let lock = stage.lock.main
    try await stage.step("reads") {
      lock.answer("offer.ReadValue", .hold)
      let reads = [read(stage), read(stage)]
      try await stage.need("the question") { lock.isHolding("offer.ReadValue") }
      let other = try await stage.outcome(
        stage.phone.characteristic("offer", "ReadValue", [.properties(["offset": .uint16(1)])]))
      stage.expect(other.errorName == "org.bluez.Error.InProgress", "a read of other bytes must wait")
      lock.answerHeld("offer.ReadValue", .success([.bytes(Array("held".utf8))]))
      for one in reads { try await stage.success(one) }
    }
    try await stage.step("subscriptions") {
      for call in [0, 1].map({ _ in stage.phone.characteristic("offer", "StartNotify") }) {
        try await stage.success(call)
      }
    }
    try await stage.step("a write in pieces that its application refuses, but nobody waits for") {
      lock.answer("remark.WriteValue", .error("org.bluez.Error.NotPermitted", "no"))
      try await stage.success(stage.phone.write("remark", [1, 2], ["type": .string("reliable")]))
    }
    try await stage.step("a command with an offset") {
      let outcome = try await stage.outcome(
        stage.phone.write("remark", [1], ["type": .string("command"), "offset": .uint16(2)]))
      stage.expect(outcome.errorName == "org.bluez.Error.NotSupported", "there is none")
    }
  }
}
