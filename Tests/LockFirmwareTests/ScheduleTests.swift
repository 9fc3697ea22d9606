import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import ProcessTesting
import RandomTesting
import Testing

@Suite("Lock schedules", .serialized, .ownThread) struct ScheduleTests {
  @Test(
    "L4: in whatever order, no turn without a record, none to unlock without an enrolled key, none twice",
    arguments: 0..<30 as Range<UInt64>)
  func schedule(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var bench = try Bench { $0.relockDelayMilliseconds = seed % 3 == 0 ? 90_000 : nil }
    let centrals = [Bench.alice, Bench.bob, Bench.stranger]
    let strangerKey = Curve25519.KeyAgreement.PrivateKey()
    var captured: [[UInt8]] = []
    /// Unlocks that an enrolled phone asked for, by phone and operation.
    var asked: Set<String> = []
    var nextOperation: UInt64 = 1
    for _ in 0..<250 {
      let who = Int.random(in: 0..<3, using: &random)
      let central = centrals[who]
      let before = bench.turns.count
      switch Int.random(in: 0..<16, using: &random) {
      case 0, 1: bench.happens(.linkUp(central))
      case 2: bench.happens(.linkDown(central))
      case 3: bench.happens(.offerRead(central))
      case 4, 5, 6, 7:
        guard let offer = bench.offers[central.low] else { break }
        let key = who == 2 ? strangerKey : bench.keys[who]
        var session = try PhoneSession<SwiftCryptography>(
          offer: offer, identity: bench.configuration.identity, lockKey: bench.lockKey.publicKey, phoneKey: key)
        let kind = LockCommand.Kind.allCases.randomElement(using: &random) ?? .status
        // Sometimes an operation that was used before.
        let isRepeated = Int.random(in: 0..<4, using: &random) == 0
        let operation = isRepeated ? UInt64.random(in: 1...nextOperation, using: &random) : nextOperation
        nextOperation += 1
        var write = try session.seal(LockCommand(kind, operation: operation), using: &bench.cryptography)
        captured.append(write)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: write[Int.random(in: 0..<write.count, using: &random)] ^= 0x10
        case 1: continue  // lost on the way, and kept by an eavesdropper
        default:
          if who != 2, kind != .lock, kind != .status { asked.insert("\(who):\(operation)") }
        }
        bench.happens(.commandWritten(central, write))
      case 8:
        // An eavesdropper sends a kept write on another central's link.
        if let kept = captured.randomElement(using: &random) {
          bench.happens(.linkUp(Bench.stranger))
          bench.happens(.commandWritten(Bench.stranger, kept))
        }
      case 9: bench.pass(Double.random(in: 0...30, using: &random))
      case 10: bench.move(door: Bool.random(using: &random) ? .open : .closed)
      case 11, 12: bench.finishTurn()
      case 13: bench.storesAtOnce.toggle()
      case 14: bench.store()
      default:
        if Int.random(in: 0..<4, using: &random) == 0 { bench.restart() }
      }
      // By then, every turn has a durable record.
      for turn in bench.turns[before...] {
        let movements = bench.log.prefix(turn.logCount).filter { $0.kind == .movement }
        #expect(movements.last?.target == turn.target)
      }
      #expect(bench.log.filter { $0.kind == .movement }.count >= bench.turns.count)
    }
    #expect(bench.turns.filter { $0.target == .unlocked }.count <= asked.count)
    // A motor that arrives when its time is over and another turn is about to begin is recorded as what it is.
    for record in bench.log
    where record.kind == .movement && record.target == .unlocked && record.cause != .unexplained {
      #expect(record.cause == .phone)
      let who = bench.keys.firstIndex { Array($0.publicKey.rawRepresentation) == record.phone }
      #expect(who != nil)
      #expect(asked.contains("\(who ?? -1):\(record.operation)"))
    }
    // No operation has two movements, and the log's indices have no gap.
    let movements = bench.log.filter { $0.kind == .movement && $0.cause == .phone }
    #expect(Set(movements.map { "\($0.phone):\($0.operation)" }).count == movements.count)
    #expect(bench.log.map(\.index) == Array(1..<UInt64(bench.log.count + 1)))
    // Nothing is ever stuck: with a writable log, a free bolt and a shut door, an owner gets in.
    bench.storesAtOnce = true
    bench.store()
    bench.move(door: .closed)
    for _ in 0..<4 {
      bench.finishTurn()
      bench.pass(200)
    }
    bench.happens(.linkUp(Bench.alice))
    let session = try bench.command(.unlock, 1_000_000)
    bench.finishTurn()
    #expect(bench.firmware.lockState == .unlocked)
    #expect([.done, .notNeeded].contains(try bench.answer(session).result))
  }
}
