import LockFirmware
import LockProtocol
import ProcessTesting
import RandomTesting
import Testing

/// Any order of links, reads, writes, garbage, hands, doors, failing logs, restarts and time.
@Suite("The lock under whatever comes", .serialized, .ownThread) struct HostileInputTests {
  private struct Street {
    var bench: Bench
    var random: SeededGenerator
    var operation: UInt64 = 0

    init(seed: UInt64) throws {
      bench = try Bench(phoneCount: 4)
      random = SeededGenerator(seed: seed)
    }

    private mutating func central(_ phone: Int) -> CentralIdentifier {
      CentralIdentifier(high: 0, low: UInt64(phone + 1) + (Int.random(in: 0..<8, using: &random) == 0 ? 100 : 0))
    }

    private mutating func stranger() -> CentralIdentifier {
      CentralIdentifier(high: 7, low: UInt64.random(in: 1000..<1100, using: &random))
    }

    mutating func step() throws {
      let phone = Int.random(in: 0..<4, using: &random)
      let central = central(phone)
      switch Int.random(in: 0..<20, using: &random) {
      case 0, 1: bench.happens(.linkUp(central))
      case 2: bench.happens(.linkDown(central))
      case 3: bench.happens(.linkRestored(central))
      case 4: bench.happens(.offerRead(central))
      case 5, 6, 7, 8:
        guard bench.offers[central.low] != nil else { return }
        operation += 1
        let kind = LockCommand.Kind.allCases.randomElement(using: &random) ?? .status
        try bench.command(kind, operation, by: phone, over: central)
      case 9, 10:
        let stranger = stranger()
        bench.happens(Bool.random(using: &random) ? .linkUp(stranger) : .offerRead(stranger))
      case 11, 12:
        let garbage = [UInt8](repeating: 5, count: LockService.commandByteCount)
        bench.happens(.commandWritten(Bool.random(using: &random) ? stranger() : central, garbage))
      case 13: bench.finishTurn()
      case 14: bench.move(door: Bool.random(using: &random) ? .open : .closed)
      case 15:
        guard bench.turning == nil else { return }
        bench.position = Bool.random(using: &random) ? .locked : .unlocked
        bench.happens(.boltTurnedByHand(bench.position))
      case 16:
        if bench.turning != nil, Bool.random(using: &random) {
          bench.position = Bool.random(using: &random) ? .locked : .unlocked
        }
        bench.restart()
      case 17: bench.storesAtOnce.toggle()
      case 18:
        if let first = bench.unstored.first {
          bench.unstored = []
          bench.happens(.recordFailed(first.index))
        }
      default: bench.pass(Double.random(in: 0...100, using: &random))
      }
      if bench.storesAtOnce { bench.store() }
    }

    /// All phones are gone and nothing is broken any more: turns end, records are stored, the door is shut.
    mutating func calm() {
      bench.storesAtOnce = true
      bench.store()
      for low in [1, 2, 3, 4, 101, 102, 103, 104] as [UInt64] {
        bench.happens(.linkDown(CentralIdentifier(high: 0, low: low)))
      }
      bench.move(door: .open)
      bench.move(door: .closed)
      for _ in 0..<100 {
        bench.finishTurn()
        bench.pass(20)
      }
    }
  }

  @Test(
    "M2: whatever came before, a door that a phone unlocked is locked once all have gone and it is shut",
    arguments: 0..<20 as Range<UInt64>)
  func locksInTheEnd(seed: UInt64) throws {
    var street = try Street(seed: seed)
    for _ in 0..<400 {
      try street.step()
      let due = street.bench.firmware.nextDeadline?.milliseconds
      #expect(due.map { $0 > street.bench.milliseconds } ?? true, "a deadline in the past")
    }
    // A phone was here last, whatever hands did before.
    street.bench.storesAtOnce = true
    street.bench.store()
    for _ in 0..<3 { street.bench.finishTurn() }
    // Every pause for strangers is over.
    street.bench.pass(700)
    street.bench.happens(.linkUp(Bench.alice))
    try street.bench.command(.unlock, 1 << 40)
    for _ in 0..<4 { street.bench.finishTurn() }
    if Bool.random(using: &street.random) { street.bench.restart() }
    street.calm()
    #expect(street.bench.firmware.lockState == .locked)
    #expect(street.bench.firmware.nextDeadline == nil)
  }

  @Test(
    "M11: whatever strangers and other programs do, a phone that has proven itself once is served at its first word",
    arguments: 100..<120 as Range<UInt64>)
  func ownersAreServed(seed: UInt64) throws {
    var street = try Street(seed: seed)
    for phone in 0..<4 {
      let central = CentralIdentifier(high: 0, low: UInt64(phone) + 1)
      street.bench.happens(.linkUp(central))
      try street.bench.command(.status, 0, by: phone, over: central)
    }
    for _ in 0..<20 {
      for _ in 0..<20 { try street.step() }
      street.bench.storesAtOnce = true
      street.bench.store()
      street.bench.finishTurn()
      street.bench.finishTurn()
      let phone = Int.random(in: 0..<4, using: &street.random)
      let central = CentralIdentifier(high: 0, low: UInt64(phone) + 1)
      street.bench.happens(.linkUp(central))
      let before = street.bench.responses.count
      try street.bench.command(.status, 0, by: phone, over: central)
      #expect(street.bench.responses.dropFirst(before) == [true])
    }
  }
}
