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
  switch input[0] % 12 {
  case 0: same((try? LockCommand(decoding: bytes))?.encoded, bytes)
  case 1: same((try? LockAnswer(decoding: bytes))?.encoded, bytes)
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
  default: talk(bytes)
  }
  return 0
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
