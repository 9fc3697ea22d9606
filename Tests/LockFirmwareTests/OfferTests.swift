import Crypto
import HomePolicy
import LockCryptography
import LockFirmware
import LockProtocol
import ProcessTesting
import RandomTesting
import Testing
import TimeTypes

@Suite("The offer and the command at a link's beginning", .serialized, .ownThread) struct OfferTests {
  private func values(_ bench: Bench, to central: CentralIdentifier = Bench.alice) -> [[UInt8]] {
    bench.notified.filter { $0.central == central }.map(\.value)
  }

  @Test("L2: an offer comes in fragments of 18 bytes, again and again until a command arrives, and no longer")
  func untilTheCommand() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    #expect(values(bench).map(\.count) == [18, 18])
    bench.pass(0.35)
    #expect(values(bench).count == 8, "after 50, 150 and 350 ms")
    #expect(Set(values(bench)).count == 2, "the same offer")
    try bench.command(.unlock, 1)
    bench.pass(0.5)
    #expect(values(bench).count == 8, "the bolt turns, and nothing is offered")
    bench.finishTurn()
    #expect(values(bench).dropFirst(8).map(\.count) == [18, 18], "others may hear it")
    bench.pass(60)
    #expect(values(bench).count == 10)

    var board = try Bench { $0.notifiesOneAlone = true }
    board.happens(.linkUp(Bench.alice))
    try board.command(.status, 0)
    #expect(values(board).map(\.count) == [18, 18, 32], "the link carries the next one whole")

