import LockFirmware
import LockProtocol

/// Plays events for a lock, drawn from a seed, and computes the trace of everything that the lock decides. The same
/// seed must leave the same trace on Linux and on a board. The lock's surroundings are simulated here: phones, a motor
/// and a log.
package struct LockScript<Cryptography: ScriptCryptography> {
  private let lockKey: Cryptography.PrivateKey
  private let phoneKeys: [Cryptography.PrivateKey]
  private let configuration: LockConfiguration
  private var cryptography: Cryptography
  private var firmware: LockFirmware<Cryptography>
  private var random: ScriptRandom
  private var milliseconds: Int64 = 1000
  private var store: WitnessedStore
  private var position = BoltPosition.locked
  private var door = DoorState.closed
  private var turning: BoltTarget?
  private var isMechanismFailed = false
  /// The latest offer to each central, and the session that waits for an answer.
  private var offers: [[UInt8]?]
  private var readers: [OfferReader]
  private var sessions: [PhoneSession<Cryptography>?]
  private var waiting: [LockEvent] = []
  private var nextOperation: UInt64 = 1

  /// The trace so far.
  package private(set) var trace = TraceHash()
  package private(set) var eventCount: UInt64 = 0
  /// How many answers were read by the phone that they were for.
  package private(set) var answerCount: UInt64 = 0
  package private(set) var turnCount: UInt64 = 0
  /// How many times the power failed while something was being stored.
  package private(set) var powerCutCount: UInt64 = 0
  /// How many times the store had neither the old nor the new state, or the log did not explain an unlocked bolt.
  package var violationCount: UInt64 { store.violationCount }

  private static var phoneCount: Int { 2 }
  /// Phones, and strangers after them.
  private static var centralCount: Int { 4 }

  package init(seed: UInt64) {
    var random = ScriptRandom(seed: seed)
    let lockKey = Cryptography.privateKey(from: random.bytes(32))
    var phoneKeys: [Cryptography.PrivateKey] = []
    for _ in 0..<Self.phoneCount { phoneKeys.append(Cryptography.privateKey(from: random.bytes(32))) }
    guard let identity = LockIdentity(random.bytes(LockIdentity.byteCount)) else {
      preconditionFailure("an identity has as many bytes as it has")
    }
    var configuration = LockConfiguration(
      identity: identity, enrolledPhones: phoneKeys.map { Cryptography.bytes(of: Cryptography.publicKey(of: $0)) })
    configuration.relockDelayMilliseconds = 120_000
    configuration.capacity = .board
    cryptography = Cryptography(seed: random.next())
    firmware = LockFirmware(
      configuration, staticKey: lockKey, using: cryptography, records: [], position: .locked, door: .closed,
      at: LockTime(milliseconds: 1000, unixSeconds: 0))
    store = WitnessedStore()
    store.keep(.phones, configuration.enrolledPhones.reduce([]) { $0 + $1 })
    self.lockKey = lockKey
    self.phoneKeys = phoneKeys
    self.configuration = configuration
    self.random = random
    offers = Array(repeating: nil, count: Self.centralCount)
    readers = Array(repeating: OfferReader(), count: Self.centralCount)
    sessions = Array(repeating: nil, count: Self.centralCount)
  }

  /// Lets the power fail after this many more bytes have been programmed.
  package mutating func cutPower(after byteCount: Int) { store.cutPower(after: byteCount) }

  /// The next event, and what follows from it.
  package mutating func step() {
    happen()
    guard store.isDead else { return }
    powerCutCount += 1
    restart()
  }

  /// Ends all links, lets an hour pass, and restarts the lock. The memory in use afterwards does not depend on what was
  /// going on.
  package mutating func settle() {
    for who in 0..<Self.centralCount { happens(.linkDown(CentralIdentifier(high: 7, low: UInt64(who)))) }
    pass(3_600_000)
    restart()
  }

  private mutating func happen() {
    let who = Int(random.below(UInt64(Self.centralCount)))
    let central = CentralIdentifier(high: 7, low: UInt64(who))
    switch random.below(32) {
    case 0...3: happens(.linkUp(central))
    case 4, 5:
      offers[who] = nil
      sessions[who] = nil
      happens(.linkDown(central))
    case 6: happens(.offerRead(central))
    case 7...12: command(who, central)
    case 13: happens(.commandWritten(central, random.bytes(Int(random.below(140)))))
    case 14...18: stopMotor()
    case 19, 20, 21: pass(Int64(random.below(20_000)))
    case 22: pass(Int64(random.below(600_000)))
    case 23, 24:
      door = random.below(2) == 0 ? .open : .closed
      happens(.doorChanged(door))
    case 25: turnByHand()
    case 26: happens(.batteryChanged(UInt8(random.below(20) == 0 ? random.below(12) : 40 + random.below(60))))
    case 27: if random.below(4) == 0 { happens(.tamperChanged(isOpen: random.below(2) == 0)) }
    case 28: if random.below(4) == 0 { happens(.modeSet(random.below(3) == 0 ? .privacy : .normal)) }
    case 29: if random.below(8) == 0 { failMechanism() }
    case 30: restoreMechanism()
    default:
      switch random.below(8) {
      case 0: restart()
      case 1, 2: cutPower(after: Int(random.below(300)))
      default: break
      }
    }
  }

  // MARK: What happens

  private mutating func pass(_ time: Int64) {
    milliseconds += time
    happens(.timePassed)
  }

  private mutating func stopMotor() {
    guard let target = turning, !isMechanismFailed else { return }
    turning = nil
    milliseconds += 600
    position = random.below(12) == 0 ? .between : target == .locked ? .locked : .unlocked
    happens(.boltStopped(position))
  }

  private mutating func turnByHand() {
    guard turning == nil, !isMechanismFailed else { return }
    position = random.below(2) == 0 ? .locked : .unlocked
    happens(.boltTurnedByHand(position, from: random.below(2) == 0 ? .inside : .unknown))
  }

  private mutating func failMechanism() {
    isMechanismFailed = true
    turning = nil
    happens(.mechanismFailed)
  }

  private mutating func restoreMechanism() {
    guard isMechanismFailed else { return }
    isMechanismFailed = false
    happens(.mechanismRestored(position, door))
  }

  /// A phone, or a stranger with a key of its own, writes a command with the latest offer.
  private mutating func command(_ who: Int, _ central: CentralIdentifier) {
    guard let offer = offers[who] else { return happens(.linkUp(central)) }
    let kinds: [LockCommand.Kind] = [.unlock, .lock, .unlockUnlessHome, .unlockUnlessInside, .unlockIfLeft, .status]
    let kind = kinds[Int(random.below(UInt64(kinds.count)))]
    let isRepeated = random.below(8) == 0 && nextOperation > 1
    let operation = isRepeated ? nextOperation - 1 : nextOperation
    nextOperation += 1
    let key = who < phoneKeys.count ? phoneKeys[who] : cryptography.makePrivateKey()
    do throws(LockSessionError) {
      var session = try PhoneSession<Cryptography>(
        offer: offer, identity: configuration.identity, lockKey: Cryptography.publicKey(of: lockKey), phoneKey: key)
      let message = try session.seal(LockCommand(kind, operation: operation), using: &cryptography)
      sessions[who] = session
      happens(.commandWritten(central, message))
    } catch {
      trace.mix(0xEE as UInt8)
    }
  }

  /// The power fails and comes back. The next run knows only what is stored.
  private mutating func restart() {
    if turning != nil { position = .between }
    turning = nil
    isMechanismFailed = false
    for index in offers.indices {
      offers[index] = nil
      sessions[index] = nil
    }
    waiting = []
    guard let records = store.restart() else { return }
    firmware = LockFirmware(
      configuration, staticKey: lockKey, using: cryptography, records: records, landmarks: store.landmarks.records,
      trusted: trusted, access: access, awaited: awaited, position: position, door: door, mode: mode,
      at: LockTime(milliseconds: milliseconds, unixSeconds: milliseconds / 1000))
    happens(.timePassed)
    store.checkBolt(position)
  }

  private var mode: OperatingMode { store.value(of: .mode).flatMap { OperatingMode(rawValue: $0[0]) } ?? .normal }

  private var access: AccessState {
    guard let bytes = store.value(of: .access) else { return AccessState() }
    do throws(LockMessageError) { return try AccessState(decoding: bytes) } catch {
      preconditionFailure("what the store reads back is what it was given")
    }
  }

  private var trusted: [TrustedCentral] {
    guard let bytes = store.value(of: .trusted) else { return [] }
    var trusted: [TrustedCentral] = []
    for start in stride(from: 0, to: bytes.count, by: Self.trustedByteCount) {
      let low = bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
      trusted.append(
        TrustedCentral(
          central: CentralIdentifier(high: 7, low: low), phone: Array(bytes[start + 8..<start + Self.trustedByteCount]))
      )
    }
    return trusted
  }

  private var awaited: AwaitedPhone? {
    store.value(of: .awaited).map { bytes in
      AwaitedPhone(phone: Array(bytes.dropFirst(8)), record: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
  }

  private static var trustedByteCount: Int { 8 + NoiseSize.keyByteCount }

  // MARK: What the lock decides

  private mutating func happens(_ event: LockEvent) {
    waiting.append(event)
    while !waiting.isEmpty {
      let event = waiting.removeFirst()
      eventCount += 1
      let time = LockTime(milliseconds: milliseconds, unixSeconds: milliseconds / 1000)
      for effect in firmware.handle(event, at: time) {
        perform(effect)
        // Without power nothing happens any more.
        if store.isDead { return }
      }
    }
    trace.mix(firmware.lockState.rawValue)
    trace.mix(firmware.doorState.rawValue)
    trace.mix(UInt64(bitPattern: firmware.nextDeadline?.milliseconds ?? -1))
  }

  private mutating func perform(_ effect: LockEffect) {
    switch effect {
    case .sendOffer(let central, let values):
      trace.mix(1 as UInt8)
      trace.mix(central.low)
      for value in values { trace.mix(value) }
      hear(values, Int(central.low))
    case .answerRead(let central, let bytes):
      trace.mix(2 as UInt8)
      trace.mix(bytes ?? [])
      offers[Int(central.low)] = bytes
    case .respond(let central, let isAccepted):
      trace.mix(3 as UInt8)
      trace.mix(central.low)
      trace.mix(isAccepted ? 1 as UInt8 : 0)
    case .sendAnswer(let central, let bytes):
      trace.mix(4 as UInt8)
      trace.mix(bytes)
      read(bytes, Int(central.low))
    case .appendRecord(let record):
      trace.mix(5 as UInt8)
      trace.mix(record.encoded)
      if store.append(record) { waiting.append(.recordAppended(record.index)) }
    case .storeTrusted(let centrals):
      trace.mix(6 as UInt8)
      trace.mix(UInt64(centrals.count))
      var writer = ByteWriter()
      for proven in centrals {
        writer.write(proven.central.low)
        writer.write(proven.phone)
      }
      store.keep(.trusted, writer.bytes)
    case .turnBolt(let target):
      trace.mix(7 as UInt8)
      trace.mix(target.rawValue)
      turnCount += 1
      turning = target
      position = .between
    case .stopBolt:
      trace.mix(8 as UInt8)
      turning = nil
    case .storeMode(let mode):
      trace.mix(9 as UInt8)
      trace.mix(mode.rawValue)
      store.keep(.mode, [mode.rawValue])
    case .forgetPhones: trace.mix(10 as UInt8)
    case .storeAccess(let content):
      trace.mix(11 as UInt8)
      trace.mix(content)
      store.keep(.access, content)
    case .sendReply(let central, let tag, let bytes):
      trace.mix(12 as UInt8)
      trace.mix(central.low)
      trace.mix(tag)
      trace.mix(bytes)
    case .readLog(let question):
      trace.mix(13 as UInt8)
      trace.mix(question.from)
      // The phones of a script ask nothing in their conversations.
      waiting.append(.logRead(question, nil))
    case .respondToEnrolment(_, let status):
      trace.mix(14 as UInt8)
      trace.mix(status.rawValue)
    case .sendEnrolment(_, _, let bytes):
      trace.mix(15 as UInt8)
      trace.mix(bytes)
    case .storeAwaited(let awaited):
      var writer = ByteWriter()
      writer.write(awaited.record)
      writer.write(awaited.phone)
      trace.mix(16 as UInt8)
      trace.mix(writer.bytes)
      store.keep(.awaited, writer.bytes)
    case .note(let note): trace.mix(note)
    }
  }

  /// An offer comes whole, in fragments, or must be read.
  private mutating func hear(_ values: [[UInt8]], _ who: Int) {
    for value in values {
      if value.count == LockService.offerByteCount {
        offers[who] = value
      } else if value == LockService.offerHint {
        waiting.append(.offerRead(CentralIdentifier(high: 7, low: UInt64(who))))
      } else {
        let key = who < phoneKeys.count ? configuration.enrolledPhones[who] : []
        if let offer = readers[who].take(value, phone: key, using: Cryptography.self) { offers[who] = offer }
      }
    }
  }

  private mutating func read(_ answer: [UInt8], _ who: Int) {
    guard var session = sessions[who] else { return }
    sessions[who] = nil
    do throws(LockSessionError) {
      let opened = try session.open(answer)
      trace.mix(opened.result.rawValue)
      trace.mix(opened.logIndex)
      answerCount += 1
    } catch {
      trace.mix(0xEF as UInt8)
    }
  }
}
