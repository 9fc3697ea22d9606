import BlueZ
import BluetoothTypes
import Radio
import TimeTypes

/// The L2CAP channels of one machine, and the PSMs at which peers may open them.
struct CreditChannels: Sendable {
  /// The channel identifiers on an LE link that L2CAP channels may have (Bluetooth Core, Vol 3, Part A, 2.1).
  static let identifiers: ClosedRange<UInt16> = 0x0040...0x007F
  /// How many channels may wait at a PSM until a client takes them.
  static let backlogLimit = 16

  /// One channel: its link, and its identifier at this end.
  struct Key: Sendable, Hashable, Comparable {
    let link: LinkIdentifier
    let channel: UInt16
    static func < (left: Self, right: Self) -> Bool { (left.link, left.channel) < (right.link, right.channel) }
  }

  struct Listener: Sendable {
    let client: ClientIdentifier
    let requiresEncryption: Bool
    /// The client's call that takes the next channel.
    var taking: PendingCall?
    /// Open channels that no client has taken.
    var waiting: [Key] = []
  }

  var listeners: [UInt16: Listener] = [:]
  var all: [Key: CreditChannel] = [:]
  private var lastSocket: UInt64 = 0
  private var lastCommand: UInt8 = 0

  /// A number for a socket. It differs from all numbers that `AcquiredChannels` gives.
  mutating func makeSocket() -> ChannelIdentifier {
    lastSocket += 1
    return ChannelIdentifier(2 << 32 | lastSocket)
  }

  mutating func nextCommand() -> UInt8 {
    lastCommand = lastCommand == .max ? 1 : lastCommand + 1
    return lastCommand
  }

  func key(of socket: ChannelIdentifier) -> Key? { all.first { $0.value.socket == socket }?.key }
  func keys(on link: LinkIdentifier) -> [Key] { all.keys.filter { $0.link == link }.sorted() }

  func free(on link: LinkIdentifier) -> Key? {
    Self.identifiers.lazy.map { Key(link: link, channel: $0) }.first { all[$0] == nil }
  }

  func add(to deadlines: inout Deadlines) {
    for key in all.keys.sorted() { deadlines.add(all[key]?.opening?.deadline, .channel(key)) }
  }
}

/// One channel: what it may still send, what waits to be sent, and what has arrived in part.
struct CreditChannel: Sendable {
  /// A client waits for it to open.
  struct Opening: Sendable {
    let call: PendingCall
    let psm: UInt16
    var command: UInt8
    var deadline: Instant?
    /// The peer wants an encrypted link, and this machine has begun to make it one.
    var awaitsSecurity = false
    var hasRetried = false
  }

  /// The terms that this machine offers. Its credits are enough for the frames of two of the longest packets.
  static let ownTerms = SignalingPDU.Terms(mtu: ChannelLimits.mtu, mps: 247, credits: 20)

  var opening: Opening?
  /// The socket of a client that has it.
  var socket: ChannelIdentifier?
  var peerChannel: UInt16 = 0
  var peerTerms = SignalingPDU.Terms(mtu: 0, mps: 0, credits: 0)
  /// The credits: how many frames this side may send, and how many the peer may send.
  private(set) var sendCredits = 0
  private var receiveCredits = Int(Self.ownTerms.credits)
  private var frames: ArraySlice<[UInt8]> = []
  private var partial: (length: Int, bytes: [UInt8], frames: Int)?
  /// Packets that arrived before a client took the channel, and how many frames each had.
  private var early: [(bytes: [UInt8], frames: Int)] = []
  /// For each packet that the socket was given and has not taken: its number of frames. The oldest is first.
  private var untaken: ArraySlice<Int> = []
  /// This side's client has closed its socket. The rest is sent, and then the channel ends.
  var isClosing = false

  var isIdle: Bool { frames.isEmpty }

  mutating func isOpen(to channel: UInt16, _ terms: SignalingPDU.Terms) {
    opening = nil
    peerChannel = channel
    peerTerms = terms
    sendCredits = Int(terms.credits)
  }

  // MARK: Sending

  /// Cuts a packet into frames (Vol 3, Part A, 3.4.3).
  mutating func queue(_ packet: [UInt8]) {
    let whole = [UInt8(packet.count & 0xFF), UInt8(packet.count >> 8 & 0xFF)] + packet
    let length = Int(peerTerms.mps)
    for start in stride(from: 0, to: whole.count, by: length) {
      frames.append(Array(whole[start..<min(start + length, whole.count)]))
    }
  }

  mutating func nextFrame() -> [UInt8]? {
    guard sendCredits > 0, let frame = frames.popFirst() else { return nil }
    sendCredits -= 1
    return frame
  }

  /// Returns `false` for more credits than there can be: the peer breaks the rules.
  mutating func gain(_ credits: UInt16) -> Bool {
    guard credits > 0, sendCredits + Int(credits) <= 65535 else { return false }
    sendCredits += Int(credits)
    return true
  }

  // MARK: Receiving

  enum Arrival {
    case nothing
    case packet([UInt8])
    case violation
  }

  /// Takes a frame. A violation of the rules ends the channel (3.4.1).
  mutating func take(_ frame: [UInt8]) -> Arrival {
    guard receiveCredits > 0, frame.count <= Int(Self.ownTerms.mps) else { return .violation }
    receiveCredits -= 1
    var current: (length: Int, bytes: [UInt8], frames: Int)
    if let partial {
      current = (partial.length, partial.bytes + frame, partial.frames + 1)
    } else {
      guard frame.count >= 2 else { return .violation }
      current = (Int(frame[0]) | Int(frame[1]) << 8, Array(frame.dropFirst(2)), 1)
    }
    guard current.length <= Int(Self.ownTerms.mtu), current.bytes.count <= current.length else { return .violation }
    guard current.bytes.count == current.length else {
      partial = current
      return .nothing
    }
    partial = nil
    if socket == nil {
      early.append((current.bytes, current.frames))
      return .nothing
    }
    untaken.append(current.frames)
    return .packet(current.bytes)
  }

  /// A client has the channel from now on. Returns the packets that came before.
  mutating func takeEarly() -> [[UInt8]] {
    defer { early = [] }
    untaken.append(contentsOf: early.map(\.frames))
    return early.map(\.bytes)
  }

  /// The socket has taken the oldest packet. Returns how many more frames the peer may send.
  mutating func packetTaken() -> UInt16 {
    guard let frames = untaken.popFirst() else { return 0 }
    receiveCredits += frames
    return UInt16(frames)
  }
}
