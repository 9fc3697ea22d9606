/// The commands of the LE signalling channel that credit-based channels need (Bluetooth Core, Vol 3, Part A, 4).
enum SignalingPDU: Sendable, Hashable {
  /// What one side is ready to take: the longest packet, the longest frame, and how many frames.
  struct Terms: Sendable, Hashable {
    var mtu: UInt16
    var mps: UInt16
    var credits: UInt16
  }

  case reject(UInt8, reason: UInt16)
  case disconnectionRequest(UInt8, destination: UInt16, source: UInt16)
  case disconnectionResponse(UInt8, destination: UInt16, source: UInt16)
  case connectionRequest(UInt8, psm: UInt16, source: UInt16, Terms)
  case connectionResponse(UInt8, destination: UInt16, Terms, result: UInt16)
  case credits(UInt8, channel: UInt16, count: UInt16)

  /// Results of a connection request (Vol 3, Part A, 4.23).
  enum Result {
    static let success: UInt16 = 0x0000
    static let unknownPSM: UInt16 = 0x0002
    static let noResources: UInt16 = 0x0004
    static let insufficientAuthentication: UInt16 = 0x0005
    static let insufficientEncryption: UInt16 = 0x0008
    static let invalidSource: UInt16 = 0x0009
    static let sourceInUse: UInt16 = 0x000A
    static let unacceptableParameters: UInt16 = 0x000B
  }

  static let notUnderstood: UInt16 = 0x0000
  static let invalidChannel: UInt16 = 0x0002

  private static let codes: [UInt8: Int] = [0x01: 1, 0x06: 2, 0x07: 2, 0x14: 5, 0x15: 5, 0x16: 2]

  /// `nil` for anything else, and for what is too short or too long.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 4, Int(bytes[2]) | Int(bytes[3]) << 8 == bytes.count - 4, let count = Self.codes[bytes[0]],
      bytes[0] == 0x01 ? bytes.count >= 6 : bytes.count == 4 + 2 * count
    else { return nil }
    let words = (0..<count).map { UInt16(bytes[4 + 2 * $0]) | UInt16(bytes[5 + 2 * $0]) << 8 }
    let identifier = bytes[1]
    switch bytes[0] {
    case 0x01: self = .reject(identifier, reason: words[0])
    case 0x06: self = .disconnectionRequest(identifier, destination: words[0], source: words[1])
    case 0x07: self = .disconnectionResponse(identifier, destination: words[0], source: words[1])
    case 0x14:
      let terms = Terms(mtu: words[2], mps: words[3], credits: words[4])
      self = .connectionRequest(identifier, psm: words[0], source: words[1], terms)
    case 0x15:
      let terms = Terms(mtu: words[1], mps: words[2], credits: words[3])
      self = .connectionResponse(identifier, destination: words[0], terms, result: words[4])
    default: self = .credits(identifier, channel: words[0], count: words[1])
    }
  }

  var bytes: [UInt8] {
    let (code, identifier, words): (UInt8, UInt8, [UInt16]) =
      switch self {
      case .reject(let identifier, let reason): (0x01, identifier, [reason])
      case .disconnectionRequest(let identifier, let destination, let source):
        (0x06, identifier, [destination, source])
      case .disconnectionResponse(let identifier, let destination, let source):
        (0x07, identifier, [destination, source])
      case .connectionRequest(let identifier, let psm, let source, let terms):
        (0x14, identifier, [psm, source, terms.mtu, terms.mps, terms.credits])
      case .connectionResponse(let identifier, let destination, let terms, let result):
        (0x15, identifier, [destination, terms.mtu, terms.mps, terms.credits, result])
      case .credits(let identifier, let channel, let count): (0x16, identifier, [channel, count])
      }
    return [code, identifier, UInt8(words.count * 2), 0] + words.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
  }
}
