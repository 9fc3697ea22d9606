import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import ProcessTesting
import RandomTesting
import Testing

@Suite("Offers where every subscriber hears them", .serialized, .ownThread) struct BroadcastOfferTests {
  @Test("L2, L4: of phones whose first links come at once, none uses an offer that is another's")
  func firstLinks() throws {
    for seed in 0..<40 as Range<UInt64> {
      var crowd = try Crowd(seed: seed)
      crowd.arrive()
      #expect(crowd.bench.refusals.isEmpty, "seed \(seed)")
      #expect(crowd.isServed, "seed \(seed)")
    }
  }

  @Test("L2, L4: a phone of which nobody has told the lock takes no offer for one that the lock knows")
  func unreported() throws {
    for seed in 0..<40 as Range<UInt64> {
      var crowd = try Crowd(seed: seed)
      crowd.knows(0)
      crowd.arrive(unreported: 1)
      #expect(crowd.bench.refusals.isEmpty, "seed \(seed)")
      #expect(crowd.isServed, "seed \(seed)")
    }
  }

  @Test("L2: a phone that has heard an offer with its mark takes none without; a new reader takes either")
  func ownMark() {
    let key = [UInt8](repeating: 4, count: 32)
    let (own, foreign) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
    func heard(_ reader: inout OfferReader, _ offer: [UInt8], for phone: [UInt8]) -> [[UInt8]] {
      OfferFragments.cut(offer, for: phone, using: SwiftCryptography.self).compactMap {
        reader.take($0, phone: key, using: SwiftCryptography.self)
      }
    }
    var reader = OfferReader()
    #expect(heard(&reader, foreign, for: []) == [foreign])
    #expect(!reader.hearsOwn)
    #expect(heard(&reader, own, for: key) == [own])
    #expect(reader.hearsOwn)
    #expect(heard(&reader, foreign, for: []).isEmpty)
    #expect(heard(&reader, own, for: key) == [own])
  }
}

/// Phones at one lock whose radio notifies all of them, and tells the lock of a subscriber as latchkeyd does: of all that are linked
/// when the first one subscribes, and of each when it asks for something.
private struct Crowd {
  var bench: Bench
  private var random: SeededGenerator
  private let count: Int
  private var readers: [OfferReader]
  private var listensAt: [Int64?]
  private var isReported: [Bool]
  private var used: [[UInt8]?]
  private var isAnswered: [Bool]
  private var heardCount = 0
  private var readsAt: [Int64?]

  var isServed: Bool { isAnswered.allSatisfy { $0 } }

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    count = Int.random(in: 2...4, using: &random)
    bench = try Bench(phoneCount: count) { $0.firstOfferDelayMilliseconds = 20 }
    readers = Array(repeating: OfferReader(), count: count)
    listensAt = Array(repeating: nil, count: count)
    isReported = Array(repeating: false, count: count)
    used = Array(repeating: nil, count: count)
    isAnswered = Array(repeating: false, count: count)
    readsAt = Array(repeating: nil, count: count)
  }

  private func central(_ phone: Int) -> CentralIdentifier { CentralIdentifier(high: 0, low: UInt64(phone + 1)) }

  /// This phone has been here before.
  mutating func knows(_ phone: Int) {
    bench.happens(.linkUp(central(phone)))
    isReported[phone] = true
    // A stranger's first offer comes a little later.
    bench.pass(0.03)
    write(phone, bench.offers[UInt64(phone + 1)] ?? [])
    bench.happens(.linkDown(central(phone)))
    isReported[phone] = false
    used[phone] = nil
    isAnswered[phone] = false
    readers[phone] = OfferReader()
    heardCount = bench.notified.count
  }

  /// All subscribe within half a second.
  /// - Parameter unreported: how many of them have subscribed in a way that the lock is not told of.
  mutating func arrive(unreported: Int = 0) {
    let order = unreported > 0 ? Array(0..<count) : Array(0..<count).shuffled(using: &random)
    let begin = bench.milliseconds
    for phone in order {
      listensAt[phone] = begin + (phone == order[0] ? 0 : Int64.random(in: 0...500, using: &random))
    }
    if unreported > 0 { for phone in 1...unreported { listensAt[phone] = begin } }
    let told = order.filter { unreported == 0 || $0 == 0 }.shuffled(using: &random)
    for phone in told { report(phone) }
    while bench.milliseconds < begin + 8000, !isServed {
      bench.pass(0.005)
      hear()
      for phone in 0..<count where !isAnswered[phone] {
        guard let at = listensAt[phone], at <= bench.milliseconds else { continue }
        let due = readsAt[phone] ?? at + 1000
        if due <= bench.milliseconds { read(phone) }
      }
    }
  }

  private mutating func report(_ phone: Int) {
    guard !isReported[phone] else { return }
    isReported[phone] = true
    bench.happens(.linkUp(central(phone)))
    hear()
  }

  private mutating func read(_ phone: Int) {
    readsAt[phone] = bench.milliseconds + 1000
    report(phone)
    bench.happens(.offerRead(central(phone)))
    if let offer = bench.offers[UInt64(phone + 1)] { write(phone, offer) }
  }

  private mutating func hear() {
    while heardCount < bench.notified.count {
      let value = bench.notified[heardCount].value
      heardCount += 1
      for phone in 0..<count where !isAnswered[phone] {
        guard let at = listensAt[phone], at <= bench.milliseconds else { continue }
        if value == LockService.offerHint {
          if !readers[phone].hearsOwn { read(phone) }
        } else if value.count == LockService.offerByteCount {
          write(phone, value)
        } else if let offer = readers[phone].take(
          value, phone: publicKey(phone), using: SwiftCryptography.self), !isTakenByChance(value, offer, by: phone)
        {
          write(phone, offer)
        }
      }
    }
  }

  private func publicKey(_ phone: Int) -> [UInt8] { Array(bench.keys[phone].publicKey.rawRepresentation) }

  /// Whether a fragment has another phone's mark, and this phone's is the same: the keys are random, and marks have 15 bits.
  private func isTakenByChance(_ value: [UInt8], _ offer: [UInt8], by phone: Int) -> Bool {
    (0..<count).contains { other in
      other != phone
        && OfferFragments.cut(offer, for: publicKey(other), using: SwiftCryptography.self).contains(value)
    }
  }

  private mutating func write(_ phone: Int, _ offer: [UInt8]) {
    guard !isAnswered[phone], used[phone] != offer,
      var session = try? PhoneSession<SwiftCryptography>(
        offer: offer, identity: bench.configuration.identity, lockKey: bench.lockKey.publicKey,
        phoneKey: bench.keys[phone]),
      let message = try? session.seal(LockCommand(.status, operation: 0), using: &bench.cryptography)
    else { return }
    used[phone] = offer
    // Whoever asks for something is counted.
    if !isReported[phone] { report(phone) }
    bench.happens(.commandWritten(central(phone), message))
    if bench.responses.last == true { isAnswered[phone] = true }
  }
}
