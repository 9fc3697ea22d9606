import LockFirmware
import LockProtocol
import Testing

/// What costs a guest a use of a counted grant, and how long the lock remembers it.
@Suite("The uses of a guest's grant") struct GrantUseTests {
  /// A guest comes with a grant, and the bolt stops where a test says.
  private func party() throws -> GuestParty {
    var party = try GuestParty()
    party.bench.finishesTurns = false
    return party
  }

  @Test("L5, L6: a bolt that jams on its way costs one use, however often the guest tries") func jam() throws {
    var party = try party()
    let grant = try party.grant(uses: 1).encoded
    for _ in 0..<4 {
      try party.write(.unlock, with: grant)
      #expect(party.bench.turning == .unlocked)
      party.bench.turning = nil
      party.bench.happens(.boltStopped(.between))
      #expect(party.bench.log.last?.result == .failed)
    }
    try party.write(.unlock, with: grant)
    party.bench.finishTurn()
    #expect(party.bench.position == .unlocked)
    try party.write(.lock, with: grant)
    party.bench.finishTurn()
    #expect(try party.come(with: grant) == .usedUp)
    #expect(party.bench.access.uses.map(\.count) == [1])
  }

  @Test("L5, L6: a bolt that does not move costs no use, also after a restart") func stuck() throws {
    var party = try party()
    let grant = try party.grant(uses: 1).encoded
    for _ in 0..<3 {
      try party.write(.unlock, with: grant)
      party.bench.turning = nil
      party.bench.position = .locked
      party.bench.happens(.boltStopped(.locked))
      #expect(party.bench.access.uses.isEmpty)
    }
    party.bench.restart()
    party.bench.happens(.linkUp(party.guest))
    party.bench.finishesTurns = true
    #expect(try party.come(with: grant) == .done)
    #expect(try party.come(.lock, with: grant) == .done)
    #expect(try party.come(with: grant) == .usedUp)
  }

  /// What becomes of a bolt that jammed for a guest's only use.
  enum Sequel: CaseIterable, Sendable {
    /// It is locked again, and a sensor shows that the door was shut all the time.
    case shut
    /// The sensor shows that the door was open.
    case opened
    /// There is no sensor that shows it.
    case unseen
    /// The driver ended meanwhile, so nobody knows.
    case unknown
  }

  @Test(
    "L5, L6: a jammed bolt that is locked again gives its use back if the door was seen to be shut, and else does not",
    arguments: Sequel.allCases)
  func lockedAgain(_ sequel: Sequel) throws {
    var party = try party()
    let grant = try party.grant(uses: 1).encoded
    if sequel != .unseen {
      party.bench.move(door: .open)
      party.bench.move(door: .closed)
    }
    try party.write(.unlock, with: grant)
    party.bench.turning = nil
    party.bench.happens(.boltStopped(.between))
    switch sequel {
    case .shut, .unseen: break
    case .opened:
      party.bench.move(door: .open)
      party.bench.move(door: .closed)
    case .unknown:
      party.bench.happens(.mechanismFailed)
      party.bench.happens(.mechanismRestored(.between, .closed))
    }
    party.bench.happens(.offerRead(Bench.alice))
    try party.bench.command(.lock, 700)
    party.bench.finishTurn()
    #expect(party.bench.position == .locked)
    party.bench.finishesTurns = true
    #expect(try party.come(with: grant) == (sequel == .shut ? .done : .usedUp))
  }

  @Test("L5, L6: a guest who jams the bolt each time it opens gets no more openings than the grant has uses")
  func jammedOnPurpose() throws {
    var party = try party()
    let grant = try party.grant(uses: 3).encoded
    var openings = 0
    for number in 0..<10 as Range<UInt64> {
      try party.write(.unlock, with: grant)
      guard party.bench.turning == .unlocked else { break }
      // Nearly open, and open for who pushes; there is no sensor.
      openings += 1
      party.bench.turning = nil
      party.bench.happens(.boltStopped(.between))
      party.bench.happens(.offerRead(Bench.alice))
      try party.bench.command(.lock, 800 + number)
      party.bench.finishTurn()
    }
    #expect(openings == 3)
  }

