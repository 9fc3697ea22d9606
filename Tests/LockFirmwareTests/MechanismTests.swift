import LockCryptography
import LockFirmware
import LockProtocol
import RandomTesting
import Testing

@Suite("The whole life of a lock's mechanism") struct MechanismTests {
  private func result(_ bench: inout Bench, _ kind: LockCommand.Kind, _ operation: UInt64) throws -> LockResult {
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(kind, operation)
    bench.finishTurn()
    return try bench.answer(session).result
  }

  // MARK: Jams and mechanisms that fail

  @Test("L6: a bolt that takes too long is stopped and jammed; the alarm ends when it reaches an end") func jammed()
    throws
  {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(.unlock, 1)
    bench.pass(6)
    #expect(bench.stops == 1)
    #expect(try bench.answer(session).result == .failed)
    #expect(bench.alarms == [.lockJammed])
    #expect(bench.firmware.alarms == [.lockJammed])
    #expect(try result(&bench, .unlock, 2) == .done)
    #expect(bench.firmware.alarms.isEmpty)
    #expect(bench.log.last { $0.kind == .alarmCleared }?.detail == LockAlarm.lockJammed.rawValue)
  }

  @Test("L6: a motor that stalls on a phone's command to lock tries again by itself, three times") func stalls() throws
  {
    var bench = try Bench()
    try bench.comeHome(1)
    let session = try bench.command(.lock, 2)
    bench.turning = nil
    bench.happens(.boltStopped(.between))
    #expect(try bench.answer(session).result == .failed)
    for _ in 0..<100 {
      bench.pass(31)
      if bench.turning != nil {
        bench.turning = nil
        bench.happens(.boltStopped(.between))
      }
    }
    #expect(bench.turns.map(\.target) == [.unlocked, .locked, .locked, .locked, .locked])
    #expect(bench.alarms == [.lockJammed])
  }

