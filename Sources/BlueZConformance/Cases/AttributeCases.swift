import BlueZ
import BusValue

/// Reads, writes and notifications, on a bonded link.
enum AttributeCases {
  static let all = [readWrite, refusals, notify, subscribedWhileAway, secondClient, slowApplication]

  static let readWrite = ConformanceCase("read and write") { stage in
    try await stage.bond()
    try await stage.step("read, twice the same") {
      for _ in 0..<2 {
        let values = try await stage.success(stage.phone.read("offer"))
        stage.expect(values == [.bytes(Array("offer".utf8))], "the offer is read")
      }
    }
    try await stage.step("read what needs encryption") { try await stage.success(stage.phone.read("secret")) }
    try await stage.step("write, with response") {
      try await stage.success(stage.phone.write("command", Array("open".utf8)))
    }
    try await stage.step("write, without response") {
      try await stage.success(stage.phone.write("remark", Array("hm".utf8), ["type": .string("command")]))
    }
    try await stage.step("write, as bluetoothd likes") {
      try await stage.success(stage.phone.write("command", Array("open".utf8), [:]))
      try await stage.success(stage.phone.write("remark", Array("hm".utf8), [:]))
    }
    try await stage.step("write, with response, to what takes both") {
      stage.lock.main.answer("remark.WriteValue", .error("org.bluez.Error.NotPermitted", "no"))
      try await stage.success(stage.phone.write("remark", Array("hm".utf8)))
    }
    try await stage.step("a long value, written and read") {
      try await stage.success(stage.phone.write("secret", [UInt8](repeating: 7, count: 512)))
      try await stage.success(stage.phone.read("secret"))
    }
    try await stage.step("read from an offset") {
      try await stage.success(
        stage.phone.characteristic("offer", "ReadValue", [.properties(["offset": .uint16(2)])]))
    }
  }

  static let refusals = ConformanceCase("what attributes refuse") { stage in
    try await stage.bond()
    let phone = stage.phone
    try await stage.step("what they are not for") {
      try await stage.expectError(phone.read("command"), "org.bluez.Error.NotPermitted", "Read not permitted")
      try await stage.outcome(phone.write("offer", [1]))
      try await stage.outcome(phone.write("offer", [1], ["type": .string("command")]))
      try await stage.outcome(phone.write("offer", [1], ["type": .string("reliable")]))
      try await stage.outcome(phone.write("offer", [1], ["type": .string("shout")]))
      try await stage.expectError(phone.characteristic("command", "StartNotify"), "org.bluez.Error.NotSupported")
      try await stage.outcome(phone.characteristic("offer", "StopNotify"))
    }
    try await stage.step("too long, too far") {
      try await stage.outcome(phone.write("command", [UInt8](repeating: 7, count: 513)))
      try await stage.outcome(
        phone.write("remark", [UInt8](repeating: 7, count: 512), ["type": .string("command")]))
      try await stage.outcome(
        phone.write("remark", [UInt8](repeating: 7, count: 515), ["type": .string("command")]))
      try await stage.outcome(phone.characteristic("offer", "ReadValue", [.properties(["offset": .uint16(9)])]))
    }
    try await stage.step("the application refuses") {
      for (name, message) in [
        ("org.bluez.Error.NotPermitted", "no"), ("org.bluez.Error.NotAuthorized", "no"),
        ("org.bluez.Error.NotSupported", "no"), ("org.bluez.Error.InvalidValueLength", "no"),
        ("org.bluez.Error.InvalidOffset", "no"), ("org.bluez.Error.Failed", "no"), ("org.bluez.Error.Failed", "0x81"),
        ("org.bluez.Error.InProgress", "no"), ("org.example.Nonsense", "no"),
      ] {
        stage.lock.main.answer("command.WriteValue", .error(name, message))
        stage.lock.main.answer("offer.ReadValue", .error(name, message))
        try await stage.outcome(phone.write("command", Array("open".utf8)))
        try await stage.outcome(phone.read("offer"))
      }
    }
    try await stage.step("two at a time") {
      stage.lock.main.answer("command.WriteValue", .hold)
      stage.lock.main.answer("offer.ReadValue", .hold)
      let write = phone.write("command", Array("one".utf8))
      try await stage.need("the write at the lock") { stage.lock.main.isHolding("command.WriteValue") }
      try await stage.expectError(phone.write("command", Array("two".utf8)), "org.bluez.Error.InProgress")
      stage.lock.main.answerHeld("command.WriteValue", .success([]))
      try await stage.success(write)
    }
    try await stage.step("not there") {
      for member in ["StartNotify", "StopNotify"] {
        try await stage.outcome(phone.main.call("lock/door/nothing", InterfaceName.gattCharacteristic, member))
      }
      try await stage.outcome(
        phone.main.call("lock/door/offer/ccc", InterfaceName.gattDescriptor, "ReadValue", [.properties([:])]))
      try await stage.outcome(
        phone.main.call(
          "lock/door/offer/ccc", InterfaceName.gattDescriptor, "WriteValue",
          [.bytes([1, 0]), .properties([:])]))
    }
  }

