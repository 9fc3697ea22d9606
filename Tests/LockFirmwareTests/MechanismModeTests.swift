import LockCryptography
import LockFirmware
import LockProtocol
import Testing

@Suite("A lock's modes, its battery and its reset") struct MechanismModeTests {
  private func result(_ bench: inout Bench, _ kind: LockCommand.Kind, _ operation: UInt64) throws -> LockResult {
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(kind, operation)
    bench.finishTurn()
    return try bench.answer(session).result
  }

  // MARK: Modes

  @Test("L6: in privacy no phone unlocks, until a hand does or the door opens; also over a restart") func privacy()
    throws
  {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.modeSet(.privacy))
    bench.pass(1)
    bench.finishTurn()
    #expect(bench.firmware.lockState == .locked)
    #expect(try result(&bench, .unlock, 2) == .restricted)
    bench.restart()
    #expect(try result(&bench, .unlock, 3) == .restricted)
    bench.happens(.boltTurnedByHand(.unlocked))
    bench.position = .unlocked
    #expect(bench.firmware.mode == .normal)
    #expect(bench.mode == .normal)
    bench.happens(.boltTurnedByHand(.locked))
    bench.position = .locked
    #expect(try result(&bench, .unlock, 4) == .done)
    #expect(bench.log.filter { $0.kind == .mode }.map(\.detail) == [2, 0])
  }

  @Test("L6: privacy that is asked for while a phone's unlock turns the bolt locks it again") func privacyInTurn()
    throws
  {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 1)
    bench.pass(0.2)
    bench.happens(.modeSet(.privacy))
    bench.finishTurn()
    bench.pass(0.1)
    #expect(bench.turning == .locked)
    bench.finishTurn()
    #expect(bench.firmware.lockState == .locked)
    #expect(bench.firmware.mode == .privacy)
  }

  @Test("L6: privacy that is asked for before a phone's unlock has begun to turn the bolt refuses it")
  func privacyBeforeTurn() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.storesAtOnce = false
    let session = try bench.command(.unlock, 1)
    bench.happens(.modeSet(.privacy))
    bench.store()
    bench.store()
    #expect(bench.turning == nil && bench.turns.isEmpty)
    #expect(try bench.answer(session).result == .restricted)
  }

  @Test("L6: in passage mode nothing is thrown by itself, and a person's command still is") func passage() throws {
    var bench = try Bench { $0.relockDelayMilliseconds = 30_000 }
    try bench.comeHome(1)
    bench.happens(.modeSet(.passage))
    bench.happens(.linkDown(Bench.alice))
    bench.pass(86400)
    #expect(bench.turns.count == 1)
    #expect(try result(&bench, .lock, 2) == .done)
    #expect(try result(&bench, .unlock, 3) == .done)
    bench.happens(.modeSet(.normal))
    bench.pass(31)
    #expect(bench.turns.last?.target == .locked)
  }

  @Test("L6: when passage mode ends, the bolt is locked behind who left in it, and not behind who is there")
  func passageEnds() throws {
    for isBack in [false, true] {
      var bench = try Bench()
      bench.finishesTurns = true
      try bench.comeHome(1)
      bench.happens(.modeSet(.passage))
      bench.happens(.linkDown(Bench.alice))
      bench.pass(86400)
      if isBack {
        bench.happens(.linkUp(Bench.alice))
        try bench.command(.status, 0)
      }
      bench.happens(.modeSet(.normal))
      bench.pass(600)
      #expect(bench.turns.count == (isBack ? 1 : 2))
      #expect(bench.firmware.lockState == (isBack ? .unlocked : .locked))
    }
  }

  @Test("L6: without remote operation phones neither lock nor unlock; there is no vacation") func noRemote() throws {
    var bench = try Bench()
    bench.happens(.modeSet(.vacation))
    #expect(bench.firmware.mode == .normal)
    bench.happens(.modeSet(.noRemoteLockUnlock))
    #expect(try result(&bench, .unlock, 2) == .restricted)
    bench.happens(.boltTurnedByHand(.unlocked))
    bench.position = .unlocked
    #expect(try result(&bench, .lock, 3) == .restricted)
  }

  // MARK: The battery

  @Test("L6: a low battery refuses to unlock before it refuses to lock, and says so") func battery() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.batteryChanged(20))
    #expect(bench.firmware.battery.level == .warning)
    bench.happens(.batteryChanged(10))
    #expect(bench.firmware.battery.level == .critical)
    #expect(bench.alarms == [.batteryCritical])
    bench.happens(.batteryChanged(6))
    #expect(try result(&bench, .lock, 2) == .done)
    #expect(try result(&bench, .unlock, 3) == .insufficientBattery)
    #expect(bench.log.last?.result == .insufficientBattery)
    #expect(try result(&bench, .lock, 4) == .notNeeded)
    bench.happens(.batteryChanged(7))
    #expect(try result(&bench, .unlock, 5) == .done)
    bench.happens(.batteryChanged(2))
    #expect(try result(&bench, .lock, 6) == .insufficientBattery)
    // What it owes its owner who leaves is made up for by a new battery.
    bench.happens(.linkDown(Bench.alice))
    bench.pass(60)
    #expect(bench.firmware.lockState == .unlocked)
    #expect(bench.alarms == [.batteryCritical, .batteryEmpty])
    bench.happens(.batteryChanged(100))
    #expect(bench.turning == .locked)
    #expect(bench.firmware.alarms.isEmpty)
  }

  @Test("L6: a voltage that recovers a little changes no level back and forth") func flutter() throws {
    var bench = try Bench()
    for _ in 0..<20 {
      bench.happens(.batteryChanged(20))
      bench.happens(.batteryChanged(22))
    }
    #expect(bench.notes.filter { if case .batteryChanged = $0 { true } else { false } }.count == 1)
  }

  // MARK: Factory reset

  @Test("L6: the reset button, held for ten seconds from inside, makes the lock forget its phones") func reset() throws
  {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.resetButton(isPressed: true))
    bench.pass(9)
    bench.happens(.resetButton(isPressed: false))
    bench.pass(60)
    #expect(bench.alarms.isEmpty)
    bench.happens(.resetButton(isPressed: true))
    bench.pass(11)
    #expect(bench.alarms == [.lockFactoryReset])
    #expect(bench.configuration.enrolledPhones.isEmpty)
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 9)
    #expect(bench.refusals == [.notEnrolled])
    // The lock still locks by itself, and by hand.
    bench.happens(.boltTurnedByHand(.locked))
    #expect(bench.firmware.lockState == .locked)
  }

  @Test("L6: a reset button whose driver is gone is not held, and neither is one after the bolt was locked meanwhile")
  func notHeld() throws {
    for isDriverGone in [true, false] {
      var bench = try Bench()
      try bench.comeHome(1)
      bench.happens(.resetButton(isPressed: true))
      bench.pass(1)
      if isDriverGone {
        bench.happens(.mechanismFailed)
        bench.pass(1)
        bench.happens(.mechanismRestored(.unlocked, .closed))
      } else {
        bench.happens(.boltTurnedByHand(.locked))
        bench.pass(1)
        bench.happens(.boltTurnedByHand(.unlocked))
      }
      bench.pass(20)
      #expect(!bench.alarms.contains(.lockFactoryReset))
      #expect(bench.configuration.enrolledPhones.count == 2)
    }
  }

  @Test("L6: a reset forgets the phones first; what owners have told goes after them") func resetOrder() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.storesAtOnce = false
    bench.happens(.resetButton(isPressed: true))
    bench.pass(11)
    let index = try #require(bench.unstored.last?.index)
    let stores = bench.firmware.handle(.recordAppended(index), at: bench.time).filter {
      switch $0 {
      case .forgetPhones, .storeTrusted, .storeAccess: true
      default: false
      }
    }
    #expect(stores == [.forgetPhones(record: index), .storeTrusted([]), .storeAccess(AccessState().encoded)])
  }

  @Test("L6: a button behind a locked bolt in a shut door resets nothing, nor does a lock whose log can't be written")
  func noReset() throws {
    var bench = try Bench()
    bench.happens(.resetButton(isPressed: true))
    bench.pass(60)
    #expect(bench.alarms.isEmpty)
    try bench.comeHome(1)
    bench.storesAtOnce = false
    bench.happens(.resetButton(isPressed: true))
    bench.pass(11)
    let index = try #require(bench.unstored.last?.index)
    bench.unstored = []
    bench.happens(.recordFailed(index))
    #expect(bench.configuration.enrolledPhones.count == 2)
  }

  @Test(
    "L8: a phone is told the lock's mode", arguments: [OperatingMode.normal, .privacy, .noRemoteLockUnlock, .passage])
  func told(mode: OperatingMode) throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.modeSet(mode))
    var conversation = try bench.conversation()
    let reply = try #require(try bench.ask(LockRequest.mode.encoded, in: &conversation))
    // As docs/lock-protocol.md has it.
    #expect(LockRequest.mode.encoded == [1, 10] && reply.encoded == [1, 10, 0, mode.rawValue])
    #expect(throws: LockMessageError.self) { try LockRequest(decoding: [1, 10, 0]) }
  }
}