  @Test("L2, L6: a bolt that had jammed before its owner left is alarmed about and tried again as they go, boundedly")
  func jammedBeforeLeaving() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    func jams() {
      for _ in 0..<100 {
        bench.pass(31)
        guard bench.turning != nil else { continue }
        bench.turning = nil
        bench.happens(.boltStopped(.between))
      }
    }
    try bench.command(.lock, 2)
    jams()
    #expect(bench.turns.count == 5)
    #expect(bench.alarms == [.lockJammed])
    bench.happens(.linkDown(Bench.alice))
    jams()
    #expect(bench.turns.count == 9, "once as the owner leaves, and three times more")
    #expect(bench.alarms == [.lockJammed, .lockJammed], "nobody is there any more: that is told once more")
    #expect(bench.firmware.alarms == [.lockJammed])
    #expect(bench.log.last?.kind == .outcome && bench.log.last?.result == .failed)
  }

  @Test("L6: a bolt that arrives after its time is over is recorded, though nobody asked for it any more") func late()
    throws
  {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 1)
    bench.pass(6)
    #expect(bench.firmware.lockState == .notFullyLocked)
    bench.position = .unlocked
    bench.happens(.boltStopped(.unlocked))
    #expect(bench.firmware.lockState == .unlocked)
    #expect(bench.log.last?.kind == .alarmCleared || bench.log.last?.kind == .outcome)
    #expect(bench.log.last { $0.kind == .outcome }?.result == .done)
    // Once.
    bench.happens(.boltStopped(.locked))
    #expect(bench.log.last { $0.kind == .movement }?.cause == .unexplained)
  }

  @Test("L6: a mechanism that fails in mid-turn is not fully locked, moves nothing, and locks when it is back")
  func mechanismFails() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(11)
    #expect(bench.turning == .locked)
    bench.happens(.mechanismFailed)
    bench.turning = nil
    #expect(bench.firmware.lockState == .notFullyLocked)
    #expect(bench.alarms.contains(.mechanismFailed))
    #expect(bench.log.last?.result == .failed)
    let turns = bench.turns.count
    #expect(try result(&bench, .unlock, 2) == .failed)
    bench.pass(3600)
    #expect(bench.turns.count == turns)
    bench.happens(.mechanismRestored(.between, .closed))
    bench.finishTurn()
    #expect(bench.firmware.lockState == .locked)
    #expect(bench.firmware.alarms.isEmpty)
  }

  @Test("L6: a bolt that is unlocked when its mechanism is back was unlocked by somebody, and that is recorded")
  func unlockedMeanwhile() throws {
    var bench = try Bench()
    bench.happens(.mechanismFailed)
    #expect(bench.firmware.lockState == .notFullyLocked)
    bench.happens(.mechanismRestored(.unlocked, .closed))
    #expect(bench.firmware.lockState == .unlocked)
    #expect(bench.log.last?.kind == .movement && bench.log.last?.cause == .unexplained)
    #expect(bench.log.last?.target == .unlocked)
  }

  @Test("L6: a bolt that was turned while the lock had no power is recorded at its start, once")
  func turnedWithoutPower() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(11)
    bench.finishTurn()
    bench.position = .unlocked
    bench.restart()
    #expect(bench.log.last?.cause == .unexplained)
    #expect(bench.log.last?.target == .unlocked)
    let count = bench.log.count
    bench.restart()
    #expect(bench.log.count == count)
  }

  // MARK: The door

  @Test("L6: a door that stands open for long is ajar, once, until it is shut") func ajar() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.move(door: .open)
    bench.pass(299)
    #expect(bench.firmware.doorState == .open)
    bench.pass(2)
    #expect(bench.firmware.doorState == .ajar)
    bench.pass(86400)
    #expect(bench.alarms == [.doorAjar])
    bench.move(door: .closed)
    #expect(bench.firmware.doorState == .closed)
    #expect(bench.firmware.alarms.isEmpty)
    // Through a restart it counts again.
    bench.move(door: .open)
    bench.restart()
    bench.pass(301)
    #expect(bench.alarms == [.doorAjar, .doorAjar])
  }

  @Test("attack 43: a door that opens while the bolt is locked was forced") func forced() throws {
    var bench = try Bench()
    bench.move(door: .open)
    #expect(bench.firmware.doorState == .forcedOpen)
    #expect(bench.alarms == [.doorForcedOpen])
    bench.pass(600)
    #expect(bench.firmware.doorState == .forcedOpen)
    bench.move(door: .closed)
    #expect(bench.firmware.doorState == .closed)
    try bench.comeHome(1)
    bench.move(door: .open)
    #expect(bench.alarms == [.doorForcedOpen, .doorAjar])
    // A phone of an earlier release knows open and closed alone.
    bench.move(door: .closed)
    bench.happens(.boltTurnedByHand(.locked))
    bench.position = .locked
    bench.move(door: .open)
    let session = try bench.command(.status, 0)
    #expect(try bench.answer(session).doorState == .open)
  }

  @Test("attack 43: a power cut ends no alarm about a door that is still open") func forcedAndCutOff() throws {
    var bench = try Bench()
    bench.move(door: .open)
    bench.pass(301)
    #expect(bench.alarms == [.doorForcedOpen, .doorAjar])
    bench.restart()
    bench.pass(600)
    #expect(bench.firmware.doorState == .forcedOpen && bench.firmware.alarms == [.doorForcedOpen, .doorAjar])
    #expect(bench.log.map(\.kind) == [.alarm, .alarm])
    // It is shut while the lock has no power.
    bench.door = .closed
    bench.restart()
    #expect(bench.firmware.alarms.isEmpty)
    #expect(bench.log.map(\.kind) == [.alarm, .alarm, .alarmCleared, .alarmCleared])
    bench.restart()
    #expect(bench.log.count == 4)
  }

  @Test("attack 43: a cover that is taken off is an alarm until it is back") func tamper() throws {
    var bench = try Bench()
    bench.happens(.tamperChanged(isOpen: true))
    bench.happens(.tamperChanged(isOpen: true))
    #expect(bench.alarms == [.frontEscutcheonRemoved])
    bench.happens(.tamperChanged(isOpen: false))
    bench.pass(9)
    #expect(bench.firmware.alarms == [.frontEscutcheonRemoved])
    bench.pass(2)
    #expect(bench.firmware.alarms.isEmpty)
    #expect(bench.log.map(\.kind) == [.alarm, .alarmCleared])
  }

  @Test("attack 43: whoever plays with the cover's contact, or a switch that flickers, fills no log") func flutter()
    throws
  {
    var bench = try Bench()
    for _ in 0..<200 {
      bench.happens(.tamperChanged(isOpen: true))
      bench.pass(0.5)
      bench.happens(.tamperChanged(isOpen: false))
      bench.happens(.boltFound(.between))
      bench.pass(0.5)
      bench.happens(.boltFound(.locked))
    }
    #expect(bench.log.map(\.kind) == [.alarm])
    #expect(bench.firmware.lockState == .locked)
    // What it hides is nothing: a bolt that arrives elsewhere is recorded.
    bench.happens(.boltFound(.between))
    bench.happens(.boltFound(.unlocked))
    #expect(bench.log.map(\.kind) == [.alarm, .movement])
    bench.happens(.boltFound(.locked))
    #expect(bench.log.map(\.kind) == [.alarm, .movement, .movement])
  }

  @Test("attack 43: strangers who reach the limit of wrong writes are an alarm, once in ten minutes")
  func wrongCodes() throws {
    var bench = try Bench()
    for number in 0..<200 as Range<UInt64> {
      let central = CentralIdentifier(high: 9, low: number)
      bench.happens(.linkUp(central))
      bench.happens(.commandWritten(central, [UInt8](repeating: 1, count: 122)))
    }
    #expect(bench.alarms == [.wrongCodeEntryLimit])
    bench.pass(601)
    for number in 0..<200 as Range<UInt64> {
      let central = CentralIdentifier(high: 9, low: number)
      bench.happens(.linkUp(central))
      bench.happens(.commandWritten(central, [UInt8](repeating: 1, count: 122)))
    }
    #expect(bench.alarms == [.wrongCodeEntryLimit, .wrongCodeEntryLimit])
  }

  // MARK: Somebody inside

  @Test(
    "L7: somebody locked from inside and did not come out: an approach opens nothing, a person's word does",
    arguments: [false, true], [false, true])
  func somebodyInside(isRestarted: Bool, hasDoorSensor: Bool) throws {
    var bench = try Bench()
    try bench.comeHome(1)
    if hasDoorSensor {
      bench.move(door: .open)
      bench.move(door: .closed)
    }
    bench.happens(.linkDown(Bench.alice))
    bench.happens(.boltTurnedByHand(.locked, from: .inside))
    bench.position = .locked
    if isRestarted { bench.restart() }
    for (number, kind) in [LockCommand.Kind.unlockUnlessHome, .unlockUnlessInside, .unlockIfLeft].enumerated() {
      #expect(try result(&bench, kind, UInt64(number + 10)) == .somebodyInside)
      #expect(bench.log.last?.result == .somebodyInside)
    }
    #expect(try result(&bench, .unlock, 20) == .done)
  }

  @Test("L7: who came out again leaves nobody inside, and neither do a key nor a home with another way out")
  func nobodyInside() throws {
    for way in 0..<3 {
      var bench = try Bench { $0.isOnlyWayOut = way != 2 }
      try bench.comeHome(1)
      bench.happens(.linkDown(Bench.alice))
      bench.happens(.boltTurnedByHand(.locked, from: way == 1 ? .outside : .inside))
      bench.position = .locked
      if way == 0 {
        bench.happens(.boltTurnedByHand(.unlocked, from: .inside))
        bench.move(door: .open)
        bench.move(door: .closed)
        bench.happens(.boltTurnedByHand(.locked, from: .outside))
      }
      #expect(try result(&bench, .unlockUnlessInside, 2) == .done, "way \(way)")
    }
  }

  // MARK: Anything, in any order

  @Test(
    "L6: whatever happens to the mechanism, the log explains the bolt, and nothing that fails says that it is locked",
    arguments: 0..<40)
  func schedules(_ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    var bench = try Bench { $0.relockDelayMilliseconds = seed % 2 == 0 ? 60_000 : nil }
    var operation: UInt64 = 1
    var isFailed = false
    for _ in 0..<300 {
      switch Int.random(in: 0..<18, using: &random) {
      case 0, 1, 2:
        bench.happens(.linkUp(Bench.alice))
        operation += 1
        _ = try? bench.command([.unlock, .lock, .unlockUnlessInside].randomElement(using: &random) ?? .lock, operation)
      case 3: bench.happens(.linkDown(Bench.alice))
      case 4, 5: if !isFailed { bench.finishTurn() }
      case 6: bench.pass(Double.random(in: 0...90, using: &random))
      case 7: bench.move(door: Bool.random(using: &random) ? .open : .closed)
      case 8:
        guard bench.turning == nil, !isFailed else { break }
        bench.position = Bool.random(using: &random) ? .locked : .unlocked
        bench.happens(.boltTurnedByHand(bench.position, from: .inside))
      case 9:
        bench.happens(.mechanismFailed)
        isFailed = true
        bench.turning = nil
        #expect(bench.firmware.lockState == .notFullyLocked)
      case 10, 11:
        if isFailed { bench.position = [.locked, .unlocked, .between].randomElement(using: &random) ?? .between }
        guard bench.turning == nil else { break }
        isFailed = false
        bench.happens(.mechanismRestored(bench.position, bench.door))
      case 12:
        guard bench.turning == nil, !isFailed else { break }
        bench.position = [.locked, .unlocked, .between].randomElement(using: &random) ?? .between
        bench.happens(.boltFound(bench.position))
      case 13: bench.happens(.batteryChanged(UInt8.random(in: 0...100, using: &random)))
      case 14: bench.happens(.modeSet(OperatingMode.allCases.randomElement(using: &random) ?? .normal))
      case 15:
        if bench.turning != nil, !isFailed {
          bench.turning = nil
          bench.happens(.boltStopped(.between))
        }
      case 16: bench.happens(.tamperChanged(isOpen: Bool.random(using: &random)))
      default:
        if Int.random(in: 0..<4, using: &random) == 0 {
          isFailed = false
          bench.restart()
        }
      }
      let shown = bench.firmware.lockState
      if isFailed { #expect(shown == .notFullyLocked) }
      if !isFailed, bench.turning == nil { #expect(shown == LockState(bench.position) || shown == .notFullyLocked) }
      // An unlocked bolt is what the latest movement in the log was for, or what it may have failed to end.
      guard shown == .unlocked else { continue }
      let unlock = bench.log.lastIndex { $0.kind == .movement && $0.target == .unlocked }
      #expect(unlock != nil)
      let lock = bench.log.lastIndex { $0.kind == .outcome && $0.target == .locked && $0.result == .done } ?? -1
      #expect((unlock ?? -1) > lock, "seed \(seed)")
    }
    #expect(bench.log.map(\.index) == Array(1..<UInt64(bench.log.count + 1)))
    for record in bench.log { #expect(try LockRecord(decoding: record.encoded) == record) }
  }
}

extension LockState {
  fileprivate init(_ position: BoltPosition) {
    switch position {
    case .locked: self = .locked
    case .unlocked: self = .unlocked
    case .between: self = .notFullyLocked
    }
  }
}

extension Bench {
  /// The alarms that were raised, oldest first.
  var alarms: [LockAlarm] {
    notes.compactMap { if case .alarmRaised(let alarm, _) = $0 { alarm } else { nil } }
  }
}
