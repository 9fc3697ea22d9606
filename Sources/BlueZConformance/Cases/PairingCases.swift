import BlueZ
import BusValue
import SystemBus

enum PairingCases {
  static let all = [
    justWorks, comparison, rejected, passkey, withoutAgent(.lock), withoutAgent(.phone), pairUnasked, unpair,
    forgottenBond, privateLock,
  ]

  static let justWorks = ConformanceCase("pair, Just Works") { stage in
    try await stage.openDoor()
    try await stage.registerAgents()
    try await stage.discover()
    try await stage.step("CancelPairing without a pairing") {
      try await stage.expectError(
        stage.phone.device("CancelPairing"), "org.bluez.Error.DoesNotExist", "Does Not Exist")
    }
    try await stage.step("Pair") {
      try await stage.success(stage.phone.device("Pair"))
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isBonded }
    }
    try await stage.step("Pair again") {
      try await stage.expectError(stage.phone.device("Pair"), "org.bluez.Error.AlreadyExists", "Already Exists")
    }
    try await stage.step("the devices as they are now") {
      stage.phone.main.describe("lock", InterfaceName.device)
      stage.lock.main.describe("phone", InterfaceName.device)
    }
    try await stage.step("Disconnect") { try await stage.success(stage.phone.device("Disconnect")) }
    try await stage.step("Connect") {
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isConnected }
    }
  }

  static let comparison = ConformanceCase("pair, both compare") { stage in
    try await stage.openDoor()
    try await stage.registerAgents("DisplayYesNo")
    try await stage.discover()
    try await stage.step("Pair") {
      try await stage.success(stage.phone.device("Pair"))
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isBonded }
    }
    let passkeys = [stage.lock, stage.phone].map { $0.main.incoming("agent.RequestConfirmation")?.last }
    stage.expect(passkeys[0] != nil && passkeys[0] == passkeys[1], "both are asked about the same number")
  }

  static let rejected = ConformanceCase("pair, and one says no") { stage in
    try await stage.openDoor()
    try await stage.registerAgents("DisplayYesNo")
    try await stage.discover()
    // The phone's user does not answer; otherwise it would be chance which answer comes first.
    stage.lock.main.answer("agent.RequestConfirmation", .error("org.bluez.Error.Rejected", "no"))
    stage.phone.main.answer("agent.RequestConfirmation", .hold)
    try await stage.step("the lock says no") {
      let outcome = try await stage.outcome(stage.phone.device("Pair"))
      stage.expect(outcome.errorName?.hasPrefix("org.bluez.Error.Authentication") == true, outcome.errorText)
    }
    stage.lock.main.answer("agent.RequestConfirmation", .hold)
    stage.phone.main.answer("agent.RequestConfirmation", .error("org.bluez.Error.Rejected", "no"))
    try await stage.step("the phone says no", quiet: .seconds(6)) {
      if !stage.phone.hasDevice { try await stage.discover() }
      let outcome = try await stage.outcome(stage.phone.device("Pair"))
      stage.expect(outcome.errorName?.hasPrefix("org.bluez.Error.Authentication") == true, outcome.errorText)
    }
  }

  static let passkey = ConformanceCase("pair, with a passkey") { stage in
    try await stage.openDoor()
    try await stage.step("agents register") {
      try await stage.success(stage.lock.main.registerAgent("DisplayOnly"))
      try await stage.success(stage.lock.main.requestDefaultAgent())
      try await stage.success(stage.phone.main.registerAgent("KeyboardOnly"))
      try await stage.success(stage.phone.main.requestDefaultAgent())
    }
    try await stage.discover()
    stage.phone.main.answer("agent.RequestPasskey", .hold)
    try await stage.step("Pair") {
      let call = stage.phone.device("Pair")
      try await stage.need("the question and the number") {
        stage.phone.main.isHolding("agent.RequestPasskey") && stage.lock.main.incoming("agent.DisplayPasskey") != nil
      }
      let number = stage.lock.main.incoming("agent.DisplayPasskey").flatMap { $0.count > 1 ? $0[1] : nil }
      stage.phone.main.answerHeld("agent.RequestPasskey", .success([number ?? .uint32(0)]))
      try await stage.success(call)
      try await stage.need("the services") { stage.phone.isResolved && stage.lock.isBonded }
    }
  }

  /// Without an agent, a side refuses by itself. If both do so at the same time, the link stays, which is chance. So
  /// one side has an agent here, whose user has not answered yet.
  private static func withoutAgent(_ name: MachineName) -> ConformanceCase {
    ConformanceCase("encrypted, and the \(name) has no agent") { stage in
      let other = name == .lock ? stage.phone : stage.lock
      try await stage.openDoor()
      try await stage.step("the other registers an agent") {
        try await stage.success(other.main.registerAgent("NoInputNoOutput"))
        try await stage.success(other.main.requestDefaultAgent())
      }
      other.main.answer("agent.RequestAuthorization", .hold)
      try await stage.discover()
      try await stage.step("Connect") {
        try await stage.success(stage.phone.device("Connect"))
        try await stage.need("services") { stage.phone.isResolved && stage.lock.isConnected }
      }
      try await stage.step("read what needs encryption", quiet: .seconds(6)) {
        let outcome = await stage.outcomeIfAny(stage.phone.read("secret"), of: stage.phone.main)
        stage.expect(outcome?.isSuccess != true, "nobody reads it")
      }
      stage.expect(!stage.phone.isConnected, "the link ends")
    }
  }

  static let pairUnasked = ConformanceCase("encrypted, with agents") { stage in
    try await stage.openDoor()
    try await stage.registerAgents()
    try await stage.discover()
    try await stage.step("Connect") {
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("services") { stage.phone.isResolved && stage.lock.isConnected }
    }
    try await stage.step("read what needs encryption", quiet: .seconds(6)) {
      try await stage.success(stage.phone.read("secret"))
    }
    stage.expect(stage.phone.isBonded && stage.lock.isBonded, "that pairs")
  }

  static let unpair = ConformanceCase("the bond is removed") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("the phone removes the lock") {
      let path = stage.phone.main.book.path("lock")
      try await stage.success(stage.phone.adapter("RemoveDevice", [.path(path ?? .root)]))
      try await stage.need("the loss") { !stage.phone.hasDevice && !stage.lock.isConnected }
    }
    try await stage.step("nobody connects by itself") { await stage.recorder.pass(.seconds(15)) }
    stage.expect(!stage.lock.isConnected, "RemoveDevice clears auto-connect")
    try await stage.step("found again, and paired anew", quiet: .seconds(6)) {
      try await stage.success(stage.phone.adapter("StartDiscovery"))
      try await stage.need("the phone to find the lock") { stage.phone.has("lock") || stage.phone.has("lock#2") }
      try await stage.success(stage.phone.adapter("StopDiscovery"))
      try await stage.need("the last word of the discovery") { stage.phone.deviceProperty("RSSI") == nil }
      try await stage.outcome(stage.phone.device("Pair"))
    }
  }

  /// Only the phone has removed the bond, and connects without one. The lock's bluetoothd asks for encryption as soon as the link
  /// is up, and makes no second bond, so the link ends.
  static let forgottenBond = ConformanceCase("a bond that only the lock has") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("the phone removes the lock") {
      let path = stage.phone.main.book.path("lock")
      try await stage.success(stage.phone.adapter("RemoveDevice", [.path(path ?? .root)]))
      try await stage.need("the loss") { !stage.phone.hasDevice && !stage.lock.isConnected }
    }
    try await stage.discover()
    try await stage.step("Connect", quiet: .seconds(12)) { try await stage.outcome(stage.phone.device("Connect")) }
    try await stage.step("the devices as they are now") {
      stage.phone.main.describe("lock", InterfaceName.device)
      stage.lock.main.describe("phone", InterfaceName.device)
    }
    stage.expect(!stage.phone.isConnected, "the link ends")
  }

  static let privateLock = ConformanceCase(
    "a lock with private addresses", setup: WorldSetup(privateMachines: [.lock])
  ) { stage in
    try await stage.bond()
    try await stage.step("the device as it is now") {
      stage.phone.main.describe("lock", InterfaceName.device)
      stage.lock.main.describe("phone", InterfaceName.device)
    }
    stage.expect(
      stage.phone.deviceProperty("Address") == stage.lock.property("adapter", InterfaceName.adapter, "Address"),
      "after bonding Address is the identity")
    try await stage.step("a profile, registered after pairing") {
      try await stage.success(
        stage.phone.main.registerApplication(ConformanceService.profile(), at: ConformanceService.profileRoot))
    }
    try await stage.step("lost") { try await stage.lose() }
    try await stage.step("back in range") {
      stage.expect(try await stage.returns(), "registered after pairing, it reconnects")
    }
  }
}
