// libFuzzer's entry into everything that reads bytes from the air or from the lock's flash. `scripts/fuzz` compiles it together
// with LockProtocol and LockFirmware into one module. The first byte of an input chooses the reader.

/// Cryptography with the sizes of the true one, and without its strength: what is forged here is not the point, but what a
/// message does after it has been accepted.
struct HollowCryptography: NoiseCryptography {
  typealias PrivateKey = [UInt8]
  typealias PublicKey = [UInt8]

  mutating func makePrivateKey() -> [UInt8] { [UInt8](repeating: 2, count: 32) }
  static func publicKey(of privateKey: [UInt8]) -> [UInt8] { privateKey }
  static func publicKey(from bytes: [UInt8]) throws(NoiseError) -> [UInt8] {
    guard bytes.count == 32 else { throw .badKey }
    return bytes
  }
  static func bytes(of publicKey: [UInt8]) -> [UInt8] { publicKey }
  static func sharedSecret(_ privateKey: [UInt8], _ publicKey: [UInt8]) throws(NoiseError) -> [UInt8] {
    [UInt8](repeating: 1, count: 32)
  }
  static func seal(
    _ plaintext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8] { plaintext + [UInt8](repeating: 0, count: 16) }
  static func open(
    _ ciphertext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8] {
    guard ciphertext.count >= 16 else { throw .messageTooShort }
    return Array(ciphertext.dropLast(16))
  }
  static func hash(_ bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: bytes.first ?? 0, count: 32) }
  static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] { [UInt8](repeating: 3, count: 32) }
  static func isValid(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool { signature.first == 0 }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLock(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let input = Array(UnsafeBufferPointer(start: start, count: count))
  let bytes = Array(input.dropFirst())
  switch input[0] % 16 {
  case 0: same((try? LockCommand(decoding: bytes))?.encoded, bytes)
  case 1:
    // A result of a later lock is read, and not written again.
    if let answer = try? LockAnswer(decoding: bytes), answer.result != .unrecognised { same(answer.encoded, bytes) }
  case 2: same((try? LockRequest(decoding: bytes))?.encoded, bytes)
  case 3: same((try? LockReply(decoding: bytes))?.encoded, bytes)
  case 4: same((try? LogPage(decoding: bytes))?.encoded, bytes)
  case 5:
    same((try? Grant(decoding: bytes))?.encoded, bytes)
    verdict(bytes)
  case 6: same((try? RevocationList(decoding: bytes))?.encoded, bytes)
  case 7: _ = try? LockStateReport(decoding: bytes)
  case 8: _ = try? KeyName.decode(bytes)
  case 9: same((try? AccessState(decoding: bytes))?.encoded, bytes, isFlag: true)
  case 10: same((try? LockRecord(decoding: bytes))?.encoded, bytes)
  case 11: talk(bytes)
  case 12: fragments(bytes)
  case 13: offers(bytes)
  case 14: enrolmentOfPhone(bytes)
  default: enrolmentOfLock(bytes)
  }
  return 0
}

/// The input in pieces: a byte with the length of each, before it.
private func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
  var pieces: [[UInt8]] = []
  var rest = bytes[...]
  while let length = rest.popFirst() {
    pieces.append(Array(rest.prefix(Int(length))))
    rest = rest.dropFirst(Int(length))
  }
  return pieces
}

/// A message in fragments is read as it was cut; whatever else comes as fragments stays within bounds.
private func fragments(_ bytes: [UInt8]) {
  var reader = FragmentReader()
  for piece in pieces(bytes) {
    guard let message = reader.take(piece) else { continue }
    precondition((1...Fragments.maximumMessageByteCount).contains(message.count), "a message without bounds")
  }
  guard !bytes.isEmpty, bytes.count <= Fragments.maximumMessageByteCount else { return }
  let cut = Fragments.cut(bytes, tag: bytes[0], valueByteCount: Int(bytes[bytes.count / 2]) * 2)
  var read: [UInt8]?
  for fragment in cut {
    precondition(read == nil, "it ended too soon")
    read = reader.take(fragment)
  }
  precondition(read == bytes, "cut and read differ")
}

