import BlueZ
import BusValue
import SystemBus
import Timekeeping

/// The surroundings of a case: two machines, the world around them, and the recorder.
final class Stage {
  let world: any ConformanceWorld
  let recorder: Recorder
  let lock: Party
  let phone: Party

  /// Opens a new world: machines in range, with empty disks and adapters on.
  ///
  /// - Throws: `Stuck` if that fails.
  init(world: any ConformanceWorld, setup: WorldSetup, time: any TimeSource) async throws {
    self.world = world
    recorder = Recorder(time: time)
    try await world.begin(setup)
    lock = try Party(.lock, world: world, recorder: recorder)
    phone = try Party(.phone, world: world, recorder: recorder)
    var wording = Wording()
    for party in [lock, phone] {
      try await recorder.need("the \(party.name)'s adapter to be on", atMost: .seconds(120)) { [party] in
        party.main.isBluetoothdThere && party.isPowered ? true : nil
      }
      wording.addresses[party.name.rawValue] =
        party.property("adapter", InterfaceName.adapter, "Address")?.stringValue
      wording.aliases[party.name.rawValue] = party.property("adapter", InterfaceName.adapter, "Alias")?.stringValue
    }
    for party in [lock, phone] { party.teach(wording) }
    await recorder.settle(quiet: world.quiet, atMost: .seconds(60))
    recorder.forget()
  }

  func close() {
    lock.closeAll()
    phone.closeAll()
  }

  /// Does something, and records everything that follows until nothing more happens.
  func step(_ title: String, quiet: Duration? = nil, _ body: () async throws -> Void = {}) async throws {
    recorder.begin(step: title)
    try await body()
    await recorder.settle(quiet: quiet ?? world.quiet, atMost: .seconds(90))
  }

  /// Records a failure unless this is true. For what the documentation promises.
  func expect(_ isTrue: Bool, _ text: String) {
    if !isTrue { recorder.fail(text) }
  }

  /// Waits for a condition that the case needs to continue.
  func need(_ what: String, atMost limit: Duration = .seconds(90), _ isTrue: () -> Bool) async throws {
    try await recorder.need(what, atMost: limit) { isTrue() ? true : nil }
  }

  /// The answer to a call.
  @discardableResult
  func outcome(_ call: OngoingCall, atMost limit: Duration = .seconds(150)) async throws -> Outcome {
    try await recorder.need("an answer to \(call.label)", atMost: limit) { call.outcome }
  }

  /// The answer to a call that must succeed.
  @discardableResult
  func success(_ call: OngoingCall) async throws -> [Value] {
    switch try await outcome(call).result {
    case .success(let values): return values
    case .failure(let error): throw Stuck(description: "\(call.label) failed: \(error)")
    }
  }

  func expectError(_ call: OngoingCall, _ name: String, _ message: String? = nil) async throws {
    let outcome = try await outcome(call)
    let wanted = message.map { "\(name): \($0)" } ?? name
    expect(
      outcome.errorName == name && (message == nil || outcome.errorText == wanted),
      "\(call.label) fails with \(wanted), and not: \(outcome.errorText)")
  }

  /// The answer to a call that may never get one. A missing answer is recorded.
  func outcomeIfAny(_ call: OngoingCall, of client: Client, within limit: Duration = .seconds(45)) async -> Outcome? {
    let outcome = await recorder.wait(atMost: limit) { call.outcome }
    if outcome == nil { recorder.record("! \(call.label) is never answered", in: client.column) }
    return outcome
  }

  func perform(_ fault: WorldFault) async throws { try await world.perform(fault) }

  // MARK: Common beginnings

  /// The lock serves its door and advertises it.
  func openDoor(
    _ client: Client? = nil, handle: UInt16? = nil,
    advertisement: ManagedObjects = ConformanceService.advertisement()
  ) async throws {
    let client = client ?? lock.main
    try await step("the lock opens its door") {
      try await success(
        client.registerApplication(ConformanceService.door(handle: handle), at: ConformanceService.root))
      try await success(client.registerAdvertisement(advertisement))
    }
  }

  /// The phone scans until it finds the lock.
  func discover() async throws {
    try await step("the phone finds the lock") {
      try await success(phone.adapter("SetDiscoveryFilter", [.properties(["Transport": .string("le")])]))
      try await success(phone.adapter("StartDiscovery"))
      try await need("the phone to find the lock") { phone.hasDevice }
      // The contents of an advertisement and of the scan response may arrive separately.
      await recorder.settle(quiet: .seconds(2), atMost: .seconds(5))
      try await success(phone.adapter("StopDiscovery"))
    }
  }

  /// Both sides register an agent.
  func registerAgents(_ capability: String = "NoInputNoOutput") async throws {
    try await step("agents register") {
      for party in [lock, phone] {
        try await success(party.main.registerAgent(capability))
        try await success(party.main.requestDefaultAgent())
      }
    }
  }

  /// The door is open, and the phone is bonded and connected without a question. With a profile, the phone will
  /// reconnect by itself.
  func bond(profile: Client? = nil) async throws {
    try await openDoor()
    try await registerAgents()
    try await discover()
    try await step("the phone pairs") {
      try await success(phone.device("Pair"))
      try await need("the services", atMost: .seconds(60)) { phone.isResolved && lock.isConnected && lock.isBonded }
    }
    if let profile { try await register(profile: profile) }
  }

  func register(profile client: Client) async throws {
    try await step("the phone registers a profile") {
      try await success(
        client.registerApplication(ConformanceService.profile(), at: ConformanceService.profileRoot))
    }
  }

  /// Moves the machines out of each other's range until the link is lost.
  func lose() async throws {
    try await perform(.range(false))
    try await need("the loss") { !phone.isConnected && !lock.isConnected }
  }

  /// Moves the machines into range again. Returns whether the phone connects by itself in time.
  func returns(within limit: Duration = .seconds(40)) async throws -> Bool {
    try await perform(.range(true))
    return await recorder.wait(atMost: limit) { [phone, lock] in
      phone.isConnected && phone.isResolved && lock.isConnected ? true : nil
    } ?? false
  }

  /// Ends a machine's bluetoothd, and starts it again.
  func restart(_ party: Party, killed: Bool) async throws {
    let before = party.main.appearances
    try await perform(.stopBluetoothd(party.name, killed: killed))
    try await need("bluetoothd to leave") { !party.main.isBluetoothdThere || party.main.appearances > before }
    try await perform(.startBluetoothd(party.name))
    try await need("bluetoothd to be back") {
      party.main.isBluetoothdThere && party.main.appearances > before && party.isPowered
    }
  }
}

extension Recorder {
  @discardableResult
  func need<Found>(_ what: String, atMost limit: Duration = .seconds(90), for find: () -> Found?) async throws -> Found
  {
    guard let found = await wait(atMost: limit, for: find) else {
      throw Stuck(description: "waited \(limit) for \(what)")
    }
    return found
  }
}