  static let notify = ConformanceCase("notifications") { stage in
    try await stage.bond()
    let phone = stage.phone
    try await stage.step("StartNotify") {
      try await stage.success(phone.characteristic("offer", "StartNotify"))
      try await stage.need("the lock's application to hear of it") {
        stage.lock.main.incoming("offer.StartNotify") != nil
      }
    }
    try await stage.step("the same value twice, then two quickly") {
      for value in ["same", "same", "quick", "quicker"] {
        stage.lock.main.emit(Array(value.utf8), from: ConformanceService.path("offer"))
      }
    }
    try await stage.step("StartNotify again") {
      try await stage.outcome(phone.characteristic("offer", "StartNotify"))
    }
    try await stage.step("indications") {
      try await stage.success(phone.characteristic("status", "StartNotify"))
      stage.lock.main.emit(Array("shut".utf8), from: ConformanceService.path("status"))
      try await stage.need("the confirmation") { stage.lock.main.incoming("status.Confirm") != nil }
    }
    try await stage.step("StopNotify") {
      try await stage.success(phone.characteristic("offer", "StopNotify"))
    }
    try await stage.step("a value for nobody") {
      stage.lock.main.emit(Array("nobody".utf8), from: ConformanceService.path("offer"))
    }
  }

  static let subscribedWhileAway = ConformanceCase("StartNotify while away") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("the link is lost") { try await stage.lose() }
    try await stage.step("StartNotify, and once more") {
      try await stage.success(stage.phone.characteristic("offer", "StartNotify"))
      try await stage.expectError(stage.phone.characteristic("offer", "StartNotify"), "org.bluez.Error.InProgress")
    }
    try await stage.step("read and write while away") {
      try await stage.outcome(stage.phone.read("offer"))
      try await stage.outcome(stage.phone.write("command", Array("open".utf8)))
    }
    try await stage.step("it returns") {
      stage.expect(try await stage.returns(), "an armed phone connects by itself")
      try await stage.need("the application to hear of it") {
        stage.lock.main.incoming("offer.StartNotify") != nil
      }
      stage.lock.main.emit(Array("hello".utf8), from: ConformanceService.path("offer"))
    }
    stage.expect(
      stage.phone.property("lock/door/offer", InterfaceName.gattCharacteristic, "Value")
        == .bytes(Array("hello".utf8)), "the subscription took effect at the reconnect")
  }

  static let secondClient = ConformanceCase("a second client") { stage in
    try await stage.bond()
    let other = try await stage.phone.client("other")
    try await stage.step("both subscribe") {
      try await stage.success(stage.phone.characteristic("offer", "StartNotify"))
      try await stage.success(other.call("lock/door/offer", InterfaceName.gattCharacteristic, "StartNotify"))
    }
    try await stage.step("one value") {
      stage.lock.main.emit(Array("once".utf8), from: ConformanceService.path("offer"))
    }
    try await stage.step("the other reads and writes") {
      try await stage.success(
        other.call("lock/door/offer", InterfaceName.gattCharacteristic, "ReadValue", [.properties([:])]))
      try await stage.success(
        other.call(
          "lock/door/command", InterfaceName.gattCharacteristic, "WriteValue",
          [.bytes(Array("open".utf8)), .properties([:])]))
    }
    try await stage.step("the other is gone") { other.close() }
    try await stage.step("one value more") {
      stage.lock.main.emit(Array("again".utf8), from: ConformanceService.path("offer"))
    }
  }

  static let slowApplication = ConformanceCase("a slow application") { stage in
    try await stage.bond()
    stage.lock.main.answer("command.WriteValue", .hold)
    stage.lock.main.answer("offer.ReadValue", .hold)
    try await stage.step("a write that is not answered") {
      let outcome = try await stage.outcome(stage.phone.write("command", Array("open".utf8)))
      stage.expect(
        outcome.errorText.hasSuffix("Operation failed with ATT error: 0x0e") && outcome.took > .seconds(4),
        "after 5 s it fails with 0x0e, not after \(outcome.took) with \(outcome.errorText)")
    }
    try await stage.step("a read that is not answered") {
      let outcome = try await stage.outcome(stage.phone.read("offer"))
      stage.expect(
        outcome.errorText.hasSuffix("Operation failed with ATT error: 0x0e"),
        "it fails with 0x0e, not with \(outcome.errorText)")
    }
    try await stage.step("the late answer") {
      stage.lock.main.answerHeld("command.WriteValue", .success([]))
      stage.lock.main.answerHeld("offer.ReadValue", .success([.bytes([1])]))
    }
    stage.lock.main.answer("command.WriteValue", nil)
    try await stage.step("and then a quick one") {
      try await stage.success(stage.phone.write("command", Array("open".utf8)))
    }
  }
}
