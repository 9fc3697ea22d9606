import BluetoothTypes
import Radio

/// The Security Manager's messages (Bluetooth Core, Vol 3, Part H, 3.3 to 3.6) for LE Secure Connections with Just
/// Works, numeric comparison and passkeys. Their order and their outcomes are the real ones, but the mathematics is
/// not: the key comes from two numbers exchanged in the clear. It protects nothing, and in a simulated world it need
/// not.
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

  /// The twenty bits of a passkey, each with a confirm value and a number from both sides.
  static let passkeyRounds: UInt8 = 40

  /// A message of one passkey exchange. It contains nothing of the passkey.
  static func round(_ number: UInt8) -> [UInt8] { [pairingConfirm, number] + [UInt8](repeating: 0, count: 15) }

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

  /// - Parameter passkey: 0 if there is none.
  static func check(_ key: [UInt8], isInitiator: Bool, passkey: UInt32) -> [UInt8] {
    var mixer = Mixer(isInitiator ? 1 : 2)
    mixer.absorb(key)
    mixer.absorb(UInt64(passkey))
    return mixer.bytes(16)
  }
}

extension Pairing {
  /// The message by which a side says what it can do and wants.
  func features(_ opcode: UInt8) -> [UInt8] {
    let authentication = SecurityManager.authentication
    return [
      opcode, capability, 0, wantsBond ? authentication : authentication & ~SecurityManager.bonding, 16, 0x02, 0x02,
    ]
  }
}
