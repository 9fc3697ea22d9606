import LockCryptography
import LockFirmware
import LockProtocol
import RandomTesting
import Testing

/// Attacks by who can do with a link what they like: its encryption is negotiated down, broken, or not there.
@Suite("Attacks on the link") struct LinkAttackTests {
  @Test("attack 22: who reads and changes everything on the link, as with a key of seven bytes, opens nothing")
  func openLink() throws {
    var bench = try Bench()
    bench.finishesTurns = true
    // They hear an owner come, open, lock and go, more often than the lock remembers operations.
    var heard: [[UInt8]] = []
    for round in 1...40 as ClosedRange<UInt64> {
      bench.happens(.linkUp(Bench.alice))
      heard.append(try #require(bench.offers[Bench.alice.low]))
      for (kind, operation) in [(LockCommand.Kind.unlock, 2 * round), (.lock, 2 * round + 1)] {
        var session = try bench.session(Bench.alice, key: bench.keys[0])
        let write = try session.seal(LockCommand(kind, operation: operation), using: &bench.cryptography)
        heard.append(write)
        bench.happens(.commandWritten(Bench.alice, write))
        bench.pass(1)
      }
      bench.happens(.linkDown(Bench.alice))
      bench.pass(60)
    }
    heard += bench.answers[Bench.alice.low] ?? []
    let turns = bench.turns.count
    #expect(turns == 80 && bench.position == .locked)
    // Whatever they make of it, under the owner's address or another, opens nothing.
    var random = SeededGenerator(seed: 22)
    for number in 0..<400 {
      let central = number % 2 == 0 ? Bench.alice : Bench.stranger
      if number % 20 < 2 { bench.happens(.linkUp(central)) }
      guard var message = heard.randomElement(using: &random), let other = heard.randomElement(using: &random) else {
        continue
      }
      switch number % 4 {
      case 0: break
      case 1: message[Int.random(in: 0..<message.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 2: message = Array(message.prefix(message.count / 2) + other.suffix(message.count - message.count / 2))
      default: message = Array((message + other).prefix(LockService.commandByteCount))
      }
      bench.happens(.commandWritten(central, message))
      bench.pass(0.5)
    }
    #expect(bench.turns.count == turns && bench.position == .locked)
    #expect(bench.refusals.count >= 100)
  }

  @Test("attack 27: what is injected into the owner's own link opens nothing, and the owner's next command counts")
  func injected() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var session = try bench.session(Bench.alice, key: bench.keys[0])
    let command = try session.seal(LockCommand(.status, operation: 0), using: &bench.cryptography)
    bench.happens(.commandWritten(Bench.alice, command))
    // The very same bytes are a repetition: they get the same answer, and do nothing.
    bench.happens(.commandWritten(Bench.alice, command))
    let forged = [
      [UInt8](repeating: 0, count: LockService.commandByteCount), [1], [],
      Array(command.reversed()), command + [0],
    ]
    for message in forged { bench.happens(.commandWritten(Bench.alice, message)) }
    #expect(bench.turns.isEmpty)
    #expect(bench.responses == [true, true] + forged.map { _ in false })
    bench.happens(.offerRead(Bench.alice))
    try bench.command(.unlock, 7)
    #expect(bench.turns.map(\.target) == [.unlocked])
  }

  @Test(
    "attack 33: who has bonded while nobody looked is still a stranger to the lock: a link alone opens and reads nothing"
  )
  func bonded() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.stranger))
    let ownKey = Bench.PrivateKey()
    for operation in 1...3 as ClosedRange<UInt64> {
      bench.happens(.offerRead(Bench.stranger))
      var session = try bench.session(Bench.stranger, key: ownKey)
      let write = try session.seal(LockCommand(.unlock, operation: operation), using: &bench.cryptography)
      bench.happens(.commandWritten(Bench.stranger, write))
    }
    #expect(bench.turns.isEmpty && bench.log.isEmpty)
    #expect(bench.refusals.allSatisfy { $0 == .notEnrolled || $0 == .waiting || $0 == .noOffer })
    #expect(bench.answers[Bench.stranger.low] == nil)
    bench.happens(.requestWritten(Bench.stranger, [0, 0xC0, 1]))
    #expect(bench.replies[Bench.stranger.low] == nil)
  }
}