private func offers(_ bytes: [UInt8]) {
  var reader = OfferReader()
  let phone = [UInt8](repeating: 1, count: 32)
  for piece in pieces(bytes) {
    let offer = reader.take(piece, phone: phone, using: HollowCryptography.self)
    precondition(offer == nil || offer?.count == LockService.offerByteCount, "no offer")
  }
  guard bytes.count == LockService.offerByteCount else { return }
  var offer: [UInt8]?
  for fragment in OfferFragments.cut(bytes, for: phone, using: HollowCryptography.self).reversed() {
    offer = reader.take(fragment, phone: phone, using: HollowCryptography.self)
  }
  precondition(offer == bytes, "cut and read differ")
}

/// What a lock, or one who poses as one, sends to a phone that is being enrolled; and a code as it is typed.
private func enrolmentOfPhone(_ bytes: [UInt8]) {
  _ = try? EnrolmentStatus(decoding: bytes)
  if let code = try? EnrolmentCode(reading: bytes) {
    precondition((try? EnrolmentCode(reading: code.text)) == code, "written and read differ")
  }
  var cryptography = HollowCryptography()
  guard
    var phone = try? EnrolmentOfPhone<HollowCryptography>(
      secret: [UInt8](repeating: 7, count: 32), staticKey: [UInt8](repeating: 6, count: 32), using: &cryptography)
  else { preconditionFailure("it can't begin") }
  for piece in pieces(bytes) {
    _ = try? phone.answer(piece, name: piece, using: &cryptography)
    if let enrolled = try? phone.finish(piece) {
      precondition(enrolled.lockName.count <= KeyName.nameByteLimit, "a name without bounds")
    }
  }
}

/// A lock whose window is opened, and two centrals that write to it. Only what is recorded is confirmed.
private func enrolmentOfLock(_ bytes: [UInt8]) {
  guard let identity = LockIdentity([UInt8](repeating: 0, count: 16)) else { return }
  var configuration = LockConfiguration(identity: identity, enrolledPhones: [])
  configuration.enrolmentSecret = [UInt8](repeating: 7, count: 32)
  var lock = LockFirmware<HollowCryptography>(
    configuration, staticKey: [UInt8](repeating: 5, count: 32), using: HollowCryptography(), records: [],
    position: .locked, door: .closed, at: LockTime(milliseconds: 0, unixSeconds: 0))
  var milliseconds: Int64 = 1
  var (confirmed, recorded) = (0, 0)
  func happens(_ event: LockEvent) {
    var events = [event]
    while !events.isEmpty {
      let next = events.removeFirst()
      for effect in lock.handle(next, at: LockTime(milliseconds: milliseconds, unixSeconds: 0)) {
        switch effect {
        case .appendRecord(let record):
          if record.change == .phoneEnrolled { recorded += 1 }
          // Every third record can't be stored.
          events.append(record.index % 3 == 0 ? .recordFailed(record.index) : .recordAppended(record.index))
        case .note(.phoneEnrolled):
          confirmed += 1
          precondition(confirmed <= recorded, "confirmed without a record")
        case .storeAccess(let content):
          precondition((try? AccessState(decoding: content)) != nil, "it can't be read again")
        case .turnBolt: preconditionFailure("an enrolment moves nothing")
        default: break
        }
      }
    }
  }
  for piece in pieces(bytes) {
    guard let first = piece.first else {
      milliseconds += 20_000
      happens(.timePassed)
      continue
    }
    let central = CentralIdentifier(high: 0, low: UInt64(first & 1))
    let rest = Array(piece.dropFirst())
    switch first >> 1 & 3 {
    case 0: happens(.enrolmentButton)
    case 1: happens(.enrolmentWritten(central, rest))
    // A whole message, in fragments.
    case 2:
      for fragment in Fragments.cut(rest, tag: rest.first ?? 0, valueByteCount: 100) {
        happens(.enrolmentWritten(central, fragment))
      }
    // The first message, and the third one that fits it, with a name of the input's.
    default:
      let start = [UInt8](repeating: first, count: 48)
      for message in [start, start + [Enrolment.version] + rest.prefix(40) + [UInt8](repeating: 0, count: 16)] {
        for fragment in Fragments.cut(message, tag: first, valueByteCount: 100) {
          happens(.enrolmentWritten(central, fragment))
        }
      }
    }
    _ = (lock.acceptsBonds, lock.provenCentrals, lock.knownCentrals)
  }
}