  @Test(
    "L5, L6: a power cut in mid-turn costs the use, wherever the bolt is found",
    arguments: [BoltPosition.locked, .between, .unlocked])
  func powerCut(_ found: BoltPosition) throws {
    var party = try party()
    let grant = try party.grant(uses: 1).encoded
    try party.write(.unlock, with: grant)
    #expect(party.bench.turning == .unlocked)
    party.bench.position = found
    party.bench.restart()
    party.bench.finishesTurns = true
    // Whoever came in has locked behind them, and the power comes back.
    party.bench.pass(60)
    #expect(party.bench.position == .locked)
    party.bench.happens(.linkUp(party.guest))
    #expect(try party.come(with: grant) == .usedUp)
  }

  /// How many openings the guest's only use still pays for, once the lock has power again.
  private func openingsLeft(_ party: GuestParty, with grant: [UInt8]) throws -> Int {
    var party = party
    party.bench.finishesTurns = true
    party.bench.pass(60)
    for central in [Bench.alice, party.guest] { party.bench.happens(.linkUp(central)) }
    var openings = 0
    while try party.come(with: grant) == .done, openings < 3 {
      openings += 1
      #expect(try party.come(.lock, with: grant) == .done)
    }
    return openings
  }

  @Test("L5, L6: wherever the power fails in an opening, its use counts exactly if the bolt had begun to move")
  func powerCutAnywhere() throws {
    var cuts: [Bool: Int] = [:]
    for writes in 0..<50 {
      var party = try party()
      let grant = try party.grant(uses: 1).encoded
      party.bench.writesUntilPowerFails = writes
      try? party.write(.unlock, with: grant)
      guard party.bench.isDead else { break }
      let hasMoved = !party.bench.turns.isEmpty
      cuts[hasMoved, default: 0] += 1
      let explained = party.bench.log.contains { $0.kind == .movement && $0.target == .unlocked }
      #expect(explained || !hasMoved, "no opening without a record")
      for writesAtStart in 0..<50 {
        var again = party
        again.bench.position = .locked
        again.bench.restart(writesUntilPowerFails: writesAtStart)
        let isOver = !again.bench.isDead
        again.bench.restart()
        let left = try openingsLeft(again, with: grant)
        #expect(left == (explained ? 0 : 1), "power fails after \(writes) writes, and \(writesAtStart) at the start")
        let encoded = again.bench.access.encoded.first
        #expect(encoded != 5, "an earlier release reads what is stored")
        if isOver { break }
      }
    }
    #expect(cuts[false, default: 0] >= 3 && cuts[true, default: 0] >= 1, "\(cuts)")
  }

  @Test("L5: a use stays counted if the log is shorter after the power cut than it was before") func shortened() throws
  {
    var party = try party()
    for writes in 0..<50 where party.bench.access.unmovedUse == nil {
      party = try self.party()
      party.bench.writesUntilPowerFails = writes
      try? party.write(.unlock, with: try party.grant(uses: 1).encoded)
    }
    #expect(party.bench.access.unmovedUse == UInt64(party.bench.log.count) + 1)
    party.bench.log.removeLast()
    party.bench.restart()
    #expect(party.bench.access.unmovedUse == nil && party.bench.access.uses.map(\.count) == [1])
  }

  @Test("L5, L6: a guest without a use left is told that the door is open, if it is, and opens none") func open() throws
  {
    var party = try party()
    party.bench.finishesTurns = true
    let grant = try party.grant(uses: 1).encoded
    #expect(try party.come(with: grant) == .done)
    #expect(try party.come(with: grant) == .notNeeded)
    #expect(party.bench.access.uses.map(\.count) == [1] && party.bench.turns.count == 1)
    // Somebody is locking it: the guest would need a use to stop that.
    party.bench.finishesTurns = false
    party.bench.happens(.offerRead(Bench.alice))
    try party.bench.command(.lock, 700)
    try party.write(.unlock, with: grant)
    party.bench.finishTurn()
    #expect(party.bench.position == .locked && party.bench.turning == nil)
    party.bench.finishesTurns = true
    #expect(try party.come(with: grant) == .usedUp)
  }

  @Test("L5: a use is counted on disk before the bolt turns, and not counted if it can't be recorded") func unstored()
    throws
  {
    var party = try party()
    let grant = try party.grant(uses: 1).encoded
    party.bench.storesAtOnce = false
    try party.write(.unlock, with: grant)
    #expect(party.bench.access.uses.map(\.count) == [1] && party.bench.turning == nil)
    let record = try #require(party.bench.unstored.first)
    party.bench.unstored = []
    party.bench.happens(.recordFailed(record.index))
    #expect(party.bench.access.uses.isEmpty && party.bench.turns.isEmpty)
    party.bench.storesAtOnce = true
    party.bench.finishesTurns = true
    #expect(try party.come(with: grant) == .done)
  }

