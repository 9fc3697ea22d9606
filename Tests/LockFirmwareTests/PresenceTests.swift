import LockFirmware
import LockProtocol
import Testing

/// Which phones the lock considers present, and when it locks behind them.
@Suite("Presence at the lock") struct PresenceTests {
  @Test("M2: a phone that unlocked and does not listen for offers is not taken to be here for ever") func unheard()
    throws
  {
    var bench = try Bench()
    bench.finishesTurns = true
    bench.happens(.offerRead(Bench.alice))
    try bench.command(.unlock, 1)
    bench.finishTurn()
    bench.pass(86_400)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
    bench.finishTurn()
    #expect(bench.firmware.nextDeadline == nil)
  }

  @Test("M2: each command of such a phone shows that it is here") func unheardButTalking() throws {
    var bench = try Bench()
    bench.finishesTurns = true
    bench.happens(.offerRead(Bench.alice))
    try bench.command(.unlock, 1)
    bench.finishTurn()
    for _ in 0..<20 {
      bench.pass(60)
      bench.happens(.offerRead(Bench.alice))
      try bench.command(.status, 0)
    }
    #expect(bench.turns.count == 1)
    bench.pass(300)
    #expect(bench.turns.count == 2)
  }

  @Test("M2: a stale link of the same phone under another name does not keep the door from locking") func renamed()
    throws
  {
    var bench = try Bench()
    bench.finishesTurns = true
    bench.happens(.offerRead(Bench.alice))
    try bench.command(.unlock, 1)
    bench.finishTurn()
    bench.happens(.linkUp(Bench.bob))
    try bench.command(.status, 0, over: Bench.bob)
    bench.happens(.linkDown(Bench.bob))
    bench.pass(60)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("M2: a phone that subscribes, and then is silent, counts as gone") func listensAndGoes() throws {
    var bench = try Bench()
    bench.finishesTurns = true
    bench.happens(.offerRead(Bench.alice))
    try bench.command(.unlock, 1)
    bench.finishTurn()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkDown(Bench.alice))
    bench.pass(600)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("M2: phones that proved themselves and went without a word take no place for ever") func staleLinks() throws {
    var bench = try Bench()
    for low in 100..<140 as Range<UInt64> {
      let central = CentralIdentifier(high: 0, low: low)
      bench.happens(.offerRead(central))
      try bench.command(.status, 0, by: Int(low % 2), over: central)
    }
    try bench.comeHome(1)
    #expect(bench.turns.count == 1)
  }

  @Test("L14: the seventeenth phone at home gets in, and so does the fortieth") func manyPhones() throws {
    var bench = try Bench(phoneCount: 40)
    for index in 0..<40 {
      let central = CentralIdentifier(high: 0, low: UInt64(index) + 1)
      bench.happens(.linkUp(central))
      try bench.command(.status, 0, by: index, over: central)
    }
    // All of them are still known to be here: the door stays open until the last has gone.
    try bench.command(.unlock, 1, by: 39, over: CentralIdentifier(high: 0, low: 40))
    bench.finishTurn()
    #expect(bench.turns.count == 1)
    // Strangers don't take their places.
    for low in 1000..<1100 as Range<UInt64> { bench.happens(.linkUp(CentralIdentifier(high: 0, low: low))) }
    bench.happens(.linkDown(CentralIdentifier(high: 0, low: 1)))
    bench.pass(11)
    #expect(bench.turns.count == 1)
    for low in 2...40 as ClosedRange<UInt64> { bench.happens(.linkDown(CentralIdentifier(high: 0, low: low))) }
    bench.pass(11)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("A bolt that was about to lock when the power failed is locked by the next start") func lockingInterrupted()
    throws
  {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkDown(Bench.alice))
    bench.pass(11)
    #expect(bench.turning == .locked)
    // The record was stored, and the bolt had not moved yet.
    bench.position = .unlocked
    bench.restart()
    bench.pass(60)
    #expect(bench.turning == .locked)
  }

  @Test("A lock that could not store its record locks when it can again, however long that takes") func logIsBack()
    throws
  {
    var bench = try Bench()
    bench.finishesTurns = true
    try bench.comeHome(1)
    bench.storesAtOnce = false
    bench.happens(.linkDown(Bench.alice))
    for _ in 0..<100 {
      bench.pass(31)
      guard let first = bench.unstored.first else { continue }
      bench.unstored = []
      bench.happens(.recordFailed(first.index))
    }
    #expect(bench.turns.count == 1)
    bench.storesAtOnce = true
    bench.pass(3600)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("A door that opens again and again as the bolt is about to be thrown is locked when it stays shut")
  func restlessDoor() throws {
    var bench = try Bench()
    bench.finishesTurns = true
    try bench.comeHome(1)
    bench.storesAtOnce = false
    bench.happens(.linkDown(Bench.alice))
    for _ in 0..<20 {
      bench.pass(31)
      bench.move(door: .open)
      bench.store()
      bench.pass(31)
      bench.move(door: .closed)
    }
    bench.store()
    bench.storesAtOnce = true
    bench.pass(60)
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
  }

  @Test("A bolt that jammed for good is tried again when the door was opened and shut") func jamIsMended() throws {
    var bench = try Bench()
    try bench.comeHome(1)
    bench.happens(.linkDown(Bench.alice))
    for _ in 0..<100 {
      bench.pass(6)
      bench.turning = nil
    }
    let tries = bench.turns.count
    bench.pass(3600)
    #expect(bench.turns.count == tries)
    bench.move(door: .open)
    bench.move(door: .closed)
    #expect(bench.turns.count == tries + 1)
    bench.finishTurn()
    #expect(bench.firmware.lockState == .locked)
  }
}
