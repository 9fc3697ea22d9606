import BluetoothTypes
import Radio

/// The Security Manager's messages (Bluetooth Core, Vol 3, Part H, 3.3 to 3.6), of LE Secure Connections with Just
/// Works, numeric comparison and passkeys. Their order and their outcomes are the real ones; the mathematics is not: the key
/// comes from two numbers exchanged in the clear, so this protects nothing and need not, in a simulated world.
enum SecurityManager {
  static let pairingRequest: UInt8 = 0x01
  static let pairingResponse: UInt8 = 0x02
  static let pairingConfirm: UInt8 = 0x03
  static let pairingRandom: UInt8 = 0x04
  static let pairingFailed: UInt8 = 0x05
  static let identityInformation: UInt8 = 0x08
  static let identityAddress: UInt8 = 0x09
  static let securityRequest: UInt8 = 0x0B
  static let keyCheck: UInt8 = 0x0D

  /// Bonding, man-in-the-middle protection where possible, Secure Connections.
  static let authentication: UInt8 = 0x0D
  static let bonding: UInt8 = 0x01

  enum Failure {
    static let requirements: UInt8 = 0x03
    static let confirmation: UInt8 = 0x04
    static let notSupported: UInt8 = 0x05
    static let unspecified: UInt8 = 0x08
    static let keyCheck: UInt8 = 0x0B
    static let comparison: UInt8 = 0x0C
  }

  /// Twenty bits of a passkey, for each a confirm value and a number from both.
  static let passkeyRounds: UInt8 = 40

  /// Stands for one of those exchanges; nothing of the passkey is in it.
  static func round(_ number: UInt8) -> [UInt8] { [pairingConfirm, number] + [UInt8](repeating: 0, count: 15) }

  static func features(_ opcode: UInt8, _ capability: UInt8, bonds: Bool) -> [UInt8] {
    [opcode, capability, 0, bonds ? authentication : authentication & ~bonding, 16, 0x02, 0x02]
  }

  static func longTermKey(_ initiator: [UInt8], _ responder: [UInt8]) -> [UInt8] {
    var mixer = Mixer(0x6C74_6B)
    mixer.absorb(initiator)
    mixer.absorb(responder)
    return mixer.bytes(16)
  }

  /// The six digits that both sides show.
  static func comparison(_ key: [UInt8]) -> UInt32 {
    var mixer = Mixer(0x6732)
    mixer.absorb(key)
    return UInt32(mixer.next() % 1_000_000)
  }

  /// - Parameter passkey: 0 where there is none.
  static func check(_ key: [UInt8], isInitiator: Bool, passkey: UInt32) -> [UInt8] {
    var mixer = Mixer(isInitiator ? 1 : 2)
    mixer.absorb(key)
    mixer.absorb(UInt64(passkey))
    return mixer.bytes(16)
  }
}

/// A pairing at hand.
struct Pairing: Sendable {
  let isInitiator: Bool
  /// Own input and output capability.
  let capability: UInt8
  var agent: AgentState.Agent?
  var peerCapability: UInt8?
  let ownNumber: [UInt8]
  var longTermKey: [UInt8]?
  var isConfirmedHere = false
  var peerIdentityKey: IdentityResolvingKey?
  /// The peer's check came before this side's user had an answer.
  var isConfirmedThere = false

  var passkey: UInt32?
  /// Exchanges over the passkey that are done.
  var rounds: UInt8 = 0
  /// The initiator has begun with them before this side's user had the passkey.
  var isRoundWaiting = false

  /// Whether what is made is proof against somebody in between.
  var isAuthenticated: Bool { method != .justWorks }

  enum Method { case justWorks, comparison, showsPasskey, entersPasskey }

  /// By what both can show and ask (Bluetooth Core, Vol 3, Part H, 2.3.5.1, table 2.8).
  var method: Method {
    let (displayOnly, displayYesNo, keyboardOnly, none, keyboardDisplay): (UInt8, UInt8, UInt8, UInt8, UInt8) =
      (0, 1, 2, 3, 4)
    switch (capability, peerCapability) {
    case (none, _), (_, none), (_, nil): return .justWorks
    case (keyboardOnly, _): return .entersPasskey
    case (_, keyboardOnly): return .showsPasskey
    case (displayOnly, keyboardDisplay): return .showsPasskey
    case (keyboardDisplay, displayOnly): return .entersPasskey
    case (displayYesNo, displayYesNo), (displayYesNo, keyboardDisplay), (keyboardDisplay, displayYesNo),
      (keyboardDisplay, keyboardDisplay):
      return .comparison
    default: return .justWorks
    }
  }
}
