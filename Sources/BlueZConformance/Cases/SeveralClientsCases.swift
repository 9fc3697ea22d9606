import BlueZ
import BusValue

/// What clients of one bluetoothd notice of each other.
enum SeveralClientsCases {
  static let all = [discoveries, agents, agentLeaves, refusedInUse]

  static let discoveries = ConformanceCase("discoveries of two clients") { stage in
    try await stage.openDoor()
    let phone = stage.phone.main
    let other = try await stage.phone.client("other")
    func filter(_ service: String) -> [Value] {
      [.properties(["UUIDs": .strings([service]), "Transport": .string("le")])]
    }
    try await stage.step("one looks for another service") {
      try await stage.success(
        phone.call("adapter", InterfaceName.adapter, "SetDiscoveryFilter", filter(ConformanceService.second)))
      try await stage.success(phone.call("adapter", InterfaceName.adapter, "StartDiscovery"))
      await stage.recorder.pass(.seconds(8))
    }
    stage.expect(!stage.phone.hasDevice, "what does not fit the filter is not told")
    try await stage.step("the other looks for the door") {
      try await stage.success(
        other.call("adapter", InterfaceName.adapter, "SetDiscoveryFilter", filter(ConformanceService.service)))
      try await stage.success(other.call("adapter", InterfaceName.adapter, "StartDiscovery"))
      try await stage.need("the lock") { stage.phone.hasDevice }
    }
    try await stage.step("one stops, and stops again") {
      try await stage.success(phone.call("adapter", InterfaceName.adapter, "StopDiscovery"))
      try await stage.expectError(
        phone.call("adapter", InterfaceName.adapter, "StopDiscovery"), "org.bluez.Error.Failed",
        "No discovery started")
    }
    stage.expect(
      stage.phone.property("adapter", InterfaceName.adapter, "Discovering") == .bool(true), "the other's goes on")
    try await stage.step("the other leaves the bus") { other.close() }
    stage.expect(
      stage.phone.property("adapter", InterfaceName.adapter, "Discovering") == .bool(false), "no one looks any more")
  }

  /// The caller of `Pair()` has no agent. The agent that is asked says no, so that the same device can be paired again.
  static let agents = ConformanceCase("agents of two other clients") { stage in
    try await stage.openDoor()
    let first = try await stage.phone.client("first")
    let second = try await stage.phone.client("second")
    try await stage.step("agents register") {
      try await stage.success(stage.lock.main.registerAgent("DisplayYesNo"))
      for client in [first, second] {
        client.answer("agent.RequestConfirmation", .error("org.bluez.Error.Rejected", "no"))
        try await stage.success(client.registerAgent("DisplayYesNo"))
      }
    }
    stage.lock.main.answer("agent.RequestConfirmation", .hold)
    func pair(_ title: String, asks asked: Client, not other: Client) async throws {
      if !stage.phone.hasDevice { try await stage.discover() }
      for client in [first, second] { client.forgetIncoming("agent.RequestConfirmation") }
      try await stage.step(title, quiet: .seconds(6)) {
        try await stage.expectError(stage.phone.device("Pair"), "org.bluez.Error.AuthenticationFailed")
      }
      stage.expect(asked.incoming("agent.RequestConfirmation") != nil, "this one is asked")
      stage.expect(other.incoming("agent.RequestConfirmation") == nil, "and the other is not")
    }
    try await pair("none is the default", asks: first, not: second)
    try await stage.step("the second becomes the default") { try await stage.success(second.requestDefaultAgent()) }
    try await pair("the second is the default", asks: second, not: first)
    try await stage.step("the second leaves the bus") { second.close() }
    try await pair("the second is gone", asks: first, not: second)
  }

  static let agentLeaves = ConformanceCase("an agent leaves while it is asked") { stage in
    try await stage.openDoor()
    let agent = try await stage.phone.client("agent")
    try await stage.step("agents register") {
      try await stage.success(stage.lock.main.registerAgent("DisplayYesNo"))
      try await stage.success(agent.registerAgent("DisplayYesNo"))
    }
    agent.answer("agent.RequestConfirmation", .hold)
    try await stage.discover()
    try await stage.step("it leaves", quiet: .seconds(6)) {
      let call = stage.phone.device("Pair")
      try await stage.need("the question") { agent.isHolding("agent.RequestConfirmation") }
      agent.close()
      let outcome = try await stage.outcome(call)
      stage.expect(outcome.errorName?.hasPrefix("org.bluez.Error.Authentication") == true, outcome.errorText)
    }
    stage.expect(!stage.phone.isBonded && !stage.lock.isBonded, "there is no bond")
  }

  /// Whether the link outlives the refusal is for the record to say.
  static let refusedInUse = ConformanceCase("a pairing that is refused on a link in use") { stage in
    try await stage.openDoor()
    try await stage.registerAgents("DisplayYesNo")
    try await stage.discover()
    try await stage.step("connected and subscribed") {
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("services") { stage.phone.isResolved && stage.lock.isConnected }
      try await stage.success(stage.phone.characteristic("offer", "StartNotify"))
    }
    stage.phone.main.answer("agent.RequestConfirmation", .hold)
    stage.lock.main.answer("agent.RequestConfirmation", .error("org.bluez.Error.Rejected", "no"))
    try await stage.step("the lock says no", quiet: .seconds(6)) {
      try await stage.expectError(stage.phone.device("Pair"), "org.bluez.Error.AuthenticationFailed")
    }
    try await stage.step("read") { try await stage.outcome(stage.phone.read("offer")) }
  }
}
