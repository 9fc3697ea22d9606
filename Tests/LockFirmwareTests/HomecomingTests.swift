import Crypto
import HomePolicy
import LockCryptography
import LockFirmware
import LockProtocol
import ProcessTesting
import RandomTesting
import Testing
import TimeTypes

/// A lock on the bench and a phone with its policy, joined by a lossy link.
struct Household {
  /// A phone that has been at this door before.
  private static let bonded = {
    var state = HomeState()
    state.isBonded = true
    return state
  }()

  var bench: Bench
  var policy = HomePolicy(HomeConfiguration(), state: bonded)
  var disk = bonded
  var random: SeededGenerator
  var session: PhoneSession<SwiftCryptography>?
  var offer: [UInt8]?
  /// The latest command.
  var message: [UInt8]?
  var answersSeen = 0
  var isLinked = false
  /// When the owner came into range, on the way to the door.
  var inRangeSince: Int64?
  var signal: Int {
    guard let inRangeSince else { return -60 }
    return Int(min(-58, -93 + 2 * (bench.milliseconds - inRangeSince) / 1000))
  }
  var questions = 0
  /// One in this many writes and answers is lost; 0 for none.
  var lossRate = 0
  var unlocks: Int { bench.turns.filter { $0.target == .unlocked }.count }

  init(seed: UInt64) throws {
    bench = try Bench { $0.offerRepeatCount = 3 }
    random = SeededGenerator(seed: seed)
    happens(.started(isLinked: false))
  }

  private mutating func isLost() -> Bool { lossRate > 0 && Int.random(in: 0..<lossRate, using: &random) == 0 }

  mutating func happens(_ event: HomeEvent) {
    let nanoseconds = bench.milliseconds * 1_000_000
    let time = HomeTime(
      boot: "only", instant: Instant(nanoseconds: nanoseconds), unixSeconds: Double(bench.milliseconds) / 1000)
    for effect in policy.handle(event, at: time, using: &random) {
      switch effect {
      case .store: disk = policy.state
      case .readSignal: if isLinked { happens(.signalRead(signal)) }
      case .readOffer:
        guard isLinked else { break }
        offer = nil
        bench.happens(.offerRead(Bench.alice))
      case .write(let command, let operation): write(command, operation)
      case .writeAgain:
        // The same bytes, after the same fate: the lock must answer as before.
        guard isLinked, let message, !isLost() else { break }
        bench.happens(.commandWritten(Bench.alice, message))
      case .ask: questions += 1
      case .stopAsking, .answerWord, .answerErrand, .answerRoom, .endLink, .requestLink: break
      }
    }
  }

  private mutating func write(_ command: HomeCommand, _ operation: UInt64) {
    guard let offer = self.offer, isLinked,
      var session = try? PhoneSession<SwiftCryptography>(
        offer: offer, identity: bench.configuration.identity, lockKey: bench.lockKey.publicKey,
        phoneKey: bench.keys[0]),
      let message = try? session.seal(
        LockCommand(
          command == .status ? .status : command == .unlockUnlessHome ? .unlockUnlessHome : .unlock,
          operation: operation), using: &bench.cryptography)
    else { return }
    self.offer = nil
    self.session = session
    self.message = message
    guard !isLost() else { return }
    bench.happens(.commandWritten(Bench.alice, message))
    if bench.responses.last == false {
      self.session = nil
      happens(.writeFailed)
    }
  }

  /// What the lock has sent reaches the phone.
  mutating func deliver() {
    for _ in 0..<20 {
      guard isLinked else { return }
      if let answers = bench.answers[1], answers.count > answersSeen {
        let answer = answers[answersSeen]
        answersSeen += 1
        if !isLost(), let opened = try? session?.open(answer) {
          session = nil
          let bolt: HomeBolt = opened.lockState == .locked ? .locked : .unlocked
          switch opened.result {
          case .done, .notNeeded: happens(.answered(.done, bolt: bolt))
          case .unknownOperation: happens(.answered(.unknownOperation, bolt: bolt))
          case .lockedAtHome: happens(.answered(.lockedAtHome, bolt: bolt))
          default: happens(.answered(.failed, bolt: bolt))
          }
        }
      } else if let fresh = bench.offers[1], fresh != offer {
        bench.offers[1] = nil
        offer = fresh
        happens(.offerReceived)
      } else {
        return
      }
    }
  }

  mutating func link(_ isUp: Bool) {
    guard isUp != isLinked else { return }
    isLinked = isUp
    offer = nil
    session = nil
    bench.offers[1] = nil
    if isUp {
      bench.happens(.linkUp(Bench.alice))
      happens(.linkUp)
      deliver()
    } else {
      bench.happens(.linkDown(Bench.alice))
      happens(.linkDown)
    }
  }

  mutating func relaunchPhone() {
    policy = HomePolicy(HomeConfiguration(), state: disk)
    offer = nil
    session = nil
    happens(.started(isLinked: isLinked))
  }

  mutating func restartLock() {
    bench.restart()
    if isLinked { bench.happens(.linkRestored(Bench.alice)) }
    deliver()
  }

  /// Time passes in steps of a second, while the bolt and all deadlines go on.
  mutating func pass(_ seconds: Int) {
    for _ in 0..<seconds {
      bench.pass(1)
      bench.finishTurn()
      deliver()
      if let due = policy.nextDeadline, due.nanoseconds <= bench.milliseconds * 1_000_000 { happens(.timePassed) }
      deliver()
    }
  }

  mutating func stayAway(_ seconds: Int) {
    pass(30)
    bench.milliseconds += Int64(seconds) * 1000
    pass(1)
    inRangeSince = bench.milliseconds
  }
}

@Suite("Coming home", .serialized, .ownThread) struct HomecomingTests {
  @Test("L2: leaving locks, coming home unlocks, once") func story() throws {
    var house = try Household(seed: 1)
    house.link(true)
    house.pass(30)
    #expect(house.unlocks == 0)
    for day in 1...5 {
      house.link(false)
      house.stayAway(86400)
      #expect(house.bench.firmware.lockState == .locked)
      house.link(true)
      house.pass(60)
      #expect(house.bench.firmware.lockState == .unlocked)
      #expect(house.unlocks == day)
    }
  }

  @Test(
    "L3: whatever is lost or killed on the way, an arrival opens the door, and opens it once",
    arguments: 0..<30 as Range<UInt64>)
  func faults(seed: UInt64) throws {
    var house = try Household(seed: seed)
    house.link(true)
    house.pass(20)
    for arrival in 1...4 {
      house.link(false)
      house.stayAway(3600 + Int(seed) * 100)
      #expect(house.bench.firmware.lockState == .locked)
      house.lossRate = 3
      house.link(true)
      for _ in 0..<12 {
        switch Int.random(in: 0..<6, using: &house.random) {
        case 0: house.relaunchPhone()
        case 1 where house.bench.turning == nil: house.restartLock()
        case 2:
          // The link drops for less time than the lock takes to lock.
          house.link(false)
          house.pass(2)
          house.link(true)
        default: house.pass(Int.random(in: 1...4, using: &house.random))
        }
      }
      house.lossRate = 0
      house.pass(120)
      // If the lock could not hear that the phone is still here, it may have locked again behind its owner. That is
      // the safe side. It must not open twice, or not at all.
      #expect(house.unlocks == arrival)
    }
  }
}