    var refused = try Bench()
    refused.happens(.linkUp(Bench.alice))
    refused.happens(.commandWritten(Bench.alice, [1]))
    refused.pass(2)
    #expect(values(refused).count == 2, "a command has arrived, whatever it is")
  }

  @Test("L6 L7: a lock that stood still takes no command of before, and offers anew") func stoodStill() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.status, 0)
    bench.milliseconds += 15_000
    bench.happens(.stoodStill)
    try bench.command(.unlock, 5)
    #expect(bench.turning == nil)
    #expect(bench.refusals == [.offerExpired])
    try bench.command(.unlock, 6)
    #expect(bench.turning == .unlocked)
  }

  @Test("L2: a phone of an earlier version gets the offer whole, or, if another hears it, is told to read it")
  func earlierVersions() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    let offer = try #require(bench.offers[1])
    bench.pass(4)
    #expect(values(bench).map(\.count) == Array(repeating: 18, count: 12) + [32])
    #expect(values(bench).last == offer)
    bench.pass(7)
    #expect(values(bench).dropFirst(13).map(\.count) == [18, 18, 32], "the next offer, which wakes it")
    #expect(bench.offers[1] != offer)

    bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.status, 0)
    bench.happens(.linkUp(Bench.bob))
    // The lock has never seen Bob, so only he can tell which offer is his.
    #expect(values(bench, to: Bench.bob) == [LockService.offerHint])
    try bench.command(.unlock, 1, by: 1)
    #expect(bench.turns.count == 1)
  }

  @Test("L2: of two phones, one that the lock knows needs no read, and takes no offer that is for the other")
  func twoPhones() throws {
    var bench = try Bench()
    try bench.comeHome(1, by: 1)
    bench.happens(.linkDown(Bench.bob))
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.status, 0)
    bench.notified = []
    bench.happens(.linkUp(Bench.bob))
    let fragments = values(bench, to: Bench.bob)
    #expect(fragments.map(\.count) == [18, 18])
    var (alice, bob) = (OfferReader(), OfferReader())
    func heard(_ reader: inout OfferReader, _ phone: Int) -> [[UInt8]] {
      let key = Array(bench.keys[phone].publicKey.rawRepresentation)
      return fragments.compactMap { reader.take($0, phone: key, using: SwiftCryptography.self) }
    }
    #expect(heard(&alice, 0).isEmpty)
    #expect(heard(&bob, 1) == [try #require(bench.offers[2])])
    let turns = bench.turns.count
    try bench.command(.lock, 2, by: 1)
    #expect(bench.turns.count == turns + 1)
    // A board's radio notifies one alone.
    var board = try Bench { $0.notifiesOneAlone = true }
    board.happens(.linkUp(Bench.alice))
    board.happens(.linkUp(Bench.bob))
    #expect(values(board, to: Bench.bob).map(\.count) == [18, 18])
  }

  @Test("L2: fragments that are lost, doubled, cut, out of order or of two offers give the offer, or none")
  func fragments() throws {
    let key = [UInt8](repeating: 4, count: 32)
    var random = SeededGenerator(seed: 1)
    func offer() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) } }
    for _ in 0..<500 {
      let offers = (0..<3).map { _ in offer() }
      var air: [[UInt8]] = []
      for number in 0..<40 {
        let offer = offers[number % 3]
        var value = OfferFragments.cut(offer, for: number % 2 == 0 ? [] : key, using: SwiftCryptography.self)[
          Int.random(in: 0...1, using: &random)]
        switch Int.random(in: 0..<8, using: &random) {
        case 0: value.removeLast(Int.random(in: 1...18, using: &random))
        case 1: value[Int.random(in: 0..<18, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: continue
        case 3: air.append(value)
        default: break
        }
        air.insert(value, at: Int.random(in: 0...air.count, using: &random))
      }
      var reader = OfferReader()
      let heard = air.compactMap { reader.take($0, phone: key, using: SwiftCryptography.self) }
      #expect(heard.allSatisfy { offers.contains($0) })
      #expect(!heard.isEmpty)
    }
  }

  @Test("L4: a command that comes once more after its phone has subscribed anew gets its answer, and is no wrong one")
  func afterAnotherSubscription() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var session = try bench.session(Bench.alice, key: bench.keys[0])
    let bytes = try session.seal(LockCommand(.unlock, operation: 1), using: &bench.cryptography)
    bench.happens(.commandWritten(Bench.alice, bytes))
    bench.finishTurn()
    let answers = try #require(bench.answers[1])
    #expect(answers.count == 1)
    let notes = bench.notes.count
    bench.happens(.linkDown(Bench.alice))
    bench.happens(.linkUp(Bench.alice))
    // The phone before last gets its answer just as the last one does.
    bench.happens(.linkUp(Bench.bob))
    bench.happens(.commandWritten(Bench.alice, bytes))
    #expect(bench.responses.last == true)
    #expect(bench.answers[1] == answers + answers, "the same answer")
    #expect(bench.turns.count == 1)
    #expect(!bench.notes.dropFirst(notes).contains { if case .commandRefused = $0 { true } else { false } })
    // The present offer is sent again all the same, for the phone has not answered it.
    let sent = bench.notified.count
    bench.pass(1)
    #expect(bench.notified.count > sent)
    // From another, and after a minute, it is what it always was.
    bench.happens(.commandWritten(Bench.bob, bytes))
    #expect(bench.responses.last == false)
    bench.pass(61)
    bench.happens(.commandWritten(Bench.alice, bytes))
    #expect(bench.responses.last == false)
  }

  @Test("L2, L4: on an air that loses, doubles, cuts and reorders, a command opens once, and a captured one never")
  func anyAir() throws {
    var opened = 0
    var soon = 0
    for seed in 0..<300 as Range<UInt64> {
      var visit = try Visit(seed: seed)
      visit.run(seconds: 40)
      #expect(visit.bench.turns.count <= 1, "seed \(seed)")
      if visit.outcomes.last == .done { #expect(visit.bench.turns.count == 1, "seed \(seed)") }
      opened += visit.bench.turns.count
      if let at = visit.openedAt, at <= 1000 { soon += 1 }
      // What was on the air is written again, on this link and on the next one.
      for message in visit.captured { visit.bench.happens(.commandWritten(Bench.alice, message)) }
      // One that never arrived is still good on its own link. It is for the same opening.
      #expect(visit.bench.turns.count <= 1, "seed \(seed)")
      let accepted = visit.bench.notes.count { if case .commandAccepted = $0 { true } else { false } }
      visit.bench.happens(.linkUp(Bench.stranger))
      for message in visit.captured { visit.bench.happens(.commandWritten(Bench.stranger, message)) }
      visit.bench.finishTurn()
      visit.bench.happens(.linkUp(Bench.alice))
      for message in visit.captured { visit.bench.happens(.commandWritten(Bench.alice, message)) }
      #expect(visit.bench.turns.count <= 1, "seed \(seed)")
      #expect(visit.bench.notes.count { if case .commandAccepted = $0 { true } else { false } } == accepted)
    }
    #expect(opened >= 298, "\(opened) of 300")
    #expect(soon >= 240, "within a second: \(soon) of 300")
  }
}

/// A phone that unlocks as soon as it has a link, over an air that loses, doubles, delays and cuts what is not confirmed.
private struct Visit {
  enum Packet {
    case offer([UInt8])
    case answer([UInt8])
    case command([UInt8], isConfirmed: Bool)
    case confirmation(Bool)
  }

  var bench: Bench
  var policy = HomePolicy(HomeConfiguration(), state: HomeState())
  private var random: SeededGenerator
  private var air: [(at: Int64, packet: Packet)] = []
  private var reader = OfferReader()
  private var offer: [UInt8]?
  private var usedOffer: [UInt8]?
  private var session: PhoneSession<SwiftCryptography>?
  private var message: [UInt8] = []
  private var notified = 0
  private var answered = 0
  private let begin: Int64
  private(set) var captured: [[UInt8]] = []
  private(set) var outcomes: [WordOutcome] = []
  private(set) var openedAt: Int64?

