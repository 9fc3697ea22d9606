import LockFirmware
import LockProtocol
import Testing

/// Whom the door's sensor shows to have left, and whom not.
@Suite("The door's sensor") struct DoorSensorTests {
  /// A phone is here, and the bolt is open.
  private func atHome(_ change: (inout LockConfiguration) -> Void = { _ in }) throws -> Bench {
    var bench = try Bench(change)
    bench.finishesTurns = true
    try bench.comeHome(1)
    return bench
  }

  /// Alice has seen the door open and shut, and it has come to rest.
  private func inside(_ change: (inout LockConfiguration) -> Void = { _ in }) throws -> Bench {
    var bench = try atHome(change)
    walkThrough(&bench)
    bench.pass(900)
    return bench
  }

  private func walkThrough(_ bench: inout Bench) {
    bench.pass(3)
    bench.move(door: .open)
    bench.pass(4)
    bench.move(door: .closed)
  }

  private func lockByHand(_ bench: inout Bench) {
    bench.position = .locked
    bench.happens(.boltTurnedByHand(.locked))
  }

  /// Longer than whoever locks the door and goes is in range: the bolt itself shows nothing either.
  private func stay(_ bench: inout Bench) { bench.pass(180) }

  /// What the lock answers to each kind of evidence, once a phone's link is back. The bolt is locked by hand in between.
  private func answers(_ bench: inout Bench, by phone: Int = 0) throws -> [LockResult] {
    let central = phone == 0 ? Bench.alice : Bench.bob
    bench.happens(.linkUp(central))
    var results: [LockResult] = []
    for kind in [LockCommand.Kind.unlockIfLeft, .unlockUnlessHome, .unlockUnlessInside] {
      let session = try bench.command(kind, UInt64.random(in: 1000 ... .max), by: phone)
      bench.finishTurn()
      results.append(try bench.answer(session, by: phone).result)
      if bench.position == .unlocked { lockByHand(&bench) }
    }
    return results
  }

  private let none = [LockResult.lockedAtHome, .lockedAtHome, .lockedAtHome]
  private let hasLeft = [LockResult.done, .lockedAtHome, .done]
  private let asWithout = [LockResult.lockedAtHome, .lockedAtHome, .done]

  @Test("L7: who came in through the door and has not opened it since is inside, whatever the signal says")
  func jam() throws {
    var bench = try inside()
    lockByHand(&bench)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(240)
    #expect(try answers(&bench) == none)
    let session = try bench.command(.unlock, 9)
    bench.finishTurn()
    #expect(try bench.answer(session).result == .done, "a word opens")
  }

  @Test("L7: who comes home is inside as soon as the door has opened, though the link be lost at once")
  func comesHome() throws {
    for isAsked in [false, true] {
      var bench = try inside()
      walkThrough(&bench)
      bench.pass(40)
      bench.happens(.linkDown(Bench.alice))
      bench.pass(3600)
      bench.happens(.linkUp(Bench.alice))
      // Its owner was seen to come, or says so.
      try bench.command(isAsked ? .unlock : .unlockIfLeft, 7)
      bench.finishTurn()
      walkThrough(&bench)
      bench.pass(20)
      lockByHand(&bench)
      // A room without the radio.
      bench.happens(.linkDown(Bench.alice))
      bench.pass(240)
      #expect(try answers(&bench) == none)
    }
  }

  @Test("L7: a word that is given inside is no coming home: who goes out after it has left") func wordToGoOut() throws {
    var bench = try inside()
    lockByHand(&bench)
    try bench.command(.unlock, 7)
    bench.finishTurn()
    walkThrough(&bench)
    bench.pass(40)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(3600)
    #expect(try answers(&bench) == hasLeft)
  }

  @Test("L7: so is who was locked in by the lock itself, since it took the jam for a leaving") func lockedByItself()
    throws
  {
    var bench = try inside()
    bench.happens(.linkDown(Bench.alice))
    bench.pass(60)
    #expect(bench.position == .locked)
    #expect(try answers(&bench) == none)
  }

  @Test("L2: who goes out through the door and out of range has left, also where it is locked by hand from outside")
  func leaving() throws {
    for isLockedByHand in [false, true] {
      var bench = try inside()
      walkThrough(&bench)
      if isLockedByHand { lockByHand(&bench) }
      bench.pass(40)
      bench.happens(.linkDown(Bench.alice))
      bench.pass(86_400)
      #expect(bench.position == .locked)
      #expect(try answers(&bench) == hasLeft)
    }
  }

  @Test("L7: a parcel, and nobody has left: who is linked when the door has come to rest stayed") func parcel() throws {
    var bench = try inside()
    walkThrough(&bench)
    bench.pass(700)
    lockByHand(&bench)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(240)
    #expect(try answers(&bench) == none)
  }

  @Test("L7: a jam within minutes of a parcel opens only to a phone that saw itself go") func jamAfterParcel() throws {
    var bench = try inside()
    walkThrough(&bench)
    bench.pass(300)
    lockByHand(&bench)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(240)
    #expect(try answers(&bench) == hasLeft)
  }

  @Test("L7: somebody without a phone goes out while the owner sleeps: the owner has not left") func otherGoesOut()
    throws
  {
    var bench = try inside()
    lockByHand(&bench)
    bench.pass(3600)
    bench.position = .unlocked
    bench.happens(.boltTurnedByHand(.unlocked))
    walkThrough(&bench)
    lockByHand(&bench)
    bench.pass(3600)
    bench.happens(.linkDown(Bench.alice))
    #expect(try answers(&bench) == none)
  }