/// What can be read has one form only.
private func same(_ written: [UInt8]?, _ read: [UInt8], isFlag: Bool = false) {
  guard let written else { return }
  // The flag of the clock is any byte, of which 1 means yes.
  precondition(written == read || isFlag && written.count == read.count, "read and written differ")
}

private func verdict(_ bytes: [UInt8]) {
  guard let grant = try? Grant(decoding: bytes) else { return }
  for time: Int64 in [0, -1, 1_800_000_000, 4_102_444_800, -4_102_444_800] { _ = grant.schedule.verdict(at: time) }
}

/// A lock that gets writes from two phones, an owner's and another one, cut as the input says.
private func talk(_ bytes: [UInt8]) {
  guard let identity = LockIdentity([UInt8](repeating: 0, count: 16)) else { return }
  let owner = [UInt8](repeating: 0, count: 32)
  var lock = LockFirmware<HollowCryptography>(
    LockConfiguration(identity: identity, enrolledPhones: [owner]), staticKey: [UInt8](repeating: 5, count: 32),
    using: HollowCryptography(), records: [], position: .locked, door: .closed,
    at: LockTime(milliseconds: 0, unixSeconds: 0))
  var milliseconds: Int64 = 1
  var turns = 0
  var records: UInt64 = 0
  func happens(_ event: LockEvent) {
    var events = [event]
    while !events.isEmpty {
      let next = events.removeFirst()
      for effect in lock.handle(next, at: LockTime(milliseconds: milliseconds, unixSeconds: 0)) {
        switch effect {
        case .appendRecord(let record):
          records += 1
          precondition(record.index == records, "a gap in the log")
          events.append(.recordAppended(record.index))
        case .turnBolt(let target):
          turns += 1
          events.append(.boltStopped(target == .locked ? .locked : .unlocked))
        case .readLog(let reading):
          events.append(.logRead(reading, LogPage(first: 0, head: .empty, before: .empty, records: [])))
        case .storeAccess(let content):
          precondition((try? AccessState(decoding: content)) != nil, "it can't be read again")
        default: break
        }
      }
    }
  }
  let centrals = [CentralIdentifier(high: 0, low: 1), CentralIdentifier(high: 0, low: 2)]
  for central in centrals { happens(.linkUp(central)) }
  var rest = bytes[...]
  while let first = rest.popFirst(), let length = rest.popFirst() {
    let piece = Array(rest.prefix(Int(length)))
    rest = rest.dropFirst(Int(length))
    milliseconds += Int64(first) * 10
    let central = centrals[Int(first & 1)]
    switch first >> 1 & 7 {
    case 0: happens(.commandWritten(central, piece))
    // A command that is accepted: ephemeral key, static key, and the input as command and grant.
    case 1:
      happens(.commandWritten(central, [UInt8](repeating: 0, count: 80) + piece + [UInt8](repeating: 0, count: 16)))
    case 2: happens(.requestWritten(central, piece))
    // A request in one fragment, of a conversation that there may be.
    case 3:
      for tag: UInt8 in [0, 76, 78] {
        happens(.requestWritten(central, [tag, 0xC0] + piece + [UInt8](repeating: 0, count: 16)))
      }
    case 4: happens(.offerRead(central))
    case 5: happens(.linkDown(central))
    case 6: happens(.linkUp(central))
    default: happens(.timePassed)
    }
  }
}
