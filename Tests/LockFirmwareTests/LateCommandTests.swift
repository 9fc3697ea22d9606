import LockCryptography
import LockFirmware
import LockProtocol
import ProcessTesting
import Testing

/// Commands that waited somewhere between a person and the lock, behind another operation or in a system that stood still.
@Suite("Commands that come late", .serialized, .ownThread) struct LateCommandTests {
  /// A command to the present offer, which is still on its way.
  private func written(_ kind: LockCommand.Kind, _ operation: UInt64, _ bench: inout Bench) throws -> [UInt8] {
    var session = try bench.session(Bench.alice, key: bench.keys[0])
    return try session.seal(LockCommand(kind, operation: operation), using: &bench.cryptography)
  }

  @Test(
    "L6 L7: a command that comes over 15 s after its offer moves no bolt, whatever it is",
    arguments: [LockCommand.Kind.unlock, .unlockUnlessHome, .unlockUnlessInside, .unlockIfLeft, .lock])
  func late(_ kind: LockCommand.Kind) throws {
    for seconds in [14.5, 15.5] {
      // A link that makes no further offers by itself.
      var bench = try Bench {
        $0.offerRepeatCount = 0
        $0.leavingDelayMilliseconds = 60_000
      }
      if kind == .lock { try bench.comeHome(9) }
      let turns = bench.turns.count
      bench.happens(.linkUp(Bench.alice))
      let command = try written(kind, 1, &bench)
      bench.pass(seconds)
      bench.happens(.commandWritten(Bench.alice, command))
      #expect((bench.responses.last == true) == (seconds < 15))
      if seconds > 15 {
        #expect(bench.turns.count == turns)
        #expect(bench.refusals == [.offerExpired])
      }
    }
  }

  @Test("L6 L7: the offer before the present one has its own age") func earlierOffer() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    let command = try written(.unlock, 1, &bench)
    bench.pass(10.5)
    bench.pass(5.5)
    bench.happens(.commandWritten(Bench.alice, command))
    #expect(bench.turns.isEmpty)
    #expect(bench.refusals == [.offerExpired])
  }

  @Test("L7: a phone that only asks is answered to an older offer") func status() throws {
    var bench = try Bench { $0.offerRepeatCount = 0 }
    bench.happens(.linkUp(Bench.alice))
    let command = try written(.status, 0, &bench)
    bench.pass(50)
    bench.happens(.commandWritten(Bench.alice, command))
    #expect(bench.responses.last == true)
    #expect(bench.answers[1]?.count == 1)
  }

  @Test("L7: whoever is late gets another offer at once, and their command again is no wrong code") func again() throws
  {
    var bench = try Bench { $0.offerRepeatCount = 0 }
    bench.happens(.linkUp(Bench.alice))
    let command = try written(.unlock, 1, &bench)
    let offer = bench.offers[1]
    bench.pass(16)
    for _ in 0..<6 { bench.happens(.commandWritten(Bench.alice, command)) }
    #expect(bench.turns.isEmpty)
    #expect(bench.offers[1] != offer)
    // Strangers wait after three wrong codes.
    try bench.command(.unlock, 1)
    #expect(bench.turns.count == 1)
  }

  @Test("L7: a read of the offer brings one that its command can still use") func read() throws {
    var bench = try Bench { $0.offerRepeatCount = 0 }
    bench.happens(.linkUp(Bench.alice))
    let offer = bench.offers[1]
    bench.pass(2)
    bench.happens(.offerRead(Bench.alice))
    #expect(bench.offers[1] == offer)
    bench.pass(10)
    bench.happens(.offerRead(Bench.alice))
    #expect(bench.offers[1] != offer)
    let command = try written(.unlock, 1, &bench)
    bench.pass(10)
    bench.happens(.commandWritten(Bench.alice, command))
    #expect(bench.responses.last == true)
  }
}