  @Test("L7: through a door that stood open when the link was lost anybody may have gone: as without a sensor")
  func standsOpen() throws {
    var bench = try inside()
    bench.move(door: .open)
    bench.pass(3600)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(60)
    bench.move(door: .closed)
    lockByHand(&bench)
    bench.pass(3600)
    // Locked by hand, with nobody's link: not at home.
    #expect(try answers(&bench) == [.lockedAtHome, .done, .done])
  }

  @Test("L7: a door that is opened while a phone is away may let its owner in: nothing is known of him then")
  func openedMeanwhile() throws {
    var bench = try inside()
    walkThrough(&bench)
    bench.pass(40)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(3600)
    // With a key, the phone's battery being empty.
    walkThrough(&bench)
    bench.pass(3600)
    #expect(try answers(&bench)[0] == .lockedAtHome)

    var jammed = try inside()
    jammed.happens(.linkDown(Bench.alice))
    jammed.pass(60)
    // Out during the jam, or with the phone's radio off.
    walkThrough(&jammed)
    jammed.pass(3600)
    #expect(try answers(&jammed) == [.lockedAtHome, .done, .done])
  }

  @Test("L7: a sensor that flutters for hours shows nothing, asks nobody to look any more, and heals by rest")
  func flutter() throws {
    var bench = try inside()
    let before = bench.notes.count { if case .offerSent = $0 { true } else { false } }
    for _ in 0..<20_000 {
      bench.move(door: .open)
      bench.pass(0.5)
      bench.move(door: .closed)
      bench.pass(0.5)
    }
    let offers = bench.notes.count { if case .offerSent = $0 { true } else { false } } - before
    #expect((100...400).contains(offers), "every ten seconds for an hour, and no more: \(offers)")
    lockByHand(&bench)
    stay(&bench)
    bench.happens(.linkDown(Bench.alice))
    #expect(try answers(&bench) == asWithout)
    bench.pass(1200)
    walkThrough(&bench)
    bench.pass(900)
    bench.happens(.linkDown(Bench.alice))
    #expect(try answers(&bench) == none)
  }

  @Test("L7: a sensor that sees nobody come in where a phone had the bolt unlocked is broken, until it moves again")
  func brokenSensor() throws {
    var bench = try inside()
    lockByHand(&bench)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(3600)
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 7)
    bench.finishTurn()
    bench.pass(900)
    lockByHand(&bench)
    stay(&bench)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(3600)
    #expect(try answers(&bench) == asWithout)
  }

  @Test("L7: two of a household: one goes, one stays, and each is known by the own link") func household() throws {
    var bench = try inside()
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.status, 0, by: 1)
    walkThrough(&bench)
    bench.pass(40)
    bench.happens(.linkDown(Bench.bob))
    bench.pass(3600)
    lockByHand(&bench)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(60)
    #expect(try answers(&bench) == none, "Alice's radio was jammed")
    #expect(try answers(&bench, by: 1) == hasLeft, "Bob comes home")
  }

  @Test("L7: a parcel for who is at home, and of who is away nothing is known any more") func householdParcel() throws {
    var bench = try inside { $0.locksOnAnyDeparture = true }
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.status, 0, by: 1)
    walkThrough(&bench)
    bench.pass(40)
    bench.happens(.linkDown(Bench.bob))
    bench.pass(3600)
    walkThrough(&bench)
    bench.pass(3600)
    // It had locked itself behind Bob.
    #expect(try answers(&bench, by: 1) == [.lockedAtHome, .done, .done])
  }

  @Test("L7: who comes from a room without the radio opens the door before the phone is known, or even linked")
  func lateLink() throws {
    for (before, after, isSeen) in [(1.0, 0.0, true), (0, 20, true), (0, 200, false)] {
      var bench = try inside()
      bench.happens(.linkDown(Bench.alice))
      bench.pass(600)
      if before > 0 { bench.happens(.linkUp(Bench.alice)) }
      walkThrough(&bench)
      bench.pass(after)
      if before == 0 { bench.happens(.linkUp(Bench.alice)) }
      try bench.command(.status, 0)
      bench.pass(900)
      bench.happens(.linkDown(Bench.alice))
      bench.pass(60)
      #expect(try answers(&bench) == (isSeen ? none : asWithout), "\(before), \(after)")
    }
  }

  @Test("L6: a restart knows nothing of the sensor, and a lock with another way out never does") func unknown() throws {
    for hasOtherWay in [false, true] {
      var bench = try inside { $0.isOnlyWayOut = !hasOtherWay }
      lockByHand(&bench)
      if !hasOtherWay { bench.restart() }
      bench.happens(.linkDown(Bench.alice))
      bench.pass(240)
      #expect(try answers(&bench) == asWithout)
    }
  }

  @Test("L7: of a phone that does not listen nobody knows when it went") func unheard() throws {
    var bench = try Bench()
    bench.finishesTurns = true
    bench.happens(.offerRead(Bench.alice))
    try bench.command(.unlock, 1)
    bench.finishTurn()
    walkThrough(&bench)
    bench.pass(900)
    bench.position = .locked
    bench.happens(.boltTurnedByHand(.locked))
    #expect(try answers(&bench)[2] == .done)
  }

  @Test("L7: when the door moves each phone that is here is asked to look at its signal, and until it has come to rest")
  func looks() throws {
    var bench = try inside()
    func offers() -> Int { bench.notes.count { if case .offerSent = $0 { true } else { false } } }
    var before = offers()
    bench.pass(3600)
    #expect(offers() == before, "at rest there is nothing to look for")
    bench.move(door: .open)
    bench.pass(0.1)
    #expect(offers() == before + 1)
    before = offers()
    bench.move(door: .closed)
    bench.pass(60)
    #expect((5...7).contains(offers() - before))
    bench.pass(900)
    before = offers()
    bench.pass(3600)
    #expect(offers() == before)
  }
}