  init(seed: UInt64) throws {
    bench = try Bench()
    random = SeededGenerator(seed: seed)
    begin = bench.milliseconds
    happens(.started(isLinked: false))
    bench.happens(.linkUp(Bench.alice))
    collect()
    happens(.linkUp)
    happens(.unlockAsked)
  }

  mutating func run(seconds: Int64) {
    while bench.milliseconds < begin + seconds * 1000 {
      bench.milliseconds += 5
      if let turning = bench.turning, bench.milliseconds - bench.turnStart >= 600 {
        bench.turning = nil
        bench.position = turning == .locked ? .locked : .unlocked
        bench.happens(.boltStopped(bench.position))
      }
      if let due = bench.firmware.nextDeadline, due.milliseconds <= bench.milliseconds { bench.happens(.timePassed) }
      collect()
      let arrived = air.filter { $0.at <= bench.milliseconds }
      air.removeAll { $0.at <= bench.milliseconds }
      for packet in arrived { arrive(packet.packet) }
      if let due = policy.nextDeadline, due.nanoseconds <= bench.milliseconds * 1_000_000 { happens(.timePassed) }
      if openedAt == nil, !bench.turns.isEmpty { openedAt = bench.milliseconds - begin }
    }
  }

  private mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

  private mutating func send(_ packet: Packet, isSafe: Bool = false) {
    if !isSafe, chance(3) { return }
    for _ in 0..<(!isSafe && chance(4) ? 2 : 1) {
      air.append((bench.milliseconds + Int64.random(in: 10...(isSafe ? 60 : 200), using: &random), packet))
    }
  }

  private mutating func cut(_ value: [UInt8]) -> [UInt8] {
    chance(8) ? Array(value.prefix(Int.random(in: 1..<value.count + 1, using: &random))) : value
  }

  /// What the lock has notified.
  private mutating func collect() {
    for value in bench.notified.dropFirst(notified) { send(.offer(cut(value.value))) }
    notified = bench.notified.count
    for value in bench.answers[1, default: []].dropFirst(answered) { send(.answer(cut(value))) }
    answered = bench.answers[1]?.count ?? 0
  }

  private mutating func arrive(_ packet: Packet) {
    switch packet {
    case .offer(let value):
      let heard =
        value.count == LockService.offerByteCount
        ? value
        : reader.take(
          value, phone: Array(bench.keys[0].publicKey.rawRepresentation), using: SwiftCryptography.self)
      guard let heard else { return }
      if heard == usedOffer { return happens(.offerRepeated) }
      guard heard != offer else { return }
      offer = heard
      happens(.offerReceived)
    case .answer(let value):
      guard let opened = try? session?.open(value) else { return }
      session = nil
      let answer: HomeAnswer =
        switch opened.result {
        case .done, .notNeeded: .done
        case .unknownOperation: .unknownOperation
        default: .failed
        }
      happens(.answered(answer, bolt: opened.lockState == .locked ? .locked : .unlocked))
    case .command(let bytes, let isConfirmed):
      bench.happens(.commandWritten(Bench.alice, bytes))
      if isConfirmed { send(.confirmation(bench.responses.last ?? false), isSafe: true) }
    case .confirmation(let isAccepted):
      guard !isAccepted else { return }
      session = nil
      usedOffer = nil
      happens(.writeFailed)
    }
  }

  private mutating func happens(_ event: HomeEvent) {
    let time = HomeTime(
      boot: "only", instant: Instant(nanoseconds: bench.milliseconds * 1_000_000), unixSeconds: 1_800_000_000)
    for effect in policy.handle(event, at: time, using: &random) {
      switch effect {
      case .readSignal: happens(.signalRead(-60))
      case .readOffer:
        offer = nil
        bench.happens(.offerRead(Bench.alice))
        if let read = bench.offers[1] { send(.offer(read), isSafe: true) }
      case .write(let command, let operation): write(command, operation)
      case .writeAgain(let isConfirmed):
        captured.append(message)
        send(.command(message, isConfirmed: isConfirmed), isSafe: isConfirmed)
      case .answerWord(let outcome): outcomes.append(outcome)
      case .store, .ask, .stopAsking, .answerErrand, .answerRoom, .endLink, .requestLink: break
      }
    }
  }

  private mutating func write(_ command: HomeCommand, _ operation: UInt64) {
    guard let offer,
      var session = try? PhoneSession<SwiftCryptography>(
        offer: offer, identity: bench.configuration.identity, lockKey: bench.lockKey.publicKey, phoneKey: bench.keys[0]),
      let message = try? session.seal(
        LockCommand(command == .status ? .status : .unlock, operation: operation), using: &bench.cryptography)
    else { return }
    self.offer = nil
    usedOffer = offer
    self.session = session
    self.message = message
    captured.append(message)
    send(.command(message, isConfirmed: false))
  }
}