  @Test("L5: an owner's message that can't be stored gives no guest a use back") func togetherUnstored() throws {
    var party = try party()
    let grant = try party.grant(uses: 2)
    party.bench.finishesTurns = true
    #expect(try party.come(with: grant.encoded) == .done)
    #expect(try party.come(.lock, with: grant.encoded) == .done)
    party.bench.finishesTurns = false
    party.bench.happens(.offerRead(Bench.alice))
    var conversation = try party.bench.conversation()
    party.bench.storesAtOnce = false
    #expect(try party.bench.ask(LockRequest.setClock(GuestParty.monday).encoded, in: &conversation) == nil)
    try party.write(.unlock, with: grant.encoded)
    let record = try #require(party.bench.unstored.first)
    party.bench.unstored = []
    party.bench.happens(.recordFailed(record.index))
    #expect(party.bench.access.uses.map(\.count) == [1], "one opening, and one that never was")
  }

  // MARK: As many as the lock can count

  /// A lock that counts the uses of as many grants as it can.
  private func fullParty(until: Int64 = .max) throws -> GuestParty {
    var party = try GuestParty()
    for number in 0..<AccessState.useLimit {
      let identifier = [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 7, count: 14)
      party.bench.access.uses.append(AccessState.Use(grant: identifier, count: 1, until: until))
    }
    party.restart()
    return party
  }

  @Test("L5: a lock that can't count more grants refuses new ones and says why; no used grant opens again")
  func full() throws {
    var party = try fullParty()
    let new = try party.grant(uses: 1)
    for _ in 0..<2 {
      #expect(try party.come(with: new.encoded) == .tooManyGrants)
      #expect(party.bench.log.last?.result == .tooManyGrants && party.bench.turns.isEmpty)
      #expect(try LockRecord(decoding: #require(party.bench.log.last).encoded) == party.bench.log.last)
      party.restart()
    }
    var used = new
    used.identifier = [0, 0] + [UInt8](repeating: 7, count: 14)
    used = try party.owner.sign(used)
    #expect(try party.come(with: used.encoded) == .usedUp, "the one that was counted first")
    #expect(try party.come(with: party.grant().encoded) == .done, "what is not counted needs no room")
    #expect(try party.come(.lock, with: party.grant().encoded) == .done)
    // A revoked grant makes room, and opens nothing.
    party.bench.happens(.linkUp(Bench.alice))
    #expect(try party.tell(.deliver(party.list(1, [.grant(used.identifier)]).encoded)) == .done)
    #expect(try party.come(with: new.encoded) == .done)
    #expect(party.bench.access.uses.count == AccessState.useLimit)
    #expect(try party.come(.lock, with: new.encoded) == .done)
    #expect(try party.come(with: new.encoded) == .usedUp)
    #expect(try party.come(with: used.encoded) == .revoked)
  }

  @Test("L5: a grant that is over makes room for another, and stays over though the clock is set back")
  func over() throws {
    var party = try fullParty(until: GuestParty.monday)
    let new = try party.grant(uses: 1)
    var used = new
    used.identifier = [0, 0] + [UInt8](repeating: 7, count: 14)
    used.schedule.until = GuestParty.monday
    used = try party.owner.sign(used)
    #expect(try party.come(with: new.encoded) == .tooManyGrants, "without a clock nothing is over")
    party.bench.happens(.linkUp(Bench.alice))
    #expect(try party.tell(.setClock(GuestParty.monday + 3600)) == .done)
    #expect(try party.come(with: new.encoded) == .done)
    #expect(try party.come(.lock, with: new.encoded) == .done)
    #expect(!party.bench.access.uses.contains { $0.grant == used.identifier })
    for _ in 0..<2 {
      party.bench.happens(.linkUp(Bench.alice))
      #expect(try party.tell(.setClock(GuestParty.monday - 7200)) == .done)
      #expect(try party.come(with: used.encoded) == .expired)
      party.restart()
    }
    #expect(party.bench.turns.count == 2)
  }
}

extension GuestParty {
  /// The lock starts again, with what it has stored.
  fileprivate mutating func restart() {
    bench.restart()
    bench.happens(.linkUp(guest))
  }
}
